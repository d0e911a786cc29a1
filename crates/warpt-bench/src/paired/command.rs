//! A program run once per sample: its wall time is the cost, or a number found in what it prints.

use std::time::{Duration, Instant};

use super::child::{Launch, Leashed};
use super::subject::Subject;
use crate::context::Cancel;
use crate::error::BenchError;

/// How a cost comes out of a run.
type Parse = Box<dyn Fn(&str) -> Result<f64, String>>;

/// A command, run anew for every sample.
pub struct CommandSubject {
    name: String,
    launch: Launch,
    limit: Duration,
    parse: Option<Parse>,
    cancel: Cancel,
}

impl CommandSubject {
    /// A command whose cost is its wall time in nanoseconds; each run must end within `limit`.
    pub fn new(name: impl Into<String>, launch: Launch, limit: Duration, cancel: Cancel) -> Self {
        Self { name: name.into(), launch, limit, parse: None, cancel }
    }

    /// The same with the cost found in its standard output.
    #[must_use]
    pub fn parse(mut self, parse: impl Fn(&str) -> Result<f64, String> + 'static) -> Self {
        self.parse = Some(Box::new(parse));
        self
    }
}

impl Subject for CommandSubject {
    fn name(&self) -> &str {
        &self.name
    }

    fn restart(&mut self) -> Result<(), BenchError> {
        // Every sample is a new process already.
        Ok(())
    }

    fn sample(&mut self) -> Result<f64, BenchError> {
        let start = Instant::now();
        let mut child = Leashed::spawn(&self.launch, &self.cancel)?;
        child.close_input();
        let (output, status) = child.finish(self.limit)?;
        let wall_ns = start.elapsed().as_nanos() as f64;
        if !status.success() {
            return Err(child.error(&format!("{status}")));
        }
        let cost = match &self.parse {
            None => wall_ns,
            Some(parse) => parse(&output).map_err(|detail| child.error(&detail))?,
        };
        super::positive(&self.name, cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> CommandSubject {
        let launch = Launch::new(["sh", "-c", script]);
        CommandSubject::new("shell", launch, Duration::from_secs(20), Cancel::default())
    }

    #[test]
    fn wall_time_or_a_printed_number() {
        assert!(shell("true").sample().unwrap() > 0.0);
        let parse = |text: &str| text.trim().parse::<f64>().map_err(|error| error.to_string());
        assert_eq!(shell("echo 12.5").parse(parse).sample().unwrap(), 12.5);
        assert!(shell("echo none").parse(parse).sample().is_err());
        assert!(shell("echo -1").parse(parse).sample().is_err());
    }

    #[test]
    fn a_failure_carries_the_programs_last_words() {
        let message = shell("echo broken pump >&2; exit 7").sample().unwrap_err().to_string();
        assert!(message.contains("broken pump") && message.contains('7'), "{message}");
        let missing = Launch::new(["/nonexistent/program"]);
        let mut missing =
            CommandSubject::new("gone", missing, Duration::from_secs(1), Cancel::default());
        assert!(missing.sample().unwrap_err().to_string().contains("could not be started"));
    }

    #[test]
    fn the_time_limit_and_the_request_to_stop_end_it() {
        let mut slow = shell("sleep 60");
        slow.limit = Duration::from_millis(30);
        assert!(slow.sample().unwrap_err().to_string().contains("no answer within"));
        let mut stopped = shell("sleep 60");
        stopped.cancel.cancel();
        assert!(matches!(stopped.sample(), Err(BenchError::Interrupted)));
    }
}

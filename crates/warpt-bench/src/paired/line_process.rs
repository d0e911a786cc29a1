//! A child process that stays and answers line by line, so that two programs can be interleaved at the grain of a
//! millisecond.
//!
//! # The protocol
//!
//! The child prepares, warms up and writes `ready`, perhaps with something about itself after it
//! ([`LineProcess::about`]). Then for every line it reads it writes one line:
//!
//! | request | answer |
//! |---|---|
//! | `sample` | the cost of one sample, a positive decimal number |
//! | `verify` | `ok` if what it computed so far is right |
//! | `metric` | `rate UNIT` when `1e9 / cost` is a rate in that unit, `cost UNIT` when the cost is in it; may be unknown |
//!
//! A child may have another word for `sample` ([`LineProcess::sample_word`]) and answer further requests
//! ([`LineProcess::ask`]). `error MESSAGE` answers anything that went wrong. End of input ends the child. Between requests it sleeps in a
//! read, so it does not disturb the other side.

use std::time::Duration;

use super::child::{Launch, Leashed};
use super::subject::Subject;
use crate::context::Cancel;
use crate::error::BenchError;

/// How long a child may take over its parts.
#[derive(Debug, Clone, Copy)]
pub struct LineLimits {
    /// From start to `ready`.
    pub start: Duration,
    /// For each answer.
    pub answer: Duration,
}

impl Default for LineLimits {
    fn default() -> Self {
        Self { start: Duration::from_secs(60), answer: Duration::from_secs(30) }
    }
}

/// What a cost means to people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricMeaning {
    /// `1e9 / cost` is a rate in the unit; otherwise the cost itself is in it.
    pub is_rate: bool,
    /// Such as `GB/s`.
    pub unit: String,
}

impl MetricMeaning {
    /// The metric's value at a cost.
    #[must_use]
    pub fn value(&self, cost: f64) -> f64 {
        if self.is_rate { 1e9 / cost } else { cost }
    }
}

/// A persistent child that speaks the protocol above.
pub struct LineProcess {
    name: String,
    launch: Launch,
    limits: LineLimits,
    cancel: Cancel,
    child: Option<Leashed>,
    sample_word: String,
    about: String,
}

impl LineProcess {
    /// A child that is started at the first restart.
    pub fn new(
        name: impl Into<String>,
        launch: Launch,
        limits: LineLimits,
        cancel: Cancel,
    ) -> Self {
        let (sample_word, about) = ("sample".to_owned(), String::new());
        Self { name: name.into(), launch, limits, cancel, child: None, sample_word, about }
    }

    /// The same for a child that takes a sample when told this word.
    #[must_use]
    pub fn sample_word(mut self, word: impl Into<String>) -> Self {
        self.sample_word = word.into();
        self
    }

    /// What the child last said of itself after `ready`.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Sends a request of the child's own and returns the answer, unless that states an error.
    pub fn ask(&mut self, request: &str) -> Result<String, BenchError> {
        let answer = self.request(request)?;
        if answer == "error" || answer.starts_with("error ") {
            return Err(self.unexpected(&answer, "an answer"));
        }
        Ok(answer)
    }

    /// Asks the child whether what it computed is right.
    pub fn verify(&mut self) -> Result<(), BenchError> {
        let answer = self.request("verify")?;
        if answer == "ok" { Ok(()) } else { Err(self.unexpected(&answer, "ok")) }
    }

    /// What a cost means, if the child can say.
    pub fn metric(&mut self) -> Result<Option<MetricMeaning>, BenchError> {
        let answer = self.request("metric")?;
        let unit = |unit: &str| unit.chars().take(40).collect();
        Ok(match answer.split_once(' ') {
            Some(("rate", of)) => Some(MetricMeaning { is_rate: true, unit: unit(of) }),
            Some(("cost", of)) => Some(MetricMeaning { is_rate: false, unit: unit(of) }),
            _ => None,
        })
    }

    /// Ends the child by closing its input and waits for it.
    pub fn finish(&mut self) -> Result<(), BenchError> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.close_input();
        let (_, status) = child.finish(self.limits.answer)?;
        if status.success() { Ok(()) } else { Err(child.error(&format!("{status}"))) }
    }

    fn request(&mut self, line: &str) -> Result<String, BenchError> {
        let Some(child) = &mut self.child else {
            return Err(BenchError::Child {
                program: self.name.clone(),
                detail: "not started".into(),
            });
        };
        let answer = child.send(line).and_then(|()| child.line(self.limits.answer));
        if answer.is_err() {
            self.child = None;
        }
        answer
    }

    fn unexpected(&self, answer: &str, expected: &str) -> BenchError {
        let short: String = answer.chars().take(200).collect();
        let detail = match short.strip_prefix("error ") {
            Some(message) => message.to_owned(),
            None => format!("expected {expected}, found {short:?}"),
        };
        match &self.child {
            Some(child) => child.error(&detail),
            None => BenchError::Child { program: self.name.clone(), detail },
        }
    }
}

impl Subject for LineProcess {
    fn name(&self) -> &str {
        &self.name
    }

    fn restart(&mut self) -> Result<(), BenchError> {
        // The old one goes first: two of a kind might not fit into memory.
        self.child = None;
        let child = self.child.insert(Leashed::spawn(&self.launch, &self.cancel)?);
        let answer = child.line(self.limits.start)?;
        match answer.strip_prefix("ready") {
            Some(about) if about.is_empty() || about.starts_with(' ') => {
                self.about = about.trim().to_owned();
                Ok(())
            }
            _ => Err(self.unexpected(&answer, "ready")),
        }
    }

    fn sample(&mut self) -> Result<f64, BenchError> {
        let word = self.sample_word.clone();
        let answer = self.request(&word)?;
        match answer.parse::<f64>() {
            Ok(cost) if cost.is_finite() && cost > 0.0 => Ok(cost),
            _ => Err(self.unexpected(&answer, "a positive number")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(script: &str) -> LineProcess {
        let limits = LineLimits { start: Duration::from_secs(20), answer: Duration::from_secs(20) };
        LineProcess::new("script", Launch::new(["sh", "-c", script]), limits, Cancel::default())
    }

    const COUNTING: &str = "echo ready; n=0; while read -r word; do n=$((n+1)); \
        case $word in sample) echo $n.5;; verify) echo ok;; metric) echo rate GB/s;; esac; done";

    #[test]
    fn answers_come_one_by_one_and_a_restart_begins_anew() {
        let mut child = script(COUNTING);
        assert!(child.sample().is_err(), "not started");
        child.restart().unwrap();
        assert_eq!((child.sample().unwrap(), child.sample().unwrap()), (1.5, 2.5));
        child.verify().unwrap();
        let meaning = child.metric().unwrap().unwrap();
        assert_eq!((meaning.unit.as_str(), meaning.value(2e8)), ("GB/s", 5.0));
        child.restart().unwrap();
        assert_eq!(child.sample().unwrap(), 1.5);
        child.finish().unwrap();
    }

    #[test]
    fn a_child_may_say_more_and_have_words_of_its_own() {
        let mut child = script(
            "echo 'ready {\"threads\":2}'; while read -r word rest; do case $word in run) echo 7;; \
             outputs) echo ok $rest;; *) echo error no $word;; esac; done",
        )
        .sample_word("run");
        child.restart().unwrap();
        assert_eq!(child.about(), "{\"threads\":2}");
        assert_eq!(child.sample().unwrap(), 7.0);
        assert_eq!(child.ask("outputs a b").unwrap(), "ok a b");
        assert!(child.ask("verify").unwrap_err().to_string().ends_with("no verify"));
        assert!(script("echo readying").restart().is_err());
    }

    #[test]
    fn a_crash_carries_the_last_words() {
        let mut child = script("echo ready; read -r word; echo tile fault >&2; exit 3");
        child.restart().unwrap();
        let message = child.sample().unwrap_err().to_string();
        assert!(message.contains("tile fault") && message.contains("exit code 3"), "{message}");
        // It can be started again.
        child.restart().unwrap();
    }

    #[test]
    fn wrong_answers_and_stated_errors_are_told_apart() {
        let mut child =
            script("echo ready; read -r word; echo soon; read -r word; echo error no tiles");
        child.restart().unwrap();
        assert!(child.sample().unwrap_err().to_string().contains("\"soon\""));
        let message = child.sample().unwrap_err().to_string();
        assert!(message.ends_with("no tiles"), "{message}");
        assert!(script("echo hello").restart().unwrap_err().to_string().contains("expected ready"));
    }

    #[test]
    fn a_silent_child_is_ended_at_its_limit() {
        let mut child = script("sleep 60");
        child.limits.start = Duration::from_millis(30);
        assert!(child.restart().unwrap_err().to_string().contains("no answer within"));
    }
}

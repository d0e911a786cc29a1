//! A benchmark in a child process: a crash is one failed benchmark instead of a lost run, and memory starts cold.
//! The parent writes a [`ChildRequest`] as JSON to the child's standard input; the child answers with one JSON message
//! per line on standard output, progress first and the result last. The child's standard error is kept for the message
//! when it dies.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpt_machine::inventory::Machine;

use crate::clock::Clock;
use crate::component::BenchmarkId;
use crate::context::Cancel;
use crate::error::BenchError;
use crate::record::BenchmarkRunResult;
use crate::registry::Registry;
use crate::request::RunRequest;
use crate::runner::{Event, Finished, Observer, Phase, Runner};

/// The end of the child's error output that is kept.
const MAX_ERROR_BYTES: u64 = 4096;
/// Messages beyond this are not from our child.
const MAX_MESSAGE_BYTES: u64 = 1 << 30;

/// What a child is asked to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChildRequest {
    /// Which benchmark.
    pub id: BenchmarkId,
    /// Under which request.
    pub request: RunRequest,
    /// The machine as the parent found it.
    pub machine: Machine,
}

/// What a child says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Message {
    Progress { label: String, index: usize, count: usize, phase: Phase, fraction: f64 },
    Finished { result: Box<BenchmarkRunResult>, environment_error: bool },
}

/// How to start a child that answers to [`serve`].
#[derive(Debug, Clone)]
pub struct Isolation {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// Kills and reaps the child however the parent leaves.
struct Reaped(Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Isolation {
    /// Runs one benchmark in a child and passes its progress on.
    pub fn run(
        &self,
        request: &ChildRequest,
        cancel: &Cancel,
        observer: &mut dyn Observer,
    ) -> Result<Finished, BenchError> {
        let program = self.program.display().to_string();
        let fail = |detail: String| BenchError::Child { program: program.clone(), detail };
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map(Reaped)
            .map_err(|error| fail(format!("could not be started: {error}")))?;
        let mut input = child.0.stdin.take().expect("standard input was piped");
        let errors = child.0.stderr.take().expect("standard error was piped");
        let error_reader = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.take(MAX_ERROR_BYTES).read_to_string(&mut text);
            text
        });
        let sent = serde_json::to_vec(request).map_err(|error| fail(error.to_string()))?;
        // A child that died early shows in its status below, which says more than a broken pipe.
        let _ = input.write_all(&sent);
        drop(input);
        let output = BufReader::new(child.0.stdout.take().expect("standard output was piped"));
        let mut finished = None;
        for line in output.take(MAX_MESSAGE_BYTES).lines() {
            if cancel.is_cancelled() {
                break;
            }
            let line = line.map_err(|error| fail(error.to_string()))?;
            match serde_json::from_str(&line).map_err(|error| fail(error.to_string()))? {
                Message::Progress { label, index, count, phase, fraction } => {
                    observer.event(&Event::Progress {
                        label: &label,
                        index,
                        count,
                        phase,
                        fraction,
                    });
                }
                Message::Finished { result, environment_error } => {
                    finished = Some(Finished { result: *result, environment_error });
                }
            }
        }
        if let Some(finished) = finished {
            return Ok(finished);
        }
        if cancel.is_cancelled() {
            return Err(BenchError::Interrupted);
        }
        let status = child.0.wait().map_err(|error| fail(error.to_string()))?;
        let errors = error_reader.join().unwrap_or_default();
        Err(fail(format!("the benchmark's process {}: {}", ended(status), errors.trim())))
    }
}

/// How a process ended, in words.
pub fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended without a status".to_owned(),
    }
}

/// Passes progress to the parent as lines.
struct Forward<'a>(&'a mut dyn Write);

impl Forward<'_> {
    fn send(&mut self, message: &Message) {
        // A parent that went away is noticed by the write failing at the end as well.
        if serde_json::to_writer(&mut *self.0, message).is_ok() {
            let _ = self.0.write_all(b"\n").and_then(|()| self.0.flush());
        }
    }
}

impl Observer for Forward<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if let Event::Progress { label, index, count, phase, fraction } = *event {
            let label = label.to_owned();
            self.send(&Message::Progress { label, index, count, phase, fraction });
        }
    }
}

/// The child's side: reads the request, runs, answers.
pub fn serve(
    registry: &Registry,
    clock: &dyn Clock,
    input: &mut dyn Read,
    output: &mut dyn Write,
) -> Result<(), BenchError> {
    let child: ChildRequest = serde_json::from_reader(input).map_err(|error| {
        BenchError::Child { program: "request".into(), detail: error.to_string() }
    })?;
    let alone = RunRequest {
        suite: Some(child.id.suite.clone()),
        benchmarks: vec![child.id.name.clone()],
        components: Vec::new(),
        params: child
            .request
            .params
            .iter()
            .filter(|(key, _)| {
                // Parameters of other benchmarks of the same run are unknown here.
                registry.find(Some(&child.id.suite), &child.id.name).is_ok_and(|benchmark| {
                    let name = key.rsplit('.').next().unwrap_or(key);
                    let scope = key.split_once('.').map(|(scope, _)| scope);
                    scope.is_none_or(|scope| scope == child.id.name)
                        && benchmark.spec().parameters.iter().any(|spec| spec.name == name)
                })
            })
            .cloned()
            .collect(),
        isolate: false,
        ..child.request
    };
    let item = registry.select(&alone)?.remove(0);
    let mut forward = Forward(output);
    let finished = Runner {
        clock,
        machine: Arc::new(child.machine),
        cancel: Cancel::default(),
        observer: &mut forward,
        isolation: None,
    }
    .run_benchmark(&item, &alone);
    forward.send(&Message::Finished {
        result: Box::new(finished.result),
        environment_error: finished.environment_error,
    });
    Ok(())
}

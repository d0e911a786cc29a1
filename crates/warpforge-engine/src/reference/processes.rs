//! Several processes of one program, each a thread, that meet in its collectives.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use warpforge_hlo::ir::Program;

use super::interpreter::{Interpreter, Limits};
pub use super::process_group::{Grid, Process};
use super::rendezvous::{Member, members};
use super::{Host, Value};
use crate::EngineError;

/// How long a process waits for the others: as long as a slow op may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs a program as a grid of processes.
pub struct Processes<'a> {
    /// The program, verified.
    pub program: &'a Program,
    /// The function to run; none: `main`, or the only public one.
    pub function: Option<&'a str>,
    /// How many there are.
    pub grid: Grid,
    /// What all together may use.
    pub limits: Limits,
    /// Ends all at their next op once it is set.
    pub cancel: Option<&'a AtomicBool>,
}

impl Processes<'_> {
    /// Runs all to their ends. Inputs and hosts are those of each process in the order of [`Grid::processes`]; the answer has
    /// the results in the same order. The error is that of the first process that failed by itself.
    pub fn run(
        &self,
        inputs: Vec<Vec<Value>>,
        hosts: &mut [Host],
    ) -> Result<Vec<Vec<Value>>, EngineError> {
        let members = members(self.grid, PATIENCE)?;
        let count = members.len();
        for (what, found) in [("lists of inputs", inputs.len()), ("hosts", hosts.len())] {
            if found != count {
                return Err(EngineError::Input(format!(
                    "{count} processes need as many {what}, found {found}"
                )));
            }
        }
        let outcomes: Vec<Result<Vec<Value>, EngineError>> = std::thread::scope(|scope| {
            let starts = members.into_iter().zip(inputs).zip(hosts);
            let threads: Vec<_> = starts
                .map(|((member, inputs), host)| {
                    scope.spawn(move || self.one(member, inputs, host, count))
                })
                .collect();
            let ended = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|_| {
                    Err(EngineError::Value("a process ended without a result".into()))
                })
            };
            threads.into_iter().map(ended).collect()
        });
        // Who only waited for another does not know what happened.
        let errors = || outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        if let Some(error) = errors().find(|error| !waited(error)).or_else(|| errors().next()) {
            return Err(error.clone());
        }
        outcomes.into_iter().collect()
    }

    fn one(
        &self,
        member: Member,
        inputs: Vec<Value>,
        host: &mut Host,
        count: usize,
    ) -> Result<Vec<Value>, EngineError> {
        // Each process has its own values, so each may have its share.
        let memory_bytes = self.limits.memory_bytes.map(|bytes| bytes / count as u64);
        let mut interpreter = Interpreter::new(self.program)
            .limits(Limits { memory_bytes, ..self.limits.clone() })
            .exchange(Box::new(member))
            .host(host);
        if let Some(function) = self.function {
            interpreter = interpreter.function(function);
        }
        if let Some(cancel) = self.cancel {
            interpreter = interpreter.cancel(cancel);
        }
        interpreter.run(inputs)
    }
}

/// Whether an error is only that of another process.
fn waited(error: &EngineError) -> bool {
    match error {
        EngineError::Left(_) => true,
        EngineError::At { cause, .. } => waited(cause),
        _ => false,
    }
}

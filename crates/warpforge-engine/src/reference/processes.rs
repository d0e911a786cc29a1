//! Several processes of one program, each a thread, that meet in its collectives.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use warpforge_hlo::ir::Program;

use super::Value;
use super::interpreter::{Interpreter, Limits};
use super::process_group::Grid;
use super::rendezvous::members;
use crate::EngineError;

/// How long a process waits for the others: as long as a slow op may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs a program as a grid of processes. `inputs` holds those of each process, replicas outermost; the answer has the
/// results in the same order. The first error of any process is the error of all.
pub fn run_processes(
    program: &Program,
    (replicas, partitions): (u32, u32),
    inputs: Vec<Vec<Value>>,
    limits: &Limits,
    cancel: Option<&AtomicBool>,
) -> Result<Vec<Vec<Value>>, EngineError> {
    let members = members(Grid { replicas, partitions }, PATIENCE)?;
    if members.len() != inputs.len() {
        return Err(EngineError::Input(format!(
            "{} processes need as many lists of inputs, found {}",
            members.len(),
            inputs.len()
        )));
    }
    // Each process has its own values, so each may have its share.
    let share = Limits {
        memory_bytes: limits.memory_bytes.map(|bytes| bytes / members.len() as u64),
        ..limits.clone()
    };
    let outcomes: Vec<Result<Vec<Value>, EngineError>> = std::thread::scope(|scope| {
        let threads: Vec<_> = members
            .into_iter()
            .zip(inputs)
            .map(|(member, inputs)| {
                let share = share.clone();
                scope.spawn(move || {
                    let mut interpreter =
                        Interpreter::new(program).limits(share).exchange(Box::new(member));
                    if let Some(cancel) = cancel {
                        interpreter = interpreter.cancel(cancel);
                    }
                    interpreter.run(inputs)
                })
            })
            .collect();
        let ended = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| {
                Err(EngineError::Value("a process ended without a result".into()))
            })
        };
        threads.into_iter().map(ended).collect()
    });
    outcomes.into_iter().collect()
}

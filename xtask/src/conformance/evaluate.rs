//! A tier of the engine behind a guard: a panic and a run that takes too long are answers too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use warpforge_engine::reference::Value;
use warpforge_hlo::Program;
use warpforge_tensor::Tensor;

use crate::tier::Tier;

/// The stack of an evaluation: what the interpreter's own limits on nesting are made for.
const STACK_BYTES: usize = 16 << 20;

/// The name of the threads that evaluate.
const THREAD: &str = "evaluation";

/// What became of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer<T> {
    /// It ended.
    Ended(T),
    /// It panicked, saying this.
    Panicked(String),
    /// It had not ended when the time was over.
    Late,
}

/// Runs a function of a program whose arguments and results are tensors.
pub(super) fn evaluate(
    tier: Tier,
    program: &Program,
    function: &str,
    inputs: Vec<Tensor>,
    cancel: &AtomicBool,
) -> Result<Vec<Tensor>, String> {
    let inputs = inputs.into_iter().map(Value::Tensor).collect();
    tensors(tier.run(program, function, inputs, cancel).map_err(|error| error.to_string())?)
}

/// Results that are all tensors.
pub(super) fn tensors(results: Vec<Value>) -> Result<Vec<Tensor>, String> {
    let tensor = |value| match value {
        Value::Tensor(tensor) => Ok(tensor),
        other => Err(format!("a result is not a tensor but {other:?}")),
    };
    results.into_iter().map(tensor).collect()
}

/// Does some work in a thread of its own. When the time is over the flag is set, and the thread is left behind.
pub(super) fn guarded<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> Answer<T> {
    let (sender, receiver) = mpsc::channel();
    let cancel = Arc::new(AtomicBool::new(false));
    let cancelled = Arc::clone(&cancel);
    let thread = std::thread::Builder::new().name(THREAD.to_owned()).stack_size(STACK_BYTES).spawn(
        move || {
            // Nobody listens any more once the time is over.
            let _ = sender.send(work(&cancelled));
        },
    );
    let Ok(thread) = thread else {
        return Answer::Panicked("no thread could be started".to_owned());
    };
    match receiver.recv_timeout(limit) {
        Ok(result) => Answer::Ended(result),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            cancel.store(true, Ordering::Relaxed);
            Answer::Late
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            let said = thread.join().err();
            let text = said.and_then(|said| {
                let text = said.downcast_ref::<&str>().map(|text| (*text).to_owned());
                text.or_else(|| said.downcast_ref::<String>().cloned())
            });
            Answer::Panicked(text.unwrap_or_else(|| "without a message".to_owned()))
        }
    }
}

/// Keeps the panics of evaluations off the terminal: they are answers, and are reported as such.
pub(super) fn keep_panics_quiet() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(THREAD) {
            usual(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_an_answer() {
        let limit = Duration::from_secs(60);
        assert_eq!(guarded(limit, |_| 7), Answer::Ended(7));
        let panicked: Answer<()> = guarded(limit, |_| panic!("no"));
        assert_eq!(panicked, Answer::Panicked("no".to_owned()));
        let (sender, receiver) = mpsc::channel::<()>();
        assert_eq!(guarded(Duration::from_millis(1), move |_| receiver.recv()), Answer::Late);
        drop(sender);
    }
}

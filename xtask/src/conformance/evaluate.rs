//! The reference interpreter behind a guard: a panic and a run that takes too long are answers too.

use std::sync::mpsc;
use std::time::Duration;

use warpforge_hlo::Program;
use warpforge_tensor::Tensor;

/// The stack of an evaluation: what the interpreter's own limits on nesting are made for.
const STACK_BYTES: usize = 16 << 20;

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

/// Runs the main function of a program.
pub(crate) fn evaluate(program: &Program, inputs: Vec<Tensor>) -> Result<Vec<Tensor>, String> {
    let _ = (program, inputs);
    Err("the interpreter is not connected".to_owned())
}

/// Does some work in a thread of its own; work that runs late is left behind and ends with the process.
pub(super) fn guarded<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Answer<T> {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::Builder::new()
        .name("evaluation".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Nobody listens any more once the time is over.
            let _ = sender.send(work());
        });
    let Ok(thread) = thread else {
        return Answer::Panicked("no thread could be started".to_owned());
    };
    match receiver.recv_timeout(limit) {
        Ok(result) => Answer::Ended(result),
        Err(mpsc::RecvTimeoutError::Timeout) => Answer::Late,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_an_answer() {
        let limit = Duration::from_secs(60);
        assert_eq!(guarded(limit, || 7), Answer::Ended(7));
        let panicked: Answer<()> = guarded(limit, || panic!("no"));
        assert_eq!(panicked, Answer::Panicked("no".to_owned()));
        let (sender, receiver) = mpsc::channel::<()>();
        assert_eq!(guarded(Duration::from_millis(1), move || receiver.recv()), Answer::Late);
        drop(sender);
    }
}

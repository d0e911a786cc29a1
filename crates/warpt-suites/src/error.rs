//! What can go wrong in the suites' own machinery. Each variant says what was wanted and why it did not happen.

use std::io;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The kernel gave no memory.
    #[error("cannot map {bytes} bytes: {source}")]
    Memory {
        /// What was asked for.
        bytes: usize,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A worker could not be kept on its CPU.
    #[error("cannot keep a thread on CPU {cpu}: {source}")]
    Pin {
        /// The CPU.
        cpu: usize,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A worker thread could not be started.
    #[error("cannot start a worker thread: {0}")]
    Thread(io::Error),
    /// This machine cannot do it.
    #[error("{0}")]
    Unsupported(String),
}

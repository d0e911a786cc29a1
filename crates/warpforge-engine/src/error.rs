//! Everything that can go wrong while a program runs.

use warpforge_tensor::TensorError;

/// A program that cannot be run, or a run that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The program asks for something outside what is computed here.
    #[error("{0} cannot be computed here")]
    Unsupported(String),
    /// What was handed in does not fit the program.
    #[error("{0}")]
    Input(String),
    /// A value that breaks a rule which can only be judged while running.
    #[error("{0}")]
    Value(String),
    /// More memory than allowed.
    #[error("needs {needed} bytes of memory, above the limit of {limit}")]
    Memory {
        /// The bytes needed at once.
        needed: u64,
        /// The bytes allowed.
        limit: u64,
    },
    /// A tensor that cannot be made; the verifier should have refused the program.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

//! Everything that keeps a validation from a verdict.

use std::path::PathBuf;

use warpforge_engine::EngineError;
use warpforge_golden::GoldenError;
use warpforge_tensor::TensorError;
use warpforge_train::TrainError;

/// A validation that could not be done.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    /// The bundle, or results, cannot be read or written.
    #[error(transparent)]
    Golden(#[from] GoldenError),
    /// A tensor that cannot be read or compared.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A program that cannot be read.
    #[error("{}:{reason}", .path.display())]
    Program {
        /// Its file.
        path: PathBuf,
        /// What is wrong, with the place in the text.
        reason: String,
    },
    /// A program that cannot be run.
    #[error("{}: {error}", .path.display())]
    Engine {
        /// Its file.
        path: PathBuf,
        /// What happened.
        error: EngineError,
    },
    /// Threads that cannot be had.
    #[error(transparent)]
    Threads(EngineError),
    /// The bundle and its programs, or the results, do not belong together.
    #[error("{0}")]
    Mismatched(String),
    /// A file of tolerances that cannot be used.
    #[error("{}: {reason}", .path.display())]
    Tolerances {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Data of the bundle that cannot be used.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The run was asked to stop.
    #[error("stopped before it was finished")]
    Cancelled,
}

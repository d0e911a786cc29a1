//! Everything that can go wrong in training.

use std::fmt;
use std::path::{Path, PathBuf};

use warpforge_engine::EngineError;
use warpforge_golden::GoldenError;
use warpforge_tensor::TensorError;

/// Why training or evaluation ended early.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A file that is missing, damaged or not what it should be.
    #[error("{}: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Settings that do not fit together, or do not fit what they are for.
    #[error("{0}")]
    Settings(String),
    /// A tensor that does not fit, or a file of tensors.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A file of text, or the manifest of the programs.
    #[error(transparent)]
    Export(#[from] GoldenError),
    /// A program that does not compile or run.
    #[error("the program {program:?}: {error}")]
    Program {
        /// Its name.
        program: String,
        /// The reason.
        error: EngineError,
    },
    /// The loss is no number any more.
    #[error("the loss of step {step} is {loss}: training has diverged; try a lower learning rate")]
    Diverged {
        /// The step, from 0.
        step: u64,
        /// Its loss.
        loss: f64,
    },
    /// It was asked to stop.
    #[error("interrupted")]
    Cancelled,
}

/// A message about a file.
pub(crate) fn wrong(path: &Path, reason: impl fmt::Display) -> TrainError {
    TrainError::File { path: path.to_owned(), reason: reason.to_string() }
}

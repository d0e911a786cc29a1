//! Everything that can be wrong with a bundle or with results.

use std::fmt;
use std::path::{Path, PathBuf};

use warpforge_tensor::TensorError;

/// A directory that cannot be read or written as a bundle or as results.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoldenError {
    /// A file that is missing, damaged, or not what the manifest says.
    #[error("{}: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file of tensors that cannot be read or written.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// A message about a file.
pub(crate) fn wrong(path: &Path, reason: impl fmt::Display) -> GoldenError {
    GoldenError::File { path: path.to_owned(), reason: reason.to_string() }
}

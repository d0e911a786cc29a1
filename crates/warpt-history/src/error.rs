//! What can go wrong in this crate, each with what was expected, what was found and where.

use std::path::{Path, PathBuf};

/// An error of the store or of what is read from it.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// A file or directory that could not be read or written.
    #[error("{action} {}: {source}", path.display())]
    File {
        /// What was attempted, such as `cannot write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of the store that holds something else than it should.
    #[error("{}: {detail}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where and why.
        detail: String,
    },
    /// A store written by a newer version.
    #[error("{}: format {found} is newer than {known}, the newest this warpt knows; update warpt", path.display())]
    Newer {
        /// The file that says so.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A record that cannot be kept.
    #[error("the record cannot be kept: {0}")]
    Unsuitable(String),
    /// A record file of the user's that cannot be read.
    #[error(transparent)]
    Record(#[from] warpt_bench::BenchError),
    /// A question that cannot be answered as it was asked.
    #[error("{0}")]
    Question(String),
}

impl HistoryError {
    /// A failed file operation.
    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
        source: std::io::Error,
    ) -> Self {
        Self::File { action, path: path.into(), source }
    }

    /// A file with the wrong content.
    pub(crate) fn malformed(path: &Path, detail: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), detail: detail.into() }
    }
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, HistoryError>;

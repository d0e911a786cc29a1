//! What can go wrong in this crate, each with what was expected, what was found and what to do.

use std::path::PathBuf;

/// An error of selection, of running, or of the record.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A name that nothing answers to.
    #[error("unknown {what} {found:?}{}", suggestion(.nearest))]
    Unknown {
        /// What kind of name: suite, component, benchmark, parameter.
        what: &'static str,
        /// The name given.
        found: String,
        /// The nearest valid names.
        nearest: Vec<String>,
    },
    /// A name that stands for several things.
    #[error("benchmark {found:?} exists in several suites; name one: {}", .candidates.join(", "))]
    Ambiguous {
        /// The name given.
        found: String,
        /// What it could mean.
        candidates: Vec<String>,
    },
    /// A selection that holds nothing.
    #[error("nothing to run: {0}")]
    EmptySelection(String),
    /// A parameter value of the wrong type or out of range.
    #[error("parameter {name}: expected {expected}, found {found:?}")]
    BadParameter {
        /// The parameter.
        name: String,
        /// What it takes.
        expected: String,
        /// What was given.
        found: String,
    },
    /// A file that could not be read or written.
    #[error("{action} {}: {cause}{}", path.display(), advice(cause))]
    File {
        /// What was attempted, such as `cannot write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said; not a source, which would be said twice.
        cause: std::io::Error,
    },
    /// A file that is not a result record this version can read.
    #[error("{}: not a benchmark record: {detail}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where and why.
        detail: String,
    },
    /// A child process that did not do its part.
    #[error("{program}: {detail}")]
    Child {
        /// The program.
        program: String,
        /// What happened.
        detail: String,
    },
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl BenchError {
    /// An unknown name with its nearest valid ones.
    pub fn unknown(what: &'static str, found: &str, nearest: Vec<String>) -> Self {
        Self::Unknown { what, found: found.chars().take(80).collect(), nearest }
    }

    /// A failed file operation.
    pub fn file(action: &'static str, path: impl Into<PathBuf>, cause: std::io::Error) -> Self {
        Self::File { action, path: path.into(), cause }
    }
}

fn suggestion(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        several => format!("; did you mean one of {}?", several.join(", ")),
    }
}

fn advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            " (choose a writable place with --export-file PATH)"
        }
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            " (free some space or choose another place with --export-file PATH)"
        }
        std::io::ErrorKind::NotFound => " (does the directory exist?)",
        _ => "",
    }
}

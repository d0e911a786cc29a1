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
    #[error("needs {needed} bytes of memory at {place}, above the limit of {limit}")]
    Memory {
        /// The bytes needed at once.
        needed: u64,
        /// The bytes allowed.
        limit: u64,
        /// The op at work when the most is needed.
        place: Box<Place>,
    },
    /// More steps, or calls within calls, than allowed.
    #[error("{0}")]
    Limit(String),
    /// Threads that cannot be had or placed.
    #[error("{0}")]
    Threads(String),
    /// Another process, which this one waits for, has ended or does not come; why is for that one to say.
    #[error("{0}")]
    Left(String),
    /// The run was asked to stop.
    #[error("stopped before it was finished")]
    Cancelled,
    /// Whoever watched the run could not go on.
    #[error("{0}")]
    Observer(String),
    /// A tensor that cannot be made; the verifier should have refused the program.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// Any of these, with the op it happened in.
    #[error("{place}: {cause}")]
    At {
        /// The op.
        place: Box<Place>,
        /// What happened.
        cause: Box<EngineError>,
    },
}

/// An op of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The function it is in.
    pub function: String,
    /// The op's name.
    pub op: String,
    /// The name of its first result in the text, without `%`; empty where it has none.
    pub result: String,
    /// Where it stands in the text, in bytes; 0 for programs that did not come from text.
    pub offset: usize,
    /// Where it comes from in the user's model, where the exporter said so.
    pub location: Option<String>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.op)?;
        if !self.result.is_empty() {
            write!(formatter, " (%{})", self.result)?;
        }
        write!(formatter, " in @{}", self.function)?;
        match &self.location {
            Some(location) => write!(formatter, " from {location:?}"),
            None => Ok(()),
        }
    }
}

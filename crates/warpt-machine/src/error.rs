//! The one error type of this crate: what a caller asked for that cannot be done. A fact that cannot be read is
//! not an error but a [`Reason`](crate::source::Reason).

/// What can go wrong when a caller asks this crate for something.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The monitor was asked for an interval it cannot keep.
    #[error(
        "the monitor interval must be between {minimum_seconds} s and {maximum_seconds} s, not {found_seconds} s"
    )]
    MonitorInterval {
        /// The interval asked for.
        found_seconds: f64,
        /// The shortest interval allowed.
        minimum_seconds: f64,
        /// The longest interval allowed.
        maximum_seconds: f64,
    },
    /// The monitor's thread could not be started.
    #[error("the monitor thread could not be started: {0}")]
    MonitorThread(#[source] std::io::Error),
    /// A monitor file is not the JSON array of records it should be.
    #[error("not a monitor timeline: expected a JSON array of records: {0}")]
    MonitorFile(#[source] serde_json::Error),
}

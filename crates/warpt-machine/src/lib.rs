//! What this machine is, how quiet it is, and what it is doing.
//!
//! `inventory` describes the machine once, `preflight` says what makes it a noisy place to measure, `conditions`
//! says what happened on it during a measurement, and `monitor` samples it over time. Facts that cannot be read
//! carry the reason; nothing here prints.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod absent;
mod affinity;
#[cfg(test)]
mod captured;
pub mod cgroup;
pub mod conditions;
pub mod counters;
pub mod cpulist;
pub mod energy;
mod error;
pub mod gpu;
pub mod inventory;
pub mod monitor;
mod mounts;
pub mod preflight;
pub mod probe;
pub mod redact;
pub mod resource_usage;
pub mod source;
pub mod time;
pub mod topology;

pub use error::MachineError;

//! What this machine is, how quiet it is, and what it is doing.
//!
//! `inventory` describes the machine once, `preflight` says what makes it a noisy place to measure, `conditions`
//! says what happened on it during a measurement, and `monitor` samples it over time. Facts that cannot be read
//! carry the reason; nothing here prints.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod affinity;
pub mod cgroup;
pub mod cpulist;
pub mod inventory;
mod mounts;
pub mod probe;
pub mod redact;
pub mod source;
pub mod topology;

//! The micro suite: one benchmark per module, each small enough to know what it measures.

pub mod disk;
pub mod gpu;
mod latencies;
pub mod net;
pub mod process;
pub mod sync;

//! The micro suite: one benchmark per module, each small enough to know what it measures.

pub mod disk;
pub mod net;

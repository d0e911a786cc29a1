//! The code near the hardware: vector and matrix units, memory streams, pointer chases, pinned threads, mapped
//! memory. Everything is chosen at run time from what the CPU has; every variant computes something that can be
//! checked exactly. `unsafe` lives in these modules and nowhere else in the crate.

pub mod amx;
pub mod buffer;
pub mod clock;
pub mod gemm;
pub mod peak;
pub mod workers;

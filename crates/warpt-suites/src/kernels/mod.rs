//! The code near the hardware: vector and matrix units, memory streams, pointer chases, pinned threads, mapped
//! memory. Everything is chosen at run time from what the CPU has; every variant computes something that can be
//! checked exactly. `unsafe` is confined to these modules and the memory they map.

pub mod amx;
pub mod buffer;
pub mod chase;
pub mod clock;
pub mod gemm;
pub mod peak;
pub mod stream;
pub mod sweep;
pub mod workers;

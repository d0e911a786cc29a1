//! Statistics that hold on a noisy machine. Pure: no I/O, no clocks, no global state; random numbers come from
//! a seeded generator that the caller owns.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

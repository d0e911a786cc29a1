//! Runs StableHLO programs. The reference interpreter is slow, right and the oracle of every faster way to run one:
//! it walks the parsed, unoptimized program and shares neither passes nor kernels with anything else.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod error;
pub mod interface;
pub mod reference;
pub mod summary;

pub use error::{EngineError, Place};

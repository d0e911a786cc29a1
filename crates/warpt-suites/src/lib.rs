//! The benchmark suites, and the one list of them.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod error;
pub mod kernels;

pub use error::SuiteError;

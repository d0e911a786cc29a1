//! The benchmark suites.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod error;
pub mod micro;

pub use error::SuiteError;

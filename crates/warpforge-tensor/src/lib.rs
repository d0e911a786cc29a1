//! Tensors of every element type StableHLO knows, their files, and how close two of them are.
//!
//! Pure: bytes in, bytes out. Nothing here knows about programs, machines or time.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod dtype;
mod shape;
pub mod small_float;

pub use dtype::{DType, Kind};
pub use shape::{Shape, ShapeError};

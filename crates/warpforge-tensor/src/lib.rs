//! Tensors of every element type StableHLO knows, their files, and how close two of them are.
//!
//! Pure but for the files it is asked to read and write ([`safetensors`], [`npy`]). Nothing here knows about programs,
//! machines or time.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bytes;
mod comparison;
mod dtype;
mod elements;
pub mod npy;
pub mod safetensors;
mod shape;
pub mod small_float;
mod tensor;
mod whole_file;

pub use bytes::Holder;
pub use comparison::{
    Bucket, Comparison, Counts, Histogram, NonFinitePolicy, Number, Preset, Tolerance, Worst,
    ulp_distance,
};
pub use dtype::{DType, Kind};
pub use elements::Elements;
pub use num_complex::Complex64;
pub use shape::{Shape, ShapeError};
pub use tensor::{Tensor, TensorError};

//! The correctness tier. Rules of its numbers are in docs/numerics.md: elements are widened exactly, computed in f64,
//! and rounded once to the result's type; sums and products are accumulated in f64.

mod body;
mod chlo;
mod collective;
mod control;
mod convolution;
mod custom_call;
mod dynamic_shape;
mod elementwise;
mod families;
mod fft;
mod host;
mod indexing;
mod interpreter;
mod linear_algebra;
mod liveness;
mod memory;
mod multiplication;
mod normalization;
mod number;
mod observer;
mod op;
mod place;
mod process_group;
mod processes;
mod product;
mod quantized;
mod random;
mod reduction;
mod rendezvous;
mod scalar;
mod scalar_program;
mod shape;
mod sliding;
mod sort;
mod strided;
#[cfg(test)]
mod tests;
mod transfer;
mod value;
mod window;

pub(crate) use custom_call::is_annotation;
pub use host::{Host, Stream};
pub(crate) use interpreter::check_input;
pub use interpreter::{Interpreter, Limits};
pub use memory::MemoryPlan;
pub use observer::{Observation, Observer};
pub use processes::{Grid, Process, Processes};
pub use value::Value;

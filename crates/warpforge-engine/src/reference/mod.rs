//! The correctness tier. Rules of its numbers are in docs/numerics.md: elements are widened exactly, computed in f64,
//! and rounded once to the result's type; sums and products are accumulated in f64.

mod body;
mod collective;
mod convolution;
mod fft;
mod indexing;
mod linear_algebra;
mod multiplication;
mod normalization;
mod number;
mod place;
mod process_group;
mod product;
mod quantized;
mod random;
mod reduction;
mod rendezvous;
mod sliding;
mod sort;
#[cfg(test)]
mod tests;
mod value;
mod window;

pub use value::Value;

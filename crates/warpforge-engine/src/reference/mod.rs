//! The correctness tier. Rules of its numbers are in docs/numerics.md: elements are widened exactly, computed in f64,
//! and rounded once to the result's type; sums and products are accumulated in f64.

mod body;
mod value;

pub use value::Value;

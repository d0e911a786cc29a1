//! Values while a program runs.

use warpforge_tensor::Tensor;

/// A value of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A tensor; a quantized one holds its stored integers.
    Tensor(Tensor),
    /// Several values as one.
    Tuple(Vec<Value>),
    /// An order between effects; there is nothing in it.
    Token,
}

//! Ops on each element by itself: arithmetic, functions, comparison, choice, conversion.
//!
//! Invariants: elements are widened exactly, computed in f64 (integers: i64, wrapping), and rounded once to the
//! result's type; shapes never change, except by `bitcast_convert`. All functions come from `libm`, so a result is
//! the same on every machine.

mod binary;
mod choice;
mod complex;
mod convert;
mod integer;
mod precision;
mod special;
mod unary;

use warpforge_tensor::Tensor;

use crate::EngineError;

pub(super) use binary::{binary, binary_scalar};
pub(super) use choice::{clamp, clamp_scalar, compare, compare_scalars, select};
pub(super) use convert::{bitcast_convert, convert, convert_scalar};
pub(super) use precision::reduce_precision;
pub(super) use unary::{unary, unary_scalar};

fn mapped<T: Copy>(mut values: Vec<T>, function: impl Fn(T) -> T) -> Vec<T> {
    for value in &mut values {
        *value = function(*value);
    }
    values
}

fn zipped<T: Copy>(mut values: Vec<T>, others: &[T], function: impl Fn(T, T) -> T) -> Vec<T> {
    for (value, other) in values.iter_mut().zip(others) {
        *value = function(*value, *other);
    }
    values
}

fn unsupported(name: &str, operand: &Tensor) -> EngineError {
    EngineError::Unsupported(format!("{name} of elements of type {}", operand.dtype()))
}

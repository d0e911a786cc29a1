//! Cholesky decompositions and triangular systems, real and complex, for batches of matrices.
//!
//! Everything is computed in f64 and rounded once. A matrix that is not positive definite has a decomposition of NaNs.

use std::ops::{Div, Mul, Sub};

use warpforge_hlo::TensorType;
use warpforge_hlo::ir::Transpose;
use warpforge_tensor::{Complex64, Elements, Tensor};

use super::number::widened;
use super::place::{shape_of, wrong};
use crate::EngineError;

/// What matrices are made of.
trait Field: Copy + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + From<f64> {
    fn conjugate(self) -> Self;
    fn real(self) -> f64;
}

impl Field for f64 {
    fn conjugate(self) -> Self {
        self
    }

    fn real(self) -> f64 {
        self
    }
}

impl Field for Complex64 {
    fn conjugate(self) -> Self {
        self.conj()
    }

    fn real(self) -> f64 {
        self.re
    }
}

/// The last two sizes.
fn matrix(sizes: &[usize]) -> Result<(usize, usize), EngineError> {
    match sizes {
        [.., rows, columns] => Ok((*rows, *columns)),
        _ => Err(wrong("a matrix has two dimensions")),
    }
}

/// The triangular matrix whose product with its adjoint is the operand; zeros in the other triangle. Only the triangle
/// that comes out is read.
pub(super) fn cholesky(
    lower: bool,
    operand: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let (size, columns) = matrix(operand.shape().sizes())?;
    if size != columns {
        return Err(wrong(format!("a matrix of {size} by {columns} has no decomposition")));
    }
    let mut elements = widened(operand, result.storage())?;
    match &mut elements {
        Elements::Floats(values) => decompose(values, size, lower),
        Elements::Complex(values) => decompose(values, size, lower),
        Elements::Integers(_) => {
            return Err(EngineError::Unsupported("cholesky of integers".into()));
        }
    }
    Ok(Tensor::from_elements(result.storage(), shape_of(result)?, &elements)?)
}

fn decompose<T: Field>(values: &mut [T], size: usize, lower: bool) {
    if size == 0 {
        return;
    }
    for matrix in values.chunks_exact_mut(size * size) {
        // The upper factor is the adjoint of the lower one.
        let place = |row: usize, column: usize| match lower {
            true => row * size + column,
            false => column * size + row,
        };
        let turned = |value: T| if lower { value } else { value.conjugate() };
        let mut definite = true;
        for column in 0..size {
            for row in column..size {
                let mut sum = turned(matrix[place(row, column)]);
                for inner in 0..column {
                    let left = turned(matrix[place(row, inner)]);
                    let right = turned(matrix[place(column, inner)]);
                    sum = sum - left * right.conjugate();
                }
                let value = if row == column {
                    definite &= sum.real() > 0.0 && sum.real().is_finite();
                    T::from(sum.real().sqrt())
                } else {
                    sum / turned(matrix[place(column, column)])
                };
                matrix[place(row, column)] = turned(value);
            }
        }
        for row in 0..size {
            for column in 0..size {
                let own = if lower { column <= row } else { row <= column };
                if !own {
                    matrix[row * size + column] = T::from(0.0);
                } else if !definite {
                    matrix[row * size + column] = T::from(f64::NAN);
                }
            }
        }
    }
}

/// How a triangular matrix is meant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Triangle {
    /// Whether the matrix stands left of the unknowns.
    pub(super) left_side: bool,
    /// Which triangle is read.
    pub(super) lower: bool,
    /// Whether its diagonal is taken as ones.
    pub(super) unit_diagonal: bool,
    /// What is done to it first.
    pub(super) transpose: Transpose,
}

/// The solutions of triangular systems.
pub(super) fn triangular_solve(
    triangle: Triangle,
    a: &Tensor,
    b: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let (size, columns) = matrix(a.shape().sizes())?;
    let unknowns = matrix(b.shape().sizes())?;
    let length = if triangle.left_side { unknowns.0 } else { unknowns.1 };
    let batches = |tensor: &Tensor| {
        let sizes = tensor.shape().sizes();
        sizes[..sizes.len() - 2].to_vec()
    };
    if size != columns || length != size || batches(a) != batches(b) {
        return Err(wrong(format!("{} does not fit the matrices {}", b.shape(), a.shape())));
    }
    let dtype = result.storage();
    let elements = match (widened(a, dtype)?, widened(b, dtype)?) {
        (Elements::Floats(a), Elements::Floats(mut b)) => {
            solve(triangle, &a, &mut b, size, unknowns);
            Elements::Floats(b)
        }
        (Elements::Complex(a), Elements::Complex(mut b)) => {
            solve(triangle, &a, &mut b, size, unknowns);
            Elements::Complex(b)
        }
        _ => return Err(EngineError::Unsupported("a triangular system of integers".into())),
    };
    Ok(Tensor::from_elements(dtype, shape_of(result)?, &elements)?)
}

/// Solves every system in place. Unknowns right of the matrix are columns; left of it they are rows, which solve the
/// transposed system.
fn solve<T: Field>(
    triangle: Triangle,
    a: &[T],
    b: &mut [T],
    size: usize,
    (rows, columns): (usize, usize),
) {
    let flipped = (triangle.transpose != Transpose::No) == triangle.left_side;
    let lower = triangle.lower != flipped;
    let (vectors, step, apart) =
        if triangle.left_side { (columns, columns, 1) } else { (rows, 1, columns) };
    if size == 0 || vectors == 0 {
        return;
    }
    for (a, b) in a.chunks_exact(size * size).zip(b.chunks_exact_mut(rows * columns)) {
        let coefficient = |row: usize, column: usize| {
            let value = if flipped { a[column * size + row] } else { a[row * size + column] };
            if triangle.transpose == Transpose::Adjoint { value.conjugate() } else { value }
        };
        for vector in 0..vectors {
            let place = |row: usize| vector * apart + row * step;
            for count in 0..size {
                let row = if lower { count } else { size - 1 - count };
                let known = if lower { 0..row } else { row + 1..size };
                let mut sum = b[place(row)];
                for column in known {
                    sum = sum - coefficient(row, column) * b[place(column)];
                }
                if !triangle.unit_diagonal {
                    sum = sum / coefficient(row, row);
                }
                b[place(row)] = sum;
            }
        }
    }
}

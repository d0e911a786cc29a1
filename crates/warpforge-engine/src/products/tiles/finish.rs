//! What is done to a tile when its sums are there: what follows the product, and where the result belongs.
#![allow(unsafe_code)]

use warpforge_tensor::DType;

use super::line;
use super::tile::Tile;
use crate::EngineError;
use crate::epilogue::{Activation, Tail, With};
use crate::loops::{Isa, activate};
use crate::products::recognize::stride_in;
use crate::products::{Index, Product};
use crate::view::View;

/// How a matrix lies: its first element, and the distances by row and column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lying {
    start: isize,
    row: isize,
    pub(super) column: isize,
    pub(super) dtype: DType,
}

/// One thing that follows.
#[derive(Debug, Clone)]
enum Step {
    /// An input is added or multiplied: how it lies for the first matrix, and the distances by the indices of the batch.
    With {
        op: With,
        input: usize,
        lying: Lying,
        batch: Vec<isize>,
    },
    Activation(Activation),
}

/// What follows a product, and how its result lies.
#[derive(Debug, Clone)]
pub(super) struct Finish {
    steps: Vec<Step>,
    out: Lying,
}

/// The same for one matrix of the batch.
pub(super) struct FinishAt {
    steps: Vec<StepAt>,
    out: Lying,
}

enum StepAt {
    With { op: With, input: usize, lying: Lying },
    Activation(Activation),
}

/// A tile's part of the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) rows: usize,
    pub(super) column: usize,
    pub(super) columns: usize,
}

impl Finish {
    /// Of a product; not of every one.
    pub(super) fn new(product: &Product) -> Result<Self, EngineError> {
        let step = |tail: &Tail| match tail {
            Tail::Activation(activation) => Ok(Step::Activation(*activation)),
            Tail::With { op, operand, dtype, view } => {
                let own = View::row_major(&view.sizes);
                let stride = |index: &Index| {
                    let stride = match index.size {
                        1 => Some(0),
                        size => stride_in(&own, view, size, index.own),
                    };
                    let uneven =
                        || EngineError::Unsupported("a summand at uneven distances".into());
                    stride.ok_or_else(uneven)
                };
                let (row, column) = (stride(&product.rows)?, stride(&product.columns)?);
                Ok(Step::With {
                    op: *op,
                    input: *operand,
                    lying: Lying { start: view.offset, row, column, dtype: *dtype },
                    batch: product.batch.iter().map(stride).collect::<Result<_, _>>()?,
                })
            }
        };
        let steps = product.tails.iter().map(step).collect::<Result<_, EngineError>>()?;
        let (row, column) = (product.rows.out, product.columns.out);
        let out = Lying { start: 0, row, column, dtype: product.dtypes[2] };
        Ok(Self { steps, out })
    }

    /// For a matrix of the batch.
    pub(super) fn at(&self, product: &Product, number: usize) -> FinishAt {
        let [_, _, start] = product.starts(number);
        let step = |step: &Step| match step {
            Step::Activation(activation) => StepAt::Activation(*activation),
            Step::With { op, input, lying, batch } => {
                let (mut start, mut number) = (lying.start, number);
                for (index, stride) in product.batch.iter().zip(batch).rev() {
                    start += (number % index.size.max(1)) as isize * stride;
                    number /= index.size.max(1);
                }
                StepAt::With { op: *op, input: *input, lying: Lying { start, ..*lying } }
            }
        };
        FinishAt {
            steps: self.steps.iter().map(step).collect(),
            out: Lying { start: self.out.start + start, ..self.out },
        }
    }
}

impl Lying {
    /// Where a row of a place begins.
    #[inline(always)]
    fn at(&self, place: &Place, row: usize) -> isize {
        self.start + (place.row + row) as isize * self.row + place.column as isize * self.column
    }
}

impl FinishAt {
    /// Adds the sums of earlier slices.
    ///
    /// # Safety
    ///
    /// `out` leads to the result, of f32, the place is in it, and nobody writes it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn add_what_is_there(&self, tile: &mut Tile, place: &Place, out: *const u8) {
        // SAFETY: the caller's promise.
        unsafe { combine(With::Add, tile, place, out, &self.out) };
    }

    /// Does what follows the product.
    ///
    /// # Safety
    ///
    /// The inputs are those of the kernel.
    #[inline(always)]
    pub(super) unsafe fn follow(&self, tile: &mut Tile, place: &Place, inputs: &[*const u8]) {
        for step in &self.steps {
            match step {
                StepAt::Activation(activation) => {
                    let rows = tile.rows_mut(place.rows).as_flattened_mut();
                    activate(Isa::detected(), *activation, rows);
                }
                StepAt::With { op, input, lying } => {
                    // SAFETY: the caller's promise.
                    unsafe { combine(*op, tile, place, inputs[*input], lying) };
                }
            }
        }
    }

    /// Puts the tile where it belongs.
    ///
    /// # Safety
    ///
    /// `out` leads to the result, the place is in it, and nobody else uses it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn store(&self, tile: &Tile, place: &Place, out: *mut u8) {
        for (row, numbers) in tile.rows(place.rows).iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { line::store(numbers, out, &self.out, self.out.at(place, row), place.columns) };
        }
    }
}

/// Adds or multiplies each element with another one.
///
/// # Safety
///
/// `from` leads to the matrix that lies so, and the place is in it.
#[inline(always)]
unsafe fn combine(op: With, tile: &mut Tile, place: &Place, from: *const u8, lying: &Lying) {
    for (row, numbers) in tile.rows_mut(place.rows).iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { line::combine(op, numbers, from, lying, lying.at(place, row), place.columns) };
    }
}

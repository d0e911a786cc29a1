//! What is done to a tile when its sums are there: what follows the product, and where the result belongs.
#![allow(unsafe_code)]

use warpforge_tensor::DType;

use super::tile::{COLUMNS, Tile};
use crate::EngineError;
use crate::epilogue::{Activation, Tail, With};
use crate::loops::{Isa, activate};
use crate::products::Product;
use crate::products::recognize::stride_in;
use crate::view::View;

/// One thing that follows.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Another matrix is added or multiplied: an input, its first element, and its distances by row and column.
    With {
        op: With,
        input: usize,
        offset: isize,
        row: isize,
        column: isize,
    },
    Activation(Activation),
}

/// What follows a product, and how its result lies.
#[derive(Debug, Clone)]
pub(super) struct Finish {
    steps: Vec<Step>,
    row: isize,
    column: isize,
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
            Tail::With { op, operand, dtype: DType::F32, view } => {
                let own = View::row_major(&view.sizes);
                let stride = |size, step| match size {
                    1 => Some(0),
                    size => stride_in(&own, view, size, step),
                };
                let row = stride(product.rows.size, product.rows.own);
                let column = stride(product.columns.size, product.columns.own);
                let uneven = || EngineError::Unsupported("a summand at uneven distances".into());
                Ok(Step::With {
                    op: *op,
                    input: *operand,
                    offset: view.offset,
                    row: row.ok_or_else(uneven)?,
                    column: column.ok_or_else(uneven)?,
                })
            }
            Tail::With { dtype, .. } => {
                Err(EngineError::Unsupported(format!("a summand of {dtype:?} beside tiles of f32")))
            }
        };
        let steps = product.tails.iter().map(step).collect::<Result<_, _>>()?;
        Ok(Self { steps, row: product.rows.out, column: product.columns.out })
    }

    /// Where a place begins in the result.
    fn start(&self, place: &Place) -> isize {
        place.row as isize * self.row + place.column as isize * self.column
    }

    /// Adds the sums of earlier slices.
    ///
    /// # Safety
    ///
    /// `out` leads to the result, the place is in it, and nobody writes it meanwhile.
    pub(super) unsafe fn add_what_is_there(&self, tile: &mut Tile, place: &Place, out: *const f32) {
        // SAFETY: the caller's promise.
        unsafe {
            let from = out.offset(self.start(place));
            combine(With::Add, tile, place, from, self.row, self.column);
        }
    }

    /// Does what follows the product.
    ///
    /// # Safety
    ///
    /// The inputs are those of the kernel.
    pub(super) unsafe fn follow(&self, tile: &mut Tile, place: &Place, inputs: &[*const u8]) {
        for step in &self.steps {
            match *step {
                Step::Activation(activation) => {
                    let rows = tile.rows_mut(place.rows).as_flattened_mut();
                    activate(Isa::detected(), activation, rows);
                }
                Step::With { op, input, offset, row, column } => {
                    let start = offset + place.row as isize * row + place.column as isize * column;
                    // SAFETY: the caller's promise.
                    unsafe {
                        let from = inputs[input].cast::<f32>().offset(start);
                        combine(op, tile, place, from, row, column);
                    }
                }
            }
        }
    }

    /// Puts the tile where it belongs.
    ///
    /// # Safety
    ///
    /// `out` leads to the result, the place is in it, and nobody else uses it meanwhile.
    pub(super) unsafe fn store(&self, tile: &Tile, place: &Place, out: *mut f32) {
        for (number, values) in tile.rows(place.rows).iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                let to = out.offset(self.start(place) + number as isize * self.row);
                if self.column == 1 && place.columns == COLUMNS {
                    to.cast::<[f32; COLUMNS]>().write_unaligned(*values);
                } else {
                    for (column, value) in values[..place.columns].iter().enumerate() {
                        *to.offset(column as isize * self.column) = *value;
                    }
                }
            }
        }
    }
}

/// Adds or multiplies each element with another one.
///
/// # Safety
///
/// `from` leads to the one for the place's first element, and all others are at these distances.
unsafe fn combine(
    op: With,
    tile: &mut Tile,
    place: &Place,
    from: *const f32,
    row: isize,
    column: isize,
) {
    for (number, values) in tile.rows_mut(place.rows).iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        let others = unsafe {
            let line = from.offset(number as isize * row);
            match column {
                0 => [*line; COLUMNS],
                1 if place.columns == COLUMNS => line.cast::<[f32; COLUMNS]>().read_unaligned(),
                _ => {
                    let mut others = [0.0; COLUMNS];
                    for (at, other) in others[..place.columns].iter_mut().enumerate() {
                        *other = *line.offset(at as isize * column);
                    }
                    others
                }
            }
        };
        match op {
            With::Add => values.iter_mut().zip(others).for_each(|(value, other)| *value += other),
            With::Multiply => {
                values.iter_mut().zip(others).for_each(|(value, other)| *value *= other);
            }
        }
    }
}

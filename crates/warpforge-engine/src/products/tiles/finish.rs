//! What is done to a tile when its sums are there: what follows the product, and where the result belongs.
#![allow(unsafe_code)]

use warpforge_tensor::DType;

use super::multiplier::Sums;
use super::rows::{Beside, MOST, pass};
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
    column: isize,
    dtype: DType,
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

/// The same for one matrix of the batch: what is combined with other matrices in one go, and what follows that.
pub(super) struct FinishAt {
    passes: Vec<Pass>,
    out: Lying,
}

struct Pass {
    others: Vec<(With, usize, Lying)>,
    /// Where there is none, the result is written.
    then: Option<Activation>,
}

/// A tile's part of the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) row: usize,
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
        let mut passes = Vec::with_capacity(1);
        let mut others = Vec::new();
        for step in &self.steps {
            match step {
                Step::Activation(activation) => passes
                    .push(Pass { others: std::mem::take(&mut others), then: Some(*activation) }),
                Step::With { op, input, lying, batch } => {
                    let (mut start, mut number) = (lying.start, number);
                    for (index, stride) in product.batch.iter().zip(batch).rev() {
                        start += (number % index.size.max(1)) as isize * stride;
                        number /= index.size.max(1);
                    }
                    others.push((*op, *input, Lying { start, ..*lying }));
                }
            }
        }
        passes.push(Pass { others, then: None });
        FinishAt { passes, out: Lying { start: self.out.start + start, ..self.out } }
    }
}

impl Lying {
    /// What is beside a tile at some place.
    #[inline(always)]
    fn beside(&self, place: &Place, from: *mut u8) -> Beside {
        let at = self.start + place.row as isize * self.row + place.column as isize * self.column;
        let start = from.wrapping_offset(at * self.dtype.bytes() as isize);
        Beside { start, row: self.row, column: self.column, dtype: self.dtype }
    }
}

impl FinishAt {
    /// Adds the sums of earlier slices.
    ///
    /// # Safety
    ///
    /// The machine has 512-bit vectors; `out` leads to the result, of f32, the place is in it, and nobody writes it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn add_what_is_there(&self, sums: &mut Sums, place: &Place, out: *mut u8) {
        let there = (With::Add, self.out.beside(place, out));
        // SAFETY: the caller's promise.
        unsafe { pass(sums, &[there], None, place.columns) };
    }

    /// Does what follows the product and puts the tile where it belongs.
    ///
    /// # Safety
    ///
    /// As for [`Self::store`], and the inputs are those of the kernel.
    #[inline(always)]
    pub(super) unsafe fn finish(
        &self,
        sums: &mut Sums,
        place: &Place,
        inputs: &[*const u8],
        out: *mut u8,
    ) {
        let nothing = (With::Add, self.out.beside(place, out));
        for Pass { others, then } in &self.passes {
            let mut beside = [nothing; MOST];
            let last = then.is_none().then_some(&nothing.1);
            let mut chunks = others.chunks(MOST).peekable();
            loop {
                let chunk = chunks.next().unwrap_or_default();
                for (beside, (op, input, lying)) in beside.iter_mut().zip(chunk) {
                    *beside = (*op, lying.beside(place, inputs[*input].cast_mut()));
                }
                let ends = chunks.peek().is_none();
                // SAFETY: the caller's promise.
                unsafe {
                    let others = &beside[..chunk.len()];
                    pass(sums, others, last.filter(|_| ends), place.columns);
                }
                if ends {
                    break;
                }
            }
            if let Some(activation) = then {
                activate(Isa::detected(), *activation, sums.as_flattened_mut());
            }
        }
    }

    /// Puts the tile where it belongs.
    ///
    /// # Safety
    ///
    /// The machine has 512-bit vectors; `out` leads to the result, the place is in it, and nobody else uses it meanwhile.
    #[inline(always)]
    pub(super) unsafe fn store(&self, sums: &mut Sums, place: &Place, out: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { pass(sums, &[], Some(&self.out.beside(place, out)), place.columns) };
    }
}

//! Products of few rows, as when a language model makes one token after the other: they are as fast as the right operand is
//! read, once, from memory. Its columns, whose numbers follow one another, are read as several streams side by side, each
//! asked for in advance; weights of bf16 that never change are read in 12 bits each, exactly (see [`short`]).
#![allow(unsafe_code)]

mod dots;
mod short;

use warpforge_tensor::DType;

use self::dots::{Columns, MOST_TOGETHER, STREAMS};
use self::short::Short;
use super::finish::{Finish, Place};
use super::multiplier::COLUMNS;
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
use crate::loops::Isa;
use crate::observe::{Phase, Phases};
use crate::pool::Pool;
use crate::products::Product;

/// Rows at most: with more the arithmetic takes longer than reading.
const MOST_ROWS: usize = 8;
/// Columns that are too short are over before a stream runs.
const LEAST_DEPTH: usize = 64;
/// Columns of one stream in a tile.
const EACH: usize = COLUMNS / STREAMS;

/// A product of few rows.
pub(crate) struct FewRows {
    product: Product,
    finish: Finish,
    /// The right operand in 12 bits, where it never changes.
    short: Option<Short>,
    phases: Phases,
    cost: Cost,
}

/// Where a launch reads and writes.
#[derive(Clone, Copy)]
struct Launch<'a> {
    inputs: &'a [*const u8],
    out: *mut u8,
}

// SAFETY: inputs are only read, and each element of the result is written by one task.
unsafe impl Sync for Launch<'_> {}

/// The sums of a tile.
#[repr(C, align(64))]
struct Sums([[f32; COLUMNS]; MOST_ROWS]);

/// Whether products like this one are read as streams on this machine.
pub(crate) fn takes(product: &Product) -> bool {
    let Product { rows, columns, depth, dtypes, .. } = product;
    let is_alike = dtypes[0] == dtypes[1];
    let is_known = dtypes.iter().all(|it| matches!(it, DType::F32 | DType::BF16 | DType::F16));
    let is_few = (1..=MOST_ROWS).contains(&rows.size) && columns.size >= COLUMNS;
    let in_order = depth.lhs == 1 && depth.rhs == 1 && depth.size >= LEAST_DEPTH;
    let whole = !product.handed.left && !product.handed.result && product.count() > 0;
    Isa::usable() == Isa::Avx512 && is_alike && is_known && is_few && in_order && whole
}

impl FewRows {
    /// Makes a product ready. `weights` leads to the right operand where it never changes.
    pub(crate) fn new(
        product: &Product,
        weights: Option<*const u8>,
        pool: &Pool,
        phases: Phases,
        cost: Cost,
    ) -> Result<Self, EngineError> {
        if !takes(product) {
            return Err(EngineError::Unsupported("a product of many rows".into()));
        }
        let finish = Finish::new(product)?;
        // SAFETY: the caller's promise: all elements that the strides reach are there.
        let short = weights.and_then(|weights| unsafe { Short::new(product, weights, pool) });
        let spared = short.as_ref().map_or(0, Short::spared_bytes);
        let cost = Cost { bytes: cost.bytes.saturating_sub(spared), ..cost };
        Ok(Self { product: product.clone(), finish, short, phases, cost })
    }

    /// Computes the result of one matrix of the batch for the columns of a tile.
    ///
    /// # Safety
    ///
    /// As for [`Kernel::launch`].
    unsafe fn multiply(&self, launch: &Launch<'_>, number: usize, tile: usize) {
        let Product { rows, columns, depth, operands, dtypes, .. } = &self.product;
        let [left, right] = *operands;
        let [left_start, right_start, _] = self.product.starts(number);
        let bytes = dtypes[0].bytes() as isize;
        let first = tile * COLUMNS;
        let count = COLUMNS.min(columns.size - first);
        let mut sums = Sums([[0.0; COLUMNS]; MOST_ROWS]);
        for turn in 0..EACH {
            // A tile at the edge has fewer columns: some are read twice there.
            let places: [usize; STREAMS] =
                std::array::from_fn(|stream| (stream * EACH + turn).min(count - 1));
            let place_of = |place: usize| {
                let start = right_start + (first + place) as isize * columns.rhs;
                launch.inputs[right].wrapping_offset(start * bytes)
            };
            for begin in (0..rows.size).step_by(MOST_TOGETHER) {
                let together = MOST_TOGETHER.min(rows.size - begin);
                let start = left_start + begin as isize * rows.lhs;
                let rows = dots::Rows {
                    start: launch.inputs[left].wrapping_offset(start * bytes),
                    step: rows.lhs * bytes,
                    count: together,
                };
                // SAFETY: the caller's promise: rows and columns are there; which instructions the machine has was asked.
                let dots = unsafe {
                    match (&self.short, dtypes[0]) {
                        (Some(short), _) => {
                            short.dots(&rows, places.map(|place| first + place), depth.size)
                        }
                        (None, DType::BF16) => {
                            dots::of_bf16(&rows, &Columns(places.map(place_of)), depth.size)
                        }
                        (None, DType::F16) => {
                            dots::of_f16(&rows, &Columns(places.map(place_of)), depth.size)
                        }
                        (None, _) => {
                            dots::of_f32(&rows, &Columns(places.map(place_of)), depth.size)
                        }
                    }
                };
                for (row, dots) in dots.iter().enumerate().take(together) {
                    for (place, dot) in places.iter().zip(dots) {
                        sums.0[begin + row][*place] = *dot;
                    }
                }
            }
        }
        let at = self.finish.at(&self.product, number);
        let place = Place { row: 0, column: first, columns: count };
        // SAFETY: the caller's promise; the tile lies within the result.
        unsafe { at.finish(&mut sums.0[..rows.size], &place, launch.inputs, launch.out) };
    }
}

impl Kernel for FewRows {
    fn backend(&self) -> &'static str {
        "streams"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn phases(&self) -> Option<&Phases> {
        Some(&self.phases)
    }

    fn held_bytes(&self) -> usize {
        self.short.as_ref().map_or(0, Short::held_bytes)
    }

    fn reads(&self, input: usize) -> bool {
        let [left, right] = self.product.operands;
        input == left
            || (input == right && self.short.is_none())
            || self.product.reads_in_tails(input)
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let launch = &Launch { inputs, out: outputs[0] };
        let tiles = self.product.columns.size.div_ceil(COLUMNS);
        pool.run(self.product.count() * tiles, &|task| {
            // SAFETY: the caller's promise.
            self.phases.timed(Phase::Products, || unsafe {
                self.multiply(launch, task / tiles, task % tiles);
            });
        });
        Ok(())
    }
}

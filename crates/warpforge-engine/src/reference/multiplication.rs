//! Sums of products, the inside of every product and convolution: blocks of both operands are brought into a form that
//! can be read in one sweep, and four rows meet four columns at a time.
//!
//! Invariant: each sum is taken in the order of its products, by one thread, so that neither blocks nor threads change
//! a result.

use std::ops::Range;

use super::number::Number;

/// How many rows meet how many columns at once.
pub(super) const LANES: usize = 4;
/// How many products of a sum are prepared at once.
const DEPTH: usize = 1024;
/// How many columns are prepared at once.
const COLUMNS: usize = 256;
/// Products that are worth a second thread.
const WORTH_A_THREAD: usize = 1 << 22;

/// Where the rows of an operand come from; the columns of the right one are its rows here.
pub(super) trait Rows<T>: Sync {
    /// Writes a part of a row to every fourth element of the panel, from `lane` on.
    fn fill(&self, batch: usize, row: usize, depth: Range<usize>, lane: usize, panel: &mut [T]);
}

/// How much there is to multiply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// Independent products.
    pub(super) batches: usize,
    /// Rows of the left operand.
    pub(super) rows: usize,
    /// Rows of the right operand.
    pub(super) columns: usize,
    /// The products of one sum.
    pub(super) depth: usize,
}

/// Rows of a tensor in any layout: the offsets of batches, of rows in them, and of elements in those, add up.
pub(super) struct Strided<'a, T> {
    /// The elements.
    pub(super) values: &'a [T],
    /// Where batches begin.
    pub(super) batches: Vec<usize>,
    /// Where rows begin in a batch.
    pub(super) rows: Vec<usize>,
    /// Where elements lie in a row.
    pub(super) depth: Vec<usize>,
}

impl<T: Number> Rows<T> for Strided<'_, T> {
    fn fill(&self, batch: usize, row: usize, depth: Range<usize>, lane: usize, panel: &mut [T]) {
        let values = &self.values[self.batches[batch] + self.rows[row]..];
        let slots = panel[lane..].iter_mut().step_by(LANES);
        for (slot, place) in slots.zip(&self.depth[depth]) {
            *slot = values[*place];
        }
    }
}

/// All sums: batches, rows, columns. The extent's number of sums is countable.
pub(super) fn multiply<T: Number>(extent: Extent, lhs: &dyn Rows<T>, rhs: &dyn Rows<T>) -> Vec<T> {
    let Extent { batches, rows, columns, depth } = extent;
    let mut sums = vec![T::ZERO; batches * rows * columns];
    if sums.is_empty() {
        return sums;
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(16);
    let mut panels = vec![T::ZERO; DEPTH.min(depth) * COLUMNS.min(columns.next_multiple_of(LANES))];
    for (batch, sums) in sums.chunks_exact_mut(rows * columns).enumerate() {
        for low in (0..depth).step_by(DEPTH) {
            let part = low..depth.min(low + DEPTH);
            let panel = LANES * part.len();
            for first in (0..columns).step_by(COLUMNS) {
                let last = columns.min(first + COLUMNS);
                for (column, lane) in (first..last).zip((0..LANES).cycle()) {
                    let start = (column - first) / LANES * panel;
                    rhs.fill(batch, column, part.clone(), lane, &mut panels[start..start + panel]);
                }
                let block = Block {
                    lhs,
                    batch,
                    depth: part.clone(),
                    columns: first..last,
                    width: columns,
                    panels: &panels[..(last - first).div_ceil(LANES) * panel],
                };
                let work = rows.saturating_mul(last - first).saturating_mul(part.len());
                let threads = threads.min(work / WORTH_A_THREAD + 1).min(rows.div_ceil(LANES));
                let share = rows.div_ceil(LANES).div_ceil(threads) * LANES;
                if threads == 1 {
                    block.add_to(0, sums);
                    continue;
                }
                std::thread::scope(|scope| {
                    for (number, sums) in sums.chunks_mut(share * columns).enumerate() {
                        let block = &block;
                        scope.spawn(move || block.add_to(number * share, sums));
                    }
                });
            }
        }
    }
    sums
}

/// A block of prepared columns, and what meets them.
struct Block<'a, T> {
    lhs: &'a dyn Rows<T>,
    batch: usize,
    depth: Range<usize>,
    columns: Range<usize>,
    /// All columns there are.
    width: usize,
    panels: &'a [T],
}

impl<T: Number> Block<'_, T> {
    /// Adds the block's products to the sums of some rows.
    fn add_to(&self, first_row: usize, sums: &mut [T]) {
        let mut panel = vec![T::ZERO; LANES * self.depth.len()];
        for (number, band) in sums.chunks_mut(LANES * self.width).enumerate() {
            let height = band.len() / self.width;
            for lane in 0..height {
                let row = first_row + number * LANES + lane;
                self.lhs.fill(self.batch, row, self.depth.clone(), lane, &mut panel);
            }
            let columns = self.columns.clone().step_by(LANES);
            for (column, right) in columns.zip(self.panels.chunks_exact(panel.len())) {
                let width = LANES.min(self.columns.end - column);
                let mut tile = [[T::ZERO; LANES]; LANES];
                for (row, tile) in band.chunks_exact(self.width).zip(&mut tile) {
                    tile[..width].copy_from_slice(&row[column..column + width]);
                }
                let tile = meet(tile, &panel, right);
                for (row, tile) in band.chunks_exact_mut(self.width).zip(&tile) {
                    row[column..column + width].copy_from_slice(&tile[..width]);
                }
            }
        }
    }
}

/// Adds the products of four rows with four columns to their sums.
fn meet<T: Number>(mut sums: [[T; LANES]; LANES], lhs: &[T], rhs: &[T]) -> [[T; LANES]; LANES] {
    let (lhs, _) = lhs.as_chunks::<LANES>();
    let (rhs, _) = rhs.as_chunks::<LANES>();
    for (left, right) in lhs.iter().zip(rhs) {
        for (sums, left) in sums.iter_mut().zip(left) {
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = sum.plus(left.times(*right));
            }
        }
    }
    sums
}

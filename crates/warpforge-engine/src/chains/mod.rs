//! A product, a loop over the rows it makes, and a product with what that makes: attention is such a chain. Done for a block of
//! rows at a time, what lies between them never leaves the cache.

#[cfg(feature = "onednn")]
mod library;
mod tiled;

#[cfg(feature = "onednn")]
pub(crate) use library::LibraryChain;
pub(crate) use tiled::TiledChain;

use crate::loops::{Extent, Lowering};
use crate::products::{Index, Product};

/// Where an operand of a part comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// An input of the cluster.
    Input(usize),
    /// The part before.
    Before,
}

/// A chain.
#[derive(Debug, Clone)]
pub(crate) struct Chain {
    pub(crate) first: Product,
    pub(crate) rows: Lowering,
    pub(crate) second: Product,
    /// For each part, where its operands come from.
    pub(crate) sources: [Vec<Source>; 3],
    /// Rows worked on at a time.
    pub(crate) block: usize,
}

/// Below so many elements between the parts, they stay in the cache anyway.
const LEAST_ELEMENTS: usize = 1 << 18;
/// A right operand that is larger is read from memory anew for every block of rows: weights are such, keys and values are not.
const LARGEST_RIGHT_BYTES: usize = 4 << 20;
/// Blocks of fewer rows keep the library from its best, more leave the cache.
const BLOCKS: std::ops::RangeInclusive<usize> = 32..=128;

/// How many rows a chain of these parts is worked on at a time; none where they are no chain. `before` is the operand of the
/// loop that the first product makes; the second product reads what the loop makes on its left.
pub(crate) fn block(
    first: &Product,
    rows: &Lowering,
    second: &Product,
    before: [usize; 2],
) -> Option<usize> {
    let (height, width) = (first.rows.size, first.columns.size);
    let elements = first.count().checked_mul(height)?.checked_mul(width)?;
    let kernel = &rows.kernel;
    let whole_rows = kernel.width.is_none()
        && kernel.row.is_none_or(|row| row == width)
        && kernel.elements == elements
        && elements >= LEAST_ELEMENTS;
    // Element by element what the first product makes, nothing else of it.
    let accesses = kernel.inputs.iter().filter(|access| access.operand == before[0]);
    let in_order = accesses.clone().count() > 0
        && accesses.clone().all(|access| {
            access.dimensions == [(elements, 1)]
                && access.offset == 0
                && access.dtype == first.dtypes[2]
        });
    let [output] = kernel.outputs.as_slice() else { return None };
    let fits = output.dtype == second.dtypes[0]
        && second.operands[0] == before[1]
        && second.operands[1] != before[1]
        && !second.reads_in_tails(before[1])
        && second.rows.size == height
        && second.depth.size == width
        && second.count() == first.count()
        && second.offsets[0] == 0;
    let dense = |rows: isize, columns: isize, batch: &[Index], step: fn(&Index) -> isize| {
        let mut dense = (height * width) as isize;
        let in_order = batch.iter().rev().all(|index| {
            let is = step(index) == dense;
            dense *= index.size as isize;
            is
        });
        in_order && columns == 1 && rows == width as isize
    };
    let laid_out = dense(first.rows.out, first.columns.out, &first.batch, |index| index.out)
        && dense(second.rows.lhs, second.depth.lhs, &second.batch, |index| index.lhs);
    let near = [first, second].iter().all(|product| {
        let elements = product.depth.size.saturating_mul(product.columns.size);
        elements.saturating_mul(product.dtypes[1].bytes()) <= LARGEST_RIGHT_BYTES
    });
    let is_chain = whole_rows && in_order && fits && laid_out && near;
    if !is_chain || output.extent != Extent::Element {
        return None;
    }
    BLOCKS.rev().find(|block| height.is_multiple_of(*block))
}

//! Products by tiles that stay in registers.
//!
//! Both operands are packed first: the right one into panels of as many columns as a tile has, once where it never changes;
//! the left one into strips of as many rows. A tile's sums are taken over a slice of the depth that keeps a block of strips in
//! the second-level cache, while the panel at hand passes through all of them; the next panel is fetched meanwhile. What
//! follows the product is done to each tile as it is finished.
//!
//! What always holds: an element's terms are added in the order of the depth within a slice, slices one after the other,
//! whatever the number of threads.
#![allow(unsafe_code)]

mod finish;
mod line;
mod multiplier;
mod pack;
mod tile;

use std::ops::Range;
use std::sync::Arc;

use warpforge_tensor::DType;

pub(crate) use self::multiplier::{Multiplier, Part};
pub(crate) use self::tile::ROWS;

use self::tile::COLUMNS;
use super::Product;
use crate::EngineError;
use crate::kernels::{Cost, Kernel, Scratch};
use crate::plan::Buffer;
use crate::pool::Pool;

/// Rows of a block: with the deepest slice three quarters of a second-level cache.
const BLOCK: usize = 384;
/// Panels of a task at most: what they read of the strips is then fetched once for all of them.
const PANELS: usize = 4;
/// Below so many rows a product is as fast as the right operand is read.
const LEAST_ROWS: usize = 48;

/// A product of f32 matrices by tiles.
pub(crate) struct TiledProduct {
    multiplier: Multiplier,
    /// The right operand's panels, where it never changes.
    panels: Option<Buffer>,
    scratch: Arc<Scratch>,
    cost: Cost,
}

/// Where a launch reads and writes.
#[derive(Clone, Copy)]
struct Launch<'a> {
    inputs: &'a [*const u8],
    /// The packed operands.
    strips: *mut f32,
    panels: *mut f32,
    out: *mut u8,
}

// SAFETY: what is packed is written by one task each and read only when all of them have ended; each element of the result
// is written by one task.
unsafe impl Sync for Launch<'_> {}

/// Bytes that a launch needs for a while, where the right operand never changes or may change.
pub(crate) fn scratch_bytes(product: &Product, fixed: bool) -> usize {
    let strips = (product.rows.size * product.depth.size).next_multiple_of(16);
    let panels = product.columns.size.next_multiple_of(COLUMNS) * product.depth.size;
    (strips + if fixed { 0 } else { panels }) * size_of::<f32>()
}

/// Whether products like this one are done by tiles on this machine.
pub(crate) fn takes(product: &Product) -> bool {
    let Product { rows, columns, depth, .. } = product;
    product.dtypes == [DType::F32; 3]
        && product.batch.is_empty()
        && rows.size >= LEAST_ROWS
        && columns.size >= COLUMNS
        && depth.size >= COLUMNS
        && Multiplier::new(product).is_ok()
}

/// Whether a product has so many rows that packing a right operand that changes, in each launch, is little beside it. It
/// matters where something else could take the product.
#[cfg(feature = "onednn")]
pub(crate) fn worth_packing(product: &Product) -> bool {
    const LEAST_ROWS: usize = 128;
    product.rows.size >= LEAST_ROWS
}

impl TiledProduct {
    /// Makes a product ready. `weights` leads to the right operand where it never changes.
    pub(crate) fn new(
        product: &Product,
        weights: Option<*const u8>,
        pool: &Pool,
        scratch: &Arc<Scratch>,
        cost: Cost,
    ) -> Result<Self, EngineError> {
        if !takes(product) {
            return Err(EngineError::Unsupported("a product that tiles do not take".into()));
        }
        let multiplier = Multiplier::new(product)?;
        scratch.reserve(scratch_bytes(product, weights.is_some()));
        let panels = weights.map(|weights| {
            let panels = Buffer::new(multiplier.panel_numbers() * size_of::<f32>());
            let launch = Launch {
                inputs: &[weights],
                strips: std::ptr::null_mut(),
                panels: panels.pointer().cast(),
                out: std::ptr::null_mut(),
            };
            let (launch, multiplier) = (&launch, &multiplier);
            pool.run(multiplier.panel_count(), &|panel| {
                // SAFETY: the caller's promise: all elements that the strides reach are there; there is room for all panels.
                unsafe { multiplier.pack_panel(launch.inputs[0], 0, panel, launch.panels) };
            });
            panels
        });
        Ok(Self { multiplier, panels, scratch: Arc::clone(scratch), cost })
    }
}

/// Cuts `0..count` into pieces of at most `most`, smaller towards the end, so that threads that take one after the other end
/// together.
fn shrinking(count: usize, most: usize, threads: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < count {
        let length = ((count - start) / (2 * threads.max(1))).clamp(1, most);
        pieces.push(start..start + length);
        start += length;
    }
    pieces
}

/// Cuts `0..count` into pieces of at most `length`, as equal as can be.
pub(crate) fn pieces(count: usize, length: usize) -> Vec<Range<usize>> {
    let each = count.div_ceil(count.div_ceil(length.max(1)).max(1));
    (0..count).step_by(each.max(1)).map(|start| start..(start + each).min(count)).collect()
}

impl Kernel for TiledProduct {
    fn backend(&self) -> &'static str {
        "tiles"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn held_bytes(&self) -> usize {
        self.panels.as_ref().map_or(0, Buffer::bytes)
    }

    fn reads(&self, input: usize) -> bool {
        let product = self.multiplier.product();
        let [left, right] = product.operands;
        input == left || (input == right && self.panels.is_none()) || product.reads_in_tails(input)
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let multiplier = &self.multiplier;
        let product = multiplier.product();
        let [left, right] = product.operands;
        let rows = product.rows.size;
        let room = self.scratch.take();
        let strips = room.pointer().cast::<f32>();
        let behind = strips.wrapping_add(multiplier.strip_numbers(rows).next_multiple_of(16));
        let panels = self.panels.as_ref().map_or(behind, |panels| panels.pointer().cast());
        let launch = &Launch { inputs, strips, panels, out: outputs[0] };
        let strip_count = rows.div_ceil(ROWS);
        let unpacked = if self.panels.is_some() { 0 } else { multiplier.panel_count() };
        pool.run(strip_count + unpacked, &|task| {
            let (inputs, to) = (launch.inputs, launch.strips);
            // SAFETY: the caller's promise; the room is as large as was reserved.
            unsafe {
                match task.checked_sub(strip_count) {
                    None => multiplier.pack_strip(inputs[left], 0, (0, rows), task, to),
                    Some(panel) => multiplier.pack_panel(inputs[right], 0, panel, launch.panels),
                }
            }
        });
        let blocks = pieces(strip_count, BLOCK / ROWS);
        let groups = shrinking(multiplier.panel_count(), PANELS, pool.threads());
        pool.run(blocks.len() * groups.len(), &|task| {
            let (block, group) = (&blocks[task / groups.len()], &groups[task % groups.len()]);
            let part = Part {
                number: 0,
                rows: (0, rows),
                strips: launch.strips,
                panels: launch.panels,
                inputs: launch.inputs,
                out: launch.out,
            };
            // SAFETY: the caller's promise; both operands are packed, and each task has a part of the result of its own.
            unsafe { multiplier.multiply(&part, block, group) };
        });
        Ok(())
    }
}

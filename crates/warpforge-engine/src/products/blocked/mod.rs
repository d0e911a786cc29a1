//! Products of f32 matrices by tiles that stay in registers.
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
mod pack;
mod tile;

use std::ops::Range;
use std::sync::Arc;

use warpforge_tensor::DType;

use self::finish::Finish;
use self::pack::Lines;
use self::tile::{COLUMNS, ROWS, Tile};
use super::Product;
use crate::EngineError;
use crate::kernels::{Cost, Kernel, Scratch};
use crate::loops::Isa;
use crate::plan::Buffer;
use crate::pool::Pool;

/// Depth of a slice at most: a panel's slice is then a sixteenth of a second-level cache.
const DEPTH: usize = 1024;
/// Rows of a block: with that depth three quarters of a second-level cache.
const BLOCK: usize = 384;
/// Tasks for each thread, so that one that is held up does not hold up the others.
const TASKS: usize = 8;
/// Below so many rows a product is as fast as the right operand is read.
const LEAST_ROWS: usize = 48;

/// A product by tiles.
pub(crate) struct Blocked {
    product: Product,
    finish: Finish,
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
    out: *mut f32,
}

// SAFETY: what is packed is written by one task each and read only when all of them have ended; each element of the result
// is written by one task.
unsafe impl Sync for Launch<'_> {}

/// Numbers of the packed left operand.
fn strip_numbers(product: &Product) -> usize {
    product.rows.size * product.depth.size
}

/// Numbers of the packed right operand.
fn panel_numbers(product: &Product) -> usize {
    product.columns.size.next_multiple_of(COLUMNS) * product.depth.size
}

/// Bytes that a launch needs for a while, where the right operand never changes or may change.
pub(crate) fn scratch_bytes(product: &Product, fixed: bool) -> usize {
    let panels = if fixed { 0 } else { panel_numbers(product) };
    (strip_numbers(product).next_multiple_of(16) + panels) * size_of::<f32>()
}

/// Whether products like this one are done by tiles on this machine.
pub(crate) fn takes(product: &Product) -> bool {
    let Product { rows, columns, depth, .. } = product;
    Isa::detected() == Isa::Avx512
        && product.dtypes == [DType::F32; 3]
        && product.batch.is_empty()
        && rows.size >= LEAST_ROWS
        && columns.size >= COLUMNS
        && depth.size >= COLUMNS
        && Finish::new(product).is_ok()
}

impl Blocked {
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
        let finish = Finish::new(product)?;
        scratch.reserve(scratch_bytes(product, weights.is_some()));
        let mut blocked = Self {
            product: product.clone(),
            finish,
            panels: None,
            scratch: Arc::clone(scratch),
            cost,
        };
        if let Some(weights) = weights {
            let panels = Buffer::new(panel_numbers(product) * size_of::<f32>());
            let mut inputs = vec![std::ptr::null(); product.operands[1] + 1];
            inputs[product.operands[1]] = weights;
            let (strips, out) = (std::ptr::null_mut(), std::ptr::null_mut());
            let launch = Launch { inputs: &inputs, strips, panels: panels.pointer().cast(), out };
            pool.run(blocked.panel_count(), &|panel| {
                // SAFETY: the caller's promise: all elements that the strides reach are there; there is room for all panels.
                unsafe { blocked.pack_panel(&launch, panel) };
            });
            blocked.panels = Some(panels);
        }
        Ok(blocked)
    }

    fn panel_count(&self) -> usize {
        self.product.columns.size.div_ceil(COLUMNS)
    }

    fn strip_count(&self) -> usize {
        self.product.rows.size.div_ceil(ROWS)
    }

    /// The slices of the depth, all but the last of one length.
    fn slices(&self) -> impl Iterator<Item = Range<usize>> {
        let depth = self.product.depth.size;
        let length = depth.div_ceil(depth.div_ceil(DEPTH));
        (0..depth).step_by(length).map(move |start| start..(start + length).min(depth))
    }

    /// Where a panel's slice begins among the packed numbers.
    fn panel_start(&self, panel: usize, slice: &Range<usize>) -> usize {
        slice.start * self.panel_count() * COLUMNS + panel * COLUMNS * slice.len()
    }

    /// Where a strip's slice begins among the packed numbers.
    fn strip_start(&self, strip: usize, slice: &Range<usize>) -> usize {
        slice.start * self.product.rows.size + strip * ROWS * slice.len()
    }

    /// Packs a panel of the right operand.
    ///
    /// # Safety
    ///
    /// The launch leads to the whole right operand and to room for its panels.
    unsafe fn pack_panel(&self, launch: &Launch<'_>, panel: usize) {
        let Product { columns, depth, .. } = &self.product;
        let first = panel * COLUMNS;
        let base = launch.inputs[self.product.operands[1]].cast::<f32>();
        for slice in self.slices() {
            let start = self.product.offsets[1]
                + first as isize * columns.rhs
                + slice.start as isize * depth.rhs;
            // SAFETY: the caller's promise; the panel's slice is as large as its lines.
            unsafe {
                Lines {
                    from: base.offset(start),
                    across: columns.rhs,
                    along: depth.rhs,
                    count: COLUMNS.min(columns.size - first),
                    length: slice.len(),
                }
                .pack(launch.panels.add(self.panel_start(panel, &slice)), COLUMNS);
            }
        }
    }

    /// Packs a strip of the left operand.
    ///
    /// # Safety
    ///
    /// The launch leads to the whole left operand and to room for its strips.
    unsafe fn pack_strip(&self, launch: &Launch<'_>, strip: usize) {
        let Product { rows, depth, .. } = &self.product;
        let first = strip * ROWS;
        let count = ROWS.min(rows.size - first);
        let base = launch.inputs[self.product.operands[0]].cast::<f32>();
        for slice in self.slices() {
            let start = self.product.offsets[0]
                + first as isize * rows.lhs
                + slice.start as isize * depth.lhs;
            // SAFETY: the caller's promise; the strip's slice is as large as its lines.
            unsafe {
                Lines {
                    from: base.offset(start),
                    across: rows.lhs,
                    along: depth.lhs,
                    count,
                    length: slice.len(),
                }
                .pack(launch.strips.add(self.strip_start(strip, &slice)), count);
            }
        }
    }

    /// Computes the result for some strips and panels.
    ///
    /// # Safety
    ///
    /// The launch leads to all operands, the packed ones complete, and to the result, of which nobody else writes this part.
    unsafe fn multiply(&self, launch: &Launch<'_>, strips: &Range<usize>, panels: &Range<usize>) {
        let Product { rows, columns, depth, .. } = &self.product;
        let mut tile = Tile::new();
        for slice in self.slices() {
            for panel in panels.clone() {
                // SAFETY: packed panels follow one another; beyond the last nothing is read, only asked for in advance.
                let right = unsafe { launch.panels.add(self.panel_start(panel, &slice)) };
                let next = right.wrapping_add(COLUMNS * slice.len());
                for (turn, strip) in strips.clone().enumerate() {
                    let first = strip * ROWS;
                    let count = ROWS.min(rows.size - first);
                    // A tile asks for a part of the next panel, so that all of it is there after a few of them.
                    let part = turn % tile::PARTS * COLUMNS * slice.len() / tile::PARTS;
                    // SAFETY: the caller's promise: the packed strips and panels are there, for this depth.
                    unsafe {
                        let left = launch.strips.add(self.strip_start(strip, &slice));
                        tile.multiply(count, slice.len(), left, right, next.wrapping_add(part));
                    }
                    let wide = COLUMNS.min(columns.size - panel * COLUMNS);
                    let place = finish::Place {
                        row: first,
                        rows: count,
                        column: panel * COLUMNS,
                        columns: wide,
                    };
                    let (begins, ends) = (slice.start == 0, slice.end == depth.size);
                    // SAFETY: the caller's promise; the tile lies within the result.
                    unsafe {
                        if !begins {
                            self.finish.add_what_is_there(&mut tile, &place, launch.out);
                        }
                        if ends {
                            self.finish.follow(&mut tile, &place, launch.inputs);
                        }
                        self.finish.store(&tile, &place, launch.out);
                    }
                }
            }
        }
    }
}

/// Cuts `0..count` into pieces of at most `length`.
fn pieces(count: usize, length: usize) -> Vec<Range<usize>> {
    let each = count.div_ceil(count.div_ceil(length.max(1)).max(1));
    (0..count).step_by(each.max(1)).map(|start| start..(start + each).min(count)).collect()
}

impl Kernel for Blocked {
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
        let [left, right] = self.product.operands;
        input == left
            || (input == right && self.panels.is_none())
            || self.product.reads_in_tails(input)
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let room = self.scratch.take();
        let strips = room.pointer().cast::<f32>();
        let behind = strips.wrapping_add(strip_numbers(&self.product).next_multiple_of(16));
        let panels = self.panels.as_ref().map_or(behind, |panels| panels.pointer().cast());
        let launch = Launch { inputs, strips, panels, out: outputs[0].cast() };
        let strip_count = self.strip_count();
        let unpacked = if self.panels.is_some() { 0 } else { self.panel_count() };
        pool.run(strip_count + unpacked, &|task| {
            // SAFETY: the caller's promise; the room is as large as was reserved.
            unsafe {
                match task.checked_sub(strip_count) {
                    None => self.pack_strip(&launch, task),
                    Some(panel) => self.pack_panel(&launch, panel),
                }
            }
        });
        let blocks = pieces(strip_count, BLOCK / ROWS);
        let per_block = (pool.threads() * TASKS).div_ceil(blocks.len());
        let groups = pieces(self.panel_count(), self.panel_count().div_ceil(per_block));
        pool.run(blocks.len() * groups.len(), &|task| {
            let (block, group) = (&blocks[task / groups.len()], &groups[task % groups.len()]);
            // SAFETY: the caller's promise; both operands are packed, and each task has a part of the result of its own.
            unsafe { self.multiply(&launch, block, group) };
        });
        Ok(())
    }
}

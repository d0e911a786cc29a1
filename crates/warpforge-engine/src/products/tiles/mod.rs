//! Products by tiles that stay in registers.
//!
//! Operands are packed: the right one into panels of as many columns as a tile has, once where it never changes; the left one
//! into strips of as many rows. What lies side by side already, at good distances, is read where it is. What follows the
//! product is done to each tile as it is finished. There are two forms: f32 in vector registers, and bf16 in the matrix unit
//! of processors that have one. Narrow numbers that the machine has no instructions for become f32 as they are packed.
//!
//! What always holds: an element's terms are added in an order that does not depend on the number of threads.
#![allow(unsafe_code)]

mod batch;
mod few;
mod finish;
mod matrices;
mod multiplier;
mod rows;
mod vectors;
mod wide;

use std::ops::Range;
use std::sync::Arc;

use warpforge_tensor::DType;

pub(crate) use self::batch::TiledBatch;
pub(crate) use self::few::FewRows;
pub(crate) use self::finish::{Finish, Lying, Out};
pub(crate) use self::matrices::{Image, WindowOperands, Windows};
pub(crate) use self::multiplier::{Multiplier, Panels, Part, Strips, spread};
pub(crate) use self::vectors::{GradientOperands, KernelGradient, Winograd};

use self::multiplier::COLUMNS;
use super::{Arithmetic, Product};
use crate::EngineError;
use crate::choices::Maker;
use crate::epilogue::overwritten;
use crate::kernels::{Cost, Kernel, Rooms, Scratch};
use crate::observe::{Phase, Phases};
use crate::plan::Buffer;
use crate::pool::Pool;
use crate::view::View;

/// Below so many rows a product is as fast as the right operand is read.
const LEAST_ROWS: usize = 48;

/// Panels that a task packs at most: columns that lie beside one another are a kilobyte then.
const PACKED_TOGETHER: usize = 8;

/// Whether this machine has a matrix unit for bf16.
pub(crate) fn has_matrix_unit() -> bool {
    matrices::available()
}

/// A product of matrices by tiles.
pub(crate) struct TiledProduct {
    multiplier: Multiplier,
    /// The right operand's panels, where it never changes.
    panels: Option<Buffer>,
    scratch: Arc<Scratch>,
    room: Room,
    threads: usize,
    phases: Phases,
    cost: Cost,
}

/// Where a launch keeps what, in bytes from the beginning of its room.
#[derive(Debug, Clone)]
struct Room {
    /// The rows of each task, where each packs its own.
    blocks: Option<Vec<Range<usize>>>,
    /// Bytes of the strips of a task that packs its own, one for each thread, and of all strips otherwise.
    strip_bytes: usize,
    /// The panels of a right operand that changes, behind the strips.
    panels: usize,
    /// Bytes of the panels of a task that packs its own, one for each thread.
    own_panels: Option<usize>,
    /// Sums, for each thread.
    sums: usize,
    sum_bytes: usize,
    bytes: usize,
}

impl Room {
    fn new(multiplier: &Multiplier, fixed: bool, threads: usize) -> Self {
        let rows = multiplier.product.rows.size;
        let block = rows.min(multiplier.block_rows());
        let blocks = multiplier.own_blocks(threads);
        let longest = |blocks: &Vec<Range<usize>>| blocks.iter().map(Range::len).max();
        let own_rows = blocks.as_ref().map(|blocks| longest(blocks).unwrap_or(0));
        let (strip_bytes, panels) = match own_rows {
            Some(rows) => {
                let each = multiplier.slice_bytes(rows);
                (each, each * threads.max(1))
            }
            None => {
                let all = multiplier.strip_bytes(rows).next_multiple_of(64);
                (all, all)
            }
        };
        let packed = !fixed && !multiplier.reads_columns();
        // A task that packs its own rows multiplies them with all panels.
        let own_panels = multiplier.own_panels().filter(|_| packed && blocks.is_none());
        let panel_bytes = match own_panels {
            Some(each) => each * threads.max(1),
            None if packed => multiplier.panel_bytes(),
            None => 0,
        };
        let sums = panels + panel_bytes;
        let sum_bytes = match own_rows {
            Some(rows) => multiplier.sum_bytes(rows, multiplier.panel_count()),
            None if own_panels.is_some() => multiplier.sum_bytes(rows, multiplier.group()),
            None => multiplier.sum_bytes(block, multiplier.group()),
        };
        let bytes = sums + sum_bytes * threads.max(1);
        Self { blocks, strip_bytes, panels, own_panels, sums, sum_bytes, bytes }
    }
}

/// Where a launch reads and writes.
#[derive(Clone, Copy)]
struct Launch<'a> {
    inputs: &'a [*const u8],
    /// The packed operands.
    strips: *mut u8,
    /// Where panels are packed or have been.
    panels: *mut u8,
    sums: *mut u8,
    out: *mut u8,
}

// SAFETY: what is packed is written by one task each and read only when all of them have ended; each element of the result
// is written by one task, sums only in a room that no other task has meanwhile.
unsafe impl Sync for Launch<'_> {}

/// Bytes that a launch needs for a while, where the right operand never changes or may change; none where tiles do not take
/// the product.
pub(crate) fn scratch_bytes(
    product: &Product,
    arithmetic: Arithmetic,
    fixed: bool,
    threads: usize,
) -> usize {
    let room = |multiplier: &Multiplier| Room::new(multiplier, fixed, threads).bytes;
    taken(product, arithmetic).as_ref().map_or(0, room)
}

/// Bytes that a right operand that never changes takes when it is packed; none where tiles do not take the product.
pub(crate) fn packed_bytes(product: &Product, arithmetic: Arithmetic) -> Option<usize> {
    taken(product, arithmetic).map(|multiplier| multiplier.panel_bytes())
}

/// Whether products like this one are done by tiles on this machine.
pub(crate) fn takes(product: &Product, arithmetic: Arithmetic) -> bool {
    taken(product, arithmetic).is_some()
}

fn taken(product: &Product, arithmetic: Arithmetic) -> Option<Multiplier> {
    let Product { rows, columns, depth, .. } = product;
    let large = rows.size >= LEAST_ROWS && columns.size >= COLUMNS && depth.size >= COLUMNS;
    let alone = !super::is_for_library(product);
    if !product.batch.is_empty() || !(large || alone) || product.by == Some(Maker::Library) {
        return None;
    }
    let multiplier = Multiplier::new(product, arithmetic).ok()?;
    // Narrow numbers are the library's where it has instructions for them; where it has none it is far slower.
    let best = multiplier.is_by_matrices() || product.dtypes == [DType::F32; 3];
    (best || alone).then_some(multiplier)
}

/// Whether one product can hand its result to the next as that one packs it: rows that follow one another, whole tiles of
/// bf16, which the next one reads as its left operand. `fixed` says whose right operand never changes.
pub(crate) fn hands_over(
    products: [&Product; 2],
    fixed: [bool; 2],
    arithmetic: Arithmetic,
) -> bool {
    let [first, second] = products;
    let by_tiles = |(product, fixed): (&&Product, bool)| {
        (fixed || worth_packing(product))
            && taken(product, arithmetic).is_some_and(|multiplier| multiplier.is_by_halves())
    };
    let (rows, columns) = (first.rows, first.columns);
    let is_whole = rows.size % matrices::ROWS == 0 && columns.size % COLUMNS == 0;
    let is_written =
        first.dtypes[2] == DType::BF16 && columns.out == 1 && rows.out == columns.size as isize;
    let is_read = second.offsets[0] == 0
        && (second.rows.size, second.depth.size) == (rows.size, columns.size)
        && (second.rows.lhs, second.depth.lhs) == (rows.out, 1);
    is_whole && is_written && is_read && products.iter().zip(fixed).all(by_tiles)
}

/// The operand in whose place a product may write its result: one that is combined with the sums element by element, where
/// those are kept elsewhere until they are whole. `fixed` says whether the right operand never changes.
pub(crate) fn overwrites(product: &Product, fixed: bool, arithmetic: Arithmetic) -> Option<usize> {
    let by_tiles = (fixed || worth_packing(product))
        && !product.handed.result
        && taken(product, arithmetic).is_some_and(|multiplier| multiplier.is_by_matrices());
    let lies_so = |dtype: DType, view: &View| dtype == product.dtypes[2] && *view == product.result;
    by_tiles.then(|| overwritten(&product.tails, product.operands, lies_so))?
}

/// Whether a product has so many rows that packing a right operand that changes, in each launch, is little beside it. It
/// matters where something else could take the product.
pub(crate) fn worth_packing(product: &Product) -> bool {
    const LEAST_ROWS: usize = 128;
    product.rows.size >= LEAST_ROWS
        || product.by == Some(Maker::Tiles)
        || !super::is_for_library(product)
}

impl TiledProduct {
    /// Makes a product ready. `weights` leads to the right operand where it never changes.
    pub(crate) fn new(
        product: &Product,
        arithmetic: Arithmetic,
        weights: Option<*const u8>,
        pool: &Pool,
        scratch: &Arc<Scratch>,
        phases: Phases,
        cost: Cost,
    ) -> Result<Self, EngineError> {
        let Some(multiplier) = taken(product, arithmetic) else {
            return Err(EngineError::Unsupported("a product that tiles do not take".into()));
        };
        let threads = pool.threads();
        let room = Room::new(&multiplier, weights.is_some(), threads);
        scratch.reserve(room.bytes);
        let panels = weights.map(|weights| {
            let panels = Buffer::new(multiplier.panel_bytes());
            let nothing = std::ptr::null_mut();
            let launch = Launch {
                inputs: &[weights],
                strips: nothing,
                panels: panels.pointer(),
                sums: nothing,
                out: nothing,
            };
            let (launch, multiplier) = (&launch, &multiplier);
            pool.run(multiplier.panel_count(), &|panel| {
                // SAFETY: the caller's promise: all elements that the strides reach are there; there is room for all panels.
                unsafe {
                    multiplier.pack_panels(launch.inputs[0], 0, &(panel..panel + 1), launch.panels);
                }
            });
            panels
        });
        Ok(Self { multiplier, panels, scratch: Arc::clone(scratch), room, threads, phases, cost })
    }
}

impl TiledProduct {
    /// The right operand of a launch, for the task at a place among those that run.
    fn panels_of(&self, launch: &Launch<'_>, place: usize) -> Panels<'_> {
        let [_, right] = self.multiplier.product().operands;
        if self.panels.is_none() && self.multiplier.reads_columns() {
            Panels::Direct(launch.inputs[right])
        } else if let Some(bytes) = self.room.own_panels {
            let room = launch.panels.wrapping_add(place * bytes);
            Panels::Unpacked { right: launch.inputs[right], room, phases: &self.phases }
        } else {
            Panels::Packed(launch.panels)
        }
    }

    /// Computes the product where every task packs its own rows, a slice of the depth at a time, so that they stay in the
    /// second-level cache while all panels pass.
    fn launch_blocks(
        &self,
        pool: &Pool,
        launch: &Launch<'_>,
        blocks: &[Range<usize>],
        unpacked: usize,
    ) -> Result<(), EngineError> {
        let (multiplier, phases) = (&self.multiplier, &self.phases);
        let [left, right] = multiplier.product().operands;
        let groups = pieces(unpacked, PACKED_TOGETHER.min(unpacked.div_ceil(self.threads.max(1))));
        pool.run(groups.len(), &|group| {
            // SAFETY: the launch's promise; there is room for all panels.
            phases.timed(Phase::Packing, || unsafe {
                multiplier.pack_panels(launch.inputs[right], 0, &groups[group], launch.panels);
            });
        });
        let rooms = Rooms::new(self.threads);
        pool.run(blocks.len(), &|task| {
            let block = &blocks[task];
            rooms.with(|place| {
                let room = launch.strips.wrapping_add(place * self.room.strip_bytes);
                let part = Part {
                    number: 0,
                    rows: (block.start, block.end),
                    strips: if multiplier.reads_rows() {
                        Strips::Direct(launch.inputs[left])
                    } else {
                        Strips::Unpacked { left: launch.inputs[left], room, phases }
                    },
                    panels: self.panels_of(launch, place),
                    sums: launch.sums.wrapping_add(place * self.room.sum_bytes),
                    inputs: launch.inputs,
                    out: launch.out,
                };
                let strips = 0..block.len().div_ceil(multiplier.strip_rows());
                // SAFETY: the launch's promise; the panels are packed, and each task has rows and room of its own.
                phases.timed(Phase::Products, || unsafe {
                    multiplier.multiply(&part, &strips, &(0..multiplier.panel_count()));
                });
            });
        });
        rooms.check()
    }
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

    fn in_parts(&self) -> bool {
        self.multiplier.is_by_thirds()
    }

    fn phases(&self) -> Option<&Phases> {
        Some(&self.phases)
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
        let strips = room.pointer();
        let behind = strips.wrapping_add(self.room.panels);
        let panels = self.panels.as_ref().map_or(behind, Buffer::pointer);
        let sums = strips.wrapping_add(self.room.sums);
        let launch = &Launch { inputs, strips, panels, sums, out: outputs[0] };
        let strip_count = rows.div_ceil(multiplier.strip_rows());
        let unpacked_strips = if product.handed.left { 0 } else { strip_count };
        let unpacked = match self.panels_of(launch, 0) {
            Panels::Packed(_) if self.panels.is_none() => multiplier.panel_count(),
            _ => 0,
        };
        if let Some(blocks) = &self.room.blocks {
            return self.launch_blocks(pool, launch, blocks, unpacked);
        }
        pool.run(unpacked_strips + unpacked, &|task| {
            let (inputs, to) = (launch.inputs, launch.strips);
            // SAFETY: the caller's promise; the room is as large as was reserved.
            self.phases.timed(Phase::Packing, || unsafe {
                match task.checked_sub(unpacked_strips) {
                    None => multiplier.pack_strip(inputs[left], 0, (0, rows), task, to),
                    Some(panel) => {
                        multiplier.pack_panels(
                            inputs[right],
                            0,
                            &(panel..panel + 1),
                            launch.panels,
                        );
                    }
                }
            });
        });
        let blocks = match self.room.own_panels {
            Some(_) => pieces(strip_count, strip_count),
            None => pieces(strip_count, multiplier.block_rows() / multiplier.strip_rows()),
        };
        let groups = multiplier.groups(pool.threads());
        let rooms = Rooms::new(self.threads);
        pool.run(blocks.len() * groups.len(), &|task| {
            let (block, group) = if multiplier.shares_panels() {
                (&blocks[task % blocks.len()], &groups[task / blocks.len()])
            } else {
                (&blocks[task / groups.len()], &groups[task % groups.len()])
            };
            rooms.with(|place| {
                let part = Part {
                    number: 0,
                    rows: (0, rows),
                    strips: Strips::Packed(if product.handed.left {
                        launch.inputs[left]
                    } else {
                        launch.strips
                    }),
                    panels: self.panels_of(launch, place),
                    sums: launch.sums.wrapping_add(place * self.room.sum_bytes),
                    inputs: launch.inputs,
                    out: launch.out,
                };
                // SAFETY: the caller's promise; both operands are packed, and each task has a part of the result of its own.
                self.phases
                    .timed(Phase::Products, || unsafe { multiplier.multiply(&part, block, group) });
            });
        });
        rooms.check()
    }
}

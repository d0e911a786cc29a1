//! Many products of small matrices by tiles, as in the gradients of attention: each is packed, where it has to be, and
//! multiplied by one thread, in room that stays in its cache.
#![allow(unsafe_code)]

use std::sync::Arc;

use warpforge_tensor::DType;

use super::multiplier::{COLUMNS, Multiplier, Panels, Part, Strips};
use crate::EngineError;
use crate::choices::Maker;
use crate::kernels::{Cost, Kernel, Rooms, Scratch};
use crate::observe::{Phase, Phases};
use crate::pool::Pool;
use crate::products::{Arithmetic, Index, Product, is_for_library};

/// Matrices below this many rows or columns are packed for too little work.
const LEAST: usize = 64;
/// Fewer products than this are divided among threads too unevenly.
const FEWEST: usize = 4;

/// A batch of products by tiles.
pub(crate) struct TiledBatch {
    multiplier: Multiplier,
    scratch: Arc<Scratch>,
    room: Room,
    threads: usize,
    phases: Phases,
    cost: Cost,
}

/// What one thread needs: the panels behind the strips, the sums behind both.
#[derive(Debug, Clone, Copy)]
struct Room {
    panels: usize,
    sums: usize,
    bytes: usize,
}

impl Room {
    fn new(multiplier: &Multiplier) -> Self {
        let rows = multiplier.product.rows.size;
        let panels = multiplier.strip_bytes(rows).next_multiple_of(64);
        let sums = panels + multiplier.panel_bytes().next_multiple_of(64);
        let bytes = sums + multiplier.sum_bytes(rows, multiplier.panel_count());
        Self { panels, sums, bytes: bytes.next_multiple_of(64) }
    }
}

/// The operands, the thread's room and the result of a launch.
#[derive(Clone, Copy)]
struct Launch<'a> {
    inputs: &'a [*const u8],
    room: *mut u8,
    out: *mut u8,
}

// SAFETY: each task packs into a room that no other has meanwhile, and writes the result of one product.
unsafe impl Sync for Launch<'_> {}

/// The product with its sides changed, where that lets rows of tiles be rows of the result.
fn oriented(product: &Product) -> Product {
    let mut product = product.clone();
    if product.columns.out == 1 || product.rows.out != 1 {
        return product;
    }
    let turned = |index: &Index| Index { lhs: index.rhs, rhs: index.lhs, ..*index };
    product.operands.swap(0, 1);
    product.offsets.swap(0, 1);
    product.dtypes.swap(0, 1);
    product.batch = product.batch.iter().map(turned).collect();
    (product.rows, product.columns) = (turned(&product.columns), turned(&product.rows));
    product.depth = turned(&product.depth);
    product
}

fn taken(product: &Product, arithmetic: Arithmetic) -> Option<Multiplier> {
    let Product { rows, columns, depth, batch, dtypes, .. } = product;
    let large = rows.size >= LEAST && columns.size >= LEAST && depth.size >= COLUMNS;
    let many = large && product.count() >= FEWEST;
    if product.by == Some(Maker::Library) || batch.is_empty() {
        return None;
    }
    // What the library would leave to plain loops is taken at any size.
    let best = many && *dtypes == [DType::F32; 3];
    if !best && is_for_library(product) {
        return None;
    }
    let product = oriented(product);
    Multiplier::new(&product, arithmetic).ok().filter(|_| product.columns.out == 1)
}

impl TiledBatch {
    /// Whether tiles take the products.
    pub(crate) fn takes(product: &Product, arithmetic: Arithmetic) -> bool {
        taken(product, arithmetic).is_some()
    }

    /// Bytes that a launch needs for a while; none where tiles do not take the products.
    pub(crate) fn scratch_bytes(
        product: &Product,
        arithmetic: Arithmetic,
        threads: usize,
    ) -> usize {
        let room = |multiplier: &Multiplier| Room::new(multiplier).bytes * threads.max(1);
        taken(product, arithmetic).as_ref().map_or(0, room)
    }

    /// Makes the products ready; an error where tiles do not take them.
    pub(crate) fn new(
        product: &Product,
        arithmetic: Arithmetic,
        pool: &Pool,
        scratch: &Arc<Scratch>,
        phases: Phases,
        cost: Cost,
    ) -> Result<Self, EngineError> {
        let Some(multiplier) = taken(product, arithmetic) else {
            return Err(EngineError::Unsupported("products that tiles do not take".into()));
        };
        let (room, threads) = (Room::new(&multiplier), pool.threads());
        scratch.reserve(room.bytes * threads.max(1));
        Ok(Self { multiplier, scratch: Arc::clone(scratch), room, threads, phases, cost })
    }

    /// Packs and multiplies the matrices of one product.
    ///
    /// # Safety
    ///
    /// As for [`Kernel::launch`]; `room` is this task's alone.
    unsafe fn multiply(&self, launch: &Launch<'_>, number: usize, room: *mut u8) {
        let multiplier = &self.multiplier;
        let product = multiplier.product();
        let [left, right] = product.operands;
        let rows = (0, product.rows.size);
        let strips = rows.1.div_ceil(multiplier.strip_rows());
        let panels = room.wrapping_add(self.room.panels);
        // SAFETY: the caller's promise; the room is as large as was reserved.
        self.phases.timed(Phase::Packing, || unsafe {
            if !multiplier.reads_rows() {
                for strip in 0..strips {
                    multiplier.pack_strip(launch.inputs[left], number, rows, strip, room);
                }
            }
            if !multiplier.reads_columns() {
                let all = 0..multiplier.panel_count();
                multiplier.pack_panels(launch.inputs[right], number, &all, panels);
            }
        });
        let part = Part {
            number,
            rows,
            strips: if multiplier.reads_rows() {
                Strips::Direct(launch.inputs[left])
            } else {
                Strips::Packed(room)
            },
            panels: if multiplier.reads_columns() {
                Panels::Direct(launch.inputs[right])
            } else {
                Panels::Packed(panels)
            },
            sums: room.wrapping_add(self.room.sums),
            inputs: launch.inputs,
            out: launch.out,
        };
        // SAFETY: both operands are packed, and nobody else writes this product's result.
        self.phases.timed(Phase::Products, || unsafe {
            multiplier.multiply(&part, &(0..strips), &(0..multiplier.panel_count()));
        });
    }
}

impl Kernel for TiledBatch {
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

    fn reads(&self, input: usize) -> bool {
        let product = self.multiplier.product();
        product.operands.contains(&input) || product.reads_in_tails(input)
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let room = self.scratch.take();
        let launch = &Launch { inputs, room: room.pointer(), out: outputs[0] };
        let rooms = Rooms::new(self.threads);
        pool.run(self.multiplier.product().count(), &|number| {
            rooms.with(|place| {
                let own = launch.room.wrapping_add(place * self.room.bytes);
                // SAFETY: the caller's promise; a place is one task's alone.
                unsafe { self.multiply(launch, number, own) };
            });
        });
        rooms.check()
    }
}

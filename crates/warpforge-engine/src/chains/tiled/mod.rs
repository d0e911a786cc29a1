//! Chains by tiles: a thread takes some rows of one matrix of the batch after the other; what they are multiplied with is
//! packed for it, and what lies between the parts stays in its cache. Where results are sums over rows, a thread takes all rows
//! of a matrix, and keeps the sums of the blocks before beside them.
//!
//! What always holds: which rows are a block, and so the order in which they are summed, does not depend on the number of
//! threads.
#![allow(unsafe_code)]

mod parts;

use std::sync::Arc;

use warpforge_tensor::DType;

use self::parts::{Kept, Parts, RowPart, SummedPart, TOGETHER};
use super::{Between, Chain, Source, Taken};
use crate::EngineError;
use crate::kernels::{Cost, Kernel, Rooms, Scratch};
use crate::loops::{CompiledLoop, Spread};
use crate::observe::{Phase, Phases};
use crate::plan::Buffer;
use crate::pool::Pool;
use crate::products::Arithmetic;
use crate::products::tiles::{Multiplier, Panels, Part, Strips, pieces};

/// Tasks for each thread at least, where there are so many rows.
const TASKS: usize = 4;

/// The kernel.
pub(crate) struct TiledChain {
    parts: Parts,
    between: Between,
    kernel: CompiledLoop,
    /// Where the operands of the loop come from.
    row_sources: Vec<Source>,
    /// For each operand of the loop, constants among them, whether it lies between the parts.
    is_between: Vec<bool>,
    /// Constants of the loop, behind its operands.
    constants: Vec<Buffer>,
    threads: usize,
    scratch: Arc<Scratch>,
    phases: Phases,
    cost: Cost,
}

/// The memory of one run.
struct Memory<'a> {
    inputs: &'a [*const u8],
    outputs: &'a [*mut u8],
    rooms: *mut u8,
}

// SAFETY: inputs are only read; each task writes rows or sums of its own, in a room that no other task has meanwhile.
unsafe impl Sync for Memory<'_> {}

/// One block of rows, for one thread.
struct Block<'a> {
    memory: &'a Memory<'a>,
    room: *mut u8,
    /// Which matrix of the batch.
    number: usize,
    rows: (usize, usize),
    /// Which of the rows of all matrices is its first.
    first: usize,
}

impl Block<'_> {
    /// Where something is that is kept of these rows.
    fn kept(&self, kept: Kept) -> *mut u8 {
        self.room.wrapping_add(kept.at)
    }

    /// Where all matrices would begin of which these rows are kept, at such a distance.
    fn whole(&self, kept: Kept, distance: usize) -> *mut u8 {
        self.kept(kept).wrapping_sub(self.first * distance * kept.bytes)
    }
}

impl TiledChain {
    /// Makes a chain ready for so many threads.
    pub(crate) fn new(
        chain: &Chain,
        arithmetic: Arithmetic,
        threads: usize,
        scratch: &Arc<Scratch>,
        phases: Phases,
        cost: Cost,
    ) -> Result<Self, EngineError> {
        let parts = Parts::new(chain, arithmetic)?;
        let constants = chain.rows.constants.iter();
        let constants: Vec<Buffer> =
            constants.map(|tensor| Buffer::from_bytes(tensor.bytes())).collect();
        let is_between = chain.row_sources.iter().map(|source| matches!(source, Source::First(_)));
        let is_between = is_between.chain(constants.iter().map(|_| false)).collect();
        scratch.reserve(parts.room.bytes * threads.max(1));
        Ok(Self {
            kernel: CompiledLoop::in_parts(&parts.kernel),
            parts,
            between: chain.between(),
            row_sources: chain.row_sources.clone(),
            is_between,
            constants,
            threads: threads.max(1),
            scratch: Arc::clone(scratch),
            phases,
            cost,
        })
    }

    /// Room that so many threads need for a chain; none where tiles do not take it.
    pub(crate) fn scratch_bytes(
        chain: &Chain,
        arithmetic: Arithmetic,
        threads: usize,
    ) -> Option<usize> {
        let parts = Parts::new(chain, arithmetic).ok()?;
        Some(parts.room.bytes * threads.max(1))
    }

    /// The operands of a part, for a block.
    fn operands(&self, sources: &[Source], block: &Block<'_>) -> Vec<*const u8> {
        let each = |source: &Source| match source {
            Source::Input(input) => block.memory.inputs[*input],
            Source::First(first) => {
                block.whole(self.parts.made[*first], self.parts.distance).cast_const()
            }
            Source::Rows(result) => {
                block.whole(self.parts.results[*result], self.parts.distance).cast_const()
            }
        };
        sources.iter().map(each).collect()
    }

    /// Packs what the rows of a matrix are multiplied with.
    ///
    /// # Safety
    ///
    /// Memory is as the chain says, and nobody else uses this room.
    unsafe fn pack_panels(&self, block: &Block<'_>) {
        for RowPart { multiplier, sources, panels } in self.parts.of_rows() {
            let right = multiplier.product().operands[1];
            let right = self.operands(sources, block)[right];
            let all = 0..multiplier.panel_count();
            let to = block.room.wrapping_add(*panels);
            // SAFETY: the caller's promise; the room is large enough for a matrix's panels.
            unsafe { multiplier.pack_panels(right, block.number, &all, to) };
        }
    }

    /// Multiplies some rows of a left operand with panels that are there.
    ///
    /// # Safety
    ///
    /// As for [`Self::rows`]; `given` and `out` are as the multiplier's product says.
    unsafe fn multiply(
        &self,
        multiplier: &Multiplier,
        block: &Block<'_>,
        rows: (usize, usize),
        given: &[*const u8],
        panels: Panels<'_>,
        out: *mut u8,
    ) {
        let left = given[multiplier.product().operands[0]];
        let strips = block.room.wrapping_add(self.parts.room.strips);
        let count = (rows.1 - rows.0).div_ceil(multiplier.strip_rows());
        let in_place = multiplier.reads_in_place(rows.0..rows.1) || multiplier.reads_rows();
        if !in_place {
            self.phases.timed(Phase::Packing, || {
                for strip in 0..count {
                    // SAFETY: the caller's promise; there is room for the strips of a block.
                    unsafe { multiplier.pack_strip(left, block.number, rows, strip, strips) };
                }
            });
        }
        let part = Part {
            number: block.number,
            rows,
            strips: match in_place {
                true => Strips::Direct(left),
                false => Strips::Packed(strips.cast_const()),
            },
            panels,
            sums: block.room.wrapping_add(self.parts.room.sums),
            inputs: given,
            out,
        };
        // SAFETY: the caller's promise; all that is multiplied is packed.
        self.phases.timed(Phase::Products, || unsafe {
            multiplier.multiply(&part, &(0..count), &(0..multiplier.panel_count()));
        });
    }

    /// Adds a block's part to a sum over rows, or finishes it.
    ///
    /// # Safety
    ///
    /// As for [`Self::rows`]; blocks come in their order.
    unsafe fn sum(&self, part: &SummedPart, block: &Block<'_>) {
        let (start, end) = block.rows;
        let ends = end == self.between.height;
        let multiplier = &part.multipliers[if ends { 2 } else { usize::from(start > 0) }];
        let product = multiplier.product();
        let mut given = self.operands(&part.sources, block);
        // The product's depth begins with this block: so do its operands.
        let [left, right] = product.operands;
        let kept = self.parts.results[part.reads];
        let first = block.number * self.between.height * self.parts.distance * kept.bytes;
        let own = block.kept(kept).wrapping_sub(first).cast_const();
        let moved = |from: *const u8, step: isize, dtype: DType| {
            from.wrapping_offset(start as isize * step * dtype.bytes() as isize)
        };
        if part.taken == Taken::SummedLeft {
            given[left] = own;
            given[right] = moved(given[right], product.depth.rhs, product.dtypes[1]);
        } else {
            given[left] = moved(given[left], product.depth.lhs, product.dtypes[0]);
            given[right] = own;
        }
        let sums = block.room.wrapping_add(part.sums);
        given.push(sums.cast_const());
        let out = if ends { block.memory.outputs[part.output] } else { sums };
        let panels = if multiplier.reads_columns() {
            Panels::Direct(given[right])
        } else {
            let to = block.room.wrapping_add(self.parts.room.panels);
            let all = 0..multiplier.panel_count();
            // SAFETY: the caller's promise; there is room for these panels.
            self.phases.timed(Phase::Packing, || unsafe {
                multiplier.pack_panels(given[right], block.number, &all, to);
            });
            Panels::Packed(to.cast_const())
        };
        for rows in pieces(product.rows.size, TOGETHER) {
            // SAFETY: the caller's promise.
            unsafe {
                self.multiply(multiplier, block, (rows.start, rows.end), &given, panels, out);
            }
        }
    }

    /// Runs the loop over the rows of a block.
    ///
    /// # Safety
    ///
    /// As for [`Self::rows`].
    unsafe fn loop_over(&self, block: &Block<'_>) {
        let mut loaded = self.operands(&self.row_sources, block);
        for (operand, source) in loaded.iter_mut().zip(&self.row_sources) {
            if let Source::First(first) = source {
                *operand = block.kept(self.parts.made[*first]).cast_const();
            }
        }
        loaded.extend(self.constants.iter().map(|tensor| tensor.pointer().cast_const()));
        let results: Vec<*mut u8> =
            self.parts.results.iter().map(|kept| block.kept(*kept)).collect();
        let rows = block.first..block.first + (block.rows.1 - block.rows.0);
        let spread = Spread { distance: self.parts.distance, inputs: &self.is_between };
        // SAFETY: the caller's promise; these rows are there.
        unsafe { self.kernel.run_rows(rows, self.between.width, &loaded, &results, &spread) };
    }

    /// Some rows of one matrix; all of them where results are sums over them.
    ///
    /// # Safety
    ///
    /// Memory is as the chain says, nobody else writes these rows or sums or uses this room.
    unsafe fn rows(
        &self,
        memory: &Memory<'_>,
        room: *mut u8,
        number: usize,
        rows: std::ops::Range<usize>,
    ) {
        let packed = |part: &RowPart| Panels::Packed(room.wrapping_add(part.panels).cast_const());
        for start in rows.clone().step_by(self.parts.block) {
            let end = (start + self.parts.block).min(rows.end);
            let first = number * self.between.height + start;
            let block = &Block { memory, room, number, rows: (start, end), first };
            // SAFETY: the caller's promise; what lies between the parts has room for a block.
            unsafe {
                if start == rows.start {
                    self.phases.timed(Phase::Packing, || self.pack_panels(block));
                }
                for (part, kept) in self.parts.firsts.iter().zip(&self.parts.made) {
                    let given = self.operands(&part.sources, block);
                    let out = block.whole(*kept, self.parts.distance);
                    self.multiply(&part.multiplier, block, block.rows, &given, packed(part), out);
                }
                self.phases.timed(Phase::Rows, || self.loop_over(block));
                for (part, output) in &self.parts.by_rows {
                    let given = self.operands(&part.sources, block);
                    let out = memory.outputs[*output];
                    self.multiply(&part.multiplier, block, block.rows, &given, packed(part), out);
                }
                for part in &self.parts.summed {
                    self.sum(part, block);
                }
            }
        }
    }
}

impl Kernel for TiledChain {
    fn backend(&self) -> &'static str {
        "chain"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    fn in_parts(&self) -> bool {
        self.parts.multipliers().all(Multiplier::is_by_thirds)
    }

    fn phases(&self) -> Option<&Phases> {
        Some(&self.phases)
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let scratch = self.scratch.take();
        let memory = &Memory { inputs, outputs, rooms: scratch.pointer() };
        let Between { count, height, .. } = self.between;
        let parts = match self.parts.summed.is_empty() {
            true => (self.threads * TASKS).div_ceil(count),
            false => 1,
        };
        let parts = pieces(height, height.div_ceil(parts).next_multiple_of(self.parts.strip));
        let rooms = Rooms::new(self.threads);
        pool.run(count * parts.len(), &|task| {
            rooms.with(|place| {
                let rows = parts[task % parts.len()].clone();
                // SAFETY: the caller's promise; there is a room for each thread, and each task has rows of its own.
                unsafe {
                    let room = memory.rooms.add(place * self.parts.room.bytes);
                    self.rows(memory, room, task / parts.len(), rows);
                }
            });
        });
        rooms.check()
    }
}

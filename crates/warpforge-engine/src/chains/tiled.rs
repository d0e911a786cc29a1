//! Chains by tiles: a thread takes some rows of one matrix of the batch after the other; what they are multiplied with is
//! packed for it, and what lies between the parts stays in its cache. Where results are sums over rows, a thread takes all rows
//! of a matrix, and keeps the sums of the blocks before beside them.
//!
//! What always holds: which rows are a block, and so the order in which they are summed, does not depend on the number of
//! threads.
#![allow(unsafe_code)]

use std::sync::Arc;

use warpforge_tensor::DType;

use super::{Between, Chain, Second, Source, Taken};
use crate::EngineError;
use crate::kernels::{Cost, Kernel, Rooms, Scratch};
use crate::loops::{CompiledLoop, Spread};
use crate::observe::{Phase, Phases};
use crate::plan::Buffer;
use crate::pool::Pool;
use crate::products::tiles::{Multiplier, Panels, Part, Strips, pieces, spread};
use crate::products::{Arithmetic, Product, has_bf16_products};

/// Numbers between the parts that are worked on at a time: with what they are multiplied with they fit a second-level cache, and
/// of a few hundred columns there are so many rows that columns come to the nearest cache for several strips.
const BETWEEN: usize = 80 << 10;
/// The same where results are sums: there is more beside them.
const BETWEEN_SUMMED: usize = 160 << 10;
/// Rows of a sum that are packed at a time.
const TOGETHER: usize = 384;
/// Tasks for each thread at least, where there are so many rows.
const TASKS: usize = 4;

/// Where a thread keeps what, in bytes from the beginning of its room.
#[derive(Debug, Clone, Default)]
struct Room {
    /// The strips of the left operand at hand.
    strips: usize,
    /// The panels of the right operand of a sum at hand.
    panels: usize,
    /// Sums that are not finished, of a product of one block.
    sums: usize,
    bytes: usize,
}

impl Room {
    fn take(&mut self, bytes: usize) -> usize {
        let start = self.bytes;
        self.bytes += bytes.next_multiple_of(64);
        start
    }
}

/// A matrix between the parts, of which a block is there.
#[derive(Debug, Clone, Copy)]
struct Kept {
    /// Where in the room.
    at: usize,
    /// Bytes of a number.
    bytes: usize,
}

/// A product that makes a row of each.
struct RowPart {
    multiplier: Multiplier,
    sources: Vec<Source>,
    /// Where its panels are in the room.
    panels: usize,
}

/// A product that sums over rows.
struct SummedPart {
    /// Of the first block, of those between, of the last one; the same where there is only one.
    multipliers: [Multiplier; 3],
    sources: Vec<Source>,
    taken: Taken,
    reads: usize,
    output: usize,
    /// Where the sums of the blocks before are in the room.
    sums: usize,
}

/// The kernel.
pub(crate) struct TiledChain {
    firsts: Vec<RowPart>,
    kernel: CompiledLoop,
    row_sources: Vec<Source>,
    /// For each operand of the loop, constants among them, whether it lies between the parts.
    is_between: Vec<bool>,
    /// Constants of the loop, behind its operands.
    constants: Vec<Buffer>,
    /// Products of rows, and the result of the cluster that each makes.
    by_rows: Vec<(RowPart, usize)>,
    summed: Vec<SummedPart>,
    /// What the first products make, and what the loop makes of that.
    made: Vec<Kept>,
    results: Vec<Kept>,
    between: Between,
    /// How far apart rows between the parts are kept.
    distance: usize,
    /// Rows worked on at a time.
    block: usize,
    room: Room,
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

/// The same product with matrices between the parts whose rows lie at another distance, as its left or right operand or its
/// result.
fn at_distance(product: &Product, between: Between, distance: usize, of: Operand) -> Product {
    let mut product = product.clone();
    let step = distance as isize;
    match of {
        Operand::Result => product.rows.out = step,
        Operand::Taken(Taken::Rows) => product.rows.lhs = step,
        Operand::Taken(Taken::SummedLeft) => product.depth.lhs = step,
        Operand::Taken(Taken::SummedRight) => product.depth.rhs = step,
    }
    let mut dense = (between.height * distance) as isize;
    for index in product.batch.iter_mut().rev() {
        match of {
            Operand::Result => index.out = dense,
            Operand::Taken(Taken::SummedRight) => index.rhs = dense,
            Operand::Taken(_) => index.lhs = dense,
        }
        dense *= index.size as isize;
    }
    product
}

/// What lies between the parts, to a product.
#[derive(Debug, Clone, Copy)]
enum Operand {
    Result,
    Taken(Taken),
}

/// The chain with rows between the parts at a distance at which they can be multiplied as they lie, where vectors of f32 do
/// that, and that distance.
fn spread_out(chain: &Chain, arithmetic: Arithmetic) -> Result<(Chain, usize), EngineError> {
    let between = chain.between();
    let mut by_vectors = chain.rows.kernel.outputs.iter().all(|output| output.dtype == DType::F32);
    for product in chain.products() {
        by_vectors &= !multiplier(product, arithmetic)?.is_by_matrices();
    }
    if !by_vectors {
        return Ok((chain.clone(), between.width));
    }
    let distance = spread(between.width);
    let mut chain = chain.clone();
    for first in &mut chain.firsts {
        first.product = at_distance(&first.product, between, distance, Operand::Result);
    }
    for Second { link, taken, .. } in &mut chain.seconds {
        link.product = at_distance(&link.product, between, distance, Operand::Taken(*taken));
    }
    Ok((chain, distance))
}

/// Rows worked on at a time.
fn block(chain: &Chain, strip: usize) -> usize {
    let between = chain.between();
    let most = |numbers: usize| numbers / between.width.max(1);
    if !chain.is_summed() {
        return ((most(BETWEEN) / strip).max(1) * strip).min(between.height);
    }
    let matrices = chain.firsts.len() + chain.rows.kernel.outputs.len();
    let most = most(BETWEEN_SUMMED / matrices).max(chain.block);
    let whole = |rows: &usize| between.height.is_multiple_of(*rows);
    (chain.block..=most.min(between.height)).rev().find(whole).unwrap_or(chain.block)
}

/// A product that tiles take in a chain: of f32, or of narrower numbers by the matrix unit or where no library has instructions
/// for them.
fn multiplier(product: &Product, arithmetic: Arithmetic) -> Result<Multiplier, EngineError> {
    let multiplier = Multiplier::new(product, arithmetic)?;
    let best = multiplier.is_by_matrices() || product.dtypes == [DType::F32; 3];
    if cfg!(feature = "onednn") && has_bf16_products() && !best {
        return Err(EngineError::Unsupported("a chain of narrow numbers by tiles".into()));
    }
    Ok(multiplier)
}

/// The same chain, but what the first products make stays f32 until the loop has read it.
fn widened(chain: &Chain) -> Chain {
    let mut chain = chain.clone();
    for first in &mut chain.firsts {
        first.product.dtypes[2] = DType::F32;
    }
    for access in &mut chain.rows.kernel.inputs {
        if matches!(chain.row_sources.get(access.operand), Some(Source::First(_))) {
            access.dtype = DType::F32;
        }
    }
    chain
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
        let chain = widened(chain);
        let constants = chain.rows.constants.iter();
        let constants: Vec<Buffer> =
            constants.map(|tensor| Buffer::from_bytes(tensor.bytes())).collect();
        let is_between = chain.row_sources.iter().map(|source| matches!(source, Source::First(_)));
        let is_between = is_between.chain(constants.iter().map(|_| false)).collect();
        let kernel = CompiledLoop::in_parts(&chain.rows.kernel);
        let parts = Parts::new(&chain, arithmetic)?;
        scratch.reserve(parts.room.bytes * threads.max(1));
        let Parts { firsts, by_rows, summed, made, results, distance, block, room } = parts;
        Ok(Self {
            firsts,
            kernel,
            row_sources: chain.row_sources.clone(),
            is_between,
            constants,
            by_rows,
            summed,
            made,
            results,
            between: chain.between(),
            distance,
            block,
            room,
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
        let parts = Parts::new(&widened(chain), arithmetic).ok()?;
        Some(parts.room.bytes * threads.max(1))
    }

    /// The operands of a part, for a block.
    fn operands(&self, sources: &[Source], block: &Block<'_>) -> Vec<*const u8> {
        let each = |source: &Source| match source {
            Source::Input(input) => block.memory.inputs[*input],
            Source::First(first) => block.whole(self.made[*first], self.distance).cast_const(),
            Source::Rows(result) => block.whole(self.results[*result], self.distance).cast_const(),
        };
        sources.iter().map(each).collect()
    }

    /// Packs what the rows of a matrix are multiplied with.
    ///
    /// # Safety
    ///
    /// Memory is as the chain says, and nobody else uses this room.
    unsafe fn pack_panels(&self, block: &Block<'_>) {
        let by_rows = self.by_rows.iter().map(|(part, _)| part);
        for RowPart { multiplier, sources, panels } in self.firsts.iter().chain(by_rows) {
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
        let strips = block.room.wrapping_add(self.room.strips);
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
            sums: block.room.wrapping_add(self.room.sums),
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
        let kept = self.results[part.reads];
        let first = block.number * self.between.height * self.distance * kept.bytes;
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
            let to = block.room.wrapping_add(self.room.panels);
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
                *operand = block.kept(self.made[*first]).cast_const();
            }
        }
        loaded.extend(self.constants.iter().map(|tensor| tensor.pointer().cast_const()));
        let results: Vec<*mut u8> = self.results.iter().map(|kept| block.kept(*kept)).collect();
        let rows = block.first..block.first + (block.rows.1 - block.rows.0);
        let spread = Spread { distance: self.distance, inputs: &self.is_between };
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
        for start in rows.clone().step_by(self.block) {
            let end = (start + self.block).min(rows.end);
            let first = number * self.between.height + start;
            let block = &Block { memory, room, number, rows: (start, end), first };
            // SAFETY: the caller's promise; what lies between the parts has room for a block.
            unsafe {
                if start == rows.start {
                    self.phases.timed(Phase::Packing, || self.pack_panels(block));
                }
                for (part, kept) in self.firsts.iter().zip(&self.made) {
                    let given = self.operands(&part.sources, block);
                    let out = block.whole(*kept, self.distance);
                    self.multiply(&part.multiplier, block, block.rows, &given, packed(part), out);
                }
                self.phases.timed(Phase::Rows, || self.loop_over(block));
                for (part, output) in &self.by_rows {
                    let given = self.operands(&part.sources, block);
                    let out = memory.outputs[*output];
                    self.multiply(&part.multiplier, block, block.rows, &given, packed(part), out);
                }
                for part in &self.summed {
                    self.sum(part, block);
                }
            }
        }
    }
}

/// What a kernel consists of, and where a thread keeps what.
struct Parts {
    firsts: Vec<RowPart>,
    by_rows: Vec<(RowPart, usize)>,
    summed: Vec<SummedPart>,
    made: Vec<Kept>,
    results: Vec<Kept>,
    distance: usize,
    block: usize,
    room: Room,
}

impl Parts {
    fn new(chain: &Chain, arithmetic: Arithmetic) -> Result<Self, EngineError> {
        let (chain, distance) = &spread_out(chain, arithmetic)?;
        let of = |product: &Product| multiplier(product, arithmetic);
        let firsts = chain.firsts.iter().map(|link| of(&link.product));
        let firsts: Vec<Multiplier> = firsts.collect::<Result<_, _>>()?;
        let by_rows = chain.seconds.iter().filter(|second| !second.taken.is_summed());
        let by_rows = by_rows.map(|second| Ok((of(&second.link.product)?, second)));
        let by_rows: Vec<(Multiplier, _)> = by_rows.collect::<Result<_, EngineError>>()?;
        let row_parts = || firsts.iter().chain(by_rows.iter().map(|(multiplier, _)| multiplier));
        let strip = row_parts().map(Multiplier::strip_rows).max().unwrap_or(1);
        let block = block(chain, strip);
        let summed = chain.seconds.iter().filter(|second| second.taken.is_summed());
        let blocks = chain.between().height / block;
        let summed = summed.map(|second| {
            let product = &second.link.product;
            let sums = second.link.sources.len();
            let made = |begins: bool, ends: bool| {
                let made = Multiplier::summed(product, arithmetic, block, sums, begins, ends)?;
                // As good as the whole product.
                of(product).map(|_| made)
            };
            Ok(([made(true, false)?, made(false, false)?, made(blocks == 1, true)?], second))
        });
        let summed: Vec<([Multiplier; 3], _)> = summed.collect::<Result<_, EngineError>>()?;

        let mut room = Room::default();
        let (mut strips, mut panels, mut sums) = (0, 0, 0);
        for multiplier in row_parts() {
            strips = strips.max(multiplier.strip_bytes(block));
            sums = sums.max(multiplier.sum_bytes(block, multiplier.panel_count()));
        }
        for multiplier in summed.iter().flat_map(|(multipliers, _)| multipliers) {
            let rows = multiplier.product().rows.size.min(TOGETHER);
            strips = strips.max(multiplier.strip_bytes(rows));
            panels = panels.max(multiplier.panel_bytes());
            sums = sums.max(multiplier.sum_bytes(rows, multiplier.panel_count()));
        }
        room.strips = room.take(strips);
        room.panels = room.take(panels);
        room.sums = room.take(sums);
        let elements = block * distance;
        let mut keep = |dtype: DType| {
            let bytes = dtype.bytes();
            Kept { at: room.take(elements * bytes), bytes }
        };
        let made: Vec<Kept> =
            chain.firsts.iter().map(|first| keep(first.product.dtypes[2])).collect();
        let kernel = &chain.rows.kernel;
        let mut over: Vec<usize> = Vec::new();
        let mut results = Vec::with_capacity(kernel.outputs.len());
        for (output, info) in kernel.outputs.iter().enumerate() {
            // In the place of what it is made of, where it may be.
            let place = chain.row_sources.iter().enumerate().find_map(|(operand, source)| {
                let Source::First(first) = *source else { return None };
                let fits = kernel.may_overwrite(output, operand) && !over.contains(&first);
                fits.then_some(first)
            });
            over.extend(place);
            results.push(place.map_or_else(|| keep(info.dtype), |first| made[first]));
        }
        let mut part = |multiplier: Multiplier, sources: &[Source]| {
            let panels = room.take(multiplier.panel_bytes());
            RowPart { multiplier, sources: sources.to_vec(), panels }
        };
        let firsts = firsts.into_iter().zip(&chain.firsts);
        let firsts = firsts.map(|(multiplier, link)| part(multiplier, &link.sources)).collect();
        let by_rows = by_rows
            .into_iter()
            .map(|(multiplier, second)| (part(multiplier, &second.link.sources), second.output));
        let by_rows = by_rows.collect();
        let summed = summed.into_iter().map(|(multipliers, second)| {
            let product = &second.link.product;
            let numbers = product.rows.size * product.columns.size;
            SummedPart {
                multipliers,
                sources: second.link.sources.clone(),
                taken: second.taken,
                reads: second.reads,
                output: second.output,
                sums: room.take(if blocks > 1 { numbers * size_of::<f32>() } else { 0 }),
            }
        });
        let summed = summed.collect();
        Ok(Self { firsts, by_rows, summed, made, results, distance: *distance, block, room })
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
        let by_rows = self.by_rows.iter().map(|(part, _)| part);
        let by_rows = self.firsts.iter().chain(by_rows).map(|part| &part.multiplier);
        let summed = self.summed.iter().flat_map(|part| &part.multipliers);
        by_rows.chain(summed).all(Multiplier::is_by_thirds)
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
        let parts = match self.summed.is_empty() {
            true => (self.threads * TASKS).div_ceil(count),
            false => 1,
        };
        let by_rows = self.by_rows.iter().map(|(part, _)| part);
        let strips = self.firsts.iter().chain(by_rows).map(|part| part.multiplier.strip_rows());
        let strip = strips.max().unwrap_or(1);
        let parts = pieces(height, height.div_ceil(parts).next_multiple_of(strip));
        let rooms = Rooms::new(self.threads);
        pool.run(count * parts.len(), &|task| {
            rooms.with(|place| {
                let rows = parts[task % parts.len()].clone();
                // SAFETY: the caller's promise; there is a room for each thread, and each task has rows of its own.
                unsafe {
                    let room = memory.rooms.add(place * self.room.bytes);
                    self.rows(memory, room, task / parts.len(), rows);
                }
            });
        });
        rooms.check()
    }
}

//! Reductions along columns: what is kept lies innermost, so the numbers that are made lie side by side, and elements are
//! visited as they are in memory.
//!
//! What always holds: what is reduced is cut into parts whose number depends on the sizes alone, each part is summed from its
//! first element to its last, and the parts are combined in their order; so the result does not depend on the threads.
#![allow(unsafe_code)]

use std::sync::{Mutex, PoisonError};

use warpforge_hlo::ir::Binary;

use super::Isa;
use super::lane::{Lane, Truth};
use super::machine::{Machine, Memory, TILE, Tile, with_number, with_scratch};
use super::vector::{Fold, Source, dispatch};
use crate::pool::Pool;
use warpforge_codegen::Generated;
use warpforge_codegen::ir::{
    Extent, Instruction, LoopKernel, Number, Operand, OutputInfo, Register,
};
use warpforge_tensor::DType;

/// Numbers made side by side at most: their sums stay in the nearest caches.
const WIDEST: usize = 4096;
/// Parts that what is reduced is cut into at most, where there are few numbers to make.
const PARTS: usize = 16;
/// Elements of a part at least, for each number.
const SHORTEST: usize = 16;

/// Elements that code for them is called for at a time: what they are reduced from stays in the nearest cache.
const AT_ONCE: usize = 4 * TILE;

/// What a kernel that reduces along columns does to its elements, as a kernel of its own: it writes what is reduced as
/// further outputs. None where the kernel does too little for that, or not in f32.
pub(super) fn element_part(kernel: &LoopKernel) -> Option<LoopKernel> {
    kernel.width?;
    let extent = |instruction: &Instruction| match instruction {
        Instruction::Store { output, .. } => kernel.outputs[*output].extent,
        other => other.result().map_or(Extent::Row, |to| kernel.registers[to.0].extent),
    };
    let mut part = LoopKernel { row: None, width: None, code: Vec::new(), ..kernel.clone() };
    let mut computed = 0;
    for instruction in &kernel.code {
        if let Instruction::Reduce { from, .. } = instruction {
            if kernel.registers[from.0].number != Number::F32 {
                return None;
            }
            let store = Instruction::Store {
                from: Operand::Register(*from),
                number: Number::F32,
                output: part.outputs.len(),
            };
            part.outputs.push(OutputInfo { dtype: DType::F32, extent: Extent::Element });
            part.code.push(store);
        } else if extent(instruction) == Extent::Element {
            let moves = matches!(instruction, Instruction::Load { .. } | Instruction::Store { .. });
            computed += usize::from(!moves);
            part.code.push(instruction.clone());
        }
    }
    (computed > 1).then_some(part)
}

/// How the work is cut.
struct Cut {
    /// Numbers made side by side, and how many such neighbourhoods there are.
    width: usize,
    outer: usize,
    /// Elements that are reduced into one number.
    reduced: usize,
    /// Each neighbourhood is cut into blocks of so many numbers.
    block: usize,
    blocks: usize,
    /// What is reduced is cut into so many parts.
    parts: usize,
}

impl Cut {
    fn new(kernel: &LoopKernel, width: usize) -> Self {
        let reduced = kernel.row.unwrap_or(1).max(1);
        let outer = kernel.elements / (reduced * width).max(1);
        let block = width.clamp(1, WIDEST);
        let blocks = width.div_ceil(block);
        let parts = match outer * blocks {
            tasks if tasks >= PARTS => 1,
            tasks => (PARTS / tasks.max(1)).min(reduced / SHORTEST).max(1),
        };
        Self { width, outer, reduced, block, blocks, parts }
    }

    /// The numbers of a block within its neighbourhood.
    fn columns(&self, block: usize) -> std::ops::Range<usize> {
        block * self.block..((block + 1) * self.block).min(self.width)
    }

    /// The elements of a part, among those reduced into one number.
    fn part(&self, part: usize) -> std::ops::Range<usize> {
        let length = self.reduced.div_ceil(self.parts);
        (part * length).min(self.reduced)..((part + 1) * length).min(self.reduced)
    }
}

/// One reduction of the code.
#[derive(Clone, Copy)]
struct Reduction {
    op: Binary,
    number: Number,
    initial: Operand,
    from: Register,
    to: Register,
}

impl Machine<'_> {
    fn reductions(&self) -> Vec<Reduction> {
        let found = self.kernel.code.iter().filter_map(|instruction| match instruction {
            Instruction::Reduce { op, initial, from, to } => Some(Reduction {
                op: *op,
                number: self.kernel.registers[to.0].number,
                initial: *initial,
                from: *from,
                to: *to,
            }),
            _ => None,
        });
        found.collect()
    }

    /// For what an instruction makes its numbers; a reduction for rows.
    fn extent_of(&self, instruction: &Instruction) -> Extent {
        match instruction {
            Instruction::Store { output, .. } => self.kernel.outputs[*output].extent,
            other => other.result().map_or(Extent::Row, |to| self.kernel.registers[to.0].extent),
        }
    }

    /// Runs it over its whole domain, along columns of this many numbers side by side.
    pub(super) fn run_columns(&self, width: usize, pool: &Pool, memory: Memory<'_>) {
        let cut = Cut::new(self.kernel, width);
        let reductions = self.reductions();
        let words = cut.block * reductions.len();
        // The sums of each part of each block; of one part they are finished where they were made.
        let places = cut.outer * cut.blocks;
        let kept: Vec<Mutex<Vec<u64>>> =
            (0..places * cut.parts).map(|_| Mutex::new(Vec::new())).collect();
        pool.run_ranges(places * cut.parts, 1, 8, &|range| {
            for task in range {
                let mut sums = vec![0_u64; words];
                self.sum_part(&cut, &reductions, memory, task, &mut sums);
                if cut.parts == 1 {
                    self.finish_block(&cut, &reductions, memory, task, &sums);
                } else {
                    *kept[task].lock().unwrap_or_else(PoisonError::into_inner) = sums;
                }
            }
        });
        if cut.parts == 1 {
            return;
        }
        pool.run_ranges(places, 1, 8, &|range| {
            for place in range {
                let mut parts = (0..cut.parts).map(|part| {
                    let mut sums = kept[place * cut.parts + part]
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner);
                    std::mem::take(&mut *sums)
                });
                let Some(mut sums) = parts.next() else { continue };
                for part in parts {
                    for (at, reduction) in reductions.iter().enumerate() {
                        let range = at * cut.block..(at + 1) * cut.block;
                        let (into, from) = (&mut sums[range.clone()], &part[range]);
                        with_number!(reduction.number, T => join::<T>(reduction.op, into, from));
                    }
                }
                self.finish_block(&cut, &reductions, memory, place, &sums);
            }
        });
    }

    /// Sums one part of one block.
    fn sum_part(
        &self,
        cut: &Cut,
        reductions: &[Reduction],
        memory: Memory<'_>,
        task: usize,
        sums: &mut [u64],
    ) {
        let (place, part) = (task / cut.parts, task % cut.parts);
        let (outer, columns) = (place / cut.blocks, cut.columns(place % cut.blocks));
        for (at, reduction) in reductions.iter().enumerate() {
            let sums = &mut sums[at * cut.block..(at + 1) * cut.block];
            with_number!(reduction.number, T => clear::<T>(reduction.op, sums));
        }
        // Several at a time where whole neighbourhoods follow one another.
        let whole = columns.len() == cut.width;
        let together = if self.elements.is_some() { AT_ONCE } else { TILE };
        let at_once = if whole { (together / cut.width.max(1)).max(1) } else { 1 };
        let grain = at_once * columns.len();
        let isa = Isa::usable();
        if let Some(code) = self.elements {
            self.sum_by_code(code, cut, reductions, memory, (task, at_once), sums);
            return;
        }
        with_scratch(self.scratch_bytes(grain), |scratch| {
            let all = cut.part(part);
            let mut first = all.start;
            while first < all.end {
                let count = at_once.min(all.end - first);
                let start = (outer * cut.reduced + first) * cut.width + columns.start;
                let elements = start..start + count * columns.len();
                let mut tile = Tile::new(self.kernel, memory, scratch, grain, elements, 0..0);
                // A reduction reads where it stands: later instructions use its register again.
                let mut next = 0;
                for instruction in &self.kernel.code {
                    if matches!(instruction, Instruction::Reduce { .. }) {
                        let reduction = reductions[next];
                        let sums = &mut sums[next * cut.block..(next + 1) * cut.block];
                        next += 1;
                        with_number!(reduction.number, T => {
                            let values = tile.values::<T>(reduction.from);
                            add::<T>(isa, reduction.op, wide_mut::<T>(sums), values, columns.len());
                        });
                    } else if self.extent_of(instruction) == Extent::Element {
                        tile.step(instruction);
                    }
                }
                first += count;
            }
        });
    }

    /// The same, with code for what is done to elements.
    fn sum_by_code(
        &self,
        code: &Generated,
        cut: &Cut,
        reductions: &[Reduction],
        memory: Memory<'_>,
        (task, at_once): (usize, usize),
        sums: &mut [u64],
    ) {
        let (place, part) = (task / cut.parts, task % cut.parts);
        let (outer, columns) = (place / cut.blocks, cut.columns(place % cut.blocks));
        let isa = Isa::usable();
        let room = (at_once * columns.len()).next_multiple_of(16);
        with_scratch(reductions.len() * room * size_of::<f32>() + 64, |scratch| {
            let scratch = scratch.as_mut_ptr().cast::<u8>();
            let scratch = scratch.wrapping_add(scratch.align_offset(64)).cast::<f32>();
            let all = cut.part(part);
            let mut outputs = memory.outputs.to_vec();
            for first in all.clone().step_by(at_once) {
                let count = at_once.min(all.end - first);
                let start = (outer * cut.reduced + first) * cut.width + columns.start;
                let length = count * columns.len();
                outputs.truncate(memory.outputs.len());
                // Outputs are counted from the first element of all.
                let rooms = (0..reductions.len()).map(|at| scratch.wrapping_add(at * room));
                outputs.extend(rooms.map(|room| room.wrapping_sub(start).cast::<u8>()));
                // SAFETY: the promise of the run; each reduction has room for as many elements as are computed.
                unsafe { code.run_part(start..start + length, memory.inputs, &outputs) };
                for (at, reduction) in reductions.iter().enumerate() {
                    // SAFETY: so many numbers were just written there.
                    let values = unsafe {
                        std::slice::from_raw_parts(scratch.wrapping_add(at * room), length)
                    };
                    let sums = &mut sums[at * cut.block..(at + 1) * cut.block];
                    add::<f32>(isa, reduction.op, wide_mut::<f32>(sums), values, columns.len());
                }
            }
        });
    }

    /// From the sums of a block to what is made of them.
    fn finish_block(
        &self,
        cut: &Cut,
        reductions: &[Reduction],
        memory: Memory<'_>,
        place: usize,
        sums: &[u64],
    ) {
        let (outer, columns) = (place / cut.blocks, cut.columns(place % cut.blocks));
        let start = outer * cut.width + columns.start;
        let grain = columns.len();
        with_scratch(self.scratch_bytes(grain), |scratch| {
            let rows = start..start + columns.len();
            let mut tile = Tile::new(self.kernel, memory, scratch, grain, 0..0, rows);
            let mut next = 0;
            for instruction in &self.kernel.code {
                if matches!(instruction, Instruction::Reduce { .. }) {
                    let reduction = reductions[next];
                    let sums = &sums[next * cut.block..(next + 1) * cut.block];
                    next += 1;
                    with_number!(reduction.number, T => {
                        let sums = wide::<T>(sums);
                        let initial = tile.source::<T>(reduction.initial, Extent::Row);
                        let room = tile.room::<T>(reduction.to);
                        for (at, room) in room.iter_mut().enumerate() {
                            let initial = match initial {
                                Source::One(value) => value,
                                Source::Each(values) | Source::PerRow(values) => values[at],
                            };
                            let whole = combine(reduction.op, initial.widen(), sums[at]);
                            *room = T::narrow(whole);
                        }
                    });
                } else if self.extent_of(instruction) == Extent::Row {
                    tile.step(instruction);
                }
            }
        });
    }
}

fn combine<W: Lane>(op: Binary, a: W, b: W) -> W {
    match op {
        Binary::Add => a.add(b),
        Binary::Multiply => a.multiply(b),
        Binary::Maximum => a.maximum(b),
        Binary::Minimum => a.minimum(b),
        Binary::And => a.and(b),
        Binary::Or => a.or(b),
        _ => a.xor(b),
    }
}

/// Sums as the words they are kept in.
fn wide<T: Fold>(words: &[u64]) -> &[T::Wide] {
    const { assert!(size_of::<T::Wide>() <= 8 && align_of::<T::Wide>() <= 8) };
    // SAFETY: as many numbers of at most a word each, for which every pattern of bits is one.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len()) }
}

/// As [`wide`], to write.
fn wide_mut<T: Fold>(words: &mut [u64]) -> &mut [T::Wide] {
    const { assert!(size_of::<T::Wide>() <= 8 && align_of::<T::Wide>() <= 8) };
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), words.len()) }
}

/// Nothing summed yet.
fn clear<T: Fold>(op: Binary, sums: &mut [u64]) {
    wide_mut::<T>(sums).fill(T::neutral(op));
}

/// The sums of a later part with those of an earlier one.
fn join<T: Fold>(op: Binary, into: &mut [u64], from: &[u64]) {
    for (into, from) in wide_mut::<T>(into).iter_mut().zip(wide::<T>(from)) {
        *into = combine(op, *into, *from);
    }
}

/// Adds elements to the sums, `width` side by side.
fn add<T: Fold>(isa: Isa, op: Binary, sums: &mut [T::Wide], values: &[T], width: usize) {
    macro_rules! each {
        ($combine:path) => {
            for values in values.chunks(width.max(1)) {
                dispatch!(isa, accumulate(&mut *sums, values, 1, T::widen, $combine));
            }
        };
    }
    match op {
        Binary::Add => each!(Lane::add),
        Binary::Multiply => each!(Lane::multiply),
        Binary::Maximum => each!(Lane::maximum),
        Binary::Minimum => each!(Lane::minimum),
        Binary::And => each!(Lane::and),
        Binary::Or => each!(Lane::or),
        _ => each!(Lane::xor),
    }
}

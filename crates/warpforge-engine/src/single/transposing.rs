//! Copies of tensors in another order of dimensions: square by square, so that what is read and what is written both stay in
//! the nearest cache, and block by block, so that memory is gone through in its order on one side.
#![allow(unsafe_code)]

use std::ops::Range;

use warpforge_hlo::ir::{Function, OpKind};

use super::Memory;
use crate::EngineError;
use crate::kernels::{Cost, Kernel};
#[cfg(target_arch = "x86_64")]
use crate::loops::{Isa, squares};
use crate::pattern::sizes;
use crate::pool::Pool;
use crate::view::View;

/// Elements of a square's side.
const SIDE: usize = 32;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Results of so many bytes leave the caches before anyone reads them.
const LARGE: usize = 16 << 20;

/// One dimension: its size, how far apart its elements are where they are read and where they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dimension {
    size: usize,
    from: isize,
    to: usize,
}

/// The kernel.
pub(crate) struct Transposing {
    operand: usize,
    element_bytes: usize,
    offset: isize,
    /// All dimensions but two.
    outer: Vec<Dimension>,
    /// The dimension whose elements follow one another where they are read.
    read: Dimension,
    /// The dimension whose elements follow one another where they are written.
    written: Dimension,
    cost: Cost,
}

/// Reads a function of ops that only place the elements of one operand.
pub(super) fn recognize(function: &Function, cost: Cost) -> Option<Transposing> {
    let (end, ops) = function.body.ops.split_last()?;
    let ([first, ..], [result]) = (ops, end.operands.as_slice()) else { return None };
    let [source] = first.operands.as_slice() else { return None };
    let operand = function.body.arguments.iter().position(|argument| argument == source)?;
    let mut view = View::row_major(&sizes(function.ty(*source).tensor()?)?);
    let mut value = *source;
    for op in ops {
        if op.operands != [value] {
            return None;
        }
        value = *op.results.first()?;
        let to = sizes(function.ty(value).tensor()?)?;
        view = match &op.kind {
            OpKind::Reshape => view.reshaped(&to)?,
            OpKind::Transpose { permutation } => view.transposed(permutation),
            OpKind::Slice { start, strides, .. } => view.sliced(start, strides, &to),
            _ => return None,
        };
    }
    if value != *result || view.elements() == 0 {
        return None;
    }
    let mut dimensions: Vec<Dimension> = Vec::new();
    let mut step = 1;
    for (size, from) in view.collapsed().into_iter().rev() {
        dimensions.push(Dimension { size, from, to: step });
        step *= size;
    }
    // Innermost first until here.
    let written = dimensions.first().copied().filter(|dimension| dimension.from != 1)?;
    let at = dimensions.iter().position(|dimension| dimension.from == 1)?;
    let read = dimensions.remove(at);
    dimensions.remove(0);
    dimensions.reverse();
    Some(Transposing {
        operand,
        element_bytes: function.ty(*source).tensor()?.storage().bytes(),
        offset: view.offset,
        outer: dimensions,
        read,
        written,
        cost,
    })
}

/// Rows and columns of a block: elements that follow one another where they are read, and where they are written.
type Block = [Range<usize>; 2];

impl Transposing {
    /// # Safety
    ///
    /// Operand and result are there, whole, of elements as large as `T`.
    unsafe fn copy<T: Copy>(&self, pool: &Pool, from: *const u8, to: *mut u8) {
        let memory = Memory { from: from.cast::<T>(), to: to.cast::<T>() };
        let planes: usize = self.outer.iter().map(|dimension| dimension.size).product();
        let (rows, columns) = (self.read.size, self.written.size);
        let sides = self.block();
        let blocks = [rows.div_ceil(sides[0]), columns.div_ceil(sides[1])];
        let each = blocks[0] * blocks[1];
        let bytes = size_of::<T>();
        let large = planes * rows * columns * bytes >= LARGE;
        let is_line = |at: usize| (at * bytes).is_multiple_of(LINE);
        let is_lines = is_line(self.read.to)
            && self.outer.iter().all(|dimension| is_line(dimension.to))
            && (to as usize).is_multiple_of(LINE);
        let streams = large && is_lines && matches!(bytes, 2 | 4);
        // Elements from one block to the next that a thread comes to, where they are read and where they are written.
        let next = match blocks[1] > 1 {
            true => (sides[1] as isize * self.written.from, sides[1]),
            false => (sides[0] as isize, sides[0] * self.read.to),
        };
        let grain = (1 << 14) / (sides[0] * sides[1]).max(1);
        pool.run_ranges(planes * each, grain, 4, &|range| {
            for number in range {
                let (mut plane, block) = (number / each, number % each);
                let (mut from, mut to) = (self.offset, 0);
                for dimension in self.outer.iter().rev() {
                    let at = plane % dimension.size;
                    plane /= dimension.size;
                    from += at as isize * dimension.from;
                    to += at * dimension.to;
                }
                let part =
                    |at: usize, side: usize, size: usize| at * side..((at + 1) * side).min(size);
                let block = [
                    part(block / blocks[1], sides[0], rows),
                    part(block % blocks[1], sides[1], columns),
                ];
                let work = Copying { of: self, memory, from, to, streams, next };
                // SAFETY: rows and columns lie within the operand and the result.
                unsafe { work.block(&block) };
            }
            #[cfg(target_arch = "x86_64")]
            if streams {
                // What went past the caches is there before anyone is told so.
                // SAFETY: every such processor has the instruction.
                unsafe { std::arch::x86_64::_mm_sfence() };
            }
        });
    }

    /// Rows and columns of a block: all of the shorter dimension, if it is not long, so that on one side memory is gone through in
    /// its order, and a few cache lines of the longer one.
    fn block(&self) -> [usize; 2] {
        const FEW: usize = 64;
        const MOST: usize = 256;
        match self.read.size <= self.written.size {
            true => [self.read.size.min(MOST), FEW],
            false => [FEW, self.written.size.min(MOST)],
        }
    }
}

/// A copy of a plane.
#[derive(Clone, Copy)]
struct Copying<'a, T> {
    of: &'a Transposing,
    memory: Memory<T>,
    /// Where it begins on both sides, in elements.
    from: isize,
    to: usize,
    /// Whether lines are written past the caches.
    streams: bool,
    /// Where the next block is, from this one on, on both sides.
    next: (isize, usize),
}

impl<T: Copy> Copying<'_, T> {
    /// # Safety
    ///
    /// All elements of the block are there on both sides.
    unsafe fn block(&self, [rows, columns]: &Block) {
        for row in rows.clone().step_by(SIDE) {
            for column in columns.clone().step_by(SIDE) {
                let square =
                    [row..(row + SIDE).min(rows.end), column..(column + SIDE).min(columns.end)];
                // SAFETY: the caller's promise.
                unsafe { self.square(&square) };
            }
        }
    }

    /// Where an element is read.
    #[inline(always)]
    fn read(&self, row: usize, column: usize) -> *const T {
        let at = row as isize + column as isize * self.of.written.from;
        self.memory.from.wrapping_offset(self.from + at)
    }

    /// Where it is written.
    #[inline(always)]
    fn write(&self, row: usize, column: usize) -> *mut T {
        self.memory.to.wrapping_add(self.to + row * self.of.read.to + column)
    }

    /// # Safety
    ///
    /// As for [`Self::block`], for a square.
    unsafe fn square(&self, [rows, columns]: &Block) {
        #[cfg(target_arch = "x86_64")]
        if (rows.len(), columns.len()) == (SIDE, SIDE) && Isa::usable() == Isa::Avx512 {
            let (row, column) = (rows.start, columns.start);
            // SAFETY: the caller's promise; the machine has the vectors.
            unsafe {
                match size_of::<T>() {
                    2 => {
                        self.ask_for_next(rows, columns);
                        let from = |line| self.read(row, column + line).cast();
                        let to = |line| self.write(row + line, column).cast();
                        return match self.streams {
                            true => squares::stream_thirty_two(from, to),
                            false => squares::turn_thirty_two(from, to),
                        };
                    }
                    4 => {
                        self.ask_for_next(rows, columns);
                        for [down, right] in [[0, 0], [0, 16], [16, 0], [16, 16]] {
                            let from = |line| self.read(row + down, column + right + line).cast();
                            let to = |line| self.write(row + down + line, column + right).cast();
                            match self.streams {
                                true => squares::stream_sixteen(from, to),
                                false => squares::turn_sixteen(from, to),
                            }
                        }
                        return;
                    }
                    _ => {}
                }
            }
        }
        for row in rows.clone() {
            for column in columns.clone() {
                // SAFETY: the caller's promise.
                unsafe { *self.write(row, column) = *self.read(row, column) };
            }
        }
    }

    /// Asks for the same square of the next block, and for the places where it is written unless that is done past the caches.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn ask_for_next(&self, rows: &Range<usize>, columns: &Range<usize>) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        for column in columns.clone() {
            for row in rows.clone().step_by(LINE / size_of::<T>()) {
                let soon = self.read(row, column).wrapping_offset(self.next.0);
                // SAFETY: asking for memory that is not there does nothing.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(soon.cast()) };
            }
        }
        if self.streams {
            return;
        }
        for row in rows.clone() {
            for column in columns.clone().step_by(LINE / size_of::<T>()) {
                let soon = self.write(row, column).wrapping_add(self.next.1);
                // SAFETY: as above.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(soon.cast()) };
            }
        }
    }
}

impl Kernel for Transposing {
    fn backend(&self) -> &'static str {
        "move"
    }

    fn cost(&self) -> Cost {
        self.cost
    }

    unsafe fn launch(
        &self,
        pool: &Pool,
        inputs: &[*const u8],
        outputs: &[*mut u8],
    ) -> Result<(), EngineError> {
        let (from, to) = (inputs[self.operand], outputs[0]);
        // SAFETY: the caller's promise; elements are copied whole.
        unsafe {
            match self.element_bytes {
                1 => self.copy::<u8>(pool, from, to),
                2 => self.copy::<u16>(pool, from, to),
                4 => self.copy::<u32>(pool, from, to),
                8 => self.copy::<u64>(pool, from, to),
                _ => self.copy::<[u64; 2]>(pool, from, to),
            }
        }
        Ok(())
    }
}

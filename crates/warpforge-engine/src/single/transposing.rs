//! Copies of tensors in another order of dimensions, square by square, so that what is read and what is written both stay in
//! the nearest cache.
#![allow(unsafe_code)]

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

impl Transposing {
    /// # Safety
    ///
    /// Operand and result are there, whole, of elements as large as `T`.
    unsafe fn copy<T: Copy>(&self, pool: &Pool, from: *const u8, to: *mut u8) {
        let memory = Memory { from: from.cast::<T>(), to: to.cast::<T>() };
        let stripes = self.read.size.div_ceil(SIDE);
        let planes: usize = self.outer.iter().map(|dimension| dimension.size).product();
        let grain = (1 << 14) / (SIDE * self.written.size).max(1);
        pool.run_ranges(planes * stripes, grain, 4, &|range| {
            for number in range {
                let (mut plane, stripe) = (number / stripes, number % stripes);
                let (mut from, mut to) = (self.offset, 0);
                for dimension in self.outer.iter().rev() {
                    let at = plane % dimension.size;
                    plane /= dimension.size;
                    from += at as isize * dimension.from;
                    to += at * dimension.to;
                }
                let rows = stripe * SIDE..((stripe + 1) * SIDE).min(self.read.size);
                let mut first = 0;
                while first < self.written.size {
                    let columns = first..(first + SIDE).min(self.written.size);
                    // SAFETY: rows and columns lie within the operand and the result.
                    unsafe { self.square(memory, from, to, &rows, &columns) };
                    first = columns.end;
                }
            }
        });
    }

    /// # Safety
    ///
    /// All elements of the square are there on both sides.
    unsafe fn square<T: Copy>(
        &self,
        memory: Memory<T>,
        from: isize,
        to: usize,
        rows: &std::ops::Range<usize>,
        columns: &std::ops::Range<usize>,
    ) {
        #[cfg(target_arch = "x86_64")]
        if (rows.len(), columns.len()) == (SIDE, SIDE) && Isa::detected() == Isa::Avx512 {
            let read = |column: usize| {
                let at =
                    rows.start as isize + (columns.start + column) as isize * self.written.from;
                memory.from.wrapping_offset(from + at)
            };
            let write = |row: usize| {
                memory.to.wrapping_add(to + (rows.start + row) * self.read.to + columns.start)
            };
            // SAFETY: the caller's promise; the machine has the vectors.
            unsafe {
                match size_of::<T>() {
                    2 => {
                        squares::turn_thirty_two(
                            |line| read(line).cast(),
                            |line| write(line).cast(),
                        );
                        return;
                    }
                    4 => {
                        for [first, second] in [[0, 0], [0, 16], [16, 0], [16, 16]] {
                            squares::turn_sixteen(
                                |line| read(first + line).wrapping_add(second).cast(),
                                |line| write(second + line).wrapping_add(first).cast(),
                            );
                        }
                        return;
                    }
                    _ => {}
                }
            }
        }
        for row in rows.clone() {
            for column in columns.clone() {
                let read = from + row as isize + column as isize * self.written.from;
                // SAFETY: the caller's promise.
                unsafe {
                    *memory.to.add(to + row * self.read.to + column) = *memory.from.offset(read);
                }
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

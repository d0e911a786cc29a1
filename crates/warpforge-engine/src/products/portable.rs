//! Products for machines without 512-bit vectors where the vendor library does not take them, or is not there: the right operand
//! is packed into panels of columns, as f32, and a few rows of the result are computed at a time.
//!
//! What always holds: an element's terms are added in the order of the depth, whatever the number of threads.
#![allow(unsafe_code)]

use std::ops::Range;

use warpforge_tensor::DType;

use super::Product;
use crate::loops::Isa;
use crate::loops::narrow::{from_bf16, from_f16, to_bf16, to_f16};
use crate::pool::Pool;

/// Columns of a panel, and rows computed at a time: their sums are twelve of the sixteen registers of a machine with vectors of eight
/// numbers.
const PANEL: usize = 16;
const ROWS: usize = 6;
/// Rows of a task at most: while they pass by, a panel stays in a cache.
const BLOCK: usize = 8 * ROWS;
/// Panels of a task at most.
const GROUP: usize = 16;

/// Pointers that threads share: each writes its own part.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);

// SAFETY: every task writes a part of its own.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Shared<T> {}

impl<T> Shared<T> {
    fn get(self) -> *mut T {
        self.0
    }
}

impl Product {
    /// Computes all products of the batch.
    ///
    /// # Safety
    ///
    /// The pointers lead to all elements that the product's strides reach, of its types; the result overlaps nothing.
    pub(crate) unsafe fn run_portable(
        &self,
        pool: &Pool,
        lhs: *const u8,
        rhs: *const u8,
        out: *mut u8,
    ) {
        let panels = self.columns.size.div_ceil(PANEL);
        let blocks = self.rows.size.div_ceil(BLOCK);
        let panel_numbers = PANEL * self.depth.size;
        // Panels that only one task reads it packs itself, where they stay in its cache.
        let shares = blocks > 1;
        let mut packed = vec![0.0_f32; if shares { panels * panel_numbers } else { 0 }];
        let shared = (Shared(lhs.cast_mut()), Shared(rhs.cast_mut()), Shared(out));
        for number in 0..self.count() {
            let starts = self.starts(number);
            let panel_room = Shared(packed.as_mut_ptr());
            pool.run(if shares { panels } else { 0 }, &|panel| {
                // SAFETY: each panel is a part of its own.
                let room = unsafe {
                    let place = panel_room.get().add(panel * panel_numbers);
                    std::slice::from_raw_parts_mut(place, panel_numbers)
                };
                // SAFETY: the caller's promise.
                unsafe { self.pack_panel(shared.1.get(), starts[1], panel, room) };
            });
            let packed = shares.then_some(&packed[..]);
            let groups = panels.div_ceil(GROUP);
            pool.run(blocks * groups, &|task| {
                let (block, group) = (task / groups * BLOCK, task % groups * GROUP);
                let rows = block..self.rows.size.min(block + BLOCK);
                let panels = group..panels.min(group + GROUP);
                let pointers = (shared.0.get().cast_const(), shared.1.get().cast_const());
                // SAFETY: the caller's promise; each part of the result is written by one task.
                unsafe {
                    self.block(pointers, packed, shared.2.get(), starts, &rows, panels);
                }
            });
        }
    }

    /// Copies the columns of a panel, depth by depth, as f32; columns beyond the last are 0.
    unsafe fn pack_panel(&self, rhs: *const u8, start: isize, panel: usize, room: &mut [f32]) {
        let first = panel * PANEL;
        let lines = Lines {
            base: rhs,
            dtype: self.dtypes[1],
            start: start + first as isize * self.columns.rhs,
            across: self.columns.rhs,
            along: self.depth.rhs,
            count: PANEL.min(self.columns.size - first),
        };
        // SAFETY: the caller's promise.
        unsafe { lines.pack::<PANEL>(room) };
    }

    /// Computes some rows of some panels, of operands and a result whose matrices begin at `starts`.
    unsafe fn block(
        &self,
        (lhs, rhs): (*const u8, *const u8),
        packed: Option<&[f32]>,
        out: *mut u8,
        [left, right, result]: [isize; 3],
        rows: &Range<usize>,
        panels: Range<usize>,
    ) {
        let depth = self.depth.size;
        let mut lines = vec![0.0_f32; rows.len().next_multiple_of(ROWS) * depth];
        for (strip, first) in rows.clone().step_by(ROWS).enumerate() {
            let room = &mut lines[strip * ROWS * depth..][..ROWS * depth];
            let strip = Lines {
                base: lhs,
                dtype: self.dtypes[0],
                start: left + first as isize * self.rows.lhs,
                across: self.rows.lhs,
                along: self.depth.lhs,
                count: ROWS.min(rows.end - first),
            };
            // SAFETY: the caller's promise.
            unsafe { strip.pack::<ROWS>(room) };
        }
        let mut own = vec![0.0_f32; if packed.is_none() { PANEL * depth } else { 0 }];
        // By number: panels of no depth have no numbers, but their sums are 0 all the same.
        for panel in panels {
            let columns = match packed {
                Some(packed) => &packed[panel * PANEL * depth..][..PANEL * depth],
                None => {
                    // SAFETY: the caller's promise.
                    unsafe { self.pack_panel(rhs, right, panel, &mut own) };
                    &own
                }
            };
            let wide = PANEL.min(self.columns.size - panel * PANEL);
            for (strip, first) in rows.clone().step_by(ROWS).enumerate() {
                let sums = multiply(&lines[strip * ROWS * depth..][..ROWS * depth], columns);
                let count = ROWS.min(rows.end - first);
                for (row, sums) in sums.iter().enumerate().take(count) {
                    let at = result
                        + (first + row) as isize * self.rows.out
                        + (panel * PANEL) as isize * self.columns.out;
                    for (column, sum) in sums.iter().enumerate().take(wide) {
                        let at = at + column as isize * self.columns.out;
                        // SAFETY: the caller's promise.
                        unsafe { write(out, self.dtypes[2], at, *sum) };
                    }
                }
            }
        }
    }
}

/// The sums of a few rows and a panel.
type Sums = [[f32; PANEL]; ROWS];

fn multiply_lines(lines: &[f32], columns: &[f32]) -> Sums {
    let mut sums = [[0.0_f32; PANEL]; ROWS];
    let (lines, _) = lines.as_chunks::<ROWS>();
    let (columns, _) = columns.as_chunks::<PANEL>();
    for (left, right) in lines.iter().zip(columns) {
        for (sums, left) in sums.iter_mut().zip(left) {
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum += left * right;
            }
        }
    }
    sums
}

/// The same, written for the machine: a compiler that is left to itself gathers sums from memory and scatters them again. Closures
/// and adapters, which know nothing of the instructions, would be calls.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[allow(clippy::needless_range_loop)]
fn multiply_256(lines: &[f32], columns: &[f32]) -> Sums {
    use std::arch::x86_64::{
        _mm256_broadcast_ss, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_setzero_ps, _mm256_storeu_ps,
    };
    const LANES: usize = 8;
    const { assert!(PANEL == 2 * LANES) };
    let mut vectors = [[_mm256_setzero_ps(); 2]; ROWS];
    let depth = (lines.len() / ROWS).min(columns.len() / PANEL);
    let (mut left, mut right) = (lines.as_ptr(), columns.as_ptr());
    for _ in 0..depth {
        // SAFETY: there are so many steps of both, of as many rows and columns.
        unsafe {
            let low = _mm256_loadu_ps(right);
            let high = _mm256_loadu_ps(right.add(LANES));
            for row in 0..ROWS {
                let factor = _mm256_broadcast_ss(&*left.add(row));
                vectors[row][0] = _mm256_fmadd_ps(factor, low, vectors[row][0]);
                vectors[row][1] = _mm256_fmadd_ps(factor, high, vectors[row][1]);
            }
            (left, right) = (left.add(ROWS), right.add(PANEL));
        }
    }
    let mut sums = [[0.0_f32; PANEL]; ROWS];
    for row in 0..ROWS {
        let to = sums[row].as_mut_ptr();
        // SAFETY: a row has two vectors.
        unsafe {
            _mm256_storeu_ps(to, vectors[row][0]);
            _mm256_storeu_ps(to.add(LANES), vectors[row][1]);
        }
    }
    sums
}

fn multiply(lines: &[f32], columns: &[f32]) -> Sums {
    match Isa::usable() {
        // SAFETY: `Isa` has these values only where the instructions were found.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 | Isa::Avx2 => unsafe { multiply_256(lines, columns) },
        _ => multiply_lines(lines, columns),
    }
}

/// Lines of an operand: how many, where the first begins, and how far it is from one to the next and from one number of a line to
/// the next.
struct Lines {
    base: *const u8,
    dtype: DType,
    start: isize,
    across: isize,
    along: isize,
    count: usize,
}

impl Lines {
    /// Copies them side by side, as f32, filled up with 0 to `WIDTH`.
    ///
    /// # Safety
    ///
    /// As many numbers of each line as there is room for are there, of their type.
    unsafe fn pack<const WIDTH: usize>(&self, room: &mut [f32]) {
        // SAFETY: the caller's promise; `Isa` has these values only where the instructions were found.
        unsafe {
            match Isa::usable() {
                #[cfg(target_arch = "x86_64")]
                Isa::Avx512 | Isa::Avx2 => self.pack_256::<WIDTH>(room),
                _ => self.pack_each::<WIDTH>(room),
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn pack_256<const WIDTH: usize>(&self, room: &mut [f32]) {
        // SAFETY: the caller's promise.
        unsafe { self.pack_each::<WIDTH>(room) };
    }

    #[inline(always)]
    unsafe fn pack_each<const WIDTH: usize>(&self, room: &mut [f32]) {
        let (narrow, wide) = (self.base.cast::<u16>(), self.base.cast::<f32>());
        // SAFETY: the caller's promise.
        unsafe {
            match self.dtype {
                DType::BF16 => self.pack_by::<WIDTH>(|at| from_bf16(*narrow.offset(at)), room),
                DType::F16 => self.pack_by::<WIDTH>(|at| from_f16(*narrow.offset(at)), room),
                _ => self.pack_by::<WIDTH>(|at| *wide.offset(at), room),
            }
        }
    }

    #[inline(always)]
    fn pack_by<const WIDTH: usize>(&self, read: impl Fn(isize) -> f32, room: &mut [f32]) {
        let Self { start, across, along, count, .. } = *self;
        let (steps, _) = room.as_chunks_mut::<WIDTH>();
        for (step, lines) in steps.iter_mut().enumerate() {
            let at = start + step as isize * along;
            // Neighbours are read as vectors.
            if count == WIDTH && across == 1 {
                for (line, to) in lines.iter_mut().enumerate() {
                    *to = read(at + line as isize);
                }
                continue;
            }
            for (line, to) in lines.iter_mut().enumerate() {
                *to = if line < count { read(at + line as isize * across) } else { 0.0 };
            }
        }
    }
}

#[cfg(test)]
unsafe fn read(base: *const u8, dtype: DType, at: isize) -> f32 {
    // SAFETY: the caller's promise.
    unsafe {
        match dtype {
            DType::BF16 => from_bf16(*base.cast::<u16>().offset(at)),
            DType::F16 => from_f16(*base.cast::<u16>().offset(at)),
            _ => *base.cast::<f32>().offset(at),
        }
    }
}

unsafe fn write(base: *mut u8, dtype: DType, at: isize, value: f32) {
    // SAFETY: the caller's promise.
    unsafe {
        match dtype {
            DType::BF16 => *base.cast::<u16>().offset(at) = to_bf16(value),
            DType::F16 => *base.cast::<u16>().offset(at) = to_f16(value),
            _ => *base.cast::<f32>().offset(at) = value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Buffer;
    use crate::pool::Placement;
    use crate::products::{Handed, Index};
    use crate::view::View;

    /// A batch of two products, each of whose operands lies by rows.
    fn product([rows, depth, columns]: [usize; 3], dtypes: [DType; 3]) -> Product {
        let sizes = [rows * depth, depth * columns, rows * columns].map(|size| size as isize);
        let index = |size, lhs: usize, rhs: usize, out: usize| {
            let [lhs, rhs, out] = [lhs, rhs, out].map(|distance| distance as isize);
            Index { size, lhs, rhs, out, own: out }
        };
        Product {
            operands: [0, 1],
            offsets: [0, 0],
            dtypes,
            batch: vec![Index { size: 2, lhs: sizes[0], rhs: sizes[1], out: sizes[2], own: 0 }],
            rows: index(rows, depth, 0, columns),
            columns: index(columns, 0, 1, 1),
            depth: index(depth, 1, columns, 0),
            tails: Vec::new(),
            result: View::row_major(&[2, rows, columns]),
            by: None,
            handed: Handed::default(),
            over: None,
        }
    }

    /// Small multiples of a quarter, which every type holds and whose sums are exact.
    fn numbers(count: usize, dtype: DType, seed: usize) -> Buffer {
        let room = Buffer::new(count * dtype.bytes());
        for at in 0..count {
            // SAFETY: there is room for so many.
            unsafe { write(room.pointer(), dtype, at as isize, number(at, seed)) };
        }
        room
    }

    fn number(at: usize, seed: usize) -> f32 {
        ((at * 7 + seed) % 13) as f32 * 0.25 - 1.5
    }

    /// Every edge of a strip, of a block, of a panel and of a group of them, and none of depth.
    #[test]
    fn every_edge_in_every_type() {
        let pool = Pool::new(2, &Placement::Anywhere).unwrap();
        let types = [[DType::F32; 3], [DType::BF16, DType::BF16, DType::F32], [DType::F16; 3]];
        let shapes = [
            [1, 1, 1],
            [5, 9, 15],
            [6, 16, 16],
            [7, 40, 17],
            [49, 8, 257],
            [97, 3, 520],
            [2, 0, 3],
        ];
        for (shape, dtypes) in shapes.into_iter().flat_map(|shape| types.map(|it| (shape, it))) {
            let [rows, depth, columns] = shape;
            let left = numbers(2 * rows * depth, dtypes[0], 1);
            let right = numbers(2 * depth * columns, dtypes[1], 5);
            let out = Buffer::new(2 * rows * columns * dtypes[2].bytes());
            let product = product(shape, dtypes);
            // SAFETY: the operands and the result have as many elements as the product.
            unsafe {
                product.run_portable(&pool, left.pointer(), right.pointer(), out.pointer());
            }
            for at in 0..2 * rows * columns {
                let (number_of, row, column) =
                    (at / (rows * columns), at / columns % rows, at % columns);
                let wanted: f32 = (0..depth)
                    .map(|k| {
                        number((number_of * rows + row) * depth + k, 1)
                            * number((number_of * depth + k) * columns + column, 5)
                    })
                    .sum();
                // SAFETY: there are so many.
                let found = unsafe { read(out.pointer(), dtypes[2], at as isize) };
                assert_eq!(found, wanted, "{shape:?} {dtypes:?} at {at}");
            }
        }
    }

    /// What is written for the machine computes what the compiler makes of it, where a machine has both.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn both_forms_agree() {
        if !is_x86_feature_detected!("avx2") || !is_x86_feature_detected!("fma") {
            return;
        }
        for depth in [0, 1, 7, 300] {
            let lines: Vec<f32> = (0..depth * ROWS).map(|at| number(at, 3)).collect();
            let columns: Vec<f32> = (0..depth * PANEL).map(|at| number(at, 8)).collect();
            // SAFETY: the machine was asked.
            assert_eq!(multiply_lines(&lines, &columns), unsafe { multiply_256(&lines, &columns) });
        }
    }
}

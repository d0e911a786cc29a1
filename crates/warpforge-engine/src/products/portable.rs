//! Products in plain Rust, for builds without the vendor library and for shapes it does not take: the right operand is
//! packed into panels of columns, a few rows of the result are computed at a time.
//!
//! What always holds: an element's terms are added in the order of the depth, whatever the number of threads.
#![allow(unsafe_code)]

use warpforge_tensor::DType;

use super::Product;
use crate::loops::narrow::{from_bf16, from_f16, to_bf16, to_f16};
use crate::pool::Pool;

/// Columns of a panel.
const PANEL: usize = 32;
/// Rows computed at a time.
const ROWS: usize = 4;

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
        let depth = self.depth.size;
        let mut packed = vec![0.0_f32; panels * PANEL * depth];
        let shared = (Shared(lhs.cast_mut()), Shared(rhs.cast_mut()), Shared(out));
        for number in 0..self.count() {
            let [left, right, result] = self.starts(number);
            let panel_room = Shared(packed.as_mut_ptr());
            pool.run(panels, &|panel| {
                // SAFETY: each panel is a part of its own.
                let room = unsafe {
                    std::slice::from_raw_parts_mut(
                        panel_room.get().add(panel * PANEL * depth),
                        PANEL * depth,
                    )
                };
                // SAFETY: the caller's promise.
                unsafe { self.pack(shared.1.get(), right, panel * PANEL, room) };
            });
            let packed = &packed;
            pool.run(self.rows.size.div_ceil(ROWS), &|block| {
                let first = block * ROWS;
                let count = ROWS.min(self.rows.size - first);
                // SAFETY: the caller's promise; each block of rows is written by one task.
                unsafe {
                    self.block(shared.0.get(), left, packed, shared.2.get(), result, first, count);
                }
            });
        }
    }

    /// Copies the columns from `first` on, depth by depth, as f32; columns beyond the last are 0.
    unsafe fn pack(&self, rhs: *const u8, start: isize, first: usize, room: &mut [f32]) {
        let count = PANEL.min(self.columns.size - first);
        for (k, line) in room.chunks_mut(PANEL).enumerate() {
            let at = start + k as isize * self.depth.rhs + first as isize * self.columns.rhs;
            for (column, value) in line.iter_mut().enumerate() {
                *value = if column < count {
                    // SAFETY: the caller's promise.
                    unsafe { read(rhs, self.dtypes[1], at + column as isize * self.columns.rhs) }
                } else {
                    0.0
                };
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    unsafe fn block(
        &self,
        lhs: *const u8,
        left: isize,
        packed: &[f32],
        out: *mut u8,
        result: isize,
        first: usize,
        count: usize,
    ) {
        let depth = self.depth.size;
        let mut lines = vec![0.0_f32; ROWS * depth];
        for row in 0..count {
            let at = left + (first + row) as isize * self.rows.lhs;
            for k in 0..depth {
                // SAFETY: the caller's promise.
                lines[k * ROWS + row] =
                    unsafe { read(lhs, self.dtypes[0], at + k as isize * self.depth.lhs) };
            }
        }
        // By number: panels of no depth have no numbers, but their sums are 0 all the same.
        for panel in 0..self.columns.size.div_ceil(PANEL) {
            let sums = multiply(&lines, &packed[panel * PANEL * depth..][..PANEL * depth]);
            let wide = PANEL.min(self.columns.size - panel * PANEL);
            for (row, sums) in sums.iter().enumerate().take(count) {
                let at = result
                    + (first + row) as isize * self.rows.out
                    + (panel * PANEL) as isize * self.columns.out;
                for (column, sum) in sums.iter().enumerate().take(wide) {
                    // SAFETY: the caller's promise.
                    unsafe {
                        write(out, self.dtypes[2], at + column as isize * self.columns.out, *sum);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn multiply_lines(lines: &[f32], columns: &[f32]) -> [[f32; PANEL]; ROWS] {
    let mut sums = [[0.0_f32; PANEL]; ROWS];
    let (lines, _) = lines.as_chunks::<ROWS>();
    let (columns, _) = columns.as_chunks::<PANEL>();
    for (left, right) in lines.iter().zip(columns) {
        for row in 0..ROWS {
            for column in 0..PANEL {
                sums[row][column] += left[row] * right[column];
            }
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn multiply_512(lines: &[f32], columns: &[f32]) -> [[f32; PANEL]; ROWS] {
    multiply_lines(lines, columns)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn multiply_256(lines: &[f32], columns: &[f32]) -> [[f32; PANEL]; ROWS] {
    multiply_lines(lines, columns)
}

fn multiply(lines: &[f32], columns: &[f32]) -> [[f32; PANEL]; ROWS] {
    use crate::loops::vector::Isa;
    match Isa::detected() {
        // SAFETY: `Isa` has this value only where the instructions were found.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { multiply_512(lines, columns) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { multiply_256(lines, columns) },
        _ => multiply_lines(lines, columns),
    }
}

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

//! Puts lines of a matrix side by side, so that a step along all of them reads neighbours; narrower numbers become f32.
#![allow(unsafe_code)]

use warpforge_tensor::DType;

#[cfg(target_arch = "x86_64")]
use super::super::rows::vectors;
use super::super::wide::{Bf16, F16, Wide};
use super::ROWS;
#[cfg(target_arch = "x86_64")]
use crate::loops::squares;

/// Lines of a square that is turned, and its numbers of each.
#[cfg(target_arch = "x86_64")]
const SIDE: usize = 16;

/// Steps that numbers side by side, which are read at a distance from one step to the next, are asked for in advance.
#[cfg(target_arch = "x86_64")]
pub(super) const AHEAD: usize = 8;

/// Lines of a matrix: rows of the left operand, columns of the right one.
pub(super) struct Lines {
    /// The operand.
    pub(super) from: *const u8,
    /// The first number of the first line, counted in numbers.
    pub(super) start: isize,
    /// From one line to the next.
    pub(super) across: isize,
    /// From one number of a line to the next.
    pub(super) along: isize,
    pub(super) count: usize,
    pub(super) length: usize,
}

impl Lines {
    /// Writes the first numbers of all lines, then the second ones, and so on, each time filled up with 0 to `width`.
    ///
    /// # Safety
    ///
    /// All numbers of the lines are there, of this type, `to` has room for `length` times `width`, `width` is at least the
    /// lines' count, and the machine has 512-bit vectors.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(super) unsafe fn pack(&self, dtype: DType, to: *mut f32, width: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            match dtype {
                DType::BF16 => self.pack_from(self.from.cast::<Bf16>(), to, width),
                DType::F16 => self.pack_from(self.from.cast::<F16>(), to, width),
                _ => self.pack_from(self.from.cast::<f32>(), to, width),
            }
        }
    }

    /// Packs lines as strips of a tile's rows, one after the other, the last as wide as it is.
    ///
    /// # Safety
    ///
    /// As for [`Self::pack`], with room for as many numbers as the lines have.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(super) unsafe fn pack_strips(&self, dtype: DType, to: *mut f32) {
        if dtype == DType::F32 && self.across == 1 {
            // SAFETY: the caller's promise.
            unsafe { self.copy_strips(self.from.cast::<f32>().offset(self.start), to) };
            return;
        }
        for first in (0..self.count).step_by(ROWS) {
            let count = ROWS.min(self.count - first);
            let start = self.start + first as isize * self.across;
            let strip = Self { start, count, ..*self };
            // SAFETY: the caller's promise.
            unsafe { strip.pack(dtype, to.add(first * self.length), count) };
        }
    }

    /// Lines that lie beside one another, all strips of a step before the next: what lies together is read together.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn copy_strips(&self, from: *const f32, to: *mut f32) {
        const WHOLE: u16 = (1 << ROWS) - 1;
        let (whole, rest) = (self.count / ROWS, self.count % ROWS);
        for step in 0..self.length {
            let from = from.wrapping_offset(step as isize * self.along);
            for strip in 0..whole {
                // SAFETY: the caller's promise: these lines are there, and there is room for them.
                unsafe {
                    let from = from.add(strip * ROWS);
                    let to = to.add(strip * ROWS * self.length + step * ROWS);
                    ask_for(from.wrapping_offset(AHEAD as isize * self.along));
                    ask_to_write(to.wrapping_add(AHEAD * ROWS));
                    vectors::store(to, WHOLE, vectors::load(from, WHOLE));
                }
            }
            if rest > 0 {
                let mask = (1 << rest) - 1;
                // SAFETY: as above.
                unsafe {
                    let numbers = vectors::load(from.add(whole * ROWS), mask);
                    let to = to.add(whole * ROWS * self.length + step * rest);
                    vectors::store(to, mask, numbers);
                }
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    unsafe fn copy_strips(&self, _: *const f32, _: *mut f32) {
        unreachable!("tiles need 512-bit vectors");
    }

    #[inline(always)]
    unsafe fn pack_from<T: Wide>(&self, from: *const T, to: *mut f32, width: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let from = from.offset(self.start);
            if self.across == 1 {
                self.copy(from, to, width);
            } else if self.along == 1 {
                self.transpose(from, to, width);
            } else {
                self.gather(from, to, width, 0..self.count, 0..self.length);
            }
            if self.count < width {
                for step in 0..self.length {
                    let rest = to.add(step * width + self.count);
                    std::slice::from_raw_parts_mut(rest, width - self.count).fill(0.0);
                }
            }
        }
    }

    /// Lines that lie beside one another.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn copy<T: Wide>(&self, from: *const T, to: *mut f32, width: usize) {
        for step in 0..self.length {
            for line in (0..self.count).step_by(16) {
                let mask = vectors::mask(line, self.count);
                // SAFETY: the caller's promise; a mask leaves out what is behind the last line.
                unsafe {
                    let from = from.offset(step as isize * self.along).add(line);
                    vectors::store(to.add(step * width + line), mask, T::sixteen(from, mask));
                }
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    unsafe fn copy<T: Wide>(&self, _: *const T, _: *mut f32, _: usize) {
        unreachable!("tiles need 512-bit vectors");
    }

    /// Lines that lie one after the other: squares of sixteen numbers of sixteen lines. The machine sees by itself what comes
    /// next, and what is asked for besides takes the place of what it fetches.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn transpose<T: Wide>(&self, from: *const T, to: *mut f32, width: usize) {
        let steps = self.length / SIDE * SIDE;
        for first in (0..self.count).step_by(SIDE) {
            let count = SIDE.min(self.count - first);
            for step in (0..steps).step_by(SIDE) {
                // SAFETY: the caller's promise.
                unsafe {
                    let from = from.offset(first as isize * self.across + step as isize);
                    let to = to.add(step * width + first);
                    match count {
                        SIDE => turn::<T, SIDE>(from, self.across, SIDE, to, width),
                        ROWS => turn::<T, ROWS>(from, self.across, ROWS, to, width),
                        _ => turn::<T, 0>(from, self.across, count, to, width),
                    }
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.gather(from, to, width, 0..self.count, steps..self.length) };
    }

    #[cfg(not(target_arch = "x86_64"))]
    unsafe fn transpose<T: Wide>(&self, _: *const T, _: *mut f32, _: usize) {
        unreachable!("tiles need 512-bit vectors");
    }

    /// Lines at any distances.
    #[inline(always)]
    unsafe fn gather<T: Wide>(
        &self,
        from: *const T,
        to: *mut f32,
        width: usize,
        lines: std::ops::Range<usize>,
        steps: std::ops::Range<usize>,
    ) {
        for step in steps {
            for line in lines.clone() {
                let at = line as isize * self.across + step as isize * self.along;
                // SAFETY: the caller's promise.
                unsafe { *to.add(step * width + line) = (*from.offset(at)).wide() };
            }
        }
    }
}

/// Asks for a number that is read later.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn ask_for(from: *const f32) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: asking for memory that is not there does nothing.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) };
}

/// Asks for the place of a number that is written later.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn ask_to_write(to: *const f32) {
    use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
    // SAFETY: asking for memory that is not there does nothing.
    unsafe { _mm_prefetch::<_MM_HINT_ET0>(to.cast()) };
}

/// Up to sixteen lines of sixteen numbers, `across` apart, become sixteen groups of as many, `width` apart. `KNOWN` is their
/// count where the compiler is to know it, else 0.
///
/// # Safety
///
/// All of them are there, and the machine has 512-bit vectors.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn turn<T: Wide, const KNOWN: usize>(
    from: *const T,
    across: isize,
    count: usize,
    to: *mut f32,
    width: usize,
) {
    use std::arch::x86_64::{_mm512_castps_si512, _mm512_castsi512_ps};
    let count = if KNOWN > 0 { KNOWN } else { count };
    let mask = vectors::mask(0, count);
    // SAFETY: the caller's promise; the last line stands for those behind it, which a mask leaves out.
    unsafe {
        squares::turned_sixteen(
            |line| {
                let from = from.offset(line.min(count - 1) as isize * across);
                _mm512_castps_si512(T::sixteen(from, !0))
            },
            |step, lines| vectors::store(to.add(step * width), mask, _mm512_castsi512_ps(lines)),
        );
    }
}

//! Puts lines of a matrix side by side, so that a step along all of them reads neighbours; narrower numbers become f32.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m512;

use warpforge_tensor::DType;

#[cfg(target_arch = "x86_64")]
use super::super::rows::vectors;
use super::super::wide::{Bf16, F16, Wide};
use super::ROWS;

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
                    let numbers = vectors::load(from.add(strip * ROWS), WHOLE);
                    let to = to.add(strip * ROWS * self.length + step * ROWS);
                    vectors::store(to, WHOLE, numbers);
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

    /// Lines that lie one after the other: sixteen numbers of four lines at a time. The last four may be among those before.
    #[inline(always)]
    unsafe fn transpose<T: Wide>(&self, from: *const T, to: *mut f32, width: usize) {
        let Some(last) = self.count.checked_sub(4) else {
            // SAFETY: the caller's promise.
            return unsafe { self.gather(from, to, width, 0..self.count, 0..self.length) };
        };
        let steps = self.length / 16 * 16;
        for line in (0..self.count).step_by(4) {
            let line = line.min(last);
            for step in (0..steps).step_by(16) {
                // SAFETY: the caller's promise.
                unsafe {
                    let from = from.offset(line as isize * self.across + step as isize);
                    ask_for_four(from.wrapping_offset(4 * self.across), self.across);
                    transpose_four(from, self.across, to.add(step * width + line), width);
                }
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.gather(from, to, width, 0..self.count, steps..self.length) };
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

/// Asks for sixteen numbers of each of four lines, `across` apart: they are far from one another, so the machine does not see
/// by itself that they come next.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ask_for_four<T>(from: *const T, across: isize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    for line in 0..4 {
        // SAFETY: asking for memory that is not there does nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_offset(line * across).cast()) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn ask_for_four<T>(_: *const T, _: isize) {}

/// Four lines of sixteen numbers, `across` apart, become sixteen groups of four, `width` apart.
///
/// # Safety
///
/// All of them are there, and the machine has 512-bit vectors.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn transpose_four<T: Wide>(from: *const T, across: isize, to: *mut f32, width: usize) {
    use std::arch::x86_64::{
        _mm_storeu_ps, _mm512_castpd_ps, _mm512_castps_pd, _mm512_extractf32x4_ps,
        _mm512_unpackhi_pd, _mm512_unpackhi_ps, _mm512_unpacklo_pd, _mm512_unpacklo_ps,
    };
    // SAFETY: the caller's promise.
    unsafe {
        let line = |number: isize| T::sixteen(from.offset(number * across), !0);
        let [a, b, c, d] = [line(0), line(1), line(2), line(3)];
        let pairs = |low: __m512, high: __m512| {
            let (low, high) = (_mm512_castps_pd(low), _mm512_castps_pd(high));
            let both = [_mm512_unpacklo_pd(low, high), _mm512_unpackhi_pd(low, high)];
            [_mm512_castpd_ps(both[0]), _mm512_castpd_ps(both[1])]
        };
        let [first, second] = pairs(_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
        let [third, fourth] = pairs(_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
        // Each holds every fourth group.
        for (step, groups) in [first, second, third, fourth].into_iter().enumerate() {
            let to = to.add(step * width);
            _mm_storeu_ps(to, _mm512_extractf32x4_ps::<0>(groups));
            _mm_storeu_ps(to.add(4 * width), _mm512_extractf32x4_ps::<1>(groups));
            _mm_storeu_ps(to.add(8 * width), _mm512_extractf32x4_ps::<2>(groups));
            _mm_storeu_ps(to.add(12 * width), _mm512_extractf32x4_ps::<3>(groups));
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn transpose_four<T: Wide>(_: *const T, _: isize, _: *mut f32, _: usize) {
    unreachable!("tiles need 512-bit vectors");
}

//! Puts lines of a matrix where the matrix unit reads them: steps of 32 numbers of each of 32 lines, 16 lines to a register.
//! What a line or the lines lack is 0.
#![allow(unsafe_code)]

use super::{PART_BYTES, STEP};
#[cfg(target_arch = "x86_64")]
use crate::loops::squares;

/// Lines of a matrix: rows of the left operand, columns of the right one.
pub(super) struct Lines {
    /// The first number of the first line.
    pub(super) from: *const u8,
    /// From one line to the next.
    pub(super) across: isize,
    /// From one number of a line to the next.
    pub(super) along: isize,
    /// How many lines, at most 32.
    pub(super) count: usize,
    pub(super) length: usize,
}

/// Numbers of a step.
pub(super) const NUMBERS: usize = PART_BYTES / 2;

/// A step of bf16, gathered: the bits of the numbers of each line.
#[repr(C, align(64))]
pub(super) struct Gathered(pub(super) [[u16; STEP]; 32]);

impl Lines {
    /// Lines of bf16 as rows: the numbers of a line follow one another.
    ///
    /// # Safety
    ///
    /// All numbers of the lines are there, `to` has room for all steps, at the beginning of a cache line, and the machine has
    /// 512-bit vectors.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(super) unsafe fn pack_rows(&self, to: *mut u16) {
        for (step, start) in (0..self.length).step_by(STEP).enumerate() {
            // SAFETY: the caller's promise; a step is 32 lines of 32 numbers.
            unsafe { self.gather(start, &mut *to.add(step * NUMBERS).cast::<Gathered>()) };
        }
    }

    /// Lines of bf16 as columns: pairs of numbers of one line beside those of the next.
    ///
    /// # Safety
    ///
    /// As above.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(super) unsafe fn pack_columns(&self, to: *mut u16) {
        let mut gathered = Gathered([[0; STEP]; 32]);
        for (step, start) in (0..self.length).step_by(STEP).enumerate() {
            // SAFETY: the caller's promise; the step has room for 32 lines of 32 numbers.
            unsafe {
                let to = to.add(step * NUMBERS);
                if self.across == 1 && self.count == 32 {
                    self.interleave(start, to);
                } else {
                    self.gather(start, &mut gathered);
                    gathered.turn(to);
                }
            }
        }
    }

    /// The numbers of one step, line by line.
    #[inline(always)]
    unsafe fn gather(&self, start: usize, to: &mut Gathered) {
        let count = STEP.min(self.length - start);
        let (here, missing) = to.0.split_at_mut(self.count);
        missing.as_flattened_mut().fill(0);
        // SAFETY: the caller's promise.
        unsafe {
            let from = self.from.cast::<u16>().offset(start as isize * self.along);
            if self.along == 1 {
                for (line, to) in here.iter_mut().enumerate() {
                    let from = from.offset(line as isize * self.across);
                    if count == STEP {
                        *to = from.cast::<[u16; STEP]>().read_unaligned();
                    } else {
                        to[..count].copy_from_slice(std::slice::from_raw_parts(from, count));
                        to[count..].fill(0);
                    }
                }
            } else {
                for (line, to) in here.iter_mut().enumerate() {
                    for (at, to) in to.iter_mut().enumerate() {
                        let offset = line as isize * self.across + at as isize * self.along;
                        *to = if at < count { *from.offset(offset) } else { 0 };
                    }
                }
            }
        }
    }

    /// One step of 32 lines that lie beside one another: pairs of numbers come from two neighbouring places along the lines.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn interleave(&self, start: usize, to: *mut u16) {
        use std::arch::x86_64::{__m512i, _mm512_loadu_si512, _mm512_setzero_si512};
        let count = STEP.min(self.length - start);
        let pairing = Pairing::new();
        // SAFETY: the caller's promise: a place along the lines has 32 numbers; places beyond the last are not read.
        unsafe {
            let line = |at: usize| -> __m512i {
                if at >= count {
                    return _mm512_setzero_si512();
                }
                let from = self.from.cast::<u16>().offset((start + at) as isize * self.along);
                _mm512_loadu_si512(from.cast())
            };
            for pair in 0..16 {
                pairing.store(line(2 * pair), line(2 * pair + 1), pair, to);
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    unsafe fn interleave(&self, _: usize, _: *mut u16) {
        unreachable!("there is no matrix unit");
    }
}

impl Gathered {
    /// Writes the step as columns.
    ///
    /// # Safety
    ///
    /// As for [`transpose`], for the whole step.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(super) unsafe fn turn(&self, to: *mut u16) {
        for half in 0..2 {
            // SAFETY: the caller's promise; half of the lines are a register.
            unsafe { transpose(&self.0[16 * half..], to.add(half * NUMBERS / 2).cast()) };
        }
    }
}

/// How numbers of 32 columns at two neighbouring places become pairs.
#[cfg(target_arch = "x86_64")]
pub(super) struct Pairing([std::arch::x86_64::__m512i; 2]);

#[cfg(target_arch = "x86_64")]
impl Pairing {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) fn new() -> Self {
        let places = [0, 16].map(|first| {
            let place = |at: usize| (first + at / 2 + at % 2 * 32) as u16;
            std::array::from_fn::<u16, 32, _>(place)
        });
        // SAFETY: there are 32 places.
        Self(
            places.map(|places| unsafe {
                std::arch::x86_64::_mm512_loadu_si512(places.as_ptr().cast())
            }),
        )
    }

    /// Writes pairs of an even and an odd place where a step as columns has them.
    ///
    /// # Safety
    ///
    /// `to` has room for a step, at the beginning of a cache line.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) unsafe fn store(
        &self,
        even: std::arch::x86_64::__m512i,
        odd: std::arch::x86_64::__m512i,
        pair: usize,
        to: *mut u16,
    ) {
        use std::arch::x86_64::{_mm512_permutex2var_epi16, _mm512_store_si512};
        for (half, places) in self.0.into_iter().enumerate() {
            let numbers = _mm512_permutex2var_epi16(even, places, odd);
            // SAFETY: the caller's promise.
            unsafe { _mm512_store_si512(to.add((half * 16 + pair) * STEP).cast(), numbers) };
        }
    }
}

/// 16 lines of 16 pairs become 16 lines of one pair of each.
///
/// # Safety
///
/// `to` has room for them, and the machine has 512-bit vectors.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn transpose(lines: &[[u16; STEP]], to: *mut u32) {
    // SAFETY: the caller's promise; a line has 16 pairs.
    unsafe { squares::turn_sixteen(|line| lines[line].as_ptr().cast(), |line| to.add(16 * line)) };
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn transpose(_: &[[u16; STEP]], _: *mut u32) {
    unreachable!("there is no matrix unit");
}

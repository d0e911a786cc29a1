//! Puts lines of a matrix of bf16 where the matrix unit reads them: steps of 32 numbers of each of 32 lines, 16 lines to a
//! register. What a line or the lines lack is 0.
#![allow(unsafe_code)]

use super::{STEP, STEP_BYTES};

/// Lines of a matrix: rows of the left operand, columns of the right one; numbers are bits of bf16.
pub(super) struct Lines {
    /// The first number of the first line.
    pub(super) from: *const u16,
    /// From one line to the next.
    pub(super) across: isize,
    /// From one number of a line to the next.
    pub(super) along: isize,
    /// How many lines, at most 32.
    pub(super) count: usize,
    pub(super) length: usize,
}

/// Numbers of a step.
const NUMBERS: usize = STEP_BYTES / 2;

/// A step, gathered: the numbers of each line.
#[repr(C, align(64))]
struct Gathered([[u16; STEP]; 32]);

impl Lines {
    /// As rows: the numbers of a line follow one another.
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

    /// As columns: pairs of numbers of one line beside those of the next.
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
                    for half in 0..2 {
                        transpose(&gathered.0[16 * half..], to.add(half * NUMBERS / 2).cast());
                    }
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
            let from = self.from.offset(start as isize * self.along);
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
        use std::arch::x86_64::{
            __m512i, _mm512_loadu_si512, _mm512_permutex2var_epi16, _mm512_setzero_si512,
            _mm512_store_si512,
        };
        let count = STEP.min(self.length - start);
        let mut places = [[0_u16; 32]; 2];
        for (half, places) in places.iter_mut().enumerate() {
            for (at, place) in places.iter_mut().enumerate() {
                *place = (half * 16 + at / 2 + at % 2 * 32) as u16;
            }
        }
        // SAFETY: the caller's promise: a place along the lines has 32 numbers; places beyond the last are not read.
        unsafe {
            let places = places.map(|places| _mm512_loadu_si512(places.as_ptr().cast()));
            let line = |at: usize| -> __m512i {
                if at >= count {
                    return _mm512_setzero_si512();
                }
                let from = self.from.offset((start + at) as isize * self.along);
                _mm512_loadu_si512(from.cast())
            };
            for pair in 0..16 {
                let (even, odd) = (line(2 * pair), line(2 * pair + 1));
                for (half, places) in places.into_iter().enumerate() {
                    let numbers = _mm512_permutex2var_epi16(even, places, odd);
                    _mm512_store_si512(to.add((half * 16 + pair) * 32).cast(), numbers);
                }
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    unsafe fn interleave(&self, _: usize, _: *mut u16) {
        unreachable!("there is no matrix unit");
    }
}

/// 16 lines of 16 pairs become 16 lines of one pair of each.
///
/// # Safety
///
/// `to` has room for them, at the beginning of a cache line, and the machine has 512-bit vectors.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn transpose(lines: &[[u16; STEP]], to: *mut u32) {
    use std::arch::x86_64::{
        __m512i, _mm512_loadu_si512, _mm512_setzero_si512, _mm512_shuffle_i32x4,
        _mm512_store_si512, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
        _mm512_unpacklo_epi64,
    };
    let mut lines: [__m512i; 16] = std::array::from_fn(|line| {
        // SAFETY: a line has 64 bytes.
        unsafe { _mm512_loadu_si512(lines[line].as_ptr().cast()) }
    });
    let mut turned = [_mm512_setzero_si512(); 16];
    for four in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|line| lines[4 * four + line]);
        let (low, high) = (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
        let (low_next, high_next) = (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
        turned[4 * four] = _mm512_unpacklo_epi64(low, low_next);
        turned[4 * four + 1] = _mm512_unpackhi_epi64(low, low_next);
        turned[4 * four + 2] = _mm512_unpacklo_epi64(high, high_next);
        turned[4 * four + 3] = _mm512_unpackhi_epi64(high, high_next);
    }
    // Each holds four pairs of every fourth place; those of one place are brought together.
    for place in 0..4 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|four| turned[4 * four + place]);
        let (first, second) =
            (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0xdd>(a, b));
        let (third, fourth) =
            (_mm512_shuffle_i32x4::<0x88>(c, d), _mm512_shuffle_i32x4::<0xdd>(c, d));
        lines[place] = _mm512_shuffle_i32x4::<0x88>(first, third);
        lines[4 + place] = _mm512_shuffle_i32x4::<0x88>(second, fourth);
        lines[8 + place] = _mm512_shuffle_i32x4::<0xdd>(first, third);
        lines[12 + place] = _mm512_shuffle_i32x4::<0xdd>(second, fourth);
    }
    for (line, pairs) in lines.into_iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { _mm512_store_si512(to.add(16 * line).cast(), pairs) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn transpose(_: &[[u16; STEP]], _: *mut u32) {
    unreachable!("there is no matrix unit");
}

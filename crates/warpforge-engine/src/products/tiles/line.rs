//! One row of a tile and as many numbers of another matrix: whole vectors where the numbers follow one another, one by one
//! where they do not.
#![allow(unsafe_code)]

use warpforge_tensor::DType;

use super::finish::Lying;
use super::tile::COLUMNS;
use crate::epilogue::With;
use crate::loops::narrow::{from_bf16, to_bf16};

#[cfg(target_arch = "x86_64")]
pub(super) mod vectors {
    use std::arch::x86_64::{
        __m512, __mmask16, _CMP_UNORD_Q, _mm256_mask_storeu_epi16, _mm256_maskz_loadu_epi16,
        _mm512_add_epi32, _mm512_and_si512, _mm512_castps_si512, _mm512_castsi512_ps,
        _mm512_cmp_ps_mask, _mm512_cvtepi32_epi16, _mm512_cvtepu16_epi32, _mm512_mask_blend_epi32,
        _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_or_si512, _mm512_set1_epi32,
        _mm512_slli_epi32, _mm512_srli_epi32,
    };

    /// Which of 16 numbers from `first` on are among `count`.
    #[inline(always)]
    pub(super) fn mask(first: usize, count: usize) -> __mmask16 {
        match count.saturating_sub(first) {
            16.. => !0,
            few => (1 << few) - 1,
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(in super::super) unsafe fn load(from: *const f32, mask: __mmask16) -> __m512 {
        // SAFETY: the caller's promise: what the mask names is there.
        unsafe { _mm512_maskz_loadu_ps(mask, from) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(in super::super) unsafe fn store(to: *mut f32, mask: __mmask16, numbers: __m512) {
        // SAFETY: as above.
        unsafe { _mm512_mask_storeu_ps(to, mask, numbers) };
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(in super::super) unsafe fn load_half(from: *const u16, mask: __mmask16) -> __m512 {
        // SAFETY: as above.
        let bits = unsafe { _mm256_maskz_loadu_epi16(mask, from.cast()) };
        _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(bits)))
    }

    /// To the nearest, ties to even; what is no number stays none.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(in super::super) unsafe fn store_half(to: *mut u16, mask: __mmask16, numbers: __m512) {
        let bits = _mm512_castps_si512(numbers);
        let high = _mm512_srli_epi32::<16>(bits);
        let odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
        let half = _mm512_add_epi32(_mm512_set1_epi32(0x7fff), odd);
        let rounded = _mm512_srli_epi32::<16>(_mm512_add_epi32(bits, half));
        let quiet = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
        let none = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(numbers, numbers);
        let narrow = _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(none, rounded, quiet));
        // SAFETY: as above.
        unsafe { _mm256_mask_storeu_epi16(to.cast(), mask, narrow) };
    }
}

/// Adds or multiplies the numbers of a row with those of another matrix that begin at `at`.
///
/// # Safety
///
/// The machine has 512-bit vectors, and `from` leads to a matrix that lies so and has `count` numbers there.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn combine(
    op: With,
    row: &mut [f32; COLUMNS],
    from: *const u8,
    lying: &Lying,
    at: isize,
    count: usize,
) {
    use std::arch::x86_64::{_mm512_add_ps, _mm512_mul_ps, _mm512_set1_ps};
    for first in (0..COLUMNS).step_by(16) {
        let mask = vectors::mask(first, count);
        let begin = at + first as isize * lying.column;
        // SAFETY: the caller's promise; only numbers below `count` are touched.
        unsafe {
            let place = row.as_mut_ptr().add(first);
            let other = match (lying.dtype, lying.column) {
                (DType::BF16, 1) => vectors::load_half(from.cast::<u16>().offset(begin), mask),
                (DType::F32, 1) => vectors::load(from.cast::<f32>().offset(begin), mask),
                (DType::F32, 0) => _mm512_set1_ps(*from.cast::<f32>().offset(at)),
                _ => {
                    let mut others = [0.0; 16];
                    let few = count.saturating_sub(first).min(16);
                    for (column, other) in others[..few].iter_mut().enumerate() {
                        *other = number(from, lying.dtype, begin + column as isize * lying.column);
                    }
                    vectors::load(others.as_ptr(), !0)
                }
            };
            let numbers = vectors::load(place, !0);
            let combined = match op {
                With::Add => _mm512_add_ps(numbers, other),
                With::Multiply => _mm512_mul_ps(numbers, other),
            };
            vectors::store(place, !0, combined);
        }
    }
}

/// Writes the first `count` numbers of a row where a matrix has those that begin at `at`.
///
/// # Safety
///
/// As above, and nobody else uses them.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn store(
    row: &[f32; COLUMNS],
    to: *mut u8,
    lying: &Lying,
    at: isize,
    count: usize,
) {
    for first in (0..COLUMNS).step_by(16) {
        let mask = vectors::mask(first, count);
        let begin = at + first as isize * lying.column;
        // SAFETY: the caller's promise; only numbers below `count` are touched.
        unsafe {
            let numbers = vectors::load(row.as_ptr().add(first), !0);
            match (lying.dtype, lying.column) {
                (DType::BF16, 1) => {
                    vectors::store_half(to.cast::<u16>().offset(begin), mask, numbers);
                }
                (DType::F32, 1) => vectors::store(to.cast::<f32>().offset(begin), mask, numbers),
                _ => {
                    let few = count.saturating_sub(first).min(16);
                    for (column, number) in row[first..first + few].iter().enumerate() {
                        let place = begin + column as isize * lying.column;
                        match lying.dtype {
                            DType::BF16 => *to.cast::<u16>().offset(place) = to_bf16(*number),
                            _ => *to.cast::<f32>().offset(place) = *number,
                        }
                    }
                }
            }
        }
    }
}

/// A number of a matrix.
///
/// # Safety
///
/// It is there.
unsafe fn number(from: *const u8, dtype: DType, at: isize) -> f32 {
    // SAFETY: the caller's promise.
    unsafe {
        match dtype {
            DType::BF16 => from_bf16(*from.cast::<u16>().offset(at)),
            _ => *from.cast::<f32>().offset(at),
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn combine(
    _: With,
    _: &mut [f32; COLUMNS],
    _: *const u8,
    _: &Lying,
    _: isize,
    _: usize,
) {
    unreachable!("tiles need 512-bit vectors");
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn store(_: &[f32; COLUMNS], _: *mut u8, _: &Lying, _: isize, _: usize) {
    unreachable!("tiles need 512-bit vectors");
}

//! The rows of a tile and as many of other matrices: whole vectors where the numbers of a row follow one another, one by
//! one where they do not.
#![allow(unsafe_code)]

use warpforge_tensor::DType;

use super::multiplier::{COLUMNS, Sums};
use super::wide::{Bf16, F16, Wide};
use crate::epilogue::With;
use crate::loops::narrow::{from_bf16, from_f16, to_bf16, to_f16};
#[cfg(target_arch = "x86_64")]
use crate::products::has_bf16_vectors;

/// A matrix beside a tile: where the number beside the tile's first lies, and the distances by row and column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beside {
    pub(super) start: *mut u8,
    pub(super) row: isize,
    pub(super) column: isize,
    pub(super) dtype: DType,
}

#[cfg(target_arch = "x86_64")]
pub(super) mod vectors {
    use std::arch::x86_64::{
        __m512, __mmask16, _CMP_UNORD_Q, _MM_FROUND_TO_NEAREST_INT, _mm256_mask_storeu_epi16,
        _mm256_maskz_loadu_epi16, _mm512_add_epi32, _mm512_and_si512, _mm512_castps_si512,
        _mm512_castsi512_ps, _mm512_cmp_ps_mask, _mm512_cvtepi32_epi16, _mm512_cvtepu16_epi32,
        _mm512_cvtph_ps, _mm512_cvtps_ph, _mm512_mask_blend_epi32, _mm512_mask_storeu_ps,
        _mm512_maskz_loadu_ps, _mm512_or_si512, _mm512_set1_epi32, _mm512_slli_epi32,
        _mm512_srli_epi32,
    };

    /// Which of 16 numbers from `first` on are among `count`.
    #[inline(always)]
    pub(in super::super) fn mask(first: usize, count: usize) -> __mmask16 {
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
    pub(in super::super) unsafe fn load_bf16(from: *const u16, mask: __mmask16) -> __m512 {
        // SAFETY: as above.
        let bits = unsafe { _mm256_maskz_loadu_epi16(mask, from.cast()) };
        _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(bits)))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(in super::super) unsafe fn load_f16(from: *const u16, mask: __mmask16) -> __m512 {
        // SAFETY: as above.
        _mm512_cvtph_ps(unsafe { _mm256_maskz_loadu_epi16(mask, from.cast()) })
    }

    /// 32 numbers as bf16, where the machine rounds by itself: to the nearest, ties to even, what is too small to be normal
    /// to 0.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) unsafe fn store_line(to: *mut u16, [low, high]: [__m512; 2]) {
        // SAFETY: the caller's promise: the machine has the instruction, and there is room for 32 numbers.
        unsafe {
            std::arch::asm!(
                "vcvtne2ps2bf16 {line}, {high}, {low}",
                "vmovups [{to}], {line}",
                line = out(zmm_reg) _,
                high = in(zmm_reg) high,
                low = in(zmm_reg) low,
                to = in(reg) to,
                options(nostack, preserves_flags),
            );
        }
    }

    /// To the nearest, ties to even; what is no number stays none.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) unsafe fn store_bf16(to: *mut u16, mask: __mmask16, numbers: __m512) {
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

    /// As above.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) unsafe fn store_f16(to: *mut u16, mask: __mmask16, numbers: __m512) {
        let narrow = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(numbers);
        // SAFETY: as above.
        unsafe { _mm256_mask_storeu_epi16(to.cast(), mask, narrow) };
    }
}

/// Adds or multiplies the numbers of a tile, `count` in each row, with those of another matrix, and writes them to a third
/// one or where they were.
///
/// # Safety
///
/// The machine has 512-bit vectors, and all matrices have numbers beside each of the tile's; nobody else uses those that are
/// written.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn combine(
    sums: &mut Sums,
    op: With,
    other: &Beside,
    out: Option<&Beside>,
    count: usize,
) {
    use std::arch::x86_64::_mm512_set1_ps;
    let masks = [vectors::mask(0, count), vectors::mask(16, count)];
    // SAFETY: the caller's promise; only numbers below `count` are touched.
    unsafe {
        match (other.column, other.dtype) {
            (1, DType::BF16) => {
                combine_rows(sums, op, |row| other.along::<Bf16>(row, masks), out, count);
            }
            (1, DType::F16) => {
                combine_rows(sums, op, |row| other.along::<F16>(row, masks), out, count);
            }
            (1, _) => combine_rows(sums, op, |row| other.along::<f32>(row, masks), out, count),
            // One number for each row, or numbers at any distances.
            (0, _) => {
                let all = |row| [_mm512_set1_ps(other.number(row, 0)); 2];
                combine_rows(sums, op, all, out, count);
            }
            _ => combine_rows(sums, op, |row| other.scattered(row, count), out, count),
        }
    }
}

/// The same with what is beside a row, whatever it is read from.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn combine_rows(
    sums: &mut Sums,
    op: With,
    beside: impl Fn(usize) -> Row,
    out: Option<&Beside>,
    count: usize,
) {
    use std::arch::x86_64::{_mm512_add_ps, _mm512_mul_ps};
    let add = |a: Row, b: Row| [_mm512_add_ps(a[0], b[0]), _mm512_add_ps(a[1], b[1])];
    let multiply = |a: Row, b: Row| [_mm512_mul_ps(a[0], b[0]), _mm512_mul_ps(a[1], b[1])];
    // SAFETY: the caller's promise.
    unsafe {
        match op {
            With::Add => put(sums, |row, both| add(both, beside(row)), out, count),
            With::Multiply => put(sums, |row, both| multiply(both, beside(row)), out, count),
        }
    }
}

/// Writes the numbers of a tile, `count` in each row, to a matrix.
///
/// # Safety
///
/// As for [`combine`].
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn write(sums: &mut Sums, out: &Beside, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { put(sums, |_, both| both, Some(out), count) };
}

/// The numbers of a row: two vectors.
#[cfg(target_arch = "x86_64")]
type Row = [std::arch::x86_64::__m512; 2];

/// Changes the rows of a tile and writes them to a matrix or where they were.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn put(
    sums: &mut Sums,
    change: impl Fn(usize, Row) -> Row,
    out: Option<&Beside>,
    count: usize,
) {
    let masks = [vectors::mask(0, count), vectors::mask(16, count)];
    // SAFETY: the caller's promise; only numbers below `count` are touched.
    unsafe {
        match out {
            Some(out) if out.column == 1 && out.dtype == DType::BF16 => {
                let to = |row: usize| out.start.cast::<u16>().offset(row as isize * out.row);
                if count == COLUMNS && has_bf16_vectors() {
                    each(sums, change, |row, _, both| vectors::store_line(to(row), both));
                } else {
                    each(sums, change, |row, _, both| {
                        vectors::store_bf16(to(row), masks[0], both[0]);
                        vectors::store_bf16(to(row).wrapping_add(16), masks[1], both[1]);
                    });
                }
            }
            Some(out) if out.column == 1 && out.dtype == DType::F16 => {
                each(sums, change, |row, _, both| {
                    let to = out.start.cast::<u16>().offset(row as isize * out.row);
                    vectors::store_f16(to, masks[0], both[0]);
                    vectors::store_f16(to.wrapping_add(16), masks[1], both[1]);
                });
            }
            Some(out) if out.column == 1 => each(sums, change, |row, _, both| {
                let to = out.start.cast::<f32>().offset(row as isize * out.row);
                vectors::store(to, masks[0], both[0]);
                vectors::store(to.wrapping_add(16), masks[1], both[1]);
            }),
            _ => {
                each(sums, change, |_, place, both| {
                    vectors::store(place, !0, both[0]);
                    vectors::store(place.add(16), !0, both[1]);
                });
                for (row, numbers) in sums.iter().enumerate() {
                    if let Some(out) = out {
                        out.scatter(row, &numbers[..count]);
                    }
                }
            }
        }
    }
}

/// Changes each row of a tile and hands it on, with its number and its place.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn each(
    sums: &mut Sums,
    change: impl Fn(usize, Row) -> Row,
    hand_on: impl Fn(usize, *mut f32, Row),
) {
    for (row, numbers) in sums.iter_mut().enumerate() {
        let place = numbers.as_mut_ptr();
        // SAFETY: a row has two vectors.
        let both = unsafe { [vectors::load(place, !0), vectors::load(place.add(16), !0)] };
        hand_on(row, place, change(row, both));
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn combine(_: &mut Sums, _: With, _: &Beside, _: Option<&Beside>, _: usize) {
    unreachable!("tiles need 512-bit vectors");
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn write(_: &mut Sums, _: &Beside, _: usize) {
    unreachable!("tiles need 512-bit vectors");
}

#[cfg(target_arch = "x86_64")]
impl Beside {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn along<T: Wide>(
        &self,
        row: usize,
        masks: [std::arch::x86_64::__mmask16; 2],
    ) -> [std::arch::x86_64::__m512; 2] {
        // SAFETY: the caller's promise; what the masks leave out is not touched.
        unsafe {
            let from = self.start.cast::<T>().offset(row as isize * self.row).cast_const();
            [T::sixteen(from, masks[0]), T::sixteen(from.wrapping_add(16), masks[1])]
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    unsafe fn scattered(&self, row: usize, count: usize) -> [std::arch::x86_64::__m512; 2] {
        let mut numbers = [0.0; COLUMNS];
        for (column, number) in numbers[..count].iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *number = unsafe { self.number(row, column) };
        }
        // SAFETY: there are two vectors of numbers.
        unsafe {
            [vectors::load(numbers.as_ptr(), !0), vectors::load(numbers.as_ptr().add(16), !0)]
        }
    }

    /// The number beside one of the tile's.
    #[inline]
    unsafe fn number(&self, row: usize, column: usize) -> f32 {
        let at = row as isize * self.row + column as isize * self.column;
        // SAFETY: the caller's promise.
        unsafe {
            match self.dtype {
                DType::BF16 => from_bf16(*self.start.cast::<u16>().offset(at)),
                DType::F16 => from_f16(*self.start.cast::<u16>().offset(at)),
                _ => *self.start.cast::<f32>().offset(at),
            }
        }
    }

    /// Writes numbers beside a row.
    unsafe fn scatter(&self, row: usize, numbers: &[f32]) {
        for (column, number) in numbers.iter().enumerate() {
            let at = row as isize * self.row + column as isize * self.column;
            // SAFETY: the caller's promise.
            unsafe {
                match self.dtype {
                    DType::BF16 => *self.start.cast::<u16>().offset(at) = to_bf16(*number),
                    DType::F16 => *self.start.cast::<u16>().offset(at) = to_f16(*number),
                    _ => *self.start.cast::<f32>().offset(at) = *number,
                }
            }
        }
    }
}

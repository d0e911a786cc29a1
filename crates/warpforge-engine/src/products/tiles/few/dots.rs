//! Dot products of few rows with as many columns as there are streams.
#![allow(unsafe_code)]

/// Columns that are read side by side: one stream alone does not keep all requests busy that a core can have underway.
pub(super) const STREAMS: usize = 4;
/// Rows that are multiplied at a time; with more, columns are read again, from a near cache.
pub(super) const MOST_TOGETHER: usize = 4;
/// Bytes that a stream is asked for in advance.
pub(super) const AHEAD: usize = 1024;

/// Rows of the left operand, whose numbers follow one another: where the first begins, and bytes from one to the next.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows {
    pub(super) start: *const u8,
    pub(super) step: isize,
    pub(super) count: usize,
}

/// Where columns of the right operand begin, whose numbers follow one another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Columns(pub(super) [*const u8; STREAMS]);

/// One number for each row and column.
pub(super) type Dots = [[f32; STREAMS]; MOST_TOGETHER];

/// Calls one of the forms of a function for a number of rows, at most [`MOST_TOGETHER`].
macro_rules! for_rows {
    ($count:expr, $function:ident($($argument:expr),*)) => {
        match $count {
            1 => $function::<1>($($argument),*),
            2 => $function::<2>($($argument),*),
            3 => $function::<3>($($argument),*),
            _ => $function::<4>($($argument),*),
        }
    };
}
pub(super) use for_rows;

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{of_bf16, of_f16, of_f32};

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn of_f32(_: &Rows, _: &Columns, _: usize) -> Dots {
    unreachable!("streams need 512-bit vectors");
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn of_bf16(_: &Rows, _: &Columns, _: usize) -> Dots {
    unreachable!("streams need 512-bit vectors");
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn of_f16(_: &Rows, _: &Columns, _: usize) -> Dots {
    unreachable!("streams need 512-bit vectors");
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m512, __m512bh, __m512i, _MM_HINT_T0, _mm_prefetch, _mm512_and_si512,
        _mm512_castsi512_ps, _mm512_castsi512_si256, _mm512_cvtph_ps, _mm512_dpbf16_ps,
        _mm512_extracti64x4_epi64, _mm512_fmadd_ps, _mm512_loadu_epi16, _mm512_loadu_ps,
        _mm512_maskz_loadu_epi16, _mm512_maskz_loadu_ps, _mm512_reduce_add_ps, _mm512_set1_epi32,
        _mm512_setzero_ps, _mm512_setzero_si512, _mm512_slli_epi32,
    };

    use super::{AHEAD, Columns, Dots, MOST_TOGETHER, Rows, STREAMS};
    use crate::products::has_bf16_vectors;

    /// How 32 narrow numbers are multiplied with as many and added to 16 sums.
    pub(in super::super) trait Pairs {
        /// # Safety
        ///
        /// The machine has the instructions.
        unsafe fn add(&self, sums: __m512, left: __m512i, right: __m512i) -> __m512;
    }

    /// Pairs of bf16, by the instruction for them.
    pub(in super::super) struct Instruction;

    impl Pairs for Instruction {
        #[inline(always)]
        unsafe fn add(&self, sums: __m512, left: __m512i, right: __m512i) -> __m512 {
            // SAFETY: the caller's promise; all are 64 bytes, of which all values are good.
            unsafe {
                let [left, right]: [__m512bh; 2] = std::mem::transmute([left, right]);
                _mm512_dpbf16_ps(sums, left, right)
            }
        }
    }

    /// Pairs of bf16 as f32, the second of each after the first.
    pub(in super::super) struct Widened;

    impl Pairs for Widened {
        #[inline(always)]
        unsafe fn add(&self, sums: __m512, left: __m512i, right: __m512i) -> __m512 {
            // SAFETY: the caller's promise.
            unsafe {
                let first = |pairs: __m512i| _mm512_castsi512_ps(_mm512_slli_epi32::<16>(pairs));
                let high = _mm512_set1_epi32(!0xffff);
                let second = |pairs: __m512i| _mm512_castsi512_ps(_mm512_and_si512(pairs, high));
                let sums = _mm512_fmadd_ps(first(left), first(right), sums);
                _mm512_fmadd_ps(second(left), second(right), sums)
            }
        }
    }

    /// Halves of f16 as f32, the second after the first.
    struct Halves;

    impl Pairs for Halves {
        #[inline(always)]
        unsafe fn add(&self, sums: __m512, left: __m512i, right: __m512i) -> __m512 {
            // SAFETY: the caller's promise.
            unsafe {
                let first = |all: __m512i| _mm512_cvtph_ps(_mm512_castsi512_si256(all));
                let second = |all: __m512i| _mm512_cvtph_ps(_mm512_extracti64x4_epi64::<1>(all));
                let sums = _mm512_fmadd_ps(first(left), first(right), sums);
                _mm512_fmadd_ps(second(left), second(right), sums)
            }
        }
    }

    /// Of f32.
    ///
    /// # Safety
    ///
    /// The machine has 512-bit vectors; rows and columns lead to `depth` numbers each.
    #[target_feature(enable = "avx512f")]
    pub(in super::super) unsafe fn of_f32(rows: &Rows, columns: &Columns, depth: usize) -> Dots {
        // SAFETY: the caller's promise.
        unsafe { for_rows!(rows.count, f32_dots(rows, columns, depth)) }
    }

    /// Of bf16, whose products are summed in f32.
    ///
    /// # Safety
    ///
    /// As for [`of_f32`].
    pub(in super::super) unsafe fn of_bf16(rows: &Rows, columns: &Columns, depth: usize) -> Dots {
        // SAFETY: the caller's promise; what else the machine has is asked.
        unsafe {
            match has_bf16_vectors() {
                true => by_instruction(rows, columns, depth),
                false => widened(rows, columns, depth),
            }
        }
    }

    /// Of f16, whose products are summed in f32.
    ///
    /// # Safety
    ///
    /// As for [`of_f32`].
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(in super::super) unsafe fn of_f16(rows: &Rows, columns: &Columns, depth: usize) -> Dots {
        // SAFETY: the caller's promise.
        unsafe { for_rows!(rows.count, narrow_dots(&Halves, rows, columns, depth)) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn by_instruction(rows: &Rows, columns: &Columns, depth: usize) -> Dots {
        // SAFETY: the caller's promise.
        unsafe { for_rows!(rows.count, narrow_dots(&Instruction, rows, columns, depth)) }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn widened(rows: &Rows, columns: &Columns, depth: usize) -> Dots {
        // SAFETY: the caller's promise.
        unsafe { for_rows!(rows.count, narrow_dots(&Widened, rows, columns, depth)) }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn f32_dots<const ROWS: usize>(rows: &Rows, columns: &Columns, depth: usize) -> Dots {
        const LANES: usize = 16;
        let mut sums = [[_mm512_setzero_ps(); STREAMS]; ROWS];
        let row = |row: usize| rows.start.wrapping_offset(row as isize * rows.step).cast::<f32>();
        // SAFETY: the caller's promise; a mask leaves out what is behind the end.
        unsafe {
            for at in (0..depth / LANES * LANES).step_by(LANES) {
                let mut left = [_mm512_setzero_ps(); ROWS];
                for (index, left) in left.iter_mut().enumerate() {
                    *left = _mm512_loadu_ps(row(index).add(at));
                }
                for (stream, column) in columns.0.iter().enumerate() {
                    let place = column.cast::<f32>().add(at);
                    _mm_prefetch::<_MM_HINT_T0>(place.cast::<i8>().wrapping_add(AHEAD));
                    let right = _mm512_loadu_ps(place);
                    for (left, sums) in left.iter().zip(&mut sums) {
                        sums[stream] = _mm512_fmadd_ps(*left, right, sums[stream]);
                    }
                }
            }
            let (at, rest) = (depth / LANES * LANES, depth % LANES);
            if rest > 0 {
                let mask = (1 << rest) - 1;
                for (stream, column) in columns.0.iter().enumerate() {
                    let right = _mm512_maskz_loadu_ps(mask, column.cast::<f32>().add(at));
                    for (index, sums) in sums.iter_mut().enumerate() {
                        let left = _mm512_maskz_loadu_ps(mask, row(index).add(at));
                        sums[stream] = _mm512_fmadd_ps(left, right, sums[stream]);
                    }
                }
            }
        }
        added(&sums)
    }

    #[inline(always)]
    unsafe fn narrow_dots<const ROWS: usize>(
        how: &impl Pairs,
        rows: &Rows,
        columns: &Columns,
        depth: usize,
    ) -> Dots {
        const LANES: usize = 32;
        let row = |row: usize| rows.start.wrapping_offset(row as isize * rows.step).cast::<i16>();
        // SAFETY: the caller's promise; a mask leaves out what is behind the end.
        unsafe {
            let mut sums = [[_mm512_setzero_ps(); STREAMS]; ROWS];
            for at in (0..depth / LANES * LANES).step_by(LANES) {
                let mut left = [_mm512_setzero_si512(); ROWS];
                for (index, left) in left.iter_mut().enumerate() {
                    *left = _mm512_loadu_epi16(row(index).add(at));
                }
                for (stream, column) in columns.0.iter().enumerate() {
                    let place = column.cast::<i16>().add(at);
                    _mm_prefetch::<_MM_HINT_T0>(place.cast::<i8>().wrapping_add(AHEAD));
                    let right = _mm512_loadu_epi16(place);
                    for (left, sums) in left.iter().zip(&mut sums) {
                        sums[stream] = how.add(sums[stream], *left, right);
                    }
                }
            }
            let (at, rest) = (depth / LANES * LANES, depth % LANES);
            if rest > 0 {
                let mask = (1 << rest) - 1;
                for (stream, column) in columns.0.iter().enumerate() {
                    let right = _mm512_maskz_loadu_epi16(mask, column.cast::<i16>().add(at));
                    for (index, sums) in sums.iter_mut().enumerate() {
                        let left = _mm512_maskz_loadu_epi16(mask, row(index).add(at));
                        sums[stream] = how.add(sums[stream], left, right);
                    }
                }
            }
            added(&sums)
        }
    }

    /// The sums over all lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in super::super) fn added<const ROWS: usize>(sums: &[[__m512; STREAMS]; ROWS]) -> Dots {
        let mut dots = [[0.0; STREAMS]; MOST_TOGETHER];
        for (dots, sums) in dots.iter_mut().zip(sums) {
            for (dot, sum) in dots.iter_mut().zip(sums) {
                *dot = _mm512_reduce_add_ps(*sum);
            }
        }
        dots
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Instruction, Pairs, Widened, added};

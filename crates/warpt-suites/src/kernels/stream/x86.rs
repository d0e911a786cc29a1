//! The streams with x86 vectors: non-temporal stores, and sources fetched ahead of their use.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    _MM_HINT_T0, _mm_prefetch, _mm_sfence, _mm256_add_pd, _mm256_fmadd_pd, _mm256_loadu_pd,
    _mm256_mul_pd, _mm256_set1_pd, _mm256_setzero_pd, _mm256_storeu_pd, _mm256_stream_pd,
    _mm512_add_pd, _mm512_fmadd_pd, _mm512_loadu_pd, _mm512_mul_pd, _mm512_reduce_add_pd,
    _mm512_set1_pd, _mm512_setzero_pd, _mm512_stream_pd,
};

use super::StreamKernel;

/// Doubles per turn of a loop: four cache lines.
const TURN: usize = 32;
/// How far ahead sources are fetched, in doubles: 2 KiB.
const AHEAD: usize = 256;

/// Defines the streams for one vector width. Each returns how many elements it did: all but a rest below a turn.
macro_rules! streams {
    ($stream:ident, $feature:literal, $lanes:literal, $load:ident, $store:ident, $set1:ident, $add:ident, $mul:ident, $fma:ident) => {
        /// Runs a kernel over `count` elements, as far as whole turns go, and returns how many it did.
        ///
        /// # Safety
        /// The CPU must have the instructions; `to` must be aligned to 64 bytes and hold `count` elements, as
        /// must the sources the kernel uses; they must not overlap.
        #[target_feature(enable = $feature)]
        pub(super) unsafe fn $stream(
            kernel: StreamKernel,
            to: *mut f64,
            first: *const f64,
            second: *const f64,
            count: usize,
            scalar: f64,
        ) -> usize {
            let whole = count / TURN * TURN;
            let factor = $set1(scalar);
            // SAFETY: every access is below `whole`, within what the caller vouches for; prefetches never fault.
            unsafe {
                macro_rules! turns {
                    ($fetch_first:literal, $fetch_second:literal, |$index:ident| $value:expr) => {
                        for turn in (0..whole).step_by(TURN) {
                            for line in (0..TURN).step_by(8) {
                                if $fetch_first {
                                    _mm_prefetch::<_MM_HINT_T0>(
                                        first.wrapping_add(turn + line + AHEAD).cast(),
                                    );
                                }
                                if $fetch_second {
                                    _mm_prefetch::<_MM_HINT_T0>(
                                        second.wrapping_add(turn + line + AHEAD).cast(),
                                    );
                                }
                            }
                            for vector in (0..TURN).step_by($lanes) {
                                let $index = turn + vector;
                                $store(to.add($index), $value);
                            }
                        }
                    };
                }
                match kernel {
                    StreamKernel::Copy => turns!(true, false, |index| $load(first.add(index))),
                    StreamKernel::Scale => {
                        turns!(true, false, |index| $mul(factor, $load(first.add(index))))
                    }
                    StreamKernel::Add => {
                        turns!(true, true, |index| $add(
                            $load(first.add(index)),
                            $load(second.add(index))
                        ));
                    }
                    StreamKernel::Triad => {
                        turns!(true, true, |index| $fma(
                            factor,
                            $load(second.add(index)),
                            $load(first.add(index))
                        ));
                    }
                    StreamKernel::Write => turns!(false, false, |_index| factor),
                    StreamKernel::Read => return 0,
                }
                // Non-temporal stores are weakly ordered: finish them before anyone is told.
                _mm_sfence();
            }
            whole
        }
    };
}

streams!(
    stream_avx512,
    "avx512f",
    8,
    _mm512_loadu_pd,
    _mm512_stream_pd,
    _mm512_set1_pd,
    _mm512_add_pd,
    _mm512_mul_pd,
    _mm512_fmadd_pd
);
streams!(
    stream_avx2,
    "avx2,fma",
    4,
    _mm256_loadu_pd,
    _mm256_stream_pd,
    _mm256_set1_pd,
    _mm256_add_pd,
    _mm256_mul_pd,
    _mm256_fmadd_pd
);

/// The sum of `count` doubles.
///
/// # Safety
/// The CPU must have AVX-512, and `from` must hold `count` elements.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn sum_avx512(from: *const f64, count: usize) -> f64 {
    let whole = count / 64 * 64;
    let mut sums = [_mm512_setzero_pd(); 8];
    // SAFETY: every access is below `count`.
    unsafe {
        for turn in (0..whole).step_by(64) {
            for (part, sum) in sums.iter_mut().enumerate() {
                _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(turn + part * 8 + AHEAD).cast());
                *sum = _mm512_add_pd(*sum, _mm512_loadu_pd(from.add(turn + part * 8)));
            }
        }
        let mut total = 0.0;
        for sum in sums {
            total += _mm512_reduce_add_pd(sum);
        }
        for index in whole..count {
            total += *from.add(index);
        }
        total
    }
}

/// The sum of `count` doubles.
///
/// # Safety
/// The CPU must have AVX2, and `from` must hold `count` elements.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn sum_avx2(from: *const f64, count: usize) -> f64 {
    let whole = count / 32 * 32;
    let mut sums = [_mm256_setzero_pd(); 8];
    // SAFETY: every access is below `count`.
    unsafe {
        for turn in (0..whole).step_by(32) {
            for (part, sum) in sums.iter_mut().enumerate() {
                if part % 2 == 0 {
                    _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(turn + part * 4 + AHEAD).cast());
                }
                *sum = _mm256_add_pd(*sum, _mm256_loadu_pd(from.add(turn + part * 4)));
            }
        }
        let mut total = 0.0;
        let mut lanes = [0.0; 4];
        for sum in sums {
            _mm256_storeu_pd(lanes.as_mut_ptr(), sum);
            total += lanes.iter().sum::<f64>();
        }
        for index in whole..count {
            total += *from.add(index);
        }
        total
    }
}

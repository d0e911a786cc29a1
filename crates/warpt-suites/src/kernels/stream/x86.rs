//! The streams with x86 vectors and non-temporal stores. Each works at four places of its arrays by turns: memory
//! answers more requests at once that way. On a shared Xeon that was worth 4 to 10% of a triad's median over one
//! place; prefetches made no difference beyond the noise.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    _mm_sfence, _mm256_add_pd, _mm256_fmadd_pd, _mm256_loadu_pd, _mm256_mul_pd, _mm256_set1_pd,
    _mm256_setzero_pd, _mm256_storeu_pd, _mm256_stream_pd, _mm512_add_pd, _mm512_fmadd_pd,
    _mm512_loadu_pd, _mm512_mul_pd, _mm512_reduce_add_pd, _mm512_set1_pd, _mm512_setzero_pd,
    _mm512_stream_pd,
};

use super::StreamKernel;

/// Places of an array that are worked on by turns.
const PLACES: usize = 4;
/// Doubles per turn at a place: two cache lines.
const TURN: usize = 16;

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
            let piece = count / (PLACES * TURN) * TURN;
            let factor = $set1(scalar);
            // SAFETY: every access is below `PLACES * piece`, within what the caller vouches for.
            unsafe {
                macro_rules! turns {
                    (|$index:ident| $value:expr) => {
                        for turn in (0..piece).step_by(TURN) {
                            for place in 0..PLACES {
                                for vector in (0..TURN).step_by($lanes) {
                                    let $index = place * piece + turn + vector;
                                    $store(to.add($index), $value);
                                }
                            }
                        }
                    };
                }
                match kernel {
                    StreamKernel::Copy => turns!(|index| $load(first.add(index))),
                    StreamKernel::Scale => {
                        turns!(|index| $mul(factor, $load(first.add(index))))
                    }
                    StreamKernel::Add => {
                        turns!(|index| $add($load(first.add(index)), $load(second.add(index))));
                    }
                    StreamKernel::Triad => {
                        turns!(|index| $fma(
                            factor,
                            $load(second.add(index)),
                            $load(first.add(index))
                        ));
                    }
                    StreamKernel::Write => turns!(|_index| factor),
                    StreamKernel::Read => return 0,
                }
                // Non-temporal stores are weakly ordered: finish them before anyone is told.
                _mm_sfence();
            }
            PLACES * piece
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
    let piece = count / (PLACES * TURN) * TURN;
    let mut sums = [_mm512_setzero_pd(); 2 * PLACES];
    // SAFETY: every access is below `count`.
    unsafe {
        for turn in (0..piece).step_by(TURN) {
            for (part, sum) in sums.iter_mut().enumerate() {
                let index = part / 2 * piece + turn + part % 2 * 8;
                *sum = _mm512_add_pd(*sum, _mm512_loadu_pd(from.add(index)));
            }
        }
        let mut total = 0.0;
        for sum in sums {
            total += _mm512_reduce_add_pd(sum);
        }
        for index in PLACES * piece..count {
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
    let piece = count / (PLACES * TURN) * TURN;
    let mut sums = [_mm256_setzero_pd(); 2 * PLACES];
    // SAFETY: every access is below `count`.
    unsafe {
        for turn in (0..piece).step_by(TURN) {
            for (part, sum) in sums.iter_mut().enumerate() {
                let index = part / 2 * piece + turn + part % 2 * 8;
                *sum = _mm256_add_pd(*sum, _mm256_loadu_pd(from.add(index)));
                *sum = _mm256_add_pd(*sum, _mm256_loadu_pd(from.add(index + 4)));
            }
        }
        let mut total = 0.0;
        let mut lanes = [0.0; 4];
        for sum in sums {
            _mm256_storeu_pd(lanes.as_mut_ptr(), sum);
            total += lanes.iter().sum::<f64>();
        }
        for index in PLACES * piece..count {
            total += *from.add(index);
        }
        total
    }
}

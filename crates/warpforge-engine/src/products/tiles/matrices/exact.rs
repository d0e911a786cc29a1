//! Products of numbers in parts, by vectors, from what was packed for the matrix unit: for rows of a tile in which
//! something is infinite or no number, where parts do not make up for one another, and for those whose numbers are so small
//! that products of parts are 0 to the unit.
#![allow(unsafe_code)]

use super::super::multiplier::Sums;
use super::PART_BYTES;
use super::thirds::PARTS;

/// Pairs of numbers of a line in a step.
const PAIRS: usize = 16;

/// A packed strip and a packed panel, step by step.
pub(super) struct Packed<F> {
    /// Where a step of the strip, and of the panel, begins.
    pub(super) at: F,
    /// Bytes from one part of a step of the strip to the next.
    pub(super) apart: usize,
    /// Steps of the whole depth.
    pub(super) steps: usize,
}

impl<F: Fn(usize) -> [*const u8; 2]> Packed<F> {
    /// Sets some rows of a tile, one bit each, to their products over the whole depth.
    ///
    /// # Safety
    ///
    /// Strip and panel are packed, in parts, with so many steps, and the machine has 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    #[cold]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(super) unsafe fn multiply(&self, sums: &mut Sums, rows: u32) {
        use std::arch::x86_64::{
            __m512, __m512i, _mm512_add_ps, _mm512_and_si512, _mm512_castsi512_ps, _mm512_fmadd_ps,
            _mm512_load_si512, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps,
            _mm512_slli_epi32, _mm512_store_ps,
        };
        let upper = _mm512_set1_epi32(0xffff_0000_u32 as i32);
        let add = |parts: [__m512i; PARTS]| -> __m512 {
            let [first, second, third] = parts.map(|bits| _mm512_castsi512_ps(bits));
            _mm512_add_ps(_mm512_add_ps(third, second), first)
        };
        let wanted = |(row, _): &(usize, _)| rows >> row & 1 == 1;
        for (row, sums) in sums.iter_mut().enumerate().filter(wanted) {
            let mut both = [_mm512_setzero_ps(); 2];
            for step in 0..self.steps {
                let [left, right] = (self.at)(step);
                let left = left.wrapping_add(row * PAIRS * 4);
                for pair in 0..PAIRS {
                    let at = |part: usize| part * self.apart + pair * 4;
                    // SAFETY: the caller's promise: the step is packed, of the strip and of the panel.
                    let pairs: [u32; PARTS] = std::array::from_fn(|part| unsafe {
                        left.add(at(part)).cast::<u32>().read()
                    });
                    let whole = |bits: [u32; PARTS]| {
                        let [first, second, third] = bits.map(f32::from_bits);
                        _mm512_set1_ps(third + second + first)
                    };
                    let (even, odd) = (
                        whole(pairs.map(|bits| bits << 16)),
                        whole(pairs.map(|bits| bits & !0xffff)),
                    );
                    for (half, sum) in both.iter_mut().enumerate() {
                        let at = |part: usize| part * PART_BYTES + (half * PAIRS + pair) * 64;
                        // SAFETY: as above; a pair of each of 16 columns is a cache line.
                        let pairs: [__m512i; PARTS] = std::array::from_fn(|part| unsafe {
                            _mm512_load_si512(right.add(at(part)).cast())
                        });
                        let evens = add(pairs.map(|bits| _mm512_slli_epi32::<16>(bits)));
                        let odds = add(pairs.map(|bits| _mm512_and_si512(bits, upper)));
                        *sum = _mm512_fmadd_ps(even, evens, *sum);
                        *sum = _mm512_fmadd_ps(odd, odds, *sum);
                    }
                }
            }
            // SAFETY: a row has two vectors and begins at a cache line, as the tile does.
            unsafe {
                _mm512_store_ps(sums.as_mut_ptr(), both[0]);
                _mm512_store_ps(sums.as_mut_ptr().add(16), both[1]);
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) unsafe fn multiply(&self, _: &mut Sums, _: u32) {
        unreachable!("there is no matrix unit");
    }
}

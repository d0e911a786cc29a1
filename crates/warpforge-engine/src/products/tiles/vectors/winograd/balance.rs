//! Whether all pixels of a square see numbers that are not much smaller than others of its patch.
#![allow(unsafe_code)]

use super::super::ROWS;
use super::{Image, MOST_STRIPS, PATCH, SIDE, WINDOW};

/// A square is uneven if all that one of its pixels sees is smaller than a single other pixel by this factor.
pub(super) const UNEVEN: f32 = 4.0;

/// Pixels of a line that a run's patches have at most.
const MOST: usize = MOST_STRIPS * ROWS * SIDE + PATCH - SIDE;

/// The sums of the magnitudes of pixels, for a run of squares.
pub(super) struct Balance([[f32; MOST]; PATCH]);

impl Balance {
    /// Of the patches of so many squares from a corner of the result on; padding is 0.
    ///
    /// # Safety
    ///
    /// The image is there, with features one after the other; the machine has 512-bit vectors.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(super) unsafe fn new(
        image: &Image,
        input: *const u8,
        number: usize,
        [y, x]: [usize; 2],
        low: [usize; 2],
        squares: usize,
    ) -> Self {
        let [by_image, by_line, by_pixel, _] = image.distances;
        let start = input.cast::<f32>().wrapping_offset(number as isize * by_image);
        let mut sums = [[0.0; MOST]; PATCH];
        for (line, sums) in sums.iter_mut().enumerate() {
            let Some(line) = (y + line).checked_sub(low[0]) else { continue };
            if line >= image.size[0] {
                continue;
            }
            let start = start.wrapping_offset(line as isize * by_line);
            let count = squares * SIDE + PATCH - SIDE;
            for (pixel, sum) in sums[..count].iter_mut().enumerate() {
                if let Some(pixel) = (x + pixel).checked_sub(low[1])
                    && pixel < image.size[1]
                {
                    let pixel = start.wrapping_offset(pixel as isize * by_pixel);
                    // SAFETY: the caller's promise.
                    *sum = unsafe { magnitude(pixel, image.features) };
                }
            }
        }
        Self(sums)
    }

    /// Whether this one of the squares is uneven.
    pub(super) fn is_uneven(&self, square: usize) -> bool {
        let at = square * SIDE;
        let largest = self.0.iter().flat_map(|line| &line[at..at + PATCH]);
        let largest = largest.fold(0.0_f32, |largest, sum| largest.max(*sum));
        let seen = |y: usize, x: usize| -> f32 {
            let lines = self.0[y..y + WINDOW].iter();
            lines.map(|line| line[at + x..at + x + WINDOW].iter().sum::<f32>()).sum()
        };
        let small = |y: usize, x: usize| UNEVEN * seen(y, x) < largest;
        (0..SIDE).any(|y| (0..SIDE).any(|x| small(y, x)))
    }
}

/// The sum of the magnitudes of a pixel's features.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn magnitude(pixel: *const f32, features: usize) -> f32 {
    use std::arch::x86_64::{
        _mm512_abs_ps, _mm512_add_ps, _mm512_reduce_add_ps, _mm512_setzero_ps,
    };

    use crate::products::tiles::rows::vectors::{load, mask};

    let mut sum = _mm512_setzero_ps();
    for feature in (0..features).step_by(16) {
        // SAFETY: the caller's promise.
        let some = unsafe { load(pixel.wrapping_add(feature), mask(feature, features)) };
        sum = _mm512_add_ps(sum, _mm512_abs_ps(some));
    }
    _mm512_reduce_add_ps(sum)
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn magnitude(_: *const f32, _: usize) -> f32 {
    unreachable!("tiles need 512-bit vectors");
}

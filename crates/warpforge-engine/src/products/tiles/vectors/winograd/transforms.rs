//! Sums and differences of a patch of the input, of the window's numbers, and of the products.
#![allow(unsafe_code)]

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m512, _CMP_UNORD_Q, _mm512_add_ps, _mm512_cmp_ps_mask, _mm512_fmadd_ps, _mm512_mul_ps,
    _mm512_set1_ps, _mm512_setzero_ps, _mm512_sub_ps,
};

#[cfg(target_arch = "x86_64")]
use super::super::ROWS;
use super::{Image, Line, PATCH, PLACES, PLANES, SIDE, WINDOW};
use crate::products::tiles::multiplier::COLUMNS;
#[cfg(target_arch = "x86_64")]
use crate::products::tiles::rows::vectors::{load, mask, store};

/// Where the pixels of a patch are; none in the padding.
pub(super) struct Patch(pub(super) [Option<*const f32>; PLANES]);

impl Patch {
    /// Of the square of the result that begins at a corner.
    #[inline(always)]
    pub(super) fn new(
        image: &Image,
        input: *const u8,
        number: usize,
        [y, x]: [usize; 2],
        low: [usize; 2],
    ) -> Self {
        let [by_image, by_line, by_pixel, _] = image.distances;
        let start = input.cast::<f32>().wrapping_offset(number as isize * by_image);
        Self(std::array::from_fn(|at| {
            let line = (y + at / PATCH).checked_sub(low[0]).filter(|line| *line < image.size[0])?;
            let pixel =
                (x + at % PATCH).checked_sub(low[1]).filter(|pixel| *pixel < image.size[1])?;
            Some(start.wrapping_offset(line as isize * by_line + pixel as isize * by_pixel))
        }))
    }
}

/// Of a window's numbers `g`: `G g Gᵀ`, where `G` has the rows `1 0 0`, `½ ½ ½`, `½ -½ ½` and `0 0 1`.
pub(super) fn of_window(window: &[Line; PLACES]) -> [Line; PLANES] {
    let mut planes = [[0.0; COLUMNS]; PLANES];
    for column in 0..COLUMNS {
        let once = |[a, b, c]: [f32; WINDOW]| {
            let (outer, inner) = (0.5 * (a + c), 0.5 * b);
            [a, outer + inner, outer - inner, c]
        };
        let lines: [[f32; PATCH]; WINDOW] = std::array::from_fn(|line| {
            once(std::array::from_fn(|at| window[line * WINDOW + at][column]))
        });
        for right in 0..PATCH {
            let turned = once([lines[0][right], lines[1][right], lines[2][right]]);
            for (down, number) in turned.into_iter().enumerate() {
                planes[down * PATCH + right][column] = number;
            }
        }
    }
    planes
}

/// Of a patch `d`, feature by feature: `Bᵀ d B`, where `Bᵀ` has the rows `1 0 -1 0`, `0 1 1 0`, `0 -1 1 0` and `0 1 0 -1`. Each plane
/// lies `plane` numbers behind the one before.
///
/// # Safety
///
/// The pixels have these features, one after the other; there is room for them, in whole vectors, in each plane; the machine
/// has 512-bit vectors.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn of_patch(patch: &Patch, features: Range<usize>, to: *mut f32, plane: usize) {
    let once = |[a, b, c, d]: [__m512; PATCH]| {
        [_mm512_sub_ps(a, c), _mm512_add_ps(b, c), _mm512_sub_ps(c, b), _mm512_sub_ps(b, d)]
    };
    for feature in features.clone().step_by(16) {
        let named = mask(feature, features.end);
        let pixel = |at: usize| match patch.0[at] {
            // SAFETY: the caller's promise.
            Some(pixel) => unsafe { load(pixel.wrapping_add(feature), named) },
            None => _mm512_setzero_ps(),
        };
        let mut lines = [[_mm512_setzero_ps(); PATCH]; PATCH];
        for (line, sums) in lines.iter_mut().enumerate() {
            let at = line * PATCH;
            *sums = once([pixel(at), pixel(at + 1), pixel(at + 2), pixel(at + 3)]);
        }
        let turned =
            |right: usize| [lines[0][right], lines[1][right], lines[2][right], lines[3][right]];
        let to = to.wrapping_add(feature - features.start);
        for right in 0..PATCH {
            let sums = once(turned(right));
            for (down, sums) in sums.into_iter().enumerate() {
                let to = to.wrapping_add((down * PATCH + right) * plane);
                // SAFETY: as above.
                unsafe { store(to, !0, sums) };
            }
        }
    }
}

/// The square of products `m`: `Aᵀ m A`, where `Aᵀ` has the rows `1 1 1 0` and `0 1 -1 -1`. The products of a plane lie `apart` numbers
/// behind those of the one before; `to` are the square's lines. Whether all its numbers are finite.
///
/// # Safety
///
/// The products are there, and room for two pixels in each line; the machine has 512-bit vectors.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn to_square(from: *const f32, apart: usize, to: [*mut Line; 2]) -> bool {
    let once = |[a, b, c, d]: [__m512; PATCH]| {
        let (sum, difference) = (_mm512_add_ps(b, c), _mm512_sub_ps(b, c));
        [_mm512_add_ps(a, sum), _mm512_sub_ps(difference, d)]
    };
    // An infinity times zero is no number, and no number stays none.
    let mut finite = _mm512_setzero_ps();
    for half in (0..COLUMNS).step_by(16) {
        // SAFETY: the caller's promise.
        let product = |at: usize| unsafe { load(from.wrapping_add(at * apart + half), !0) };
        let mut lines = [[_mm512_setzero_ps(); 2]; PATCH];
        for (line, sums) in lines.iter_mut().enumerate() {
            let at = line * PATCH;
            *sums = once([product(at), product(at + 1), product(at + 2), product(at + 3)]);
        }
        let turned =
            |right: usize| [lines[0][right], lines[1][right], lines[2][right], lines[3][right]];
        for right in 0..2 {
            let pixels = once(turned(right));
            for (line, pixel) in to.into_iter().zip(pixels) {
                finite = _mm512_fmadd_ps(pixel, _mm512_setzero_ps(), finite);
                let to = line.cast::<f32>().wrapping_add(right * COLUMNS + half);
                // SAFETY: as above.
                unsafe { store(to, !0, pixel) };
            }
        }
    }
    _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(finite, finite) == 0
}

/// Of a square `y` of the result's gradient, for a strip of features, as many as a tile has rows: `A y Aᵀ`. Each plane lies `plane`
/// numbers behind the one before.
///
/// # Safety
///
/// As for [`of_patch`], with room for a whole strip.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn of_square(
    square: &[Option<*const f32>; SIDE * SIDE],
    features: Range<usize>,
    to: *mut f32,
    plane: usize,
) {
    const STRIP: u16 = (1 << ROWS) - 1;
    let zero = _mm512_setzero_ps();
    let once = |[a, b]: [__m512; SIDE]| {
        [a, _mm512_add_ps(a, b), _mm512_sub_ps(a, b), _mm512_sub_ps(zero, b)]
    };
    let named = mask(features.start, features.end);
    let pixel = |at: usize| match square[at] {
        // SAFETY: the caller's promise.
        Some(pixel) => unsafe { load(pixel.wrapping_add(features.start), named) },
        None => zero,
    };
    let (upper, lower) = (once([pixel(0), pixel(1)]), once([pixel(2), pixel(3)]));
    for (right, pair) in upper.into_iter().zip(lower).enumerate() {
        for (down, sums) in once(pair.into()).into_iter().enumerate() {
            let to = to.wrapping_add((down * PATCH + right) * plane);
            // SAFETY: as above.
            unsafe { store(to, STRIP, sums) };
        }
    }
}

/// The gradient of the window of products `m` that were summed over all squares: `Gᵀ m G`. The products of a plane lie `apart` numbers
/// behind those of the one before; `to` are the places of the window.
///
/// # Safety
///
/// The products are there, and room for a line in each place; the machine has 512-bit vectors.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn to_window(from: *const f32, apart: usize, to: [*mut f32; PLACES]) {
    let half = _mm512_set1_ps(0.5);
    let once = |[a, b, c, d]: [__m512; PATCH]| {
        let sum = _mm512_mul_ps(half, _mm512_add_ps(b, c));
        let difference = _mm512_mul_ps(half, _mm512_sub_ps(b, c));
        [_mm512_add_ps(a, sum), difference, _mm512_add_ps(sum, d)]
    };
    for part in (0..COLUMNS).step_by(16) {
        // SAFETY: the caller's promise.
        let product = |at: usize| unsafe { load(from.wrapping_add(at * apart + part), !0) };
        let mut lines = [[_mm512_setzero_ps(); WINDOW]; PATCH];
        for (line, sums) in lines.iter_mut().enumerate() {
            let at = line * PATCH;
            *sums = once([product(at), product(at + 1), product(at + 2), product(at + 3)]);
        }
        for right in 0..WINDOW {
            let turned = [lines[0][right], lines[1][right], lines[2][right], lines[3][right]];
            for (down, numbers) in once(turned).into_iter().enumerate() {
                // SAFETY: as above.
                unsafe { store(to[down * WINDOW + right].wrapping_add(part), !0, numbers) };
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn of_patch(_: &Patch, _: Range<usize>, _: *mut f32, _: usize) {
    unreachable!("tiles need 512-bit vectors");
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn of_square(
    _: &[Option<*const f32>; SIDE * SIDE],
    _: Range<usize>,
    _: *mut f32,
    _: usize,
) {
    unreachable!("tiles need 512-bit vectors");
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn to_window(_: *const f32, _: usize, _: [*mut f32; PLACES]) {
    unreachable!("tiles need 512-bit vectors");
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn to_square(_: *const f32, _: usize, _: [*mut Line; 2]) -> bool {
    unreachable!("tiles need 512-bit vectors");
}

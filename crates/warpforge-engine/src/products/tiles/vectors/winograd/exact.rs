//! A square as the convolution is defined, pixel by pixel and place by place.
#![allow(unsafe_code)]

use super::transforms::Patch;
use super::{Line, PATCH, PLACES, PLANES, SIDE, WINDOW, WindowOperands, Winograd};
use crate::products::tiles::multiplier::COLUMNS;

/// Computes the lines of a square for a panel. What the window sees of the padding counts for nothing.
///
/// # Safety
///
/// The panel is packed, the patch's pixels are there, and room for two pixels in each line; the machine has 512-bit vectors.
#[cold]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f"))]
pub(super) unsafe fn square(
    winograd: &Winograd,
    operands: &WindowOperands<'_>,
    patch: &Patch,
    panel: usize,
    to: [*mut Line; SIDE],
) {
    let features = winograd.input.features;
    let window = operands.panels.cast::<Line>();
    let window = window.wrapping_add(panel * winograd.each_panel() / COLUMNS + PLANES * features);
    let mut sums = [[0.0; COLUMNS]; SIDE * SIDE];
    for place in 0..PLACES {
        let seen: [_; SIDE * SIDE] = std::array::from_fn(|pixel| {
            let (down, right) = (pixel / SIDE + place / WINDOW, pixel % SIDE + place % WINDOW);
            patch.0[down * PATCH + right]
        });
        for feature in 0..features {
            // SAFETY: the caller's promise.
            let line = unsafe { &*window.wrapping_add(place * features + feature) };
            for (sums, pixel) in sums.iter_mut().zip(seen) {
                let Some(pixel) = pixel else { continue };
                // SAFETY: as above.
                let number = unsafe { *pixel.wrapping_add(feature) };
                for (sum, factor) in sums.iter_mut().zip(line) {
                    *sum = number.mul_add(*factor, *sum);
                }
            }
        }
    }
    for (pixel, sums) in sums.into_iter().enumerate() {
        // SAFETY: as above.
        unsafe { to[pixel / SIDE].wrapping_add(pixel % SIDE).write(sums) };
    }
}

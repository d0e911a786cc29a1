//! How images and kernels are packed.
#![allow(unsafe_code)]

use super::super::super::multiplier::COLUMNS;
use super::super::pack::Lines;
use super::super::{Numbers, ROWS, STEP, thirds};
use super::{Image, PIXEL_BYTES, Windows};

impl Windows {
    /// Packs one of them.
    ///
    /// # Safety
    ///
    /// `input` leads to the first number of the images, `to`, at the beginning of a cache line, to room for all that are
    /// packed; the machine has 512-bit vectors.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(crate) unsafe fn pack_line(&self, input: *const u8, line: usize, to: *mut u8) {
        let Image { features, size, distances, .. } = self.input;
        let [by_image, by_line, by_pixel, by_feature] = distances;
        if self.direct {
            let count = self.pixels() % ROWS;
            let first = (self.pixels() - count) as isize * by_pixel;
            let from = input.wrapping_offset(first * size_of::<u16>() as isize);
            let lines = Lines { from, across: by_pixel, along: 1, count, length: features };
            // SAFETY: the caller's promise: there is room for a strip.
            unsafe { lines.pack_rows(to.cast()) };
            return;
        }
        let lines = self.input.count * self.padded[0];
        let (phase, line) = (line / lines, line % lines);
        let first = phase * self.phase_pixels + line * self.padded[1];
        let (image, y) = (line / self.padded[0], line % self.padded[0]);
        // Where a pixel of the phase lies in the input, if it is not in the padding.
        let inside = |at: usize, place: usize| {
            let place = place * self.strides[at] + self.phases[phase][at];
            place.checked_sub(self.low[at]).filter(|place| *place < size[at])
        };
        let y = inside(0, y);
        let planes = self.steps() * self.numbers.parts();
        for x in 0..self.padded[1] {
            let to = to.wrapping_add((first + x) * PIXEL_BYTES);
            let pixel = y.zip(inside(1, x));
            let Some((y, x)) = pixel else {
                for plane in 0..planes {
                    // SAFETY: the caller's promise: there is room for every part of every step of the pixel.
                    unsafe { to.add(plane * self.apart).write_bytes(0, PIXEL_BYTES) };
                }
                continue;
            };
            let from = image as isize * by_image + y as isize * by_line + x as isize * by_pixel;
            for step in 0..self.steps() {
                let count = STEP.min(features - step * STEP);
                let start = (step * STEP) as isize * by_feature;
                let to = to.wrapping_add(step * self.numbers.parts() * self.apart);
                // SAFETY: the caller's promise: the features of the pixel are there.
                unsafe {
                    match self.numbers {
                        Numbers::Halves => {
                            let from = input.cast::<u16>().offset(from + start);
                            let mut gathered = [0; STEP];
                            if by_feature == 1 && count == STEP {
                                gathered = from.cast::<[u16; STEP]>().read_unaligned();
                            } else {
                                gather(from, by_feature, &mut gathered[..count]);
                            }
                            to.cast::<[u16; STEP]>().write(gathered);
                        }
                        Numbers::Thirds => {
                            let from = input.cast::<f32>().offset(from + start);
                            if by_feature == 1 && count == STEP {
                                thirds::split_pixel(from, to, self.apart);
                            } else {
                                let mut gathered = [0.0; STEP];
                                gather(from, by_feature, &mut gathered[..count]);
                                thirds::split_pixel(gathered.as_ptr(), to, self.apart);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Packs a panel of the kernel for all places of the window.
    ///
    /// # Safety
    ///
    /// `kernel` leads to its first number, `to`, at the beginning of a cache line, to room for all panels; the machine has
    /// 512-bit vectors.
    pub(crate) unsafe fn pack_panel(&self, kernel: *const u8, panel: usize, to: *mut u8) {
        let first = panel * COLUMNS;
        let bytes = match self.numbers {
            Numbers::Halves => size_of::<u16>(),
            Numbers::Thirds => size_of::<f32>(),
        };
        for (number, (_, from)) in self.places.iter().enumerate() {
            let start = from + first as isize * self.distances[0];
            let lines = Lines {
                from: kernel.wrapping_offset(start * bytes as isize),
                across: self.distances[0],
                along: self.distances[1],
                count: COLUMNS.min(self.columns - first),
                length: self.input.features,
            };
            let place = number * self.steps() * self.numbers.step_bytes();
            // SAFETY: the caller's promise.
            unsafe {
                let to = to.add(panel * self.each_panel() + place).cast();
                match self.numbers {
                    Numbers::Halves => lines.pack_columns(to),
                    Numbers::Thirds => lines.split_columns(to),
                }
            }
        }
    }
}

/// Numbers at such a distance from one another.
///
/// # Safety
///
/// They are there.
#[inline(always)]
unsafe fn gather<T: Copy>(from: *const T, apart: isize, to: &mut [T]) {
    // SAFETY: the caller's promise.
    unsafe {
        if apart == 1 {
            to.as_mut_ptr().copy_from_nonoverlapping(from, to.len());
            return;
        }
        for (at, to) in to.iter_mut().enumerate() {
            *to = *from.offset(at as isize * apart);
        }
    }
}

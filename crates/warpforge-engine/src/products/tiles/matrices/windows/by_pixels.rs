//! Convolutions that see one pixel from one place and add up little of it: pixel after pixel, all features of each, so that
//! what they are combined with and written to passes in the order of memory. How fast they are depends on that.
#![allow(unsafe_code)]

use std::ops::Range;

use super::super::super::finish::{FinishAt, Place, Soon, Target};
use super::super::super::multiplier::COLUMNS;
use super::super::tile::{Along, Begin, Reads, Run, Tile};
use super::super::{ROWS, unit};
use super::{Operands, Windows};

/// Numbers of other matrices that are asked for in advance, at least those of a pixel.
const AHEAD: usize = 1024;

impl Windows {
    /// Whether pixels are worked on one after the other: where as much is written as read, or more.
    pub(super) fn goes_by_pixels(&self) -> bool {
        let widens = self.columns >= self.input.features && self.columns.is_multiple_of(COLUMNS);
        self.direct && self.steps() <= self.numbers.slice() && widens
    }

    /// Bytes of the sums of two strips, one of which is finished while the other is multiplied.
    pub(super) fn pixel_sum_bytes(&self) -> usize {
        2 * ROWS * row_bytes(self.panel_count())
    }

    /// Computes the result for some strips and panels.
    ///
    /// # Safety
    ///
    /// As for [`Windows::multiply`].
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(super) unsafe fn multiply_by_pixels(
        &self,
        operands: &Operands<'_>,
        strips: &Range<usize>,
        panels: &Range<usize>,
    ) {
        let (numbers, steps) = (self.numbers, self.steps());
        let at = self.finish.whole().beginning_with_columns(self.columns);
        let row = row_bytes(panels.len());
        let each = ROWS.div_ceil(panels.len() * steps.div_ceil(numbers.together()));
        let mut waiting =
            Waiting { at: &at, operands, panels, sums: operands.sums, row, pixels: 0..0 };
        let mut unit = unit::Configured::new();
        let mut tile = Tile::new();
        for (turn, strip) in strips.clone().enumerate() {
            let sums = operands.sums.wrapping_add(turn % 2 * ROWS * row);
            let pixels = self.strip(operands, strip, 0, 0);
            for (place, panel) in panels.clone().enumerate() {
                self.ask_for_next(operands, strip, place, panels.len());
                let right = operands.panels.wrapping_add(panel * self.each_panel());
                let reads = Reads {
                    panel: right,
                    next: right.wrapping_add(self.each_panel()),
                    ahead: numbers.ahead(1),
                    later: right,
                    apart: pixels.apart,
                    row: pixels.row,
                    soon: Soon::nothing().two(sums),
                };
                let start = sums.wrapping_add(place * size_of::<[f32; COLUMNS]>());
                let column = panel * COLUMNS;
                let first = Place { row: 0, column, columns: COLUMNS };
                let begin = Begin::with(at.first(&first, operands.inputs));
                let run = Run { begin, elsewhere: Some(Target { start, row }) };
                let left = [Along { strip: pixels.first, steps }];
                // SAFETY: the caller's promise: operands and room for the sums of two strips are there.
                unsafe {
                    tile.multiply(&mut unit, numbers, run, left, reads, |_| waiting.some(each));
                }
            }
            // SAFETY: as above; the strip's sums are there, and nobody else has them.
            unsafe { waiting.some(ROWS) };
            let first = strip * ROWS;
            waiting.pixels = first..(first + ROWS).min(self.pixels());
            waiting.sums = sums;
        }
        // SAFETY: as above.
        unsafe {
            unit.settle();
            waiting.some(ROWS);
        }
    }
}

/// Bytes from the sums of one pixel to those of the next: not whole pages, of which a cache holds few.
fn row_bytes(panels: usize) -> usize {
    panels * size_of::<[f32; COLUMNS]>() + 64
}

/// Pixels of a strip whose sums are there.
struct Waiting<'a> {
    at: &'a FinishAt,
    operands: &'a Operands<'a>,
    panels: &'a Range<usize>,
    /// Those of the first of them, and bytes to those of the next.
    sums: *mut u8,
    row: usize,
    pixels: Range<usize>,
}

impl Waiting<'_> {
    /// Finishes some of them.
    ///
    /// # Safety
    ///
    /// As for [`FinishAt::finish`]; nobody else uses the sums.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    unsafe fn some(&mut self, count: usize) {
        let Operands { inputs, out, .. } = *self.operands;
        let (column, columns) = (self.panels.start * COLUMNS, self.panels.len() * COLUMNS);
        let ahead = (AHEAD / columns).max(1);
        for pixel in self.pixels.by_ref().take(count) {
            self.at.ask_for_row(&Place { row: pixel + ahead, column, columns }, inputs);
            let place = Place { row: pixel, column, columns: COLUMNS };
            // SAFETY: the caller's promise.
            unsafe {
                let sums = std::slice::from_raw_parts_mut(self.sums.cast(), self.panels.len());
                self.at.finish_row(sums, &place, inputs, out);
            }
            self.sums = self.sums.wrapping_add(self.row);
        }
    }
}

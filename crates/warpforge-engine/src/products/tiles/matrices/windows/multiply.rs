//! Sums over the places of a window, slice by slice of the features.
#![allow(unsafe_code)]

use std::ops::Range;

use super::super::super::finish::{FinishAt, Place, Soon};
use super::super::super::multiplier::COLUMNS;
use super::super::later::Later;
use super::super::tile::{Along, Begin, Reads, Run, Tile};
use super::super::{PART_BYTES, ROWS, exact, unit};
use super::{FEW_STEPS, Operands, PIXEL_BYTES, Segment, Windows};

impl Windows {
    /// Computes the result for some strips and panels.
    ///
    /// # Safety
    ///
    /// The operands are packed, there is room for the sums of as many strips, and nobody else writes their place in the
    /// result; the matrix unit is available.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(crate) unsafe fn multiply(
        &self,
        operands: &Operands<'_>,
        strips: &Range<usize>,
        panels: &Range<usize>,
    ) {
        if self.goes_by_pixels() {
            // SAFETY: the caller's promise.
            unsafe { self.multiply_by_pixels(operands, strips, panels) };
            return;
        }
        let (numbers, all) = (self.numbers, self.steps());
        let mut at = self.finish.whole();
        if !self.in_parts() {
            at = at.beginning_with_columns(self.columns);
        }
        let last = self.visits.last().map_or(0, |visit| steps_of(visit));
        let later = Later::new(&at, operands.inputs, operands.out, last);
        let unit = unit::Configured::new();
        let ahead = numbers.ahead(1);
        let mut work = Work { windows: self, operands, at: &at, later, unit, ahead };
        if self.places.len() == 1 && (all <= FEW_STEPS || self.direct && self.visits.len() == 1) {
            // Little is added up for much that is read or written: all features of some pixels, one after the other.
            for strip in strips.clone() {
                for (turn, panel) in panels.clone().enumerate() {
                    self.ask_for_next(operands, strip, turn, panels.len());
                    // SAFETY: the caller's promise; there are sums for two strips at least.
                    unsafe { work.visit(0, panel, strip, turn % 2) };
                }
            }
        } else {
            work.ahead = numbers.ahead(strips.len());
            for panel in panels.clone() {
                for number in 0..self.visits.len() {
                    for (turn, strip) in strips.clone().enumerate() {
                        // SAFETY: the caller's promise.
                        unsafe { work.visit(number, panel, strip, turn) };
                    }
                }
            }
        }
        // SAFETY: as above.
        unsafe {
            work.unit.settle();
            work.later.all();
        }
    }

    /// How a strip, seen from a place of the window, lies from some step on.
    #[inline(always)]
    pub(super) fn strip(
        &self,
        operands: &Operands<'_>,
        strip: usize,
        pixels: usize,
        step: usize,
    ) -> Pixels {
        if !self.direct {
            let first = self.strip_at(operands.images, strip, pixels, step);
            return Pixels { first, row: PIXEL_BYTES, apart: self.apart };
        }
        if (strip + 1) * ROWS > self.pixels() {
            let first = operands.images.wrapping_add(step * PART_BYTES);
            return Pixels { first, row: PIXEL_BYTES, apart: PART_BYTES };
        }
        let row = self.input.distances[2] as usize * size_of::<u16>();
        let first = operands.input.wrapping_add(strip * ROWS * row + step * PIXEL_BYTES);
        Pixels { first, row, apart: PIXEL_BYTES }
    }

    /// Asks for a part of the next strip, where strips are read where they lie.
    #[inline(always)]
    pub(super) fn ask_for_next(
        &self,
        operands: &Operands<'_>,
        strip: usize,
        part: usize,
        parts: usize,
    ) {
        #[cfg(target_arch = "x86_64")]
        if self.direct {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            let bytes = ROWS * self.input.distances[2] as usize * size_of::<u16>();
            let lines = (bytes / 64).div_ceil(parts.max(1));
            let first = operands.input.wrapping_add((strip + 1) * bytes + part * lines * 64);
            for line in 0..lines {
                // SAFETY: asking for memory that is not there does nothing.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(first.wrapping_add(64 * line).cast()) };
            }
        }
    }

    /// Where a strip, seen from a place of the window, has its numbers from some step on, as they are packed.
    #[inline(always)]
    fn strip_at(&self, images: *const u8, strip: usize, pixels: usize, step: usize) -> *const u8 {
        let planes = step * self.numbers.parts() * self.apart;
        images.wrapping_add(planes + (strip * ROWS + pixels) * PIXEL_BYTES)
    }
}

/// Where pixels of a strip are, in bytes: the first, from one to the next, and from one part of their features to the next.
pub(super) struct Pixels {
    pub(super) first: *const u8,
    pub(super) row: usize,
    pub(super) apart: usize,
}

/// Steps of a visit.
fn steps_of(visit: &[Segment]) -> usize {
    visit.iter().map(|segment| segment.steps).sum()
}

/// A task at work.
struct Work<'a> {
    windows: &'a Windows,
    operands: &'a Operands<'a>,
    at: &'a FinishAt,
    later: Later<'a>,
    unit: unit::Configured,
    /// Bytes of what comes next that are asked for in one step.
    ahead: usize,
}

impl Work<'_> {
    /// Adds the products of a visit of a strip to the sums of its tile, which are where the turn says, and leaves it to be
    /// finished when they are all there.
    ///
    /// # Safety
    ///
    /// As for [`Windows::multiply`].
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    unsafe fn visit(&mut self, number: usize, panel: usize, strip: usize, turn: usize) {
        let Self { windows, operands, at, later, unit, ahead } = self;
        let (ahead, numbers, all) = (*ahead, windows.numbers, windows.steps());
        let visit = &windows.visits[number];
        let Some(Segment { place, step, .. }) = visit.first().copied() else { return };
        let column = panel * COLUMNS;
        let columns = COLUMNS.min(windows.columns - column);
        let first = operands.panels.wrapping_add(panel * windows.each_panel());
        let length = steps_of(visit);
        let (begins, ends) = (number == 0, number + 1 == windows.visits.len());
        let right = first.wrapping_add((place * all + step) * numbers.step_bytes());
        let next = right.wrapping_add(length * numbers.step_bytes());
        let runs = Runs::new(windows, strip);
        let soon = match runs.clone().next().filter(|_| ends) {
            Some(run) => {
                let place = Place { row: run.row, column, columns };
                at.soon(&place, operands.inputs, operands.out, true)
            }
            None => Soon::nothing(),
        };
        soon.ask_beyond(length);
        let tile = operands.sums.cast::<Tile>().wrapping_add(turn);
        let seen = |segment: &Segment| {
            let (pixels, _) = windows.places[segment.place];
            windows.strip(operands, strip, pixels, segment.step)
        };
        let Pixels { apart, row, .. } = seen(&visit[0]);
        let reads = Reads {
            panel: right,
            next: next.wrapping_add(turn * length * ahead),
            ahead,
            later: right,
            apart,
            row,
            soon: soon.two(tile.cast()),
        };
        let left =
            visit.iter().map(|segment| Along { strip: seen(segment).first, steps: segment.steps });
        let corner = Place { row: 0, column, columns };
        let begin = match begins {
            true => Begin::with(at.first(&corner, operands.inputs)),
            false => Begin::Here,
        };
        let run = Run { begin, elsewhere: None };
        // SAFETY: the caller's promise; what is left of a tile is done before it is used again.
        unsafe {
            unit.settle_in(tile);
            later.free(tile);
            (*tile).multiply(unit, numbers, run, left, reads, |steps| later.some(steps));
        }
        if !ends {
            return;
        }
        if windows.in_parts() {
            // SAFETY: as above; nobody else has the tile.
            let sums = unsafe {
                unit.settle();
                &mut *tile
            };
            let mine = runs.clone().fold(0, |mine, run| mine | run.mask());
            let again = sums.extraordinary(ROWS) & mine;
            if again != 0 {
                let at = |step: usize| {
                    let (pixels, _) = windows.places[step / all];
                    let left = windows.strip_at(operands.images, strip, pixels, step % all);
                    [left, first.wrapping_add(step * numbers.step_bytes())]
                };
                let steps = windows.places.len() * all;
                let packed = exact::Packed { at, apart: windows.apart, steps };
                // SAFETY: as above.
                unsafe { packed.multiply(sums.rows_mut(ROWS), again) };
            }
        }
        for run in runs {
            let place = Place { row: run.row, column, columns };
            // SAFETY: the caller's promise; a run lies within the result.
            unsafe { later.leave(tile, run.lines, place) };
        }
    }
}

/// Pixels of a strip that follow one another in the result.
#[derive(Debug, Clone)]
struct PixelRun {
    /// Which of the strip's.
    lines: Range<usize>,
    /// The first one's place among all pixels of the result.
    row: usize,
}

impl PixelRun {
    /// A bit for each.
    fn mask(&self) -> u32 {
        let up_to = |count: usize| ((1_u64 << count) - 1) as u32;
        up_to(self.lines.end) & !up_to(self.lines.start)
    }
}

/// The runs of a strip.
#[derive(Clone)]
struct Runs<'a> {
    windows: &'a Windows,
    strip: usize,
    /// The next of the strip's pixels.
    at: usize,
}

impl<'a> Runs<'a> {
    fn new(windows: &'a Windows, strip: usize) -> Self {
        Self { windows, strip, at: 0 }
    }
}

impl Iterator for Runs<'_> {
    type Item = PixelRun;

    fn next(&mut self) -> Option<PixelRun> {
        let Windows { result, padded, input, .. } = self.windows;
        while self.at < ROWS {
            let pixel = self.strip * ROWS + self.at;
            let (line, x) = (pixel / padded[1], pixel % padded[1]);
            let (image, y) = (line / padded[0], line % padded[0]);
            let start = self.at;
            self.at = (start + padded[1] - x).min(ROWS);
            if image < input.count && y < result[0] && x < result[1] {
                let end = (start + result[1] - x).min(ROWS);
                let row = (image * result[0] + y) * result[1] + x;
                return Some(PixelRun { lines: start..end, row });
            }
        }
        None
    }
}

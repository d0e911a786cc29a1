//! Convolutions as sums of products, one for each place of the window, in the matrix unit.
//!
//! The input is packed once, with its padding: for every step of the features, and every part of the numbers, the pixels
//! of all images one after the other. What the window sees from one of its places is the same memory from some pixels later on,
//! so nothing is packed for a place of the window. Where the window moves by several pixels, those that it sees from one place
//! are packed as an image of their own, a phase. The result is computed for all pixels of a phase; those in the padding are dropped.
//!
//! What always holds: an element's terms are added in the order of the window's places and the features, whatever the number of
//! threads.
#![allow(unsafe_code)]

use std::ops::Range;

use super::super::finish::{Finish, FinishAt, Place, Soon};
use super::super::multiplier::COLUMNS;
use super::later::Later;
use super::pack::Lines;
use super::tile::{Reads, Run, Tile};
use super::{Numbers, PART_BYTES, ROWS, STEP, exact, steps, thirds, unit};
use warpforge_tensor::DType;

/// Bytes of a step of a pixel, in one part.
const PIXEL_BYTES: usize = PART_BYTES / ROWS;

/// Where so few are added up, how fast a convolution is depends on how its result is written.
const FEW_STEPS: usize = 4;

/// Packed pixels at most, padding included, for each pixel of input and result; fewer than [`LITTLE`] are no matter.
const MOST_PADDING: usize = 4;
const LITTLE: usize = 4096;

/// Images and how their numbers lie, distances in numbers. They are read fastest where features lie beside one another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Image {
    pub(crate) count: usize,
    pub(crate) features: usize,
    /// Height and width.
    pub(crate) size: [usize; 2],
    /// From one image, line, pixel and feature to the next.
    pub(crate) distances: [isize; 4],
}

/// A convolution.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    numbers: Numbers,
    input: Image,
    /// Padding before the first line and pixel.
    low: [usize; 2],
    /// Pixels by which the window moves, down and to the right.
    strides: [usize; 2],
    /// Height and width of the result, and of a phase of an image, with its padding.
    result: [usize; 2],
    padded: [usize; 2],
    /// The first pixel of each phase, with the padding.
    phases: Vec<[usize; 2]>,
    /// Strips of all pixels for which the result is computed.
    strip_count: usize,
    /// Pixels from one phase to the next.
    phase_pixels: usize,
    /// The window's places: pixels from the first of all, and where in the kernel their numbers begin.
    places: Vec<(usize, isize)>,
    /// Features of the result.
    columns: usize,
    /// From one feature of the result, and of the input, to the next, in the kernel.
    distances: [isize; 2],
    finish: Finish,
    /// Bytes from one part of a step of all pixels to the next.
    apart: usize,
    /// Whether pixels are read where they lie, one after the other, but for those of a strip that has fewer than others.
    direct: bool,
}

/// What a task reads and writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operands<'a> {
    /// The input.
    pub(crate) input: *const u8,
    /// The packed images.
    pub(crate) images: *const u8,
    pub(crate) panels: *const u8,
    /// Room for sums, for nobody else.
    pub(crate) sums: *mut u8,
    pub(crate) inputs: &'a [*const u8],
    pub(crate) out: *mut u8,
}

impl Windows {
    /// Of a window with these places (pixels down and to the right, and where in the kernel they begin), and such padding and
    /// steps; not of one that sees padding far more often than pixels.
    pub(crate) fn new(
        dtype: DType,
        input: Image,
        [low, strides, result]: [[usize; 2]; 3],
        places: &[([usize; 2], isize)],
        (columns, distances): (usize, [isize; 2]),
        finish: Finish,
    ) -> Option<Self> {
        let numbers = match dtype {
            DType::F32 => Numbers::Thirds,
            DType::BF16 => Numbers::Halves,
            _ => return None,
        };
        let within = |place: &[usize; 2]| [place[0] / strides[0], place[1] / strides[1]];
        let phase = |place: &[usize; 2]| [place[0] % strides[0], place[1] % strides[1]];
        let reach = |at: usize| places.iter().map(|(place, _)| within(place)[at]).max();
        let padded = [result[0].checked_add(reach(0)?)?, result[1].checked_add(reach(1)?)?];
        let mut phases: Vec<[usize; 2]> = places.iter().map(|(place, _)| phase(place)).collect();
        phases.sort_unstable();
        phases.dedup();
        let mut windows = Self {
            numbers,
            input,
            low,
            strides,
            result,
            padded,
            phases,
            strip_count: 0,
            phase_pixels: 0,
            places: Vec::new(),
            columns,
            distances,
            finish,
            apart: 0,
            direct: false,
        };
        windows.direct = windows.is_direct(places);
        let lines = (input.count - 1).checked_mul(padded[0])?.checked_add(result[0])?;
        windows.strip_count = lines.checked_mul(padded[1])?.div_ceil(ROWS);
        // What the last strip sees from the last place lies behind the last pixel.
        let last = reach(0)?.checked_mul(padded[1])?.checked_add(reach(1)?)?;
        windows.phase_pixels = windows.strip_count.checked_mul(ROWS)?.checked_add(last)?;
        for (place, from) in places {
            let phase = windows.phases.iter().position(|at| *at == phase(place))?;
            let [down, right] = within(place);
            let pixels = phase.checked_mul(windows.phase_pixels)? + down * padded[1] + right;
            windows.places.push((pixels, *from));
        }
        let pixels = windows.phases.len().checked_mul(windows.phase_pixels)?;
        let of = |size: [usize; 2]| input.count.checked_mul(size[0])?.checked_mul(size[1]);
        let given = of(input.size)?.checked_add(of(result)?)?;
        if pixels > given.checked_mul(MOST_PADDING)?.checked_add(LITTLE)? {
            return None;
        }
        // Parts at whole pages from one another would drive each other out of the nearest cache.
        let apart = pixels.checked_next_multiple_of(64)?.checked_add(21)?;
        windows.apart = apart.checked_mul(PIXEL_BYTES)?;
        windows.apart.checked_mul(windows.steps())?.checked_mul(numbers.parts())?;
        Some(windows)
    }

    /// Whether the window sees one pixel from one place, and they lie one after the other.
    fn is_direct(&self, places: &[([usize; 2], isize)]) -> bool {
        let Self { input, low, strides, result, .. } = self;
        let [by_image, by_line, by_pixel, by_feature] = input.distances;
        self.numbers == Numbers::Halves
            && places.len() == 1
            && (*low, *strides, *result) == ([0, 0], [1, 1], input.size)
            && input.features.is_multiple_of(STEP)
            && by_feature == 1
            && by_pixel > 0
            && by_line == input.size[1] as isize * by_pixel
            && (input.count == 1 || by_image == input.size[0] as isize * by_line)
    }

    /// Whether pixels are read where they lie.
    pub(crate) fn reads_in_place(&self) -> bool {
        self.direct
    }

    /// Pixels of all images.
    fn pixels(&self) -> usize {
        self.input.count * self.result[0] * self.result[1]
    }

    /// Whether numbers are multiplied in parts.
    pub(crate) fn in_parts(&self) -> bool {
        self.numbers == Numbers::Thirds
    }

    fn steps(&self) -> usize {
        steps(self.input.features)
    }

    /// Strips of all pixels for which the result is computed.
    pub(crate) fn strip_count(&self) -> usize {
        self.strip_count
    }

    /// Strips that are best worked on at a time: with what the window sees of them around they stay in the second-level cache.
    pub(crate) fn block(&self) -> usize {
        const BYTES: usize = 1 << 20;
        let lines = self.padded[0] - self.result[0] + 1;
        let strip = lines * ROWS * PIXEL_BYTES * self.numbers.parts() * self.steps();
        (BYTES / strip).clamp(2, 12)
    }

    pub(crate) fn panel_count(&self) -> usize {
        self.columns.div_ceil(COLUMNS)
    }

    /// Bytes of the packed images.
    pub(crate) fn image_bytes(&self) -> usize {
        match self.direct {
            true => self.steps() * PART_BYTES,
            false => self.steps() * self.numbers.parts() * self.apart,
        }
    }

    /// Bytes of the packed kernel.
    pub(crate) fn panel_bytes(&self) -> usize {
        self.panel_count() * self.each_panel()
    }

    fn each_panel(&self) -> usize {
        self.places.len() * self.steps() * self.numbers.step_bytes()
    }

    /// Bytes of the sums of so many strips, of two at least.
    pub(crate) fn sum_bytes(&self, strips: usize) -> usize {
        strips.max(2) * size_of::<Tile>()
    }

    /// What is packed: lines of all phases of all images, with their padding, or the pixels that do not fill a strip.
    pub(crate) fn line_count(&self) -> usize {
        match self.direct {
            true => usize::from(!self.pixels().is_multiple_of(ROWS)),
            false => self.phases.len() * self.input.count * self.padded[0],
        }
    }

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
                            gather(from, by_feature, &mut gathered[..count]);
                            to.copy_from_nonoverlapping(gathered.as_ptr().cast(), PIXEL_BYTES);
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
        let numbers = self.numbers;
        let (all, slice_steps) = (self.steps(), numbers.slice());
        let at = self.finish.whole();
        let later = Later::new(&at, operands.inputs, operands.out, all.min(slice_steps));
        let unit = unit::Configured::new();
        let mut work = Work { windows: self, operands, at: &at, later, unit };
        if self.places.len() == 1 && (all <= FEW_STEPS || self.direct && all <= slice_steps) {
            // Little is added up for much that is read or written: all features of some pixels, one after the other.
            for strip in strips.clone() {
                for (turn, panel) in panels.clone().enumerate() {
                    self.ask_for_next(operands, strip, turn, panels.len());
                    let visit = Visit { panel, place: 0, slice: 0, strip, turn: turn % 2 };
                    // SAFETY: the caller's promise; there are sums for two strips at least.
                    unsafe { work.multiply(&visit) };
                }
            }
        } else {
            for panel in panels.clone() {
                for place in 0..self.places.len() {
                    for slice in (0..all).step_by(slice_steps) {
                        for (turn, strip) in strips.clone().enumerate() {
                            let visit = Visit { panel, place, slice, strip, turn };
                            // SAFETY: the caller's promise.
                            unsafe { work.multiply(&visit) };
                        }
                    }
                }
            }
        }
        // SAFETY: as above.
        unsafe { work.later.all() };
    }

    /// How a strip, seen from a place of the window, lies from some step on.
    #[inline(always)]
    fn strip(&self, operands: &Operands<'_>, strip: usize, pixels: usize, step: usize) -> Pixels {
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
    fn ask_for_next(&self, operands: &Operands<'_>, strip: usize, part: usize, parts: usize) {
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
struct Pixels {
    first: *const u8,
    row: usize,
    apart: usize,
}

/// A tile at a place of the window, some steps of it.
struct Visit {
    panel: usize,
    place: usize,
    slice: usize,
    strip: usize,
    /// Which sums are its.
    turn: usize,
}

/// A task at work.
struct Work<'a> {
    windows: &'a Windows,
    operands: &'a Operands<'a>,
    at: &'a FinishAt,
    later: Later<'a>,
    unit: unit::Configured,
}

impl Work<'_> {
    /// Adds the products of a visit to the sums of its tile, and leaves it to be finished when they are all there.
    ///
    /// # Safety
    ///
    /// As for [`Windows::multiply`].
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    unsafe fn multiply(&mut self, visit: &Visit) {
        let Self { windows, operands, at, later, unit } = self;
        let Visit { panel, place, slice, strip, turn } = *visit;
        let numbers = windows.numbers;
        let all = windows.steps();
        let column = panel * COLUMNS;
        let columns = COLUMNS.min(windows.columns - column);
        let first = operands.panels.wrapping_add(panel * windows.each_panel());
        let length = numbers.slice().min(all - slice);
        let begins = place == 0 && slice == 0;
        let ends = place + 1 == windows.places.len() && slice + length == all;
        let right = first.wrapping_add((place * all + slice) * numbers.step_bytes());
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
        let (pixels, _) = windows.places[place];
        let pixels_at = windows.strip(operands, strip, pixels, slice);
        let reads = Reads {
            strip: pixels_at.first,
            panel: right,
            next: next.wrapping_add(turn * length * numbers.ahead()),
            apart: pixels_at.apart,
            row: pixels_at.row,
            soon: soon.two(tile.cast()),
        };
        let run = Run { steps: length, begins, elsewhere: None };
        // SAFETY: the caller's promise; what is left of a tile is done before it is used again.
        unsafe {
            later.free(tile);
            (*tile).multiply(unit, numbers, run, reads, |steps| later.some(steps));
        }
        if !ends {
            return;
        }
        // SAFETY: as above; nobody else has the tile.
        let sums = unsafe { &mut *tile };
        if windows.in_parts() {
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

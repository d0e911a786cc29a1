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

mod by_pixels;
mod multiply;
mod pack;

use warpforge_tensor::DType;

use super::super::finish::Finish;
use super::super::multiplier::COLUMNS;
use super::tile::Tile;
use super::{Numbers, PART_BYTES, ROWS, STEP, steps};

/// Bytes of a step of a pixel, in one part.
const PIXEL_BYTES: usize = PART_BYTES / ROWS;

/// Where so few are added up, how fast a convolution is depends on how its result is written.
const FEW_STEPS: usize = 4;

/// Steps of a visit at most: as much of a panel stays in the nearest cache while strips pass by.
const MOST_STEPS: usize = 18;

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
    /// What is added to a tile's sums at a time.
    visits: Vec<Vec<Segment>>,
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

/// Some steps of the features that the window sees from one of its places.
#[derive(Debug, Clone, Copy)]
struct Segment {
    /// Which place.
    place: usize,
    step: usize,
    steps: usize,
}

/// All steps of so many places, in visits of as many: of few features, several places together.
fn visits(places: usize, all: usize, slice: usize) -> Vec<Vec<Segment>> {
    let each = slice.min(all);
    let of = |place: usize| {
        let segment = move |step| Segment { place, step, steps: each.min(all - step) };
        (0..all).step_by(each).map(segment)
    };
    let segments: Vec<Segment> = (0..places).flat_map(of).collect();
    let together = (MOST_STEPS / each).max(1);
    let count = segments.len().div_ceil(together);
    segments.chunks(segments.len().div_ceil(count.max(1)).max(1)).map(<[_]>::to_vec).collect()
}

/// What a task reads and writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operands<'a> {
    /// The input.
    pub(crate) input: *const u8,
    /// The packed images, where there are any.
    pub(crate) images: *const u8,
    pub(crate) panels: *const u8,
    /// Room for sums and what they are made of, for nobody else.
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
            visits: Vec::new(),
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
        windows.visits = visits(windows.places.len(), windows.steps(), numbers.slice());
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
        let by_pixels = if self.goes_by_pixels() { self.pixel_sum_bytes() } else { 0 };
        (strips.max(2) * size_of::<Tile>()).max(by_pixels).next_multiple_of(64)
    }

    /// What is packed: lines of all phases of all images, with their padding, or the pixels that do not fill a strip.
    pub(crate) fn line_count(&self) -> usize {
        match self.direct {
            true => usize::from(!self.pixels().is_multiple_of(ROWS)),
            false => self.phases.len() * self.input.count * self.padded[0],
        }
    }
}

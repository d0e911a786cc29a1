//! The gradient of a window of three by three pixels, with four ninths of the multiplications, too.
//!
//! Each of sixteen products is the sums and differences of all patches of the input times those of all squares of the result's gradient,
//! summed over the squares. They are made for a chunk of squares at a time, whose planes stay in the caches; the window's nine numbers
//! are sums and differences of the products.
//!
//! What always holds: which squares are a chunk does not depend on the number of threads. Where all that one number of the window
//! is made from is much smaller than what is added and taken away again, or sums could become infinite, the gradient is computed
//! as it is defined, place by place.
#![allow(unsafe_code)]

use std::ops::Range;

use warpforge_tensor::DType;

use super::super::super::finish::Soon;
use super::super::super::matrices::Image;
use super::super::super::multiplier::{COLUMNS, spread};
use super::super::super::rows::Beside;
use super::super::tile::{Operands as Factors, PARTS, ROWS, Tile};
use super::balance::{UNEVEN, magnitude};
use super::transforms::{self, Patch};
use super::{PATCH, PLACES, PLANES, SIDE, WINDOW};
use crate::caches;

/// Squares that a task makes the sums of.
const GROUP: usize = 16;
/// Squares of a chunk, at least and at most.
const LEAST_CHUNK: usize = 64;
const MOST_CHUNK: usize = 1024;
/// With fewer squares most of the time goes into what is done to the products.
const LEAST_SQUARES: usize = 64;

/// The gradient of a kernel.
#[derive(Debug, Clone)]
pub(crate) struct KernelGradient {
    input: Image,
    /// The result's gradient.
    result: Image,
    /// Padding before the first line and pixel.
    low: [usize; 2],
    /// Squares of an image, down and across.
    squares: [usize; 2],
    /// Squares of a chunk.
    chunk: usize,
    /// From one feature of the result, of the input, line and pixel of the window to the next, where the gradient is written.
    distances: [isize; 4],
}

/// What a task reads and writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GradientOperands {
    pub(crate) input: *const u8,
    pub(crate) result: *const u8,
    /// As much room as [`KernelGradient::bytes`] says.
    pub(crate) room: *mut u8,
    pub(crate) out: *mut u8,
}

/// Where the pixels of a square are; none behind the last.
type Square = [Option<*const f32>; SIDE * SIDE];

/// Where in the room what is, in numbers.
struct Room {
    /// Of one plane of the patches of a chunk.
    patch_plane: usize,
    /// Of one plane of its squares.
    square_plane: usize,
    /// Where the squares' planes, the products' tiles and the magnitudes of pixels of input and result begin.
    squares: usize,
    tiles: usize,
    inputs: usize,
    results: usize,
    all: usize,
}

impl KernelGradient {
    /// Of such images, whose features lie together; not of few features or squares.
    pub(crate) fn new(
        input: Image,
        result: Image,
        low: [usize; 2],
        distances: [isize; 4],
    ) -> Option<Self> {
        let together = input.distances[3] == 1 && result.distances[3] == 1;
        let whole = input.features.is_multiple_of(COLUMNS) && input.features > 0;
        let within = (0..2).all(|at| low[at] < WINDOW && result.size[at] < input.size[at] + WINDOW);
        if !together || !whole || !within || result.features == 0 || input.count != result.count {
            return None;
        }
        let squares = result.size.map(|size| size.div_ceil(SIDE));
        let all = squares[0].checked_mul(squares[1])?.checked_mul(result.count)?;
        if all < LEAST_SQUARES {
            return None;
        }
        // Both operands of a product take three quarters of the second-level cache.
        let each = input.features.checked_add(result.features)?.checked_mul(size_of::<f32>())?;
        let most = (caches::second_bytes() / 4 * 3 / each).clamp(LEAST_CHUNK, MOST_CHUNK);
        let chunk = all.div_ceil(all.div_ceil(most));
        let made = Self { input, result, low, squares, chunk, distances };
        made.room()?.all.checked_mul(size_of::<f32>())?;
        Some(made)
    }

    fn square_count(&self) -> usize {
        self.result.count * self.squares[0] * self.squares[1]
    }

    /// Panels of the input's features.
    fn panels(&self) -> usize {
        self.input.features / COLUMNS
    }

    /// Strips of the result's features.
    fn strips(&self) -> usize {
        self.result.features.div_ceil(ROWS)
    }

    fn room(&self) -> Option<Room> {
        let plane = |width: usize| {
            let numbers = self.chunk.checked_mul(width)?;
            numbers.checked_mul(PLANES * size_of::<f32>()).map(|_| spread(numbers))
        };
        let patch_plane = plane(self.input.features)?;
        let square_plane = plane(self.strips().checked_mul(ROWS)?)?;
        let tile = size_of::<Tile>() / size_of::<f32>();
        let tiles = PLANES.checked_mul(self.panels())?.checked_mul(self.strips())?;
        let pixels = |image: &Image| {
            let pixels = image.count.checked_mul(image.size[0])?.checked_mul(image.size[1])?;
            pixels.checked_next_multiple_of(16)
        };
        let squares = PLANES * patch_plane;
        let tiles_at = squares.checked_add(PLANES * square_plane)?;
        let inputs = tiles_at.checked_add(tiles.checked_mul(tile)?)?;
        let results = inputs.checked_add(pixels(&self.input)?)?;
        let all = results.checked_add(pixels(&self.result)?)?;
        Some(Room { patch_plane, square_plane, squares, tiles: tiles_at, inputs, results, all })
    }

    /// The room of a launch: `new` has seen that it can be counted.
    fn known_room(&self) -> Room {
        self.room().expect("the room was counted before")
    }

    /// Bytes that a launch needs.
    pub(crate) fn bytes(&self) -> usize {
        self.known_room().all * size_of::<f32>()
    }

    /// Multiplications and additions of the products.
    pub(crate) fn flops(&self) -> u64 {
        let each = self.input.features as u64 * self.result.features as u64;
        2 * PLANES as u64 * self.square_count() as u64 * each
    }

    /// Chunks, one after the other; what is made of one is multiplied before the next is made.
    pub(crate) fn chunks(&self) -> usize {
        self.square_count().div_ceil(self.chunk)
    }

    /// The squares of a chunk.
    fn squares_of(&self, chunk: usize) -> Range<usize> {
        chunk * self.chunk..((chunk + 1) * self.chunk).min(self.square_count())
    }

    /// Tasks that make the sums of a chunk.
    pub(crate) fn groups(&self, chunk: usize) -> usize {
        self.squares_of(chunk).len().div_ceil(GROUP)
    }

    /// Tasks that multiply a chunk.
    pub(crate) fn products(&self) -> usize {
        PLANES * self.panels()
    }

    /// Tasks that make the gradient of the products.
    pub(crate) fn tiles(&self) -> usize {
        self.panels() * self.strips()
    }

    /// Where a square of all images is: its image, and its corner.
    fn place(&self, square: usize) -> (usize, [usize; 2]) {
        let [down, across] = self.squares;
        let line = square / across;
        (line / down, [line % down * SIDE, square % across * SIDE])
    }

    /// Makes the sums of some squares of a chunk, and the magnitudes of their pixels.
    ///
    /// # Safety
    ///
    /// Both operands are there, and the room; nobody else has this group; the machine has 512-bit vectors.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(crate) unsafe fn spread(&self, operands: &GradientOperands, chunk: usize, group: usize) {
        let room = self.known_room();
        let start = operands.room.cast::<f32>();
        let all = self.squares_of(chunk);
        let first = group * GROUP;
        let squares = first..(first + GROUP).min(all.len());
        let places = squares.clone().map(|number| self.place(all.start + number));
        let patches: Vec<Patch> = places
            .clone()
            .map(|(image, corner)| Patch::new(&self.input, operands.input, image, corner, self.low))
            .collect();
        let pixels: Vec<Square> = places
            .clone()
            .map(|(image, corner)| self.pixels(operands.result, image, corner))
            .collect();
        // What lies together is written together: all squares of some features before others.
        for panel in 0..self.panels() {
            let start = start.wrapping_add(panel * self.chunk * COLUMNS);
            let features = panel * COLUMNS..(panel + 1) * COLUMNS;
            for (number, patch) in squares.clone().zip(&patches) {
                let to = start.wrapping_add(number * COLUMNS);
                // SAFETY: the caller's promise; pixels are those of the image.
                unsafe { transforms::of_patch(patch, features.clone(), to, room.patch_plane) };
            }
        }
        for strip in 0..self.strips() {
            let start = start.wrapping_add(room.squares + strip * self.chunk * ROWS);
            let features = strip * ROWS..self.result.features.min((strip + 1) * ROWS);
            for (number, square) in squares.clone().zip(&pixels) {
                let to = start.wrapping_add(number * ROWS);
                // SAFETY: as above.
                unsafe { transforms::of_square(square, features.clone(), to, room.square_plane) };
            }
        }
        for ((image, corner), (patch, square)) in places.zip(patches.iter().zip(&pixels)) {
            // SAFETY: as above.
            unsafe { self.weigh(patch, square, image, corner, [room.inputs, room.results], start) };
        }
    }

    /// Where the pixels of a square are; none behind the last.
    #[inline(always)]
    fn pixels(&self, result: *const u8, image: usize, [y, x]: [usize; 2]) -> Square {
        let [by_image, by_line, by_pixel, _] = self.result.distances;
        std::array::from_fn(|at| {
            let (line, pixel) = (y + at / SIDE, x + at % SIDE);
            let is_there = line < self.result.size[0] && pixel < self.result.size[1];
            let at = image as isize * by_image + line as isize * by_line;
            let at = at + pixel as isize * by_pixel;
            is_there.then(|| result.cast::<f32>().wrapping_offset(at))
        })
    }

    /// Keeps the magnitudes of a square's pixels, and of those of its patch that no square behind it has.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    unsafe fn weigh(
        &self,
        patch: &Patch,
        pixels: &Square,
        image: usize,
        [y, x]: [usize; 2],
        [inputs, results]: [usize; 2],
        start: *mut f32,
    ) {
        let last = |corner: usize, squares: usize| corner / SIDE + 1 == squares;
        let own = |corner, squares| if last(corner, squares) { PATCH } else { SIDE };
        let own = [own(y, self.squares[0]), own(x, self.squares[1])];
        for (down, right) in
            (0..own[0]).flat_map(|down| (0..own[1]).map(move |right| (down, right)))
        {
            let Some(pixel) = patch.0[down * PATCH + right] else { continue };
            let (line, at) = (y + down - self.low[0], x + right - self.low[1]);
            let to = (image * self.input.size[0] + line) * self.input.size[1] + at;
            // SAFETY: the caller's promise; the pixel lies within the image.
            unsafe {
                start.wrapping_add(inputs + to).write(magnitude(pixel, self.input.features));
            }
        }
        for (at, pixel) in pixels.iter().enumerate() {
            let Some(pixel) = pixel else { continue };
            let (line, at) = (y + at / SIDE, x + at % SIDE);
            let to = (image * self.result.size[0] + line) * self.result.size[1] + at;
            // SAFETY: as above.
            unsafe {
                start.wrapping_add(results + to).write(magnitude(*pixel, self.result.features));
            }
        }
    }

    /// Multiplies one plane of a chunk for a panel of the input's features, and adds that to what the chunks before gave.
    ///
    /// # Safety
    ///
    /// The sums of the chunk are made, nobody else has this task, and the machine has 512-bit vectors.
    pub(crate) unsafe fn multiply(&self, operands: &GradientOperands, chunk: usize, task: usize) {
        let room = self.known_room();
        let start = operands.room.cast::<f32>();
        let depth = self.squares_of(chunk).len();
        let (plane, panel) = (task / self.panels(), task % self.panels());
        let length = self.chunk * COLUMNS;
        let right = start.wrapping_add(plane * room.patch_plane + panel * length);
        let left = start.wrapping_add(room.squares + plane * room.square_plane);
        let tiles = start.wrapping_add(room.tiles).cast::<Tile>();
        let mut more = Tile::new();
        for strip in 0..self.strips() {
            let rows = ROWS.min(self.result.features - strip * ROWS);
            let factors = Factors {
                left: left.wrapping_add(strip * self.chunk * ROWS),
                left_row: 1,
                left_step: ROWS as isize,
                right,
                right_step: COLUMNS as isize,
                next: right.wrapping_add(length + strip % PARTS * length / PARTS),
                next_step: 16,
            };
            // SAFETY: the caller's promise; the tile is this task's.
            unsafe {
                let tile = &mut *tiles.wrapping_add(task * self.strips() + strip);
                if chunk == 0 {
                    tile.multiply(rows, depth, &factors, &mut Soon::nothing());
                } else {
                    let start = std::ptr::from_mut(tile).cast();
                    let soon =
                        Beside { start, row: COLUMNS as isize, column: 1, dtype: DType::F32 };
                    more.multiply(rows, depth, &factors, &mut Soon::of(&soon));
                    add(tile.rows_mut(rows), more.rows_mut(rows));
                }
            }
        }
    }

    /// Whether the sums may hide what a number of the window is made from, or not be finite.
    ///
    /// # Safety
    ///
    /// The magnitudes of all pixels are there.
    pub(crate) unsafe fn is_uneven(&self, operands: &GradientOperands) -> bool {
        let room = self.known_room();
        let start = operands.room.cast::<f32>().cast_const();
        let [height, width] = self.result.size;
        let line = |image: &Image, at: usize, number: usize, line: usize| {
            let from = at + (number * image.size[0] + line) * image.size[1];
            // SAFETY: the caller's promise: the line lies within the image.
            unsafe { std::slice::from_raw_parts(start.wrapping_add(from), image.size[1]) }
        };
        let input = |number: usize, seen: usize| {
            let at = seen.checked_sub(self.low[0]).filter(|at| *at < self.input.size[0])?;
            Some(line(&self.input, room.inputs, number, at))
        };
        // What each number of the window is made from, and what its products are.
        let (mut seen, mut sums) = ([0.0_f64; PLACES], 0.0_f64);
        let mut patch = vec![0.0_f32; self.squares[1] * SIDE + WINDOW];
        for image in 0..self.result.count {
            for y in 0..height {
                let gradient = line(&self.result, room.results, image, y);
                for (place, seen) in seen.iter_mut().enumerate() {
                    let Some(input) = input(image, y + place / WINDOW) else { continue };
                    let right = place % WINDOW;
                    let first = self.low[1].saturating_sub(right);
                    let shifted = &input[(first + right - self.low[1]).min(input.len())..];
                    let pairs = gradient[first.min(width)..].iter().zip(shifted);
                    *seen += f64::from(pairs.map(|(one, other)| one * other).sum::<f32>());
                }
            }
            for y in (0..height).step_by(SIDE) {
                patch.fill(0.0);
                for input in (y..y + PATCH).filter_map(|y| input(image, y)) {
                    for (sum, number) in patch[self.low[1]..].iter_mut().zip(input) {
                        *sum += number;
                    }
                }
                let mut square = |x: usize| {
                    let lines = (y..height.min(y + SIDE))
                        .map(|y| line(&self.result, room.results, image, y));
                    let all: f32 =
                        lines.map(|line| line[x..width.min(x + SIDE)].iter().sum::<f32>()).sum();
                    let patch = &patch[x..patch.len().min(x + PATCH)];
                    f64::from(all) * f64::from(patch.iter().sum::<f32>())
                };
                sums += (0..width).step_by(SIDE).map(&mut square).sum::<f64>();
            }
        }
        // Of sixteen pixels times four, each number of the window is made from four pairs, where all are alike.
        let usual = (PATCH * PATCH) as f64;
        let even = |seen: &f64| seen * usual * f64::from(UNEVEN) >= sums;
        sums >= f64::from(f32::MAX) || sums.is_nan() || !seen.iter().all(even)
    }

    /// Makes a part of the gradient; `exact` asks for it as it is defined.
    ///
    /// # Safety
    ///
    /// All chunks are multiplied, nobody else has this task, and the machine has 512-bit vectors.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(crate) unsafe fn finish(&self, operands: &GradientOperands, exact: bool, task: usize) {
        let room = self.known_room();
        let (panel, strip) = (task / self.strips(), task % self.strips());
        let rows = ROWS.min(self.result.features - strip * ROWS);
        let mut places: [Tile; PLACES] = std::array::from_fn(|_| Tile::new());
        if exact {
            // SAFETY: the caller's promise.
            unsafe { self.exactly(operands, (panel, strip), rows, &mut places) };
        } else {
            let apart = self.tiles() * size_of::<Tile>() / size_of::<f32>();
            let tile = task * size_of::<Tile>() / size_of::<f32>();
            let tile = operands.room.cast::<f32>().wrapping_add(room.tiles + tile);
            for row in 0..rows {
                let to = places.each_mut().map(|place| place.rows_mut(rows)[row].as_mut_ptr());
                // SAFETY: the caller's promise.
                unsafe { transforms::to_window(tile.wrapping_add(row * COLUMNS), apart, to) };
            }
        }
        let [by_result, by_input, by_line, by_pixel] = self.distances;
        for row in 0..rows {
            let out = (strip * ROWS + row) as isize * by_result;
            let out = out + (panel * COLUMNS) as isize * by_input;
            let out = operands.out.cast::<f32>().wrapping_offset(out);
            let lines = places.each_mut().map(|place| place.rows_mut(rows)[row]);
            for column in 0..COLUMNS {
                let out = out.wrapping_offset(column as isize * by_input);
                for (place, line) in lines.iter().enumerate() {
                    let to = (place / WINDOW) as isize * by_line;
                    let to = out.wrapping_offset(to + (place % WINDOW) as isize * by_pixel);
                    // SAFETY: the caller's promise: the place is this task's.
                    unsafe { to.write(line[column]) };
                }
            }
        }
    }

    /// A part of the gradient as it is defined: for each place of the window all pixels times those that it sees.
    ///
    /// # Safety
    ///
    /// As for [`Self::finish`].
    #[cold]
    unsafe fn exactly(
        &self,
        operands: &GradientOperands,
        (panel, strip): (usize, usize),
        rows: usize,
        places: &mut [Tile; PLACES],
    ) {
        let Image { size: [height, width], distances, .. } = self.input;
        let mut more = Tile::new();
        for image in 0..self.result.count {
            for y in 0..self.result.size[0] {
                for (place, sums) in places.iter_mut().enumerate() {
                    let (down, right) = (place / WINDOW, place % WINDOW);
                    let Some(line) = (y + down).checked_sub(self.low[0]) else { continue };
                    // Of the pixels of the line those that see the input from this place.
                    let first = self.low[1].saturating_sub(right);
                    let last = self.result.size[1].min((width + self.low[1]).saturating_sub(right));
                    if line >= height || first >= last {
                        continue;
                    }
                    let [by_image, by_line, by_pixel, _] = distances;
                    let seen = (first + right - self.low[1]) as isize * by_pixel;
                    let seen = seen + image as isize * by_image + line as isize * by_line;
                    let input = operands.input.cast::<f32>().wrapping_offset(seen);
                    let right = input.wrapping_add(panel * COLUMNS);
                    let [by_image, by_line, left_step, _] = self.result.distances;
                    let left = first as isize * left_step + y as isize * by_line;
                    let left = left + image as isize * by_image;
                    let left = operands.result.cast::<f32>().wrapping_offset(left);
                    let factors = Factors {
                        left: left.wrapping_add(strip * ROWS),
                        left_row: 1,
                        left_step,
                        right,
                        right_step: by_pixel,
                        next: right,
                        next_step: 0,
                    };
                    // SAFETY: the caller's promise; pixels and features lie within the images.
                    unsafe {
                        more.multiply(rows, last - first, &factors, &mut Soon::nothing());
                        add(sums.rows_mut(rows), more.rows_mut(rows));
                    }
                }
            }
        }
    }
}

/// Adds rows to others.
#[inline(always)]
fn add(to: &mut [[f32; COLUMNS]], more: &[[f32; COLUMNS]]) {
    for (to, more) in to.iter_mut().flatten().zip(more.iter().flatten()) {
        *to += more;
    }
}

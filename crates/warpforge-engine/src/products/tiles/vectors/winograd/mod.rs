//! Convolutions whose window of three by three pixels moves pixel by pixel, with four ninths of the multiplications, after
//! Winograd.
//!
//! Two by two pixels of the result, a square, depend on four by four of the input, its patch. Sixteen sums and differences of the
//! patch, each multiplied with one of the kernel and summed over the features, are sixteen numbers of which the square's four are
//! sums and differences. So the convolution is sixteen products of matrices, of as many rows as there are squares.
//!
//! What always holds: a square is computed in the same way whatever the number of threads. One that has infinities, or pixels that
//! only see numbers much smaller than others of its patch, is computed again as the convolution is defined: what is added and
//! taken away again would be seen in it.
#![allow(unsafe_code)]

mod balance;
mod exact;
mod gradient;
mod transforms;

use std::ops::Range;

pub(crate) use self::gradient::{GradientOperands, KernelGradient};

use self::balance::Balance;
use self::transforms::Patch;
use super::super::finish::{Finish, FinishAt, Place, Soon};
use super::super::matrices::{Image, WindowOperands};
use super::super::multiplier::{COLUMNS, spread};
use super::tile::{Operands as Factors, PARTS, ROWS, Tile};
use crate::caches;
use crate::observe::{Phase, Phases};

/// Pixels of a square's side, of its patch's and of the window's.
const SIDE: usize = 2;
const PATCH: usize = 4;
const WINDOW: usize = 3;
/// Products, and places of the window.
const PLANES: usize = PATCH * PATCH;
const PLACES: usize = WINDOW * WINDOW;
/// Strips of a block at most.
const MOST_STRIPS: usize = 8;

/// The numbers of one step of a panel.
type Line = [f32; COLUMNS];

/// A convolution.
#[derive(Debug, Clone)]
pub(crate) struct Winograd {
    input: Image,
    /// Padding before the first line and pixel.
    low: [usize; 2],
    /// Height and width of the result.
    result: [usize; 2],
    /// Squares of an image, down and across.
    squares: [usize; 2],
    /// Where in the kernel the numbers of each place of the window begin.
    places: [isize; PLACES],
    /// Features of the result.
    columns: usize,
    /// From one feature of the result, and of the input, to the next, in the kernel.
    distances: [isize; 2],
    finish: Finish,
}

/// Squares of one line that follow one another.
struct Run {
    /// Which of the block's.
    squares: Range<usize>,
    image: usize,
    /// Where the first one's result begins.
    y: usize,
    x: usize,
}

impl Winograd {
    /// Of a window with these places (pixels down and to the right, and where in the kernel they begin); none of other windows,
    /// and of features that do not lie together.
    pub(crate) fn new(
        input: Image,
        low: [usize; 2],
        result: [usize; 2],
        places: &[([usize; 2], isize)],
        (columns, distances): (usize, [isize; 2]),
        finish: Finish,
    ) -> Option<Self> {
        let is_window =
            |(at, (place, _)): (usize, &([usize; 2], isize))| *place == [at / WINDOW, at % WINDOW];
        if places.len() != PLACES || !places.iter().enumerate().all(is_window) {
            return None;
        }
        let within = (0..2).all(|at| low[at] < WINDOW && result[at] < input.size[at] + WINDOW);
        if !within || input.distances[3] != 1 || input.features == 0 || columns == 0 {
            return None;
        }
        let mut from = [0; PLACES];
        for (from, (_, place)) in from.iter_mut().zip(places) {
            *from = *place;
        }
        let squares = result.map(|size| size.div_ceil(SIDE));
        let panel = (PLANES + PLACES).checked_mul(input.features)?.checked_mul(size_of::<Line>())?;
        panel.checked_mul(columns.div_ceil(COLUMNS))?;
        let row = PLANES.checked_mul(MOST_STRIPS * ROWS * size_of::<f32>())?;
        row.checked_mul(spread(input.features))?;
        Some(Self { input, low, result, squares, places: from, columns, distances, finish })
    }

    /// Squares of all images.
    fn square_count(&self) -> usize {
        self.input.count * self.squares[0] * self.squares[1]
    }

    /// Strips of squares.
    pub(crate) fn strip_count(&self) -> usize {
        self.square_count().div_ceil(ROWS)
    }

    /// Numbers from one square's row to the next.
    fn row(&self) -> usize {
        spread(self.input.features)
    }

    /// Strips that are best worked on at a time: their patches' sums stay in the second-level cache.
    pub(crate) fn block(&self) -> usize {
        let strip = PLANES * ROWS * self.row() * size_of::<f32>();
        (caches::second_bytes() / 4 * 3 / strip).clamp(1, MOST_STRIPS)
    }

    /// Numbers from one plane of so many strips to the next: an odd number of cache lines.
    fn plane(&self, strips: usize) -> usize {
        spread(strips * ROWS * self.row())
    }

    pub(crate) fn panel_count(&self) -> usize {
        self.columns.div_ceil(COLUMNS)
    }

    /// Numbers of a panel: the planes, and the kernel as it is.
    fn each_panel(&self) -> usize {
        (PLANES + PLACES) * self.input.features * COLUMNS
    }

    /// Bytes of the packed kernel.
    pub(crate) fn panel_bytes(&self) -> usize {
        self.panel_count() * self.each_panel() * size_of::<f32>()
    }

    /// Bytes that a task needs: its patches' sums, the products, two lines of the result, and which squares are uneven.
    pub(crate) fn room_bytes(&self) -> usize {
        let strips = self.block();
        let patches = PLANES * self.plane(strips) * size_of::<f32>();
        let squares = strips * ROWS;
        let lines = squares * SIDE * SIDE * size_of::<Line>();
        patches + PLANES * strips * size_of::<Tile>() + lines + squares.next_multiple_of(64)
    }

    /// Multiplications and additions of the products.
    pub(crate) fn flops(&self) -> u64 {
        2 * (PLANES * self.square_count() * self.input.features * self.columns) as u64
    }

    /// Packs a panel of the kernel.
    ///
    /// # Safety
    ///
    /// The kernel is there, whole, and room for all panels.
    pub(crate) unsafe fn pack_panel(&self, kernel: *const u8, panel: usize, to: *mut u8) {
        let features = self.input.features;
        let first = panel * COLUMNS;
        let columns = COLUMNS.min(self.columns - first);
        let to = to.cast::<Line>().wrapping_add(panel * self.each_panel() / COLUMNS);
        for feature in 0..features {
            let mut window = [[0.0; COLUMNS]; PLACES];
            for (line, place) in window.iter_mut().zip(self.places) {
                let from = place + feature as isize * self.distances[1];
                for (column, number) in line[..columns].iter_mut().enumerate() {
                    let at = from + (first + column) as isize * self.distances[0];
                    // SAFETY: the caller's promise.
                    *number = unsafe { kernel.cast::<f32>().wrapping_offset(at).read_unaligned() };
                }
            }
            let planes = transforms::of_window(&window);
            for (plane, line) in planes.iter().chain(&window).enumerate() {
                // SAFETY: as above.
                unsafe { to.wrapping_add(plane * features + feature).write(*line) };
            }
        }
    }

    /// Computes the result for some strips, no more than a block, and panels.
    ///
    /// # Safety
    ///
    /// The kernel is packed, there is as much room for sums as [`Self::room_bytes`] says, and nobody else writes these strips' place in the
    /// result; the machine has 512-bit vectors.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(crate) unsafe fn multiply(
        &self,
        operands: &WindowOperands<'_>,
        strips: &Range<usize>,
        panels: &Range<usize>,
        phases: &Phases,
    ) {
        let block = Block {
            winograd: self,
            first: strips.start * ROWS,
            count: (strips.end * ROWS).min(self.square_count()) - strips.start * ROWS,
            strips: strips.len(),
            patches: operands.sums.cast(),
            at: self.finish.whole(),
        };
        // SAFETY: the caller's promise.
        unsafe {
            phases.timed_within(Phase::Products, Phase::Packing, || block.spread(operands.input));
            for panel in panels.clone() {
                block.products(operands, panel);
                block.gather(operands, panel);
            }
        }
    }
}

/// Squares that a task works on.
struct Block<'a> {
    winograd: &'a Winograd,
    first: usize,
    count: usize,
    strips: usize,
    /// The sums of their patches, plane by plane, a row for each square.
    patches: *mut f32,
    at: FinishAt,
}

impl Block<'_> {
    /// The products' tiles, plane by plane.
    fn tiles(&self) -> *mut Tile {
        let Self { winograd, patches, strips, .. } = self;
        patches.wrapping_add(PLANES * winograd.plane(*strips)).cast()
    }

    /// Two lines of the result.
    fn lines(&self) -> *mut Line {
        self.tiles().wrapping_add(PLANES * self.strips).cast()
    }

    /// Which squares have pixels that only see small numbers.
    fn uneven(&self) -> *mut bool {
        self.lines().wrapping_add(self.strips * ROWS * SIDE * SIDE).cast()
    }

    /// The block's squares, line by line.
    fn runs(&self) -> impl Iterator<Item = Run> + '_ {
        let [down, across] = self.winograd.squares;
        let mut next = 0;
        std::iter::from_fn(move || {
            let square = self.first + next;
            let (line, at) = (square / across, square % across);
            let squares = next..self.count.min(next + across - at);
            next = squares.end;
            let (image, y, x) = (line / down, line % down * SIDE, at * SIDE);
            (!squares.is_empty()).then_some(Run { squares, image, y, x })
        })
    }

    /// Makes the sums of all patches, and finds out which are uneven.
    ///
    /// # Safety
    ///
    /// The input is there, and as much room as [`Winograd::room_bytes`] says; the machine has 512-bit vectors.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    unsafe fn spread(&self, input: *const u8) {
        let Winograd { input: image, low, .. } = self.winograd;
        let (row, plane) = (self.winograd.row(), self.winograd.plane(self.strips));
        for run in self.runs() {
            let corner = [run.y, run.x];
            // SAFETY: the caller's promise; pixels are those of the image.
            let balance =
                unsafe { Balance::new(image, input, run.image, corner, *low, run.squares.len()) };
            for (turn, square) in run.squares.clone().enumerate() {
                let corner = [run.y, run.x + turn * SIDE];
                let patch = Patch::new(image, input, run.image, corner, *low);
                // SAFETY: as above.
                unsafe {
                    self.uneven().wrapping_add(square).write(balance.is_uneven(turn));
                    let to = self.patches.wrapping_add(square * row);
                    transforms::of_patch(&patch, 0..image.features, to, plane);
                }
            }
        }
    }

    /// The products of a panel.
    ///
    /// # Safety
    ///
    /// As for [`Winograd::multiply`]; the sums of all patches are there.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    unsafe fn products(&self, operands: &WindowOperands<'_>, panel: usize) {
        let winograd = self.winograd;
        let features = winograd.input.features;
        let (row, plane) = (winograd.row(), winograd.plane(self.strips));
        let length = features * COLUMNS;
        let panel = operands.panels.cast::<f32>().wrapping_add(panel * winograd.each_panel());
        for number in 0..PLANES {
            let right = panel.wrapping_add(number * length);
            let next = match number + 1 {
                PLANES => panel.wrapping_add(winograd.each_panel()),
                other => panel.wrapping_add(other * length),
            };
            for strip in 0..self.strips {
                let first = strip * ROWS;
                let left = self.patches.wrapping_add(number * plane + first * row);
                let factors = Factors {
                    left,
                    left_row: row as isize,
                    left_step: 1,
                    right,
                    right_step: COLUMNS as isize,
                    next: next.wrapping_add(strip % PARTS * length / PARTS),
                    next_step: 16,
                };
                let rows = ROWS.min(self.count - first);
                let tile = self.tiles().wrapping_add(number * self.strips + strip);
                // SAFETY: the caller's promise; the tiles are this task's.
                unsafe { (*tile).multiply(rows, features, &factors, &mut Soon::nothing()) };
            }
        }
    }

    /// Puts the squares together for a panel, and does what follows.
    ///
    /// # Safety
    ///
    /// As for [`Winograd::multiply`]; the panel's products are there.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    unsafe fn gather(&self, operands: &WindowOperands<'_>, panel: usize) {
        let winograd = self.winograd;
        let [height, width] = winograd.result;
        let column = panel * COLUMNS;
        let columns = COLUMNS.min(winograd.columns - column);
        let length = self.strips * ROWS * SIDE;
        // SAFETY: the caller's promise: there is room for two lines.
        let mut lines = [0, 1].map(|line| unsafe {
            std::slice::from_raw_parts_mut(self.lines().wrapping_add(line * length), length)
        });
        let apart = self.strips * size_of::<Tile>() / size_of::<f32>();
        for run in self.runs() {
            for (turn, square) in run.squares.clone().enumerate() {
                let from = self.tiles().cast::<f32>().wrapping_add(square * COLUMNS);
                let to = [0, 1].map(|line| lines[line][turn * SIDE..].as_mut_ptr());
                // SAFETY: as above; tiles follow one another row by row.
                let (is_finite, is_uneven) = unsafe {
                    (transforms::to_square(from, apart, to), *self.uneven().wrapping_add(square))
                };
                if is_uneven || !is_finite {
                    let corner = [run.y, run.x + turn * SIDE];
                    let patch = Patch::new(
                        &winograd.input,
                        operands.input,
                        run.image,
                        corner,
                        winograd.low,
                    );
                    // SAFETY: as above.
                    unsafe { exact::square(winograd, operands, &patch, panel, to) };
                }
            }
            let pixels = (run.squares.len() * SIDE).min(width - run.x);
            for (line, y) in lines.iter_mut().zip(run.y..height) {
                let row = (run.image * height + y) * width + run.x;
                let place = Place { row, column, columns };
                // SAFETY: as above; the pixels lie within the result.
                unsafe {
                    self.at.finish(&mut line[..pixels], &place, operands.inputs, operands.out);
                }
            }
        }
    }
}

//! Tiles of f32 in vector registers.
//!
//! A tile's sums are taken over a slice of the depth that keeps a block of strips in the second-level cache, while the panel
//! at hand passes through all of them; the next panel is fetched meanwhile. Where a task packs its panels itself it is they that stay
//! there, and the strips pass. Between slices sums are kept in the result, or in room
//! of their own where the result is narrower than they are.
#![allow(unsafe_code)]

mod pace;
mod pack;
mod tile;
#[cfg(target_arch = "x86_64")]
mod whole;
mod winograd;

use std::ops::Range;

use warpforge_tensor::DType;

pub(super) use self::tile::ROWS;
pub(crate) use self::winograd::{GradientOperands, KernelGradient, Winograd};

use self::pace::{Code, Turns};
use self::pack::Lines;
use self::tile::{Operands, Tile};
use super::finish::Place;
use super::multiplier::{COLUMNS, Multiplier, Panels, Part, Strips};
use super::rows::{Beside, combine, write};
use crate::caches;
use crate::epilogue::With;
use crate::observe::Phase;
use crate::products::Product;

/// Depth of a slice at most: a panel's slice is then a sixteenth of a second-level cache.
pub(super) const DEPTH: usize = 1024;
/// Rows of a block at most.
const BLOCK: usize = 384;
/// Rows of a block at least, where there are so many.
const LEAST: usize = 4 * ROWS;

/// Rows whose strips of one slice take half of the second-level cache, for a task that packs its own.
pub(super) fn own_rows(depth: usize) -> usize {
    rows_within(caches::second_bytes() / 2, depth)
}

/// Rows whose strips of one slice take three quarters of the second-level cache, for tasks that share them.
pub(super) fn block_rows(depth: usize) -> usize {
    rows_within(caches::second_bytes() / 4 * 3, depth)
}

/// Rows whose strips of one slice have about so many bytes, in whole strips.
fn rows_within(bytes: usize, depth: usize) -> usize {
    let row = slice_length(depth) * size_of::<f32>();
    (bytes / row.max(1)).clamp(LEAST, BLOCK).next_multiple_of(ROWS)
}

/// Panels of a task at most: what they read of the strips is then fetched once for all of them.
pub(super) const GROUP: usize = 4;

/// The slices of a depth, all but the last of one length.
fn slices(depth: usize) -> impl Iterator<Item = Range<usize>> {
    let length = slice_length(depth);
    (0..depth).step_by(length).map(move |start| start..(start + length).min(depth))
}

/// The length of the slices of a depth.
pub(super) fn slice_length(depth: usize) -> usize {
    depth.div_ceil(depth.div_ceil(DEPTH).max(1))
}

/// Where a panel's slice begins among the packed numbers.
#[inline(always)]
fn panel_start(multiplier: &Multiplier, panel: usize, slice: &Range<usize>) -> usize {
    slice.start * multiplier.panel_count() * COLUMNS + panel * COLUMNS * slice.len()
}

/// Packs some panels of a matrix.
///
/// # Safety
///
/// As for [`Multiplier::pack_panels`], and the machine has 512-bit vectors.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
pub(super) unsafe fn pack_panels(
    multiplier: &Multiplier,
    right: *const u8,
    number: usize,
    panels: &Range<usize>,
    to: *mut f32,
) {
    for slice in slices(multiplier.product.depth.size) {
        let start = panel_start(multiplier, panels.start, &slice);
        // SAFETY: the caller's promise.
        unsafe { pack_slice(multiplier, right, number, panels, &slice, to.add(start)) };
    }
}

/// Packs a slice of some panels, one panel after the other.
///
/// # Safety
///
/// As for [`pack_panels`], but `to` leads to room for this slice of these panels.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
unsafe fn pack_slice(
    multiplier: &Multiplier,
    right: *const u8,
    number: usize,
    panels: &Range<usize>,
    slice: &Range<usize>,
    to: *mut f32,
) {
    let Product { columns, depth, dtypes, .. } = &multiplier.product;
    if columns.rhs == 1 && dtypes[1] == DType::F32 {
        // SAFETY: the caller's promise.
        return unsafe { pack_beside(multiplier, right, number, panels, slice, to) };
    }
    let [_, begin, _] = multiplier.product.starts(number);
    for (place, panel) in panels.clone().enumerate() {
        let first = panel * COLUMNS;
        let lines = Lines {
            from: right,
            start: begin + first as isize * columns.rhs + slice.start as isize * depth.rhs,
            across: columns.rhs,
            along: depth.rhs,
            count: COLUMNS.min(columns.size - first),
            length: slice.len(),
        };
        // SAFETY: the caller's promise; the panel's slice is as large as its lines.
        unsafe { lines.pack(dtypes[1], to.add(place * COLUMNS * slice.len()), COLUMNS) };
    }
}

/// The same for columns that lie beside one another: a step of the depth of all panels before the next.
///
/// # Safety
///
/// As for [`pack_slice`], for columns of f32 at distance 1.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn pack_beside(
    multiplier: &Multiplier,
    right: *const u8,
    number: usize,
    panels: &Range<usize>,
    slice: &Range<usize>,
    to: *mut f32,
) {
    use super::rows::vectors::{load, mask, store};

    let Product { columns, depth, .. } = &multiplier.product;
    let [_, begin, _] = multiplier.product.starts(number);
    let from = right.cast::<f32>().wrapping_offset(begin);
    let (first, end) = (panels.start * COLUMNS, (panels.end * COLUMNS).min(columns.size));
    let rest = (end - first) % COLUMNS;
    for step in slice.clone() {
        let line = from.wrapping_offset(step as isize * depth.rhs).wrapping_add(first);
        let place = (step - slice.start) * COLUMNS;
        for panel in 0..(end - first) / COLUMNS {
            // SAFETY: the caller's promise: columns up to the last are there, and room for whole panels.
            unsafe {
                let (line, to) =
                    (line.add(panel * COLUMNS), to.add(place + panel * COLUMNS * slice.len()));
                let later = line.wrapping_offset(pack::AHEAD as isize * depth.rhs);
                for half in [0, 16] {
                    pack::ask_for(later.wrapping_add(half));
                    pack::ask_to_write(to.wrapping_add(pack::AHEAD * COLUMNS + half));
                    store(to.add(half), !0, load(line.add(half), !0));
                }
            }
        }
        if rest > 0 {
            let panel = (end - first) / COLUMNS;
            // SAFETY: as above; what the masks leave out is not touched.
            unsafe {
                let (line, to) =
                    (line.add(panel * COLUMNS), to.add(place + panel * COLUMNS * slice.len()));
                store(to, !0, load(line, mask(0, rest)));
                store(to.add(16), !0, load(line.wrapping_add(16), mask(16, rest)));
            }
        }
    }
}

/// There are no tiles without 512-bit vectors.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn pack_beside(
    _: &Multiplier,
    _: *const u8,
    _: usize,
    _: &Range<usize>,
    _: &Range<usize>,
    _: *mut f32,
) {
    unreachable!("tiles need 512-bit vectors");
}

/// Packs one of the strips that some rows are packed as.
///
/// # Safety
///
/// As for [`Multiplier::pack_strip`], and the machine has 512-bit vectors.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
pub(super) unsafe fn pack_strip(
    multiplier: &Multiplier,
    left: *const u8,
    number: usize,
    (begin, end): (usize, usize),
    strip: usize,
    to: *mut f32,
) {
    let first = begin + strip * ROWS;
    let rows = first..end.min(first + ROWS);
    for slice in slices(multiplier.product.depth.size) {
        let place = slice.start * (end - begin) + strip * ROWS * slice.len();
        let lines = lines(multiplier, left, number, &rows, &slice);
        // SAFETY: the caller's promise; the strip's slice is as large as its lines.
        unsafe { lines.pack(multiplier.product.dtypes[0], to.add(place), rows.len()) };
    }
}

/// A slice of some rows of the left operand.
fn lines(
    multiplier: &Multiplier,
    left: *const u8,
    number: usize,
    some: &Range<usize>,
    slice: &Range<usize>,
) -> Lines {
    let Product { rows, depth, .. } = &multiplier.product;
    let [start, ..] = multiplier.product.starts(number);
    Lines {
        from: left,
        start: start + some.start as isize * rows.lhs + slice.start as isize * depth.lhs,
        across: rows.lhs,
        along: depth.lhs,
        count: some.len(),
        length: slice.len(),
    }
}

/// The rows of a tile: the first number, and how far it is to those of the next row, step and strip.
struct Left {
    start: *const f32,
    row: isize,
    step: isize,
    strip: isize,
}

impl Left {
    /// A part of the next strip, one of so many, and how far it is from one of its lines to the next.
    #[inline(always)]
    fn part_of_next(&self, part: usize, parts: usize, depth: usize) -> (*const f32, isize) {
        let first = (part * depth / parts) as isize * self.step;
        (self.start.wrapping_offset(self.strip + first), self.step.max(16))
    }
}

/// A strip's slice.
#[inline(always)]
fn left_of(multiplier: &Multiplier, part: &Part<'_>, strip: usize, slice: &Range<usize>) -> Left {
    let (begin, end) = part.rows;
    let first = begin + strip * ROWS;
    let at = strip * ROWS * slice.len();
    let packed = |start: *const f32| Left {
        start,
        row: 1,
        step: ROWS.min(end - first) as isize,
        strip: (ROWS * slice.len()) as isize,
    };
    match part.strips {
        Strips::Packed(strips) => {
            packed(strips.cast::<f32>().wrapping_add(slice.start * (end - begin) + at))
        }
        Strips::Unpacked { room, .. } => packed(room.cast_const().cast::<f32>().wrapping_add(at)),
        Strips::Direct(left) => {
            let Product { rows, depth, .. } = &multiplier.product;
            let [start, ..] = multiplier.product.starts(part.number);
            let start = start + slice.start as isize * depth.lhs + first as isize * rows.lhs;
            let start = left.cast::<f32>().wrapping_offset(start);
            Left { start, row: rows.lhs, step: depth.lhs, strip: ROWS as isize * rows.lhs }
        }
    }
}

/// The columns of a tile: the first number, how far it is to that of the next step, and where reading goes on.
struct Right {
    start: *const f32,
    step: isize,
    next: *const f32,
}

/// A panel's slice, one of some panels.
#[inline(always)]
fn right_of(
    multiplier: &Multiplier,
    part: &Part<'_>,
    panels: &Range<usize>,
    panel: usize,
    slice: &Range<usize>,
) -> Right {
    let Product { depth, .. } = &multiplier.product;
    let length = COLUMNS * slice.len();
    match part.panels {
        Panels::Packed(packed) => {
            let packed = packed.cast::<f32>();
            let start = packed.wrapping_add(panel_start(multiplier, panel, slice));
            let next = if panel + 1 == panels.end && slice.end < depth.size {
                let later = slice.end..(slice.end + slice.len()).min(depth.size);
                packed.wrapping_add(panel_start(multiplier, panels.start, &later))
            } else {
                start.wrapping_add(length)
            };
            Right { start, step: COLUMNS as isize, next }
        }
        Panels::Unpacked { room, .. } => {
            let room = room.cast_const().cast::<f32>();
            let start = room.wrapping_add((panel - panels.start) * length);
            Right { start, step: COLUMNS as isize, next: start.wrapping_add(length) }
        }
        Panels::Direct(right) => {
            let [_, start, _] = multiplier.product.starts(part.number);
            let start = start + slice.start as isize * depth.rhs;
            let start = right.cast::<f32>().wrapping_offset(start).wrapping_add(panel * COLUMNS);
            Right { start, step: depth.rhs, next: start.wrapping_add(COLUMNS) }
        }
    }
}

/// Computes the result for some of the packed strips and some panels.
///
/// # Safety
///
/// As for [`Multiplier::multiply`], and the machine has 512-bit vectors.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
pub(super) unsafe fn multiply(
    multiplier: &Multiplier,
    part: &Part<'_>,
    strips: &Range<usize>,
    panels: &Range<usize>,
) {
    let Product { columns, depth, .. } = &multiplier.product;
    let (begin, end) = part.rows;
    let at = multiplier.finish.at(&multiplier.product, part.number);
    let mut tile = Tile::new();
    for slice in slices(depth.size) {
        if let Strips::Unpacked { left, room, phases } = part.strips {
            let rows = begin + strips.start * ROWS..end.min(begin + strips.end * ROWS);
            let lines = lines(multiplier, left, part.number, &rows, &slice);
            let to = room.cast::<f32>().wrapping_add(strips.start * ROWS * slice.len());
            // SAFETY: the caller's promise: the rows are there, and there is room for a slice of them.
            phases.timed_within(Phase::Products, Phase::Packing, || unsafe {
                lines.pack_strips(multiplier.product.dtypes[0], to);
            });
        }
        if let Panels::Unpacked { right, room, phases } = part.panels {
            // SAFETY: the caller's promise: there is room for a slice of these panels.
            phases.timed_within(Phase::Products, Phase::Packing, || unsafe {
                pack_slice(multiplier, right, part.number, panels, &slice, room.cast());
            });
        }
        // Panels packed here stay in the second-level cache while the strips pass by; otherwise the strips do.
        let by_strips = matches!(part.panels, Panels::Unpacked { .. });
        let turns = if by_strips { panels.len() } else { strips.len() };
        let (begins, ends) = (slice.start == 0, slice.end == depth.size);
        // Strips that are not whole take less time.
        let whole = strips.len().min((end - begin) / ROWS - strips.start);
        let mut pace = Turns::begin(if by_strips { whole } else { panels.len() });
        let mut code = Code::Full;
        for tile_number in 0..panels.len() * strips.len() {
            let (outer, inner) = (tile_number / turns, tile_number % turns);
            if inner == 0 {
                code = pace.next();
            }
            let (place, number) = if by_strips { (inner, outer) } else { (outer, inner) };
            let (panel, strip) = (panels.start + place, strips.start + number);
            let first = begin + strip * ROWS;
            let count = ROWS.min(end - first);
            let left = left_of(multiplier, part, strip, &slice);
            let right = right_of(multiplier, part, panels, panel, &slice);
            // A tile asks for a part of what comes next, so that all of it is there after a few of them.
            let (next, next_step) = match part.panels {
                Panels::Unpacked { .. } => left.part_of_next(place, panels.len(), slice.len()),
                Panels::Packed(_) => {
                    let ahead = number % tile::PARTS * COLUMNS * slice.len() / tile::PARTS;
                    (right.next.wrapping_add(ahead), 16)
                }
                Panels::Direct(_) => {
                    let turn = number % tile::PARTS;
                    let ahead = right.next.wrapping_offset((turn / 2) as isize * right.step);
                    (ahead.wrapping_add(turn % 2 * 16), tile::STEPS as isize * right.step)
                }
            };
            let operands = Operands {
                left: left.start,
                left_row: left.row,
                left_step: left.step,
                right: right.start,
                right_step: right.step,
                next,
                next_step,
            };
            let column = panel * COLUMNS;
            let wide = COLUMNS.min(columns.size - column);
            let corner = Place { row: first, column, columns: wide };
            let mut soon = at.soon(&corner, part.inputs, part.out, ends);
            let straight = match begins && ends {
                true => at.straight(&corner, part.out),
                false => None,
            };
            let to = straight.unwrap_or_else(|| tile.target());
            // SAFETY: the caller's promise: the packed strips and panels are there, for this depth.
            unsafe { tile::multiply_to(to, code, count, slice.len(), &operands, &mut soon) };
            if straight.is_some() {
                continue;
            }
            let sums = tile.rows_mut(count);
            let kept = match multiplier.keeps_sums() {
                true => {
                    let tiles = place * strips.len() + number;
                    Beside {
                        start: part.sums.wrapping_add(tiles * size_of::<Tile>()),
                        row: COLUMNS as isize,
                        column: 1,
                        dtype: DType::F32,
                    }
                }
                false => at.beside(&corner, part.out),
            };
            // SAFETY: the caller's promise; the tile lies within the result.
            unsafe {
                if !begins {
                    combine(sums, With::Add, &kept, None, wide);
                }
                if ends {
                    at.finish(sums, &corner, part.inputs, part.out);
                } else {
                    write(sums, &kept, wide);
                }
            }
        }
        pace.end();
    }
}

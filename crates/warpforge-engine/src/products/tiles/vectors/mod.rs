//! Tiles of f32 in vector registers.
//!
//! A tile's sums are taken over a slice of the depth that keeps a block of strips in the second-level cache, while the panel
//! at hand passes through all of them; the next panel is fetched meanwhile. Between slices sums are kept in the result, or in room
//! of their own where the result is narrower than they are.
#![allow(unsafe_code)]

mod pack;
mod tile;
#[cfg(target_arch = "x86_64")]
mod whole;
mod winograd;

use std::ops::Range;

use warpforge_tensor::DType;

pub(super) use self::tile::ROWS;
pub(crate) use self::winograd::{GradientOperands, KernelGradient, Winograd};

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

/// Packs a panel of a matrix.
///
/// # Safety
///
/// As for [`Multiplier::pack_panel`], and the machine has 512-bit vectors.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
pub(super) unsafe fn pack_panel(
    multiplier: &Multiplier,
    right: *const u8,
    number: usize,
    panel: usize,
    to: *mut f32,
) {
    let Product { columns, depth, dtypes, .. } = &multiplier.product;
    let [_, begin, _] = multiplier.product.starts(number);
    let first = panel * COLUMNS;
    for slice in slices(depth.size) {
        let lines = Lines {
            from: right,
            start: begin + first as isize * columns.rhs + slice.start as isize * depth.rhs,
            across: columns.rhs,
            along: depth.rhs,
            count: COLUMNS.min(columns.size - first),
            length: slice.len(),
        };
        // SAFETY: the caller's promise; the panel's slice is as large as its lines.
        unsafe {
            let to = to.add(panel_start(multiplier, panel, &slice));
            lines.pack(dtypes[1], to, COLUMNS);
        }
    }
}

/// Packs some panels whose columns lie beside one another, all of them for a step of the depth before the next.
///
/// # Safety
///
/// As for [`Multiplier::pack_panel`], for columns of f32 at distance 1, and the machine has 512-bit vectors.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) unsafe fn pack_beside(
    multiplier: &Multiplier,
    right: *const u8,
    number: usize,
    panels: &Range<usize>,
    to: *mut f32,
) {
    use super::rows::vectors::{load, mask, store};

    /// Steps that a place is asked for in advance.
    const AHEAD: usize = 8;

    let Product { columns, depth, .. } = &multiplier.product;
    let [_, begin, _] = multiplier.product.starts(number);
    let from = right.cast::<f32>().wrapping_offset(begin);
    let (first, end) = (panels.start * COLUMNS, (panels.end * COLUMNS).min(columns.size));
    let rest = (end - first) % COLUMNS;
    for slice in slices(depth.size) {
        let start = panel_start(multiplier, panels.start, &slice);
        for step in slice.clone() {
            let line = from.wrapping_offset(step as isize * depth.rhs).wrapping_add(first);
            let place = start + (step - slice.start) * COLUMNS;
            for panel in 0..(end - first) / COLUMNS {
                // SAFETY: the caller's promise: columns up to the last are there, and room for whole panels.
                unsafe {
                    let (line, to) =
                        (line.add(panel * COLUMNS), to.add(place + panel * COLUMNS * slice.len()));
                    ask_to_write(to.wrapping_add(AHEAD * COLUMNS));
                    store(to, !0, load(line, !0));
                    store(to.add(16), !0, load(line.add(16), !0));
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
}

/// Asks for the two cache lines of a step of a panel that is going to be written.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ask_to_write(to: *mut f32) {
    use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
    // SAFETY: asking for memory that is not there does nothing.
    unsafe {
        _mm_prefetch::<_MM_HINT_ET0>(to.cast_const().cast());
        _mm_prefetch::<_MM_HINT_ET0>(to.wrapping_add(16).cast_const().cast());
    }
}

/// There are no tiles without 512-bit vectors.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn pack_beside(
    _: &Multiplier,
    _: *const u8,
    _: usize,
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
    let Product { rows, columns, depth, .. } = &multiplier.product;
    let (begin, end) = part.rows;
    let [left_start, right_start, _] = multiplier.product.starts(part.number);
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
        for panel in panels.clone() {
            let (right, right_step) = match part.panels {
                Panels::Packed(panels) => {
                    let start = panel_start(multiplier, panel, &slice);
                    (panels.cast::<f32>().wrapping_add(start), COLUMNS as isize)
                }
                Panels::Direct(right) => {
                    let start = right_start + slice.start as isize * depth.rhs;
                    let start = right.cast::<f32>().wrapping_offset(start);
                    (start.wrapping_add(panel * COLUMNS), depth.rhs)
                }
                Panels::Unpacked { .. } => unreachable!("vectors are given all columns packed"),
            };
            for (number, strip) in strips.clone().enumerate() {
                let first = begin + strip * ROWS;
                let count = ROWS.min(end - first);
                let packed = strip * ROWS * slice.len();
                let (left, left_row, left_step) = match part.strips {
                    Strips::Packed(strips) => {
                        let start = slice.start * (end - begin) + packed;
                        (strips.cast::<f32>().wrapping_add(start), 1, count as isize)
                    }
                    Strips::Unpacked { room, .. } => {
                        (room.cast_const().cast::<f32>().wrapping_add(packed), 1, count as isize)
                    }
                    Strips::Direct(left) => {
                        let start = left_start + slice.start as isize * depth.lhs;
                        let start = start + first as isize * rows.lhs;
                        (left.cast::<f32>().wrapping_offset(start), rows.lhs, depth.lhs)
                    }
                };
                // A tile asks for a part of the next panel, so that all of it is there after a few of them.
                let turn = number % tile::PARTS;
                let (next, next_step) = match part.panels {
                    Panels::Packed(_) | Panels::Unpacked { .. } => {
                        let ahead = turn * COLUMNS * slice.len() / tile::PARTS;
                        (right.wrapping_add(COLUMNS * slice.len() + ahead), 16)
                    }
                    Panels::Direct(_) => {
                        let ahead = right.wrapping_offset((turn / 2) as isize * right_step);
                        let ahead = ahead.wrapping_add(COLUMNS + turn % 2 * 16);
                        (ahead, tile::STEPS as isize * right_step)
                    }
                };
                let operands =
                    Operands { left, left_row, left_step, right, right_step, next, next_step };
                let column = panel * COLUMNS;
                let wide = COLUMNS.min(columns.size - column);
                let place = Place { row: first, column, columns: wide };
                let (begins, ends) = (slice.start == 0, slice.end == depth.size);
                let mut soon = at.soon(&place, part.inputs, part.out, ends);
                // SAFETY: the caller's promise: the packed strips and panels are there, for this depth.
                unsafe { tile.multiply(count, slice.len(), &operands, &mut soon) };
                let sums = tile.rows_mut(count);
                let kept = match multiplier.keeps_sums() {
                    true => {
                        let tiles = (panel - panels.start) * strips.len() + number;
                        Beside {
                            start: part.sums.wrapping_add(tiles * size_of::<Tile>()),
                            row: COLUMNS as isize,
                            column: 1,
                            dtype: DType::F32,
                        }
                    }
                    false => at.beside(&place, part.out),
                };
                // SAFETY: the caller's promise; the tile lies within the result.
                unsafe {
                    if !begins {
                        combine(sums, With::Add, &kept, None, wide);
                    }
                    if ends {
                        at.finish(sums, &place, part.inputs, part.out);
                    } else {
                        write(sums, &kept, wide);
                    }
                }
            }
        }
    }
}

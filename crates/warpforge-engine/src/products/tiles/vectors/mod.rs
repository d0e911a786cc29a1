//! Tiles of f32 in vector registers.
//!
//! A tile's sums are taken over a slice of the depth that keeps a block of strips in the second-level cache, while the panel
//! at hand passes through all of them; the next panel is fetched meanwhile. Between slices sums are kept in the result.
#![allow(unsafe_code)]

mod pack;
mod tile;

use std::ops::Range;

pub(super) use self::tile::ROWS;

use self::pack::Lines;
use self::tile::Tile;
use super::finish::Place;
use super::multiplier::{COLUMNS, Multiplier, Part, Strips};
use crate::caches;
use crate::observe::Phase;
use crate::products::Product;

/// Depth of a slice at most: a panel's slice is then a sixteenth of a second-level cache.
pub(super) const DEPTH: usize = 1024;
/// Rows of a block: with the deepest slice three quarters of a second-level cache.
pub(super) const BLOCK: usize = 384;
/// Rows that a task packs at least.
const LEAST_OWN: usize = 4 * ROWS;

/// Rows whose strips of one slice take half of the second-level cache, for a task that packs its own.
pub(super) fn own_rows(depth: usize) -> usize {
    let row = slice_length(depth) * size_of::<f32>();
    (caches::second_bytes() / 2 / row.max(1)).clamp(LEAST_OWN, BLOCK) / ROWS * ROWS
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

    let Product { columns, depth, .. } = &multiplier.product;
    let [_, begin, _] = multiplier.product.starts(number);
    let from = right.cast::<f32>().wrapping_offset(begin);
    for slice in slices(depth.size) {
        for step in slice.clone() {
            let line = from.wrapping_offset(step as isize * depth.rhs);
            for panel in panels.clone() {
                let first = panel * COLUMNS;
                let count = columns.size - first;
                let start = panel_start(multiplier, panel, &slice);
                // SAFETY: the caller's promise: columns up to the last are there, and room for whole panels.
                unsafe {
                    let to = to.add(start + (step - slice.start) * COLUMNS);
                    for half in [0, 16] {
                        let numbers = load(line.wrapping_add(first + half), mask(half, count));
                        store(to.add(half), !0, numbers);
                    }
                }
            }
        }
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
    let Product { columns, depth, .. } = &multiplier.product;
    let (begin, end) = part.rows;
    let packed_panels = part.panels.cast::<f32>();
    let at = multiplier.finish.at(&multiplier.product, part.number);
    let mut tile = Tile::new();
    for slice in slices(depth.size) {
        let packed_strips = match part.strips {
            Strips::Packed(strips) => {
                strips.cast::<f32>().wrapping_add(slice.start * (end - begin))
            }
            Strips::Unpacked { left, room, phases } => {
                let rows = begin + strips.start * ROWS..end.min(begin + strips.end * ROWS);
                let to = room.cast::<f32>().wrapping_add(strips.start * ROWS * slice.len());
                let lines = lines(multiplier, left, part.number, &rows, &slice);
                // SAFETY: the caller's promise: the rows are there, and there is room for a slice of them.
                phases.timed_within(Phase::Products, Phase::Packing, || unsafe {
                    lines.pack_strips(multiplier.product.dtypes[0], to);
                });
                room.cast_const().cast::<f32>()
            }
        };
        for panel in panels.clone() {
            // SAFETY: packed panels follow one another; beyond the last nothing is read, only asked for in advance.
            let right = unsafe { packed_panels.add(panel_start(multiplier, panel, &slice)) };
            let next = right.wrapping_add(COLUMNS * slice.len());
            for (turn, strip) in strips.clone().enumerate() {
                let first = begin + strip * ROWS;
                let rows = ROWS.min(end - first);
                // A tile asks for a part of the next panel, so that all of it is there after a few of them.
                let ahead = turn % tile::PARTS * COLUMNS * slice.len() / tile::PARTS;
                // SAFETY: the caller's promise: the packed strips and panels are there, for this depth.
                unsafe {
                    let left = packed_strips.add(strip * ROWS * slice.len());
                    tile.multiply(rows, slice.len(), left, right, next.wrapping_add(ahead));
                }
                let column = panel * COLUMNS;
                let wide = COLUMNS.min(columns.size - column);
                let place = Place { row: first, column, columns: wide };
                let (begins, ends) = (slice.start == 0, slice.end == depth.size);
                let sums = tile.rows_mut(rows);
                // SAFETY: the caller's promise; the tile lies within the result.
                unsafe {
                    if !begins {
                        at.add_what_is_there(sums, &place, part.out);
                    }
                    if ends {
                        at.finish(sums, &place, part.inputs, part.out);
                    } else {
                        at.store(sums, &place, part.out);
                    }
                }
            }
        }
    }
}

//! Tiles of 32 x 32 sums in the processor's matrix unit, for operands of bf16: four of its registers hold sums, two rows and
//! two columns.
//!
//! The unit reads as fast as the first-level cache delivers, so the depth is cut into slices of which a panel's stays there
//! while all strips of a block pass by; in between sums are kept in room that the second-level cache holds. Several slices
//! are a stretch: as much of the strips as that cache holds beside the sums.
//!
//! What always holds: an element's terms are added in the order of the depth, whatever the number of threads.
#![allow(unsafe_code)]

mod pack;
mod tile;
mod unit;

use std::ops::Range;

pub(super) use self::unit::available;

use self::tile::Tile;
use super::finish::{Place, Soon};
use super::multiplier::{COLUMNS, Multiplier, Panels, Part, Strips};
use crate::products::Product;

/// Rows of a tile.
pub(super) const ROWS: usize = 32;
/// Rows of a block: with a stretch of the depth three eighths of a second-level cache.
pub(super) const BLOCK: usize = 384;
/// Panels of a task at most: what they read of a stretch is then fetched once for all of them.
pub(super) const GROUP: usize = 8;

/// Depth of one step of the unit.
const STEP: usize = 32;
/// Bytes of a step of a strip, and of a panel: two registers.
const STEP_BYTES: usize = 2048;
/// Steps of a slice: a panel's slice is two thirds of a first-level cache.
const SLICE: usize = 16;
/// Steps of a stretch.
const STRETCH: usize = 32;

fn steps(depth: usize) -> usize {
    depth.div_ceil(STEP)
}

/// How often the strips of such depth pass by.
pub(super) fn stretches(depth: usize) -> usize {
    steps(depth).div_ceil(STRETCH)
}

/// Bytes of a strip or a panel of such depth.
pub(super) fn packed_bytes(depth: usize) -> usize {
    steps(depth) * STEP_BYTES
}

/// Panels whose sums are kept at a time.
fn kept_panels(depth: usize, panels: usize) -> usize {
    match steps(depth) {
        short if short <= SLICE => 0,
        one if one <= STRETCH => 1,
        _ => panels.min(GROUP),
    }
}

/// Bytes of sums that are not finished.
pub(super) fn sum_bytes(depth: usize, rows: usize, panels: usize) -> usize {
    kept_panels(depth, panels) * rows.div_ceil(ROWS) * size_of::<Tile>()
}

/// Packs a panel of a matrix.
///
/// # Safety
///
/// As for [`Multiplier::pack_panel`], and the machine has 512-bit vectors.
pub(super) unsafe fn pack_panel(
    multiplier: &Multiplier,
    right: *const u8,
    number: usize,
    panel: usize,
    to: *mut u8,
) {
    let Product { columns, depth, .. } = &multiplier.product;
    let [_, begin, _] = multiplier.product.starts(number);
    let first = panel * COLUMNS;
    let lines = pack::Lines {
        from: right.cast::<u16>().wrapping_offset(begin + first as isize * columns.rhs),
        across: columns.rhs,
        along: depth.rhs,
        count: COLUMNS.min(columns.size - first),
        length: depth.size,
    };
    // SAFETY: the caller's promise; a panel is as large as its lines, filled up to whole steps.
    unsafe { lines.pack_columns(to.add(panel * packed_bytes(depth.size)).cast()) };
}

/// Packs one of the strips that some rows are packed as.
///
/// # Safety
///
/// As for [`Multiplier::pack_strip`], and the machine has 512-bit vectors.
pub(super) unsafe fn pack_strip(
    multiplier: &Multiplier,
    left: *const u8,
    number: usize,
    (begin, end): (usize, usize),
    strip: usize,
    to: *mut u8,
) {
    let Product { rows, depth, .. } = &multiplier.product;
    let [start, ..] = multiplier.product.starts(number);
    let first = begin + strip * ROWS;
    let strips = (end - begin).div_ceil(ROWS);
    let all = steps(depth.size);
    for slice in (0..all).step_by(SLICE) {
        let length = SLICE.min(all - slice);
        let along = (slice * STEP) as isize * depth.lhs;
        let lines = pack::Lines {
            from: left.cast::<u16>().wrapping_offset(start + first as isize * rows.lhs + along),
            across: rows.lhs,
            along: depth.lhs,
            count: ROWS.min(end - first),
            length: (length * STEP).min(depth.size - slice * STEP),
        };
        // SAFETY: the caller's promise; a strip's slice is as large as its lines, filled up to whole steps.
        unsafe { lines.pack_rows(to.add(strip_start(slice, length, strip, strips)).cast()) };
    }
}

/// Where a strip's slice, from some step on, begins among the packed bytes.
#[inline(always)]
fn strip_start(slice: usize, length: usize, strip: usize, strips: usize) -> usize {
    (slice * strips + strip * length) * STEP_BYTES
}

/// Computes the result for some of the packed strips and some panels.
///
/// # Safety
///
/// As for [`Multiplier::multiply`], and the matrix unit is available.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
pub(super) unsafe fn multiply(
    multiplier: &Multiplier,
    part: &Part<'_>,
    strips: &Range<usize>,
    panels: &Range<usize>,
) {
    let Product { columns, depth, .. } = &multiplier.product;
    let (begin, end) = part.rows;
    let (Strips::Packed(packed_strips), Panels::Packed(packed_panels)) = (part.strips, part.panels)
    else {
        unreachable!("the matrix unit is given packed rows and columns");
    };
    let strip_count = (end - begin).div_ceil(ROWS);
    let all = steps(depth.size);
    let at = multiplier.finish.at(&multiplier.product, part.number);
    let kept = kept_panels(depth.size, panels.len());
    let mut only = Tile::new();
    let unit = unit::Configured::new();
    for group in panels.clone().step_by(kept.max(1)) {
        let group = group..(group + kept.max(1)).min(panels.end);
        for stretch in (0..all).step_by(STRETCH) {
            let stretch = stretch..(stretch + STRETCH).min(all);
            for panel in group.clone() {
                for slice in stretch.clone().step_by(SLICE) {
                    let length = SLICE.min(stretch.end - slice);
                    let (begins, ends) = (slice == 0, slice + length == all);
                    // SAFETY: packed panels follow one another.
                    let right = unsafe { packed_panels.add((panel * all + slice) * STEP_BYTES) };
                    let last = slice + length == stretch.end;
                    let to_next = if last { all - stretch.len() + length } else { length };
                    let next = right.wrapping_add(to_next * STEP_BYTES);
                    for (turn, strip) in strips.clone().enumerate() {
                        let packed = strip_start(slice, length, strip, strip_count);
                        let ahead = next.wrapping_add(turn * length * tile::AHEAD);
                        let number = (panel - group.start) * strips.len() + turn;
                        let tile = match kept {
                            0 => &mut only,
                            // SAFETY: the caller's promise: there is room for the sums of these strips and panels.
                            _ => unsafe { &mut *part.sums.cast::<Tile>().add(number) },
                        };
                        let (row, column) = (begin + strip * ROWS, panel * COLUMNS);
                        let (rows, wide) =
                            (ROWS.min(end - row), COLUMNS.min(columns.size - column));
                        let place = Place { row, column, columns: wide };
                        let soon = if ends {
                            at.soon(&place, part.inputs, part.out, true)
                        } else {
                            Soon::nothing()
                        };
                        // SAFETY: the caller's promise: the packed strips and panels are there.
                        unsafe {
                            let left = packed_strips.add(packed);
                            tile.multiply(&unit, length, [left, right, ahead], &soon, begins);
                        }
                        if !ends {
                            continue;
                        }
                        let sums = tile.rows_mut(rows);
                        // SAFETY: the caller's promise; the tile lies within the result.
                        unsafe { at.finish(sums, &place, part.inputs, part.out) };
                    }
                }
            }
        }
    }
}

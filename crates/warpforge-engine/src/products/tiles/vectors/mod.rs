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
use super::multiplier::{COLUMNS, Multiplier, Part};
use crate::products::Product;

/// Depth of a slice at most: a panel's slice is then a sixteenth of a second-level cache.
pub(super) const DEPTH: usize = 1024;
/// Rows of a block: with the deepest slice three quarters of a second-level cache.
pub(super) const BLOCK: usize = 384;
/// Panels of a task at most: what they read of the strips is then fetched once for all of them.
pub(super) const GROUP: usize = 4;

/// The slices of a depth, all but the last of one length.
fn slices(depth: usize) -> impl Iterator<Item = Range<usize>> {
    let length = depth.div_ceil(depth.div_ceil(DEPTH));
    (0..depth).step_by(length).map(move |start| start..(start + length).min(depth))
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
    let Product { rows, depth, dtypes, .. } = &multiplier.product;
    let [start, ..] = multiplier.product.starts(number);
    let first = begin + strip * ROWS;
    let count = ROWS.min(end - first);
    for slice in slices(depth.size) {
        let lines = Lines {
            from: left,
            start: start + first as isize * rows.lhs + slice.start as isize * depth.lhs,
            across: rows.lhs,
            along: depth.lhs,
            count,
            length: slice.len(),
        };
        let place = slice.start * (end - begin) + strip * ROWS * slice.len();
        // SAFETY: the caller's promise; the strip's slice is as large as its lines.
        unsafe { lines.pack(dtypes[0], to.add(place), count) };
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
    let (packed_strips, packed_panels) = (part.strips.cast::<f32>(), part.panels.cast::<f32>());
    let at = multiplier.finish.at(&multiplier.product, part.number);
    let mut tile = Tile::new();
    for slice in slices(depth.size) {
        for panel in panels.clone() {
            // SAFETY: packed panels follow one another; beyond the last nothing is read, only asked for in advance.
            let right = unsafe { packed_panels.add(panel_start(multiplier, panel, &slice)) };
            let next = right.wrapping_add(COLUMNS * slice.len());
            for (turn, strip) in strips.clone().enumerate() {
                let first = begin + strip * ROWS;
                let rows = ROWS.min(end - first);
                // A tile asks for a part of the next panel, so that all of it is there after a few of them.
                let ahead = turn % tile::PARTS * COLUMNS * slice.len() / tile::PARTS;
                let place = slice.start * (end - begin) + strip * ROWS * slice.len();
                // SAFETY: the caller's promise: the packed strips and panels are there, for this depth.
                unsafe {
                    let left = packed_strips.add(place);
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

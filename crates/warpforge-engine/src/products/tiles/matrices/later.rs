//! Tiles whose sums are there: what follows is done to them row by row while the unit multiplies the next ones, beside which
//! vectors have time.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ops::Range;

use super::super::finish::{FinishAt, Place};
use super::tile::Tile;
use super::{COLUMNS, ROWS};

/// What is left to do, in the order in which the tiles came.
pub(super) struct Later<'a> {
    at: &'a FinishAt,
    inputs: &'a [*const u8],
    out: *mut u8,
    waiting: VecDeque<Waiting>,
    /// Rows that are finished beside each step.
    rows: usize,
}

/// Rows of a tile that are to be finished.
struct Waiting {
    tile: *mut Tile,
    lines: Range<usize>,
    /// Of the first of them.
    place: Place,
}

impl<'a> Later<'a> {
    /// Nothing is left yet. A tile is worked on for so many steps before the next comes.
    pub(super) fn new(
        at: &'a FinishAt,
        inputs: &'a [*const u8],
        out: *mut u8,
        steps: usize,
    ) -> Self {
        let rows = ROWS.div_ceil(steps.max(1));
        Self { at, inputs, out, waiting: VecDeque::new(), rows }
    }

    /// Some rows of a tile are left for later.
    ///
    /// # Safety
    ///
    /// The tile stays as it is until [`Self::free`] is called for it, or [`Self::all`]; the promises of
    /// [`FinishAt::finish`] hold until then.
    #[inline]
    pub(super) unsafe fn leave(&mut self, tile: *mut Tile, lines: Range<usize>, place: Place) {
        self.waiting.push_back(Waiting { tile, lines, place });
    }

    /// Finishes what should be beside so many steps.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(super) unsafe fn some(&mut self, steps: usize) {
        let Some(Waiting { tile, lines, place }) = self.waiting.front_mut() else { return };
        let now = lines.len().min(steps * self.rows);
        // SAFETY: what was promised when the rows were left.
        unsafe {
            let sums =
                std::slice::from_raw_parts_mut(tile.cast::<[f32; COLUMNS]>().add(lines.start), now);
            self.at.finish(sums, place, self.inputs, self.out);
        }
        lines.start += now;
        place.row += now;
        if lines.start == lines.end {
            self.waiting.pop_front();
        }
    }

    /// Finishes what is left of a tile that is to be used again.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(super) unsafe fn free(&mut self, tile: *mut Tile) {
        while self.waiting.iter().any(|waiting| waiting.tile == tile) {
            // SAFETY: as above.
            unsafe { self.some(ROWS) };
        }
    }

    /// Finishes everything.
    #[inline]
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(super) unsafe fn all(&mut self) {
        while !self.waiting.is_empty() {
            // SAFETY: as above.
            unsafe { self.some(ROWS) };
        }
    }
}

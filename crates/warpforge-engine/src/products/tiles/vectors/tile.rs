//! A tile of the result: as many rows and columns as fit into vector registers beside what is read.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m512;

use super::super::finish::Soon;
use super::COLUMNS;

/// Rows of a tile.
pub(in super::super) const ROWS: usize = 12;
/// In so many parts the panel after the present one is asked for.
pub(super) const PARTS: usize = 8;

const _: () =
    assert!(16 % STEPS == 0 && 16 / STEPS == ROWS / 3, "a line of a row is asked for in turns");

/// Steps of the depth between two requests for a line of the next panel: a part of it is asked for in one pass.
pub(super) const STEPS: usize = PARTS * 16 / COLUMNS;

/// What a tile is computed from. Columns lie side by side, and so do rows, or each row's numbers do; distances are counted in
/// numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operands {
    pub(super) left: *const f32,
    /// From one row to the next; where it is not 1, steps of the depth lie side by side.
    pub(super) left_row: isize,
    /// From one step of the depth to the next.
    pub(super) left_step: isize,
    pub(super) right: *const f32,
    pub(super) right_step: isize,
    /// Where reading will go on after these columns, and how far that moves on from one request to the next.
    pub(super) next: *const f32,
    pub(super) next_step: isize,
}

/// The sums of a tile, row by row.
#[repr(C, align(64))]
pub(super) struct Tile([[f32; COLUMNS]; ROWS]);

impl Tile {
    pub(super) fn new() -> Self {
        Self([[0.0; COLUMNS]; ROWS])
    }

    /// Its first rows.
    #[inline(always)]
    pub(super) fn rows_mut(&mut self, count: usize) -> &mut [[f32; COLUMNS]] {
        &mut self.0[..count]
    }

    /// Sets the first rows to the products of a slice of the depth. `soon` is what the tile is combined with afterwards.
    ///
    /// # Safety
    ///
    /// The machine has 512-bit vectors; the operands lead to as many rows and to the columns of a tile, for `depth` steps.
    pub(super) unsafe fn multiply(
        &mut self,
        rows: usize,
        depth: usize,
        operands: &Operands,
        soon: &mut Soon,
    ) {
        macro_rules! rows {
            ($($count:literal)+) => {
                match rows {
                    // SAFETY: the caller's promise.
                    $($count => unsafe {
                        match operands.left_row {
                            1 => multiply::<$count>(depth, operands, soon, &mut self.0),
                            _ => multiply_rows::<$count>(depth, operands, soon, &mut self.0),
                        }
                    },)+
                    _ => unreachable!("a tile has {ROWS} rows"),
                }
            };
        }
        rows!(1 2 3 4 5 6 7 8 9 10 11 12);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx512f")]
unsafe fn multiply<const COUNT: usize>(
    depth: usize,
    operands: &Operands,
    soon: &mut Soon,
    tile: &mut [[f32; COLUMNS]; ROWS],
) {
    use std::arch::x86_64::{
        _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps,
        _mm512_setzero_ps,
    };
    /// How many steps ahead the panel is asked for: it is in the second-level cache.
    const AHEAD: isize = 8;

    let Operands { mut left, left_step, mut right, right_step, mut next, next_step, .. } =
        *operands;
    let mut sums = [[_mm512_setzero_ps(); 2]; COUNT];
    macro_rules! step {
        () => {
            // SAFETY: the caller's promise; asking for memory that is not there does nothing.
            unsafe {
                let columns = [_mm512_loadu_ps(right), _mm512_loadu_ps(right.add(16))];
                let later = right.wrapping_offset(AHEAD * right_step);
                _mm_prefetch::<_MM_HINT_T0>(later.cast());
                _mm_prefetch::<_MM_HINT_T0>(later.wrapping_add(16).cast());
                _mm_prefetch::<_MM_HINT_T0>(left.wrapping_offset(2 * AHEAD * left_step).cast());
                for (row, sums) in sums.iter_mut().enumerate() {
                    let value = _mm512_set1_ps(*left.add(row));
                    sums[0] = _mm512_fmadd_ps(value, columns[0], sums[0]);
                    sums[1] = _mm512_fmadd_ps(value, columns[1], sums[1]);
                }
                left = left.wrapping_offset(left_step);
                right = right.wrapping_offset(right_step);
            }
        };
    }
    macro_rules! steps {
        () => {
            _mm_prefetch::<_MM_HINT_T1>(next.cast());
            next = next.wrapping_offset(next_step);
            for _ in 0..STEPS {
                step!();
            }
        };
    }
    // What the tile is combined with is asked for row by row, late enough to be still there and early enough to be there.
    let all = depth / STEPS;
    let before = all.saturating_sub(2 * COUNT);
    let rows = COUNT.min(all);
    for _ in 0..before {
        steps!();
    }
    for _ in 0..rows {
        soon.ask_for_next();
        steps!();
    }
    for _ in before + rows..all {
        steps!();
    }
    for _ in 0..depth % STEPS {
        step!();
    }
    keep(&sums, tile);
}

/// Puts sums into the rows of a tile.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn keep<const COUNT: usize>(sums: &[[__m512; 2]; COUNT], tile: &mut [[f32; COLUMNS]; ROWS]) {
    use std::arch::x86_64::_mm512_store_ps;
    for (row, sums) in tile.iter_mut().zip(sums) {
        // SAFETY: a row has two vectors and begins at a cache line, as the tile does.
        unsafe {
            _mm512_store_ps(row.as_mut_ptr(), sums[0]);
            _mm512_store_ps(row.as_mut_ptr().add(16), sums[1]);
        }
    }
}

/// The same where the numbers of each row lie side by side.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx512f")]
unsafe fn multiply_rows<const COUNT: usize>(
    depth: usize,
    operands: &Operands,
    soon: &mut Soon,
    tile: &mut [[f32; COLUMNS]; ROWS],
) {
    use std::arch::asm;
    use std::arch::x86_64::{
        _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps,
        _mm512_setzero_ps,
    };
    /// How many steps ahead the panel is asked for, and how many numbers ahead a row.
    const AHEAD: isize = 8;
    const ROW_AHEAD: usize = 32;
    /// Steps of which a row's numbers are a cache line.
    const LINE: usize = 16;
    /// Rows that are reached from one place: an address can be one place and once or twice a distance.
    const NEAR: usize = 3;
    const PLACES: usize = ROWS / NEAR;

    let Operands { left, left_row, mut right, right_step, mut next, next_step, .. } = *operands;
    let mut places = [left; PLACES];
    for (at, place) in places.iter_mut().enumerate() {
        *place = left.wrapping_offset((NEAR * at) as isize * left_row);
    }
    let mut sums = [[_mm512_setzero_ps(); 2]; COUNT];
    macro_rules! step {
        ($step:expr) => {
            // SAFETY: the caller's promise; asking for memory that is not there does nothing.
            unsafe {
                let columns = [_mm512_loadu_ps(right), _mm512_loadu_ps(right.add(16))];
                let later = right.wrapping_offset(AHEAD * right_step);
                _mm_prefetch::<_MM_HINT_T0>(later.cast());
                _mm_prefetch::<_MM_HINT_T0>(later.wrapping_add(16).cast());
                // As if they might have changed: otherwise numbers of several steps, which lie side by side, are read
                // together, and there are not registers for all of them.
                let [a, b, c, d] = &mut places;
                asm!(
                    "/* {} {} {} {} */", inout(reg) *a, inout(reg) *b, inout(reg) *c, inout(reg) *d,
                    options(pure, readonly, nostack, preserves_flags)
                );
                for (row, sums) in sums.iter_mut().enumerate() {
                    let place = places[row / NEAR].offset((row % NEAR) as isize * left_row);
                    let value = _mm512_set1_ps(*place.add($step));
                    sums[0] = _mm512_fmadd_ps(value, columns[0], sums[0]);
                    sums[1] = _mm512_fmadd_ps(value, columns[1], sums[1]);
                }
                right = right.wrapping_offset(right_step);
            }
        };
    }
    let lines = depth / LINE;
    // What the tile is combined with is asked for a few rows at a time, not long before.
    let before = lines.saturating_sub(2 * PLACES);
    for line in 0..lines {
        if line >= before && line < before + PLACES {
            (0..NEAR).for_each(|_| soon.ask_for_next());
        }
        // The next line of some rows, then of the others.
        let mut soon = left.wrapping_add(line * LINE + ROW_AHEAD);
        for _ in 0..PLACES {
            _mm_prefetch::<_MM_HINT_T1>(next.cast());
            next = next.wrapping_offset(next_step);
            for _ in 0..NEAR {
                _mm_prefetch::<_MM_HINT_T0>(soon.cast());
                soon = soon.wrapping_offset(left_row);
            }
            for step in 0..STEPS {
                step!(step);
            }
            places.iter_mut().for_each(|place| *place = place.wrapping_add(STEPS));
        }
    }
    for step in 0..depth % LINE {
        step!(step);
    }
    keep(&sums, tile);
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn multiply_rows<const COUNT: usize>(
    _: usize,
    _: &Operands,
    _: &mut Soon,
    _: &mut [[f32; COLUMNS]; ROWS],
) {
    unreachable!("tiles need 512-bit vectors");
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn multiply<const COUNT: usize>(
    _: usize,
    _: &Operands,
    _: &mut Soon,
    _: &mut [[f32; COLUMNS]; ROWS],
) {
    unreachable!("tiles need 512-bit vectors");
}

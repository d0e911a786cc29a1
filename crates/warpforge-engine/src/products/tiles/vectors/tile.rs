//! A tile of the result: as many rows and columns as fit into vector registers beside what is read.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m512;

use super::super::finish::{Soon, Target};
use super::COLUMNS;
use super::pace::Code;
#[cfg(target_arch = "x86_64")]
use super::whole;

/// Rows of a tile.
pub(in super::super) const ROWS: usize = 14;
/// In so many parts the panel after the present one is asked for.
pub(super) const PARTS: usize = 8;

/// Steps of the depth between two requests for a line of the next panel: a part of it is asked for in one pass.
pub(super) const STEPS: usize = PARTS * 16 / COLUMNS;

/// How many steps ahead the panel is asked for: it is in the second-level cache.
pub(super) const AHEAD: isize = 8;

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

    /// Where its rows are.
    #[inline(always)]
    pub(super) fn target(&mut self) -> Target {
        Target { start: self.0.as_mut_ptr().cast(), row: size_of::<[f32; COLUMNS]>() }
    }

    /// Sets the first rows to the products of a slice of the depth.
    ///
    /// # Safety
    ///
    /// As for [`multiply_to`].
    pub(super) unsafe fn multiply(
        &mut self,
        rows: usize,
        depth: usize,
        operands: &Operands,
        soon: &mut Soon,
    ) {
        // SAFETY: the caller's promise.
        unsafe { multiply_to(self.target(), Code::present(), rows, depth, operands, soon) };
    }
}

/// Writes the products of a slice of the depth, for the first rows of a tile, by this code where they are all of them. `soon`
/// is what they are written over or combined with afterwards.
///
/// # Safety
///
/// The machine has 512-bit vectors; the operands lead to as many rows and to the columns of a tile, for `depth` steps, and
/// nobody else uses the rows that are written.
pub(super) unsafe fn multiply_to(
    to: Target,
    code: Code,
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
                        1 => multiply::<$count, true>(depth, operands, soon, to),
                        _ => multiply::<$count, false>(depth, operands, soon, to),
                    }
                },)+
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the caller's promise.
                ROWS => unsafe {
                    let sums = match (operands.left_row, code) {
                        (1, Code::Full) => whole::multiply::<false>(depth, operands, soon),
                        (1, Code::Short) => whole::multiply::<true>(depth, operands, soon),
                        (_, Code::Full) => whole::multiply_rows::<false>(depth, operands, soon),
                        (_, Code::Short) => whole::multiply_rows::<true>(depth, operands, soon),
                    };
                    write(&sums, to);
                },
                _ => unreachable!("a tile has {ROWS} rows"),
            }
        };
    }
    rows!(1 2 3 4 5 6 7 8 9 10 11 12 13);
}

/// The products of a slice of the depth, for fewer rows than a whole tile has. `BESIDE` says that rows lie side by side.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx512f")]
unsafe fn multiply<const COUNT: usize, const BESIDE: bool>(
    depth: usize,
    operands: &Operands,
    soon: &mut Soon,
    to: Target,
) {
    use std::arch::x86_64::{
        _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps,
        _mm512_setzero_ps,
    };
    let Operands { mut left, left_row, left_step, mut right, right_step, mut next, next_step } =
        *operands;
    let left_row = if BESIDE { 1 } else { left_row };
    let mut sums = [[_mm512_setzero_ps(); 2]; COUNT];
    for step in 0..depth {
        if step % STEPS == 0 {
            _mm_prefetch::<_MM_HINT_T1>(next.cast());
            next = next.wrapping_offset(next_step);
        }
        // What the tile is combined with is asked for row by row, not long before.
        if depth - step <= COUNT {
            soon.ask_for_next();
        }
        // SAFETY: the caller's promise; asking for memory that is not there does nothing.
        unsafe {
            let columns = [_mm512_loadu_ps(right), _mm512_loadu_ps(right.add(16))];
            let later = right.wrapping_offset(AHEAD * right_step);
            _mm_prefetch::<_MM_HINT_T0>(later.cast());
            _mm_prefetch::<_MM_HINT_T0>(later.wrapping_add(16).cast());
            _mm_prefetch::<_MM_HINT_T0>(left.wrapping_offset(2 * AHEAD * left_step).cast());
            for (row, sums) in sums.iter_mut().enumerate() {
                let value = _mm512_set1_ps(*left.offset(row as isize * left_row));
                sums[0] = _mm512_fmadd_ps(value, columns[0], sums[0]);
                sums[1] = _mm512_fmadd_ps(value, columns[1], sums[1]);
            }
        }
        left = left.wrapping_offset(left_step);
        right = right.wrapping_offset(right_step);
    }
    // SAFETY: the caller's promise.
    unsafe { write(&sums, to) };
}

/// Writes sums, row by row.
///
/// # Safety
///
/// There is room for them, and nobody else uses it.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn write<const COUNT: usize>(sums: &[[__m512; 2]; COUNT], to: Target) {
    use std::arch::x86_64::_mm512_storeu_ps;
    for (row, sums) in sums.iter().enumerate() {
        // SAFETY: a row has two vectors.
        unsafe {
            let row = to.start.add(row * to.row).cast::<f32>();
            _mm512_storeu_ps(row, sums[0]);
            _mm512_storeu_ps(row.add(16), sums[1]);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn multiply<const COUNT: usize, const BESIDE: bool>(
    _: usize,
    _: &Operands,
    _: &mut Soon,
    _: Target,
) {
    unreachable!("tiles need 512-bit vectors");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::Isa;

    #[test]
    fn both_codes_of_a_whole_tile_make_the_same_bits() {
        if Isa::usable() != Isa::Avx512 {
            return;
        }
        let mut random = fastrand::Rng::with_seed(7);
        for depth in [1, 3, 4, 16, 33, 64, 131, 384] {
            let mut numbers = |count: usize| -> Vec<f32> {
                (0..count).map(|_| random.f32() * 2.0 - 1.0).collect()
            };
            let (left, right) = (numbers(ROWS * depth), numbers(COLUMNS * depth));
            // Rows side by side, then each row's numbers.
            for (left_row, left_step) in [(1, ROWS as isize), (depth as isize, 1)] {
                if left_row == left_step {
                    continue;
                }
                let operands = Operands {
                    left: left.as_ptr(),
                    left_row,
                    left_step,
                    right: right.as_ptr(),
                    right_step: COLUMNS as isize,
                    next: right.as_ptr(),
                    next_step: 0,
                };
                let [full, short] = [Code::Full, Code::Short].map(|code| {
                    let mut tile = Tile::new();
                    let mut soon = Soon::nothing();
                    // SAFETY: there are 512-bit vectors, and both operands have as many numbers.
                    unsafe {
                        multiply_to(tile.target(), code, ROWS, depth, &operands, &mut soon);
                    }
                    tile.0.as_flattened().iter().map(|number| number.to_bits()).collect::<Vec<_>>()
                });
                assert_eq!(full, short, "{depth} steps, rows {left_row} apart");
                let expected: f64 = (0..depth)
                    .map(|step| {
                        let place = 13 * left_row + step as isize * left_step;
                        f64::from(left[place as usize]) * f64::from(right[step * COLUMNS + 31])
                    })
                    .sum();
                let found = f64::from(f32::from_bits(full[13 * COLUMNS + 31]));
                assert!((found - expected).abs() < 1e-4, "{found} instead of {expected}");
            }
        }
    }
}

//! A tile of the result: as many rows and columns as fit into vector registers beside what is read.
#![allow(unsafe_code)]

use super::COLUMNS;

/// Rows of a tile.
pub(in super::super) const ROWS: usize = 12;
/// In so many parts the panel after the present one is asked for.
pub(super) const PARTS: usize = 8;

/// Steps of the depth between two requests for a line of the next panel: a part of it is asked for in one pass.
#[cfg(target_arch = "x86_64")]
const STEPS: usize = PARTS * 16 / COLUMNS;

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

    /// Sets the first rows to the products of a strip's slice of the depth with a panel's. `next` is where reading will go on
    /// after this panel.
    ///
    /// # Safety
    ///
    /// The machine has 512-bit vectors; `left` leads to `depth` times as many numbers as there are rows, `right`, at the
    /// beginning of a cache line, to `depth` times as many as there are columns.
    pub(super) unsafe fn multiply(
        &mut self,
        rows: usize,
        depth: usize,
        left: *const f32,
        right: *const f32,
        next: *const f32,
    ) {
        macro_rules! rows {
            ($($count:literal)+) => {
                match rows {
                    // SAFETY: the caller's promise.
                    $($count => unsafe { multiply::<$count>(depth, left, right, next, &mut self.0) },)+
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
    mut left: *const f32,
    mut right: *const f32,
    mut next: *const f32,
    tile: &mut [[f32; COLUMNS]; ROWS],
) {
    use std::arch::x86_64::{
        _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch, _mm512_fmadd_ps, _mm512_load_ps, _mm512_set1_ps,
        _mm512_setzero_ps, _mm512_store_ps,
    };
    /// How many steps ahead the panel is asked for: it is in the second-level cache.
    const AHEAD: usize = 8;

    let mut sums = [[_mm512_setzero_ps(); 2]; COUNT];
    macro_rules! step {
        () => {
            // SAFETY: the caller's promise; asking for memory that is not there does nothing.
            unsafe {
                let columns = [_mm512_load_ps(right), _mm512_load_ps(right.add(16))];
                _mm_prefetch::<_MM_HINT_T0>(right.wrapping_add(AHEAD * COLUMNS).cast());
                _mm_prefetch::<_MM_HINT_T0>(right.wrapping_add(AHEAD * COLUMNS + 16).cast());
                _mm_prefetch::<_MM_HINT_T0>(left.wrapping_add(2 * AHEAD * COUNT).cast());
                for (row, sums) in sums.iter_mut().enumerate() {
                    let value = _mm512_set1_ps(*left.add(row));
                    sums[0] = _mm512_fmadd_ps(value, columns[0], sums[0]);
                    sums[1] = _mm512_fmadd_ps(value, columns[1], sums[1]);
                }
                left = left.add(COUNT);
                right = right.add(COLUMNS);
            }
        };
    }
    for _ in 0..depth / STEPS {
        _mm_prefetch::<_MM_HINT_T1>(next.cast());
        next = next.wrapping_add(16);
        for _ in 0..STEPS {
            step!();
        }
    }
    for _ in 0..depth % STEPS {
        step!();
    }
    for (row, sums) in tile.iter_mut().zip(sums) {
        // SAFETY: a row has two vectors and begins at a cache line, as the tile does.
        unsafe {
            _mm512_store_ps(row.as_mut_ptr(), sums[0]);
            _mm512_store_ps(row.as_mut_ptr().add(16), sums[1]);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn multiply<const COUNT: usize>(
    _: usize,
    _: *const f32,
    _: *const f32,
    _: *const f32,
    _: &mut [[f32; COLUMNS]; ROWS],
) {
    unreachable!("tiles need 512-bit vectors");
}

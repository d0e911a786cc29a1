//! The register tile in plain Rust, eight rows by six columns: what any CPU can run, and what the compiler makes
//! vectors of where the target has them.
#![allow(unsafe_code)]

use super::Tile;

const ROWS: usize = 8;
const COLUMNS: usize = 6;

macro_rules! tile {
    ($constant:ident, $name:ident, $type:ty) => {
        /// The portable tile.
        pub(super) const $constant: Tile<$type> =
            Tile { isa: "portable", rows: ROWS, columns: COLUMNS, depth: 256, run: $name };

        /// A register tile.
        ///
        /// # Safety
        /// `a` and `b` must hold `depth` packed steps, and `c` a tile whose columns are `stride` apart.
        unsafe fn $name(
            depth: usize,
            a: *const $type,
            b: *const $type,
            c: *mut $type,
            stride: usize,
            add: bool,
        ) {
            // SAFETY: the caller vouches for the panels.
            let (a, b) = unsafe {
                (
                    std::slice::from_raw_parts(a, depth * ROWS),
                    std::slice::from_raw_parts(b, depth * COLUMNS),
                )
            };
            let mut sums = [[0.0; ROWS]; COLUMNS];
            for (piece, factors) in a.chunks_exact(ROWS).zip(b.chunks_exact(COLUMNS)) {
                for (sum, factor) in sums.iter_mut().zip(factors) {
                    for (sum, value) in sum.iter_mut().zip(piece) {
                        *sum += value * factor;
                    }
                }
            }
            for (column, sum) in sums.iter().enumerate() {
                // SAFETY: the caller vouches for the tile; its columns do not overlap.
                let to = unsafe { std::slice::from_raw_parts_mut(c.add(column * stride), ROWS) };
                for (to, sum) in to.iter_mut().zip(sum) {
                    *to = if add { *to + sum } else { *sum };
                }
            }
        }
    };
}

tile!(F32, f32_portable, f32);
tile!(F64, f64_portable, f64);

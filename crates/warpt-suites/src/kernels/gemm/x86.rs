//! The register tiles of x86-64: 24 accumulators with AVX-512 (three registers high, eight columns wide), 12 with
//! AVX2 (two high, six wide). Each step of depth loads a column piece of A and broadcasts a row piece of B.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m256, __m256d, __m512, __m512d, _MM_HINT_T0, _mm_prefetch, _mm256_add_pd, _mm256_add_ps,
    _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_load_pd, _mm256_load_ps, _mm256_loadu_pd,
    _mm256_loadu_ps, _mm256_set1_pd, _mm256_set1_ps, _mm256_setzero_pd, _mm256_setzero_ps,
    _mm256_storeu_pd, _mm256_storeu_ps, _mm512_add_pd, _mm512_add_ps, _mm512_fmadd_pd,
    _mm512_fmadd_ps, _mm512_load_pd, _mm512_load_ps, _mm512_loadu_pd, _mm512_loadu_ps,
    _mm512_set1_pd, _mm512_set1_ps, _mm512_setzero_pd, _mm512_setzero_ps, _mm512_storeu_pd,
    _mm512_storeu_ps,
};

use super::Tile;

/// Bytes of A fetched ahead of their use.
const AHEAD_BYTES: usize = 3072;

/// Defines a register tile of `$high` registers by `$wide` columns.
macro_rules! tile {
    ($name:ident, $feature:literal, $type:ty, $vector:ty, $lanes:literal, $high:literal x $wide:literal,
     $zero:ident, $load:ident, $loadu:ident, $storeu:ident, $broadcast:ident, $fma:ident, $add:ident) => {
        /// A register tile.
        ///
        /// # Safety
        /// The CPU must have the instructions; `a` (aligned to a vector) and `b` must hold `depth` packed steps,
        /// and `c` a tile whose columns are `stride` apart.
        #[target_feature(enable = $feature)]
        unsafe fn $name(
            depth: usize,
            a: *const $type,
            b: *const $type,
            c: *mut $type,
            stride: usize,
            add: bool,
        ) {
            const ROWS: usize = $high * $lanes;
            // SAFETY: the caller vouches for the panels and the tile; prefetches never fault.
            unsafe {
                for column in 0..$wide {
                    for part in 0..$high {
                        _mm_prefetch::<_MM_HINT_T0>(
                            c.wrapping_add(column * stride + part * $lanes).cast(),
                        );
                    }
                }
                let mut sums = [[$zero(); $wide]; $high];
                let (mut a, mut b) = (a, b);
                for _ in 0..depth {
                    let mut piece: [$vector; $high] = [$zero(); $high];
                    for part in 0..$high {
                        piece[part] = $load(a.add(part * $lanes));
                        _mm_prefetch::<_MM_HINT_T0>(
                            a.cast::<i8>().wrapping_add(AHEAD_BYTES + part * 64),
                        );
                    }
                    for column in 0..$wide {
                        let factor = $broadcast(*b.add(column));
                        for part in 0..$high {
                            sums[part][column] = $fma(piece[part], factor, sums[part][column]);
                        }
                    }
                    a = a.add(ROWS);
                    b = b.add($wide);
                }
                for column in 0..$wide {
                    for part in 0..$high {
                        let to = c.add(column * stride + part * $lanes);
                        let sum = sums[part][column];
                        $storeu(to, if add { $add($loadu(to), sum) } else { sum });
                    }
                }
            }
        }
    };
}

tile!(f32_avx512, "avx512f", f32, __m512, 16, 3 x 8, _mm512_setzero_ps, _mm512_load_ps, _mm512_loadu_ps,
    _mm512_storeu_ps, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_add_ps);
tile!(f64_avx512, "avx512f", f64, __m512d, 8, 3 x 8, _mm512_setzero_pd, _mm512_load_pd, _mm512_loadu_pd,
    _mm512_storeu_pd, _mm512_set1_pd, _mm512_fmadd_pd, _mm512_add_pd);
tile!(f32_avx2, "avx2,fma", f32, __m256, 8, 2 x 6, _mm256_setzero_ps, _mm256_load_ps, _mm256_loadu_ps,
    _mm256_storeu_ps, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_add_ps);
tile!(f64_avx2, "avx2,fma", f64, __m256d, 4, 2 x 6, _mm256_setzero_pd, _mm256_load_pd, _mm256_loadu_pd,
    _mm256_storeu_pd, _mm256_set1_pd, _mm256_fmadd_pd, _mm256_add_pd);

/// The tiles of this CPU, widest first.
pub(super) fn f32_tiles() -> Vec<Tile<f32>> {
    let mut tiles = Vec::new();
    if is_x86_feature_detected!("avx512f") {
        tiles.push(Tile { isa: "avx512", rows: 48, columns: 8, depth: 384, run: f32_avx512 });
    }
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        tiles.push(Tile { isa: "avx2", rows: 16, columns: 6, depth: 384, run: f32_avx2 });
    }
    tiles
}

/// The tiles of this CPU, widest first.
pub(super) fn f64_tiles() -> Vec<Tile<f64>> {
    let mut tiles = Vec::new();
    if is_x86_feature_detected!("avx512f") {
        tiles.push(Tile { isa: "avx512", rows: 24, columns: 8, depth: 256, run: f64_avx512 });
    }
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        tiles.push(Tile { isa: "avx2", rows: 8, columns: 6, depth: 256, run: f64_avx2 });
    }
    tiles
}

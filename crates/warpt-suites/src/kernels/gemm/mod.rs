//! A matrix product in packed blocks around a register tile: C = A·B, all column by column, for f32 and f64.
//!
//! A block of A stays in the second cache, a panel of B in the first, and the tile of C in registers; both are
//! packed in the order the tile reads them. Sizes need not be multiples of the tile. CPUs without one of the hand-made
//! tiles use a portable one (see `docs/decisions/0003-own-matrix-product.md`).
#![allow(unsafe_code)]

mod pack;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::error::SuiteError;
use crate::kernels::buffer::{Buffer, Plain};

/// Columns of B packed at once; a panel of them stays in the last cache.
const PANEL_COLUMNS: usize = 3072;

/// A number type the product is written for.
pub trait Element:
    Plain + Default + Send + Sync + PartialEq + std::ops::AddAssign + std::fmt::Debug + 'static
{
    /// The name in tags.
    const NAME: &'static str;
    /// The best register tile of this CPU.
    fn tile() -> Tile<Self>;
    /// Every tile this CPU can run, the best first; the portable one is always there.
    fn tiles() -> Vec<Tile<Self>>;
    /// From a double.
    fn from_f64(value: f64) -> Self;
    /// To a double.
    fn to_f64(self) -> f64;
    /// Half the distance between 1 and the next number.
    fn rounding() -> f64;
}

/// The sizes of a product: C is `rows` by `columns`, A is `rows` by `depth`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of A and C.
    pub rows: usize,
    /// Columns of B and C.
    pub columns: usize,
    /// Columns of A, rows of B.
    pub depth: usize,
}

impl Shape {
    /// Multiplications and additions of the product.
    pub fn operations(&self) -> f64 {
        2.0 * self.rows as f64 * self.columns as f64 * self.depth as f64
    }
}

/// What a register tile is called with: packed panels, where the tile of C is, and whether to add to it.
type TileFunction<T> =
    unsafe fn(depth: usize, a: *const T, b: *const T, c: *mut T, stride: usize, add: bool);

/// A register tile: computes `rows` by `columns` of C from packed panels.
#[derive(Debug, Clone, Copy)]
pub struct Tile<T> {
    /// The instruction set's name in tags.
    pub isa: &'static str,
    /// Rows of the tile.
    pub rows: usize,
    /// Columns of the tile.
    pub columns: usize,
    /// Depth of a block: a panel of B of this depth fits the first cache.
    pub depth: usize,
    run: TileFunction<T>,
}

/// A packed product with its scratch memory, for one thread.
#[derive(Debug)]
pub struct Gemm<T> {
    tile: Tile<T>,
    block_rows: usize,
    packed_a: Buffer,
    packed_b: Buffer,
    corner: Vec<T>,
}

impl<T: Element> Gemm<T> {
    /// Scratch for products with this tile; a block of A takes about a third of `second_cache_bytes`.
    pub fn new(tile: Tile<T>, second_cache_bytes: usize) -> Result<Self, SuiteError> {
        let panel_bytes = tile.rows * tile.depth * size_of::<T>();
        let panels = (second_cache_bytes.clamp(256 << 10, 4 << 20) * 3 / 8 / panel_bytes).max(1);
        Self::with_block(tile, panels * tile.rows)
    }

    /// Scratch for products that pack `block_rows` rows of A at a time, a multiple of the tile's.
    pub fn with_block(tile: Tile<T>, block_rows: usize) -> Result<Self, SuiteError> {
        let block_rows = block_rows.max(1).next_multiple_of(tile.rows);
        Ok(Self {
            tile,
            block_rows,
            packed_a: Buffer::of::<T>(block_rows * tile.depth)?,
            packed_b: Buffer::of::<T>(PANEL_COLUMNS.next_multiple_of(tile.columns) * tile.depth)?,
            corner: vec![T::default(); tile.rows * tile.columns],
        })
    }

    /// C = A·B.
    ///
    /// # Panics
    /// When a slice is shorter than its matrix.
    pub fn multiply(&mut self, shape: Shape, a: &[T], b: &[T], c: &mut [T]) {
        let Shape { rows, columns, depth } = shape;
        assert!(a.len() >= rows * depth && b.len() >= depth * columns && c.len() >= rows * columns);
        if depth == 0 {
            c[..rows * columns].fill(T::default());
            return;
        }
        for column in (0..columns).step_by(PANEL_COLUMNS) {
            let width = PANEL_COLUMNS.min(columns - column);
            for level in (0..depth).step_by(self.tile.depth) {
                let deep = self.tile.depth.min(depth - level);
                pack::columns(
                    &b[column * depth + level..],
                    depth,
                    (deep, width),
                    self.tile.columns,
                    self.packed_b.as_mut_slice(),
                );
                for row in (0..rows).step_by(self.block_rows) {
                    let high = self.block_rows.min(rows - row);
                    let from = &a[level * rows + row..];
                    pack::rows(
                        from,
                        rows,
                        (high, deep),
                        self.tile.rows,
                        self.packed_a.as_mut_slice(),
                    );
                    self.block(&mut c[column * rows + row..], rows, (high, width, deep), level > 0);
                }
            }
        }
    }

    /// One block of C: `high` by `width` at the start of `c`, whose columns are `stride` apart.
    fn block(
        &mut self,
        c: &mut [T],
        stride: usize,
        (high, width, deep): (usize, usize, usize),
        add: bool,
    ) {
        let Tile { rows, columns, run, .. } = self.tile;
        let (packed_a, packed_b) = (self.packed_a.as_slice::<T>(), self.packed_b.as_slice::<T>());
        for column in (0..width).step_by(columns) {
            let b = &packed_b[column * deep..][..columns * deep];
            for row in (0..high).step_by(rows) {
                let a = &packed_a[row * deep..][..rows * deep];
                let (tall, wide) = (rows.min(high - row), columns.min(width - column));
                let tile = &mut c[column * stride + row..];
                if (tall, wide) == (rows, columns) {
                    let last = (columns - 1) * stride + rows;
                    let tile = &mut tile[..last];
                    // SAFETY: the tile's instructions are present (tiles are only handed out then), the panels
                    // hold `deep` steps, and the slice above covers every element the tile writes.
                    unsafe { run(deep, a.as_ptr(), b.as_ptr(), tile.as_mut_ptr(), stride, add) };
                    continue;
                }
                let corner = &mut self.corner;
                // SAFETY: as above; the corner holds exactly one tile.
                unsafe { run(deep, a.as_ptr(), b.as_ptr(), corner.as_mut_ptr(), rows, false) };
                for (index, from) in corner.chunks_exact(rows).take(wide).enumerate() {
                    for (to, value) in tile[index * stride..][..tall].iter_mut().zip(from) {
                        if add {
                            *to += *value;
                        } else {
                            *to = *value;
                        }
                    }
                }
            }
        }
    }
}

macro_rules! element {
    ($type:ty, $name:literal, $tiles:expr, $portable:expr) => {
        impl Element for $type {
            const NAME: &'static str = $name;

            fn tile() -> Tile<Self> {
                Self::tiles()[0]
            }

            fn tiles() -> Vec<Tile<Self>> {
                let mut tiles: Vec<Tile<Self>> = $tiles;
                tiles.push($portable);
                tiles
            }

            fn from_f64(value: f64) -> Self {
                value as $type
            }

            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            fn rounding() -> f64 {
                f64::from(<$type>::EPSILON) / 2.0
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
element!(f32, "f32", x86::f32_tiles(), portable::F32);
#[cfg(target_arch = "x86_64")]
element!(f64, "f64", x86::f64_tiles(), portable::F64);
#[cfg(not(target_arch = "x86_64"))]
element!(f32, "f32", Vec::new(), portable::F32);
#[cfg(not(target_arch = "x86_64"))]
element!(f64, "f64", Vec::new(), portable::F64);

#[cfg(test)]
mod tests;

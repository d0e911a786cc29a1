//! The arithmetic of products by tiles: packing parts of the operands, and multiplying what is packed.
//!
//! Rows, columns and matrices of a batch are counted as the product counts them, whatever part is worked on; a caller that
//! keeps only a part of an operand or of the result hands in the address at which the whole would begin.
#![allow(unsafe_code)]

use std::ops::Range;

use warpforge_tensor::DType;

use super::finish::{Finish, Place};
use super::pack::Lines;
use super::tile::{self, COLUMNS, ROWS, Tile};
use crate::EngineError;
use crate::loops::Isa;
use crate::products::Product;

/// Depth of a slice at most: a panel's slice is then a sixteenth of a second-level cache.
const DEPTH: usize = 1024;

/// A product that tiles can do.
#[derive(Debug, Clone)]
pub(crate) struct Multiplier {
    product: Product,
    finish: Finish,
}

/// The packed operands and the memory of a part of a product.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    /// Which matrix of the batch.
    pub(crate) number: usize,
    /// The rows that are packed, as strips.
    pub(crate) rows: (usize, usize),
    pub(crate) strips: *const f32,
    /// The panels of the matrix.
    pub(crate) panels: *const f32,
    /// The operands of what follows the product, among the others.
    pub(crate) inputs: &'a [*const u8],
    pub(crate) out: *mut u8,
}

/// Whether tiles compute with numbers of a type.
fn known(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::BF16)
}

impl Multiplier {
    /// Of a product of any shape.
    pub(crate) fn new(product: &Product) -> Result<Self, EngineError> {
        if Isa::detected() != Isa::Avx512 {
            return Err(EngineError::Unsupported("tiles without 512-bit vectors".into()));
        }
        let sizes = [product.rows.size, product.columns.size, product.depth.size, product.count()];
        if sizes.contains(&0) || !product.dtypes.iter().all(|dtype| known(*dtype)) {
            return Err(EngineError::Unsupported("a product that tiles do not take".into()));
        }
        // Sums are kept in the result between slices.
        if product.depth.size > DEPTH && product.dtypes[2] != DType::F32 {
            return Err(EngineError::Unsupported("a narrow result of several slices".into()));
        }
        Ok(Self { product: product.clone(), finish: Finish::new(product)? })
    }

    pub(crate) fn product(&self) -> &Product {
        &self.product
    }

    /// How many panels a matrix has.
    pub(crate) fn panel_count(&self) -> usize {
        self.product.columns.size.div_ceil(COLUMNS)
    }

    /// Numbers of a matrix's panels.
    pub(crate) fn panel_numbers(&self) -> usize {
        self.panel_count() * COLUMNS * self.product.depth.size
    }

    /// Numbers of so many rows as strips.
    pub(crate) fn strip_numbers(&self, rows: usize) -> usize {
        rows * self.product.depth.size
    }

    /// The slices of the depth, all but the last of one length.
    fn slices(&self) -> impl Iterator<Item = Range<usize>> {
        let depth = self.product.depth.size;
        let length = depth.div_ceil(depth.div_ceil(DEPTH));
        (0..depth).step_by(length).map(move |start| start..(start + length).min(depth))
    }

    /// Where a panel's slice begins among the packed numbers.
    #[inline(always)]
    fn panel_start(&self, panel: usize, slice: &Range<usize>) -> usize {
        slice.start * self.panel_count() * COLUMNS + panel * COLUMNS * slice.len()
    }

    /// Packs a panel of a matrix.
    ///
    /// # Safety
    ///
    /// `right` leads to the whole right operand, `to` to room for the matrix's panels.
    pub(crate) unsafe fn pack_panel(
        &self,
        right: *const u8,
        number: usize,
        panel: usize,
        to: *mut f32,
    ) {
        let Product { columns, depth, .. } = &self.product;
        let [_, begin, _] = self.product.starts(number);
        let first = panel * COLUMNS;
        for slice in self.slices() {
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
                let to = to.add(self.panel_start(panel, &slice));
                lines.pack(self.product.dtypes[1], to, COLUMNS);
            }
        }
    }

    /// Packs one of the strips that some rows are packed as.
    ///
    /// # Safety
    ///
    /// `left` leads to the whole left operand, `to` to room for all of the rows.
    pub(crate) unsafe fn pack_strip(
        &self,
        left: *const u8,
        number: usize,
        (begin, end): (usize, usize),
        strip: usize,
        to: *mut f32,
    ) {
        let Product { rows, depth, .. } = &self.product;
        let [start, ..] = self.product.starts(number);
        let first = begin + strip * ROWS;
        let count = ROWS.min(end - first);
        for slice in self.slices() {
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
            unsafe { lines.pack(self.product.dtypes[0], to.add(place), count) };
        }
    }

    /// Computes the result for some of the packed strips and some panels.
    ///
    /// # Safety
    ///
    /// The part leads to what it says, packed by this multiplier, and nobody else writes its place in the result.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    pub(crate) unsafe fn multiply(
        &self,
        part: &Part<'_>,
        strips: &Range<usize>,
        panels: &Range<usize>,
    ) {
        let Product { columns, depth, .. } = &self.product;
        let (begin, end) = part.rows;
        let at = self.finish.at(&self.product, part.number);
        let mut tile = Tile::new();
        for slice in self.slices() {
            for panel in panels.clone() {
                // SAFETY: packed panels follow one another; beyond the last nothing is read, only asked for in advance.
                let right = unsafe { part.panels.add(self.panel_start(panel, &slice)) };
                let next = right.wrapping_add(COLUMNS * slice.len());
                for (turn, strip) in strips.clone().enumerate() {
                    let first = begin + strip * ROWS;
                    let rows = ROWS.min(end - first);
                    // A tile asks for a part of the next panel, so that all of it is there after a few of them.
                    let ahead = turn % tile::PARTS * COLUMNS * slice.len() / tile::PARTS;
                    let place = slice.start * (end - begin) + strip * ROWS * slice.len();
                    // SAFETY: the caller's promise: the packed strips and panels are there, for this depth.
                    unsafe {
                        let left = part.strips.add(place);
                        tile.multiply(rows, slice.len(), left, right, next.wrapping_add(ahead));
                    }
                    let column = panel * COLUMNS;
                    let wide = COLUMNS.min(columns.size - column);
                    let place = Place { row: first, rows, column, columns: wide };
                    let (begins, ends) = (slice.start == 0, slice.end == depth.size);
                    // SAFETY: the caller's promise; the tile lies within the result.
                    unsafe {
                        if !begins {
                            at.add_what_is_there(&mut tile, &place, part.out);
                        }
                        if ends {
                            at.follow(&mut tile, &place, part.inputs);
                        }
                        at.store(&tile, &place, part.out);
                    }
                }
            }
        }
    }
}

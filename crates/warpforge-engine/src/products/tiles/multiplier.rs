//! The arithmetic of products by tiles: packing parts of the operands, and multiplying what is packed, in one of two forms.
//!
//! Rows, columns and matrices of a batch are counted as the product counts them, whatever part is worked on; a caller that
//! keeps only a part of an operand or of the result hands in the address at which the whole would begin.
#![allow(unsafe_code)]

use std::ops::Range;

use warpforge_tensor::DType;

use super::finish::Finish;
use super::matrices::{self, Numbers};
use super::vectors;
use crate::EngineError;
use crate::loops::Isa;
use crate::observe::Phases;
use crate::products::{Arithmetic, Product};

/// Columns of a tile, in every form: two vectors of sums.
pub(super) const COLUMNS: usize = 32;

/// Some rows of a tile.
pub(super) type Sums = [[f32; COLUMNS]];

/// What multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Vector registers of f32.
    Vectors,
    /// The matrix unit, for operands of bf16 and for those of f32, in parts.
    Matrices(Numbers),
}

/// A product that tiles can do.
#[derive(Debug, Clone)]
pub(crate) struct Multiplier {
    pub(super) product: Product,
    pub(super) finish: Finish,
    form: Form,
}

/// The rows of a part.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Strips<'a> {
    /// Packed.
    Packed(*const u8),
    /// Read where they lie, side by side; it leads to the whole operand.
    Direct(*const u8),
    /// To be packed, slice by slice, into room for one; `left` leads to the whole operand.
    Unpacked { left: *const u8, room: *mut u8, phases: &'a Phases },
}

/// The columns of a part.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Panels<'a> {
    /// The panels of the matrix.
    Packed(*const u8),
    /// Read where they lie, side by side; it leads to the whole operand.
    Direct(*const u8),
    /// To be packed, a stretch of the depth at a time, into room for that of a task; `right` leads to the whole operand.
    Unpacked { right: *const u8, room: *mut u8, phases: &'a Phases },
}

/// The operands and the memory of a part of a product.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    /// Which matrix of the batch.
    pub(crate) number: usize,
    /// The rows that are packed, as strips.
    pub(crate) rows: (usize, usize),
    pub(crate) strips: Strips<'a>,
    pub(crate) panels: Panels<'a>,
    /// Room for sums that are not finished, for nobody else.
    pub(crate) sums: *mut u8,
    /// The operands of what follows the product, among the others.
    pub(crate) inputs: &'a [*const u8],
    pub(crate) out: *mut u8,
}

impl Multiplier {
    /// Of a product of any shape.
    pub(crate) fn new(product: &Product, arithmetic: Arithmetic) -> Result<Self, EngineError> {
        let parts = arithmetic == Arithmetic::Fastest && fills_steps(product);
        let form = match product.dtypes {
            [DType::BF16, DType::BF16, _] if matrices::available() => {
                Form::Matrices(Numbers::Halves)
            }
            [DType::F32, DType::F32, _] if matrices::available() && parts => {
                Form::Matrices(Numbers::Thirds)
            }
            _ => Form::Vectors,
        };
        Self::of_form(product, form)
    }

    /// Of a product, in one of the forms that this machine has.
    pub(super) fn of_form(product: &Product, form: Form) -> Result<Self, EngineError> {
        let unsupported = |what: &str| Err(EngineError::Unsupported(what.into()));
        if Isa::usable() != Isa::Avx512 {
            return unsupported("tiles without 512-bit vectors");
        }
        let sizes = [product.rows.size, product.columns.size, product.depth.size, product.count()];
        let known = |dtype: &DType| matches!(dtype, DType::F32 | DType::BF16 | DType::F16);
        if sizes.contains(&0) || !product.dtypes.iter().all(known) {
            return unsupported("a product that tiles do not take");
        }
        Ok(Self { product: product.clone(), finish: Finish::new(product)?, form })
    }

    /// Of a product that is summed up a stretch of the depth at a time, of so many steps each: of the first stretch, of the
    /// last, of one between. What is not the last makes sums, row by row, that the next one reads as the operand `sums`; its
    /// operands begin where the stretch does.
    pub(crate) fn summed(
        product: &Product,
        arithmetic: Arithmetic,
        depth: usize,
        sums: usize,
        begins: bool,
        ends: bool,
    ) -> Result<Self, EngineError> {
        let mut product = product.clone();
        product.depth.size = depth;
        let width = product.columns.size as isize;
        if !ends {
            product.tails.clear();
            product.dtypes[2] = DType::F32;
            (product.rows.out, product.columns.out) = (width, 1);
            product.batch.iter_mut().for_each(|index| index.out = 0);
        }
        let mut multiplier = Self::new(&product, arithmetic)?;
        if !begins {
            multiplier.finish.add_first(sums, width, product.batch.len());
        }
        Ok(multiplier)
    }

    pub(crate) fn product(&self) -> &Product {
        &self.product
    }

    /// Whether the matrix unit multiplies.
    pub(crate) fn is_by_matrices(&self) -> bool {
        matches!(self.form, Form::Matrices(_))
    }

    /// Whether the matrix unit multiplies numbers of bf16.
    pub(super) fn is_by_halves(&self) -> bool {
        self.form == Form::Matrices(Numbers::Halves)
    }

    /// Whether the matrix unit multiplies numbers of f32, in parts.
    pub(crate) fn is_by_thirds(&self) -> bool {
        self.form == Form::Matrices(Numbers::Thirds)
    }

    /// Whether rows can be read where they lie: side by side, so that a step of the depth reads neighbours.
    pub(crate) fn reads_rows(&self) -> bool {
        let Product { rows, depth, dtypes, .. } = &self.product;
        self.form == Form::Vectors
            && dtypes[0] == DType::F32
            && rows.lhs == 1
            && keeps_apart(depth.lhs)
    }

    /// Whether some rows can be read where they lie, a number after the other: by the matrix unit, whole tiles of bf16; by
    /// vectors, rows at good distances, for a caller that multiplies them with few columns.
    pub(crate) fn reads_in_place(&self, rows: Range<usize>) -> bool {
        let Product { rows: index, depth, .. } = &self.product;
        if self.form == Form::Vectors {
            return self.product.dtypes[0] == DType::F32 && depth.lhs == 1 && is_spread(index.lhs);
        }
        self.is_by_halves()
            && depth.lhs == 1
            && depth.size.is_multiple_of(matrices::STEP)
            && index.lhs > 0
            && rows.len().is_multiple_of(matrices::ROWS)
    }

    /// Whether columns can be read where they lie: side by side, whole cache lines of them.
    pub(crate) fn reads_columns(&self) -> bool {
        let Product { columns, depth, dtypes, batch, offsets, .. } = &self.product;
        let is_line = |distance: isize| distance % LINE == 0;
        self.form == Form::Vectors
            && dtypes[1] == DType::F32
            && columns.rhs == 1
            && columns.size.is_multiple_of(COLUMNS)
            && is_line(offsets[1])
            && is_line(depth.rhs)
            && batch.iter().all(|index| is_line(index.rhs))
            && keeps_apart(depth.rhs)
    }

    /// Rows of a strip.
    pub(crate) fn strip_rows(&self) -> usize {
        match self.form {
            Form::Vectors => vectors::ROWS,
            Form::Matrices(_) => matrices::ROWS,
        }
    }

    /// Rows that are best worked on at a time: their strips stay in the second-level cache.
    pub(super) fn block_rows(&self) -> usize {
        match self.form {
            Form::Vectors => vectors::block_rows(self.product.depth.size),
            Form::Matrices(numbers) => numbers.block(),
        }
    }

    /// The rows of each task, where so many threads pack the rows they work on themselves; none where it is better to pack
    /// all of them first, because there are few for each thread, or in this form.
    pub(super) fn own_blocks(&self, threads: usize) -> Option<Vec<Range<usize>>> {
        /// Rows of a task at least: with fewer all panels would be read for little work.
        const LEAST_ROWS: usize = 96;
        /// Tasks of a thread at least: with fewer the others would wait for the slowest.
        const LEAST_TASKS: usize = 4;
        let rows = self.product.rows.size;
        let least = LEAST_TASKS * threads.max(1);
        if self.form != Form::Vectors || rows < LEAST_ROWS * least {
            return None;
        }
        let strips = rows.div_ceil(vectors::ROWS);
        let most = vectors::own_rows(self.product.depth.size) / vectors::ROWS;
        // As many for each thread.
        let count = strips.div_ceil(most).max(least).next_multiple_of(threads.max(1)).min(strips);
        let bounds = (0..=count).map(|at| (at * strips / count * vectors::ROWS).min(rows));
        let bounds: Vec<usize> = bounds.collect();
        Some(bounds.windows(2).map(|pair| pair[0]..pair[1]).collect())
    }

    /// Whether threads should work on the same panels at a time, with different rows: panels in parts are so large that they
    /// pass through all caches.
    pub(super) fn shares_panels(&self) -> bool {
        self.is_by_thirds()
    }

    /// Bytes of the room in which a task packs the panels of a right operand that changes, where each packs its own: they
    /// stay in the second-level cache, while panels that are all packed first pass through memory. It pays where they are
    /// large, and where a task works on all rows, so that nothing is packed twice.
    pub(super) fn own_panels(&self) -> Option<usize> {
        /// Rows at most: their sums are half a megabyte.
        const MOST_ROWS: usize = 512;
        /// Bytes of all panels at least.
        const LEAST_BYTES: usize = 4 << 20;
        let Product { rows, depth, .. } = &self.product;
        let pays = rows.size <= MOST_ROWS && self.panel_bytes() >= LEAST_BYTES;
        pays.then(|| match self.form {
            Form::Vectors => self.group() * self.slice_bytes(COLUMNS),
            Form::Matrices(numbers) => numbers.stretch_bytes(depth.size),
        })
    }

    /// Bytes of the room for one slice of so many rows or columns.
    pub(super) fn slice_bytes(&self, rows: usize) -> usize {
        let length = vectors::slice_length(self.product.depth.size);
        (rows * length * size_of::<f32>()).next_multiple_of(64)
    }

    /// Panels of a task at most.
    pub(super) fn group(&self) -> usize {
        match self.form {
            Form::Vectors => vectors::GROUP,
            Form::Matrices(numbers) => numbers.group(),
        }
    }

    /// The panels of each task, for so many threads.
    pub(super) fn groups(&self, threads: usize) -> Vec<Range<usize>> {
        let (panels, most) = (self.panel_count(), self.group());
        let passes = match self.form {
            Form::Vectors => 1,
            Form::Matrices(numbers) => numbers.stretches(self.product.depth.size),
        };
        if passes > 1 {
            // Every task reads the strips anew: few of them, as many for each thread.
            let most = panels.div_ceil(threads.max(1)).clamp(1, most);
            return super::pieces(panels, most);
        }
        shrinking(panels, most, threads)
    }

    /// How many panels a matrix has.
    pub(crate) fn panel_count(&self) -> usize {
        self.product.columns.size.div_ceil(COLUMNS)
    }

    /// Bytes of a matrix's panels.
    pub(crate) fn panel_bytes(&self) -> usize {
        let depth = self.product.depth.size;
        let each = match self.form {
            Form::Vectors => depth * COLUMNS * size_of::<f32>(),
            Form::Matrices(numbers) => numbers.packed_bytes(depth),
        };
        self.panel_count() * each
    }

    /// Bytes of so many rows as strips.
    pub(crate) fn strip_bytes(&self, rows: usize) -> usize {
        let depth = self.product.depth.size;
        match self.form {
            Form::Vectors => rows * depth * size_of::<f32>(),
            Form::Matrices(numbers) => rows.div_ceil(matrices::ROWS) * numbers.packed_bytes(depth),
        }
    }

    /// Bytes of sums that are not finished, while so many rows are multiplied with so many panels.
    pub(crate) fn sum_bytes(&self, rows: usize, panels: usize) -> usize {
        match self.form {
            Form::Vectors if self.keeps_sums() => {
                rows.next_multiple_of(vectors::ROWS) * panels * COLUMNS * size_of::<f32>()
            }
            Form::Vectors => 0,
            Form::Matrices(numbers) => numbers.sum_bytes(self.product.depth.size, rows, panels),
        }
    }

    /// Whether vectors keep the sums of a slice of the depth in a room of their own until the next: the result is too narrow for
    /// them.
    pub(super) fn keeps_sums(&self) -> bool {
        self.product.depth.size > vectors::DEPTH && self.product.dtypes[2] != DType::F32
    }

    /// Packs some panels of a matrix: what lies together in memory is read together.
    ///
    /// # Safety
    ///
    /// `right` leads to the whole right operand, `to`, at the beginning of a cache line, to room for the matrix's panels.
    pub(crate) unsafe fn pack_panels(
        &self,
        right: *const u8,
        number: usize,
        panels: &Range<usize>,
        to: *mut u8,
    ) {
        // SAFETY: the caller's promise; tiles are made only where there are 512-bit vectors.
        unsafe {
            match self.form {
                Form::Vectors => vectors::pack_panels(self, right, number, panels, to.cast()),
                Form::Matrices(numbers) => {
                    let depth = self.product.depth.size;
                    let all = 0..matrices::steps(depth);
                    for panel in panels.clone() {
                        let to = to.add(panel * numbers.packed_bytes(depth));
                        matrices::pack_panel(self, numbers, right, number, panel, &all, to);
                    }
                }
            }
        }
    }

    /// Packs one of the strips that some rows are packed as.
    ///
    /// # Safety
    ///
    /// `left` leads to the whole left operand, `to`, at the beginning of a cache line, to room for all of the rows.
    pub(crate) unsafe fn pack_strip(
        &self,
        left: *const u8,
        number: usize,
        rows: (usize, usize),
        strip: usize,
        to: *mut u8,
    ) {
        // SAFETY: the caller's promise; tiles are made only where there are 512-bit vectors.
        unsafe {
            match self.form {
                Form::Vectors => vectors::pack_strip(self, left, number, rows, strip, to.cast()),
                Form::Matrices(numbers) => {
                    matrices::pack_strip(self, numbers, left, number, rows, strip, to);
                }
            }
        }
    }

    /// Computes the result for some of the packed strips and some panels.
    ///
    /// # Safety
    ///
    /// The part leads to what it says, packed by this multiplier, with room for the sums of as many strips and panels, and
    /// nobody else writes its place in the result.
    pub(crate) unsafe fn multiply(
        &self,
        part: &Part<'_>,
        strips: &Range<usize>,
        panels: &Range<usize>,
    ) {
        // SAFETY: the caller's promise; each form is chosen only where the machine has its instructions.
        unsafe {
            match self.form {
                Form::Vectors => vectors::multiply(self, part, strips, panels),
                Form::Matrices(numbers) => {
                    matrices::multiply(self, numbers, part, strips, panels);
                }
            }
        }
    }
}

/// Whether rows and depth fill the steps of the matrix unit so well that it is worth to give it numbers in parts.
fn fills_steps(product: &Product) -> bool {
    let (rows, depth) = (product.rows.size, product.depth.size);
    let filled = rows.next_multiple_of(matrices::ROWS) * depth.next_multiple_of(matrices::STEP);
    2 * filled <= 3 * rows * depth
}

/// Numbers of a cache line.
const LINE: isize = 16;

/// Whether lines at such a distance from one another, in f32, lie in different parts of a cache; at whole pages they would
/// drive each other out.
fn keeps_apart(distance: isize) -> bool {
    const PAGE: isize = 4096 / size_of::<f32>() as isize;
    distance % PAGE != 0
}

/// Whether rows at such a distance, in f32, lie in as many parts of a cache as there are: an odd number of lines.
fn is_spread(distance: isize) -> bool {
    distance > LINE && distance % (2 * LINE) == LINE
}

/// The distance at which rows of so many f32 are best kept, by a caller that multiplies them as they lie.
pub(crate) fn spread(width: usize) -> usize {
    let line = LINE as usize;
    (width.div_ceil(line) | 1) * line
}

/// Cuts `0..count` into pieces of at most `most`, smaller towards the end, so that threads that take one after the other end
/// together.
fn shrinking(count: usize, most: usize, threads: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < count {
        let length = ((count - start) / (2 * threads.max(1))).clamp(1, most);
        pieces.push(start..start + length);
        start += length;
    }
    pieces
}

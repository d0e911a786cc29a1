//! Numbers of bf16 in 12 bits, exactly: the exponents of a model's weights are so alike that four bits tell them apart.
//!
//! A block of 128 numbers of a column is a line of exponents and two lines of signs and mantissas. Word `j` of the first has
//! four codes, of the numbers `j`, `32 + j`, `64 + j` and `96 + j`; word `j` of the others has two numbers each: the first one's
//! sign in bit 15 and its mantissa from bit 0 on, the second one's mantissa from bit 8 on and its sign in bit 7, so that words
//! whose bytes change places are the second number's as they are the first one's. Code 15 is the number 0. Numbers whose
//! exponent has no code are written as 0 and kept beside the blocks, with their places.
//!
//! What always holds: products are those of the numbers themselves. Numbers too small to be normal count as 0, as the
//! instruction for bf16 takes them.
#![allow(unsafe_code)]

mod pack;
mod vectors;

use warpforge_tensor::DType;

use self::pack::{Frequencies, Packing};
use super::dots::{Dots, Rows, STREAMS};
use crate::loops::narrow::from_bf16;
use crate::plan::Buffer;
use crate::pool::Pool;
use crate::products::Product;

/// Numbers of a block.
const BLOCK: usize = 128;
/// Words of a line.
const WORDS: usize = BLOCK / 4;
/// Bytes of a block.
const BLOCK_BYTES: usize = BLOCK * 3 / 2;
/// The code of 0; those below are of exponents.
const ZERO: u16 = 15;
/// The share of numbers that may have an exponent without a code; where there are more, the matrix is read as it is.
const SPARSE: f64 = 1.0 / 256.0;

/// A number without a code: its place in the column, and the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Beside {
    place: u32,
    bits: u16,
}

/// The columns of a right operand.
pub(super) struct Short {
    blocks: Buffer,
    table: Table,
    /// The numbers without a code, column by column.
    beside: Vec<Beside>,
    /// Where those of a column begin, and where those of the last one end.
    starts: Vec<usize>,
    column_bytes: usize,
}

/// The exponents of all codes where they belong in a number, twice: of a word's bits the lowest five are looked up.
#[repr(C, align(64))]
struct Table([u16; 32]);

impl Beside {
    fn value(&self) -> f32 {
        from_bf16(self.bits)
    }
}

impl Short {
    /// None where the operand is no matrix of bf16 in whole blocks, or its exponents are too different.
    ///
    /// # Safety
    ///
    /// The machine has 512-bit vectors; `weights` leads to the right operand: all elements that the product's strides reach are
    /// there.
    pub(super) unsafe fn new(product: &Product, weights: *const u8, pool: &Pool) -> Option<Self> {
        let Product { columns, depth, dtypes, batch, .. } = product;
        let is_whole = depth.size.is_multiple_of(BLOCK) && depth.rhs == 1 && batch.is_empty();
        let is_aligned = weights.cast::<u16>().is_aligned();
        if dtypes[1] != DType::BF16
            || !is_whole
            || !is_aligned
            || u32::try_from(depth.size).is_err()
        {
            return None;
        }
        let column_bytes = depth.size / BLOCK * BLOCK_BYTES;
        let mut packing = Packing { product, weights, blocks: std::ptr::null_mut() };
        // SAFETY: the caller's promise.
        let (codes, share) = unsafe { Frequencies::new(&packing) }.codes();
        if share > SPARSE {
            return None;
        }
        let blocks = Buffer::new(columns.size * column_bytes);
        packing.blocks = blocks.pointer();
        // SAFETY: the caller's promise; there is room for all columns.
        let (beside, starts) = unsafe { packing.pack(codes, pool) };
        let sparse = beside.len() as f64 <= SPARSE * (columns.size * depth.size) as f64;
        sparse.then(|| Self { blocks, table: codes.table(), beside, starts, column_bytes })
    }

    /// Bytes that it takes.
    pub(super) fn held_bytes(&self) -> usize {
        self.blocks.bytes()
            + self.beside.len() * size_of::<Beside>()
            + self.starts.len() * size_of::<usize>()
    }

    /// Bytes that are not read in comparison with the operand itself.
    pub(super) fn spared_bytes(&self) -> u64 {
        let numbers = self.blocks.bytes() / BLOCK_BYTES * BLOCK;
        (numbers * DType::BF16.bytes()).saturating_sub(self.held_bytes()) as u64
    }

    /// The product of a row with a column.
    fn one_by_one(&self, row: &[u16], column: usize) -> f32 {
        let numbers = self.column(column, row.len());
        row.iter().zip(numbers).map(|(left, right)| from_bf16(*left) * from_bf16(right)).sum()
    }

    /// The numbers of a column.
    fn column(&self, column: usize, depth: usize) -> Vec<u16> {
        let start = self.blocks.pointer().cast_const().wrapping_add(column * self.column_bytes);
        // SAFETY: blocks begin at the beginning of a cache line, and the column has so many bytes.
        let words =
            unsafe { std::slice::from_raw_parts(start.cast::<u16>(), self.column_bytes / 2) };
        let mut numbers = Vec::with_capacity(depth);
        for block in words.chunks_exact(BLOCK_BYTES / 2) {
            for place in 0..BLOCK {
                let (part, word) = (place / WORDS, place % WORDS);
                let code = block[word] >> (4 * part) & 15;
                let pair = block[(1 + part / 2) * WORDS + word];
                let rest = if part % 2 == 0 { pair } else { pair.swap_bytes() };
                numbers.push(self.table.0[usize::from(code)] | rest & 0x807f);
            }
        }
        for number in &self.beside[self.starts[column]..self.starts[column + 1]] {
            numbers[number.place as usize] = number.bits;
        }
        numbers
    }

    /// The products of rows with columns.
    ///
    /// # Safety
    ///
    /// The machine has 512-bit vectors; the rows are of bf16 and as long as the columns, `depth`.
    pub(super) unsafe fn dots(&self, rows: &Rows, columns: [usize; STREAMS], depth: usize) -> Dots {
        let starts = columns.map(|column| {
            self.blocks.pointer().cast_const().wrapping_add(column * self.column_bytes)
        });
        // SAFETY: the caller's promise; the columns are there.
        let mut dots = unsafe { vectors::dots(rows, &starts, &self.table, depth / BLOCK) };
        for (stream, column) in columns.into_iter().enumerate() {
            let beside = &self.beside[self.starts[column]..self.starts[column + 1]];
            if beside.is_empty() {
                continue;
            }
            for (row, dots) in dots.iter_mut().enumerate().take(rows.count) {
                let row = rows.start.wrapping_offset(row as isize * rows.step).cast::<u16>();
                // SAFETY: as above: the row is as long as the column.
                let row = unsafe { std::slice::from_raw_parts(row, depth) };
                let product =
                    |number: &Beside| from_bf16(row[number.place as usize]) * number.value();
                let more: f32 = beside.iter().map(product).sum();
                // Infinity times the 0 in place of a number is none.
                dots[stream] = match dots[stream].is_nan() {
                    false => dots[stream] + more,
                    true => self.one_by_one(row, column),
                };
            }
        }
        dots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Placement;
    use crate::products::{Handed, Index};
    use crate::view::View;

    const COLUMNS: usize = 40;
    const DEPTH: usize = 3 * BLOCK;

    fn product() -> Product {
        let index = |size, lhs, rhs, out| Index { size, lhs, rhs, out, own: out };
        Product {
            operands: [0, 1],
            offsets: [0, 0],
            dtypes: [DType::BF16, DType::BF16, DType::F32],
            batch: Vec::new(),
            rows: index(1, DEPTH as isize, 0, COLUMNS as isize),
            columns: index(COLUMNS, 0, DEPTH as isize, 1),
            depth: index(DEPTH, 1, 1, 0),
            tails: Vec::new(),
            result: View::row_major(&[1, COLUMNS]),
            by: None,
            handed: Handed::default(),
            over: None,
        }
    }

    /// Whether this machine has what it takes.
    fn available() -> bool {
        crate::loops::Isa::usable() == crate::loops::Isa::Avx512
    }

    fn short(numbers: &[u16]) -> Option<Short> {
        let pool = Pool::new(2, &Placement::Anywhere).unwrap();
        // SAFETY: as many numbers as the product has; the machine was asked.
        unsafe { Short::new(&product(), numbers.as_ptr().cast(), &pool) }
    }

    /// Numbers about 1, each of another mantissa, sign and exponent than its neighbours.
    fn numbers() -> Vec<u16> {
        let number = |at: usize| 0x3f80 - (at as u16 % 15) * 128 + at as u16 % 128;
        (0..COLUMNS * DEPTH).map(|at| number(at) | (at as u16 % 3) << 15).collect()
    }

    #[test]
    fn every_number_is_found_again() {
        if !available() {
            return;
        }
        let mut numbers = numbers();
        // Without a code: the largest and smallest, infinity, what is no number; zeros have one.
        for (at, bits) in [0x7f7f, 0x0080, 0x8123, 0x7f80, 0xff80, 0x7fc1].into_iter().enumerate() {
            numbers[at * 517] = bits;
        }
        numbers[5] = 0;
        numbers[6] = 0x8000;
        let short = short(&numbers).unwrap();
        assert_eq!(short.beside.len(), 6);
        for (column, expected) in numbers.chunks(DEPTH).enumerate() {
            assert_eq!(short.column(column, DEPTH), expected);
        }
        assert!(short.held_bytes() < numbers.len() * 2);
        assert_eq!(short.spared_bytes() as usize, numbers.len() * 2 - short.held_bytes());
    }

    #[test]
    fn exponents_that_are_too_different_stay_as_they_are() {
        if !available() {
            return;
        }
        let numbers: Vec<u16> =
            (0..COLUMNS * DEPTH).map(|at| (at as u16 % 30 + 100) << 7).collect();
        assert!(short(&numbers).is_none());
    }

    #[test]
    fn numbers_without_a_code_count_and_infinity_stays() {
        if !available() {
            return;
        }
        let mut numbers: Vec<u16> =
            (0..COLUMNS * DEPTH).map(|at| (113 + at as u16 % 15) << 7).collect();
        // 2^15 in the first column, 2^16 in the second.
        (numbers[3], numbers[DEPTH + 7]) = (0x4700, 0x4780);
        let short = short(&numbers).unwrap();
        assert_eq!(short.beside.len(), 2);
        let dots = |row: &[u16]| {
            let rows = Rows { start: row.as_ptr().cast(), step: 0, count: 1 };
            // SAFETY: the row is as long as the columns.
            let dots = unsafe { short.dots(&rows, [0, 1, 2, 3], DEPTH) };
            dots[0]
        };
        let mut row = vec![0; DEPTH];
        (row[3], row[7]) = (0x3f80, 0x4000);
        let expected = |column: usize| {
            let numbers = &numbers[column * DEPTH..];
            from_bf16(numbers[3]) + 2.0 * from_bf16(numbers[7])
        };
        assert_eq!(dots(&row), [0, 1, 2, 3].map(expected));
        row.fill(0x3f80);
        row[3] = 0x7f80;
        assert_eq!(dots(&row), [f32::INFINITY; STREAMS]);
    }
}

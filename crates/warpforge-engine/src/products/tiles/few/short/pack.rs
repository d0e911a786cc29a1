//! How a matrix's numbers are put into blocks.
#![allow(unsafe_code)]

use std::sync::{Mutex, PoisonError};

use super::{BLOCK, BLOCK_BYTES, Beside, Table, WORDS, ZERO};
use crate::pool::Pool;
use crate::products::Product;

/// Columns of which exponents are counted, about.
const SAMPLE: usize = 64;

/// The exponents of a matrix that have codes: so many from the lowest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Codes {
    lowest: u16,
}

/// How often exponents occur.
pub(super) struct Frequencies([u64; 256]);

impl Frequencies {
    /// In some of the columns.
    ///
    /// # Safety
    ///
    /// As for [`Packing::column`].
    pub(super) unsafe fn new(packing: &Packing<'_>) -> Self {
        let columns = packing.product.columns.size;
        let mut counts = [0; 256];
        for column in (0..columns).step_by((columns / SAMPLE).max(1)) {
            // SAFETY: the caller's promise.
            for bits in unsafe { packing.column(column) } {
                counts[usize::from(exponent(*bits))] += 1;
            }
        }
        Self(counts)
    }

    /// The exponents that have codes best, and the share of the numbers that would have none.
    pub(super) fn codes(&self) -> (Codes, f64) {
        // The exponent 0 is that of 0.
        let coded = |lowest: usize| -> u64 {
            self.0[lowest..lowest + usize::from(ZERO)].iter().sum::<u64>() + self.0[0]
        };
        let lowest = (1..=256 - usize::from(ZERO)).max_by_key(|lowest| coded(*lowest)).unwrap_or(1);
        let all: u64 = self.0.iter().sum();
        let share = (all - coded(lowest)) as f64 / all.max(1) as f64;
        (Codes { lowest: lowest as u16 }, share)
    }
}

impl Codes {
    pub(super) fn table(self) -> Table {
        let exponent = |code: u16| if code < ZERO { self.lowest + code } else { 0 };
        Table(std::array::from_fn(|at| exponent(at as u16 % 16) << 7))
    }

    /// The code of a number, [`ZERO`] also where there is none, and its sign and mantissa, or only the sign.
    #[inline(always)]
    fn code(self, bits: u16) -> (u16, u16) {
        let code = exponent(bits).wrapping_sub(self.lowest).min(ZERO);
        (code, bits & if code == ZERO { 0x8000 } else { 0x807f })
    }

    /// Whether a number has one.
    #[inline(always)]
    fn has(self, bits: u16) -> bool {
        self.code(bits).0 < ZERO || exponent(bits) == 0
    }

    /// Writes a block; whether all of its numbers have codes.
    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512bw,avx512vl"))]
    fn pack(self, numbers: &[u16; BLOCK], to: &mut [u16; 3 * WORDS]) -> bool {
        let mut all = true;
        for word in 0..WORDS {
            let at = |part: usize| numbers[part * WORDS + word];
            let (a, b, c, d) = (at(0), at(1), at(2), at(3));
            all &= self.has(a) & self.has(b) & self.has(c) & self.has(d);
            let (a, b, c, d) = (self.code(a), self.code(b), self.code(c), self.code(d));
            to[word] = a.0 | b.0 << 4 | c.0 << 8 | d.0 << 12;
            to[WORDS + word] = a.1 | b.1.swap_bytes();
            to[2 * WORDS + word] = c.1 | d.1.swap_bytes();
        }
        all
    }
}

#[inline(always)]
fn exponent(bits: u16) -> u16 {
    bits >> 7 & 0xff
}

/// The right operand and room for its blocks.
#[derive(Clone, Copy)]
pub(super) struct Packing<'a> {
    pub(super) product: &'a Product,
    pub(super) weights: *const u8,
    pub(super) blocks: *mut u8,
}

// SAFETY: the operand is only read, and each column's blocks are written by one task.
unsafe impl Sync for Packing<'_> {}

impl Packing<'_> {
    /// The numbers of a column.
    ///
    /// # Safety
    ///
    /// All elements that the product's strides reach are there, one after the other in a column.
    unsafe fn column(&self, column: usize) -> &[u16] {
        let Product { columns, depth, .. } = self.product;
        let start = self.product.offsets[1] + column as isize * columns.rhs;
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.weights.cast::<u16>().offset(start), depth.size) }
    }

    /// Packs all columns; the numbers without a code, column by column, with where those of each column begin.
    ///
    /// # Safety
    ///
    /// As for [`Self::column`]; the machine has 512-bit vectors, and there is room for all blocks.
    pub(super) unsafe fn pack(&self, codes: Codes, pool: &Pool) -> (Vec<Beside>, Vec<usize>) {
        let Product { columns, depth, .. } = self.product;
        let column_bytes = depth.size / BLOCK * BLOCK_BYTES;
        let pieces =
            super::super::super::pieces(columns.size, columns.size.div_ceil(4 * pool.threads()));
        let found = Mutex::new(vec![Vec::new(); columns.size]);
        pool.run(pieces.len(), &|piece| {
            for column in pieces[piece].clone() {
                // SAFETY: the caller's promise; each column is written by one task.
                let (numbers, to) = unsafe {
                    let to = self.blocks.add(column * column_bytes).cast::<u16>();
                    (self.column(column), std::slice::from_raw_parts_mut(to, column_bytes / 2))
                };
                let mut beside = Vec::new();
                let (numbers, _) = numbers.as_chunks::<BLOCK>();
                let (to, _) = to.as_chunks_mut::<{ 3 * WORDS }>();
                for (block, (numbers, to)) in numbers.iter().zip(to).enumerate() {
                    // SAFETY: the caller's promise.
                    if unsafe { codes.pack(numbers, to) } {
                        continue;
                    }
                    let without = numbers.iter().enumerate().filter(|(_, bits)| !codes.has(**bits));
                    beside.extend(without.map(|(place, bits)| Beside {
                        place: (block * BLOCK + place) as u32,
                        bits: *bits,
                    }));
                }
                if !beside.is_empty() {
                    found.lock().unwrap_or_else(PoisonError::into_inner)[column] = beside;
                }
            }
        });
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut starts = Vec::with_capacity(found.len() + 1);
        let mut beside = Vec::new();
        for column in found {
            starts.push(beside.len());
            beside.extend(column);
        }
        starts.push(beside.len());
        (beside, starts)
    }
}

//! Some rows of one matrix of a batch, as a product of its own.

use warpforge_tensor::DType;

use super::recognize::stride_in;
use super::{Handed, Index, Product};
use crate::epilogue::Tail;
use crate::view::View;

/// How far an operand's first element is from that of the first product's first row.
#[derive(Debug, Clone)]
struct Steps {
    /// For each index of the batch.
    batch: Vec<isize>,
    row: isize,
    bytes: usize,
}

/// A product of a block of rows, and where those of each block are.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// The product of one block: its operands are the left one, the right one, and those of the tails.
    pub(crate) product: Product,
    /// The operands of the whole product, in the same order.
    operands: Vec<usize>,
    steps: Vec<Steps>,
    result: Steps,
    /// Sizes of the batch.
    sizes: Vec<usize>,
}

impl Rows {
    /// None where a tail's operand lies at uneven distances.
    pub(crate) fn new(whole: &Product, rows: usize) -> Option<Self> {
        let of = |dtype: DType, pick: fn(&Index) -> isize| Steps {
            batch: whole.batch.iter().map(pick).collect(),
            row: pick(&whole.rows),
            bytes: dtype.bytes(),
        };
        let mut operands = whole.operands.to_vec();
        let mut steps =
            vec![of(whole.dtypes[0], |index| index.lhs), of(whole.dtypes[1], |index| index.rhs)];
        let mut tails = Vec::with_capacity(whole.tails.len());
        for tail in &whole.tails {
            let Tail::With { op, operand, dtype, view } = tail else {
                tails.push(tail.clone());
                continue;
            };
            let own = View::row_major(&view.sizes);
            let stride = |index: &Index| match index.size {
                1 => Some(0),
                size => stride_in(&own, view, size, index.own),
            };
            let (row, column) = (stride(&whole.rows)?, stride(&whole.columns)?);
            let batch = whole.batch.iter().map(stride).collect::<Option<_>>()?;
            let view = View {
                sizes: vec![rows, whole.columns.size],
                strides: vec![row, column],
                offset: view.offset,
            };
            let (op, dtype) = (*op, *dtype);
            tails.push(Tail::With { op, operand: operands.len(), dtype, view });
            operands.push(*operand);
            steps.push(Steps { batch, row, bytes: dtype.bytes() });
        }
        let columns = whole.columns.size as isize;
        let product = Product {
            operands: [0, 1],
            offsets: whole.offsets,
            dtypes: whole.dtypes,
            batch: Vec::new(),
            rows: Index { size: rows, own: columns, ..whole.rows },
            columns: Index { own: 1, ..whole.columns },
            depth: whole.depth,
            tails,
            result: View::row_major(&[rows, whole.columns.size]),
            by: None,
            handed: Handed::default(),
            over: None,
        };
        Some(Self {
            product,
            operands,
            steps,
            result: of(whole.dtypes[2], |index| index.out),
            sizes: whole.batch.iter().map(|index| index.size).collect(),
        })
    }

    /// How many rows a block has.
    pub(crate) fn rows(&self) -> usize {
        self.product.rows.size
    }

    /// The operands of the block that begins at a row of a product, from those of the whole; the left one may be elsewhere.
    ///
    /// # Safety
    ///
    /// The operands are those of the whole product, which has that product and row.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn pointers(
        &self,
        operands: &[*const u8],
        number: usize,
        row: usize,
        left: Option<*mut u8>,
    ) -> Vec<*const u8> {
        let mut pointers = Vec::with_capacity(self.operands.len());
        for (place, (operand, steps)) in self.operands.iter().zip(&self.steps).enumerate() {
            pointers.push(match left {
                Some(left) if place == 0 => left.cast_const(),
                // SAFETY: the caller's promise: the block's first element is one of the operand's.
                _ => unsafe { operands[*operand].offset(self.at(steps, number, row)) },
            });
        }
        pointers
    }

    /// Bytes from the whole result's first element to that of the block.
    pub(crate) fn result(&self, number: usize, row: usize) -> isize {
        self.at(&self.result, number, row)
    }

    fn at(&self, steps: &Steps, mut number: usize, row: usize) -> isize {
        let mut elements = row as isize * steps.row;
        for (size, step) in self.sizes.iter().zip(&steps.batch).rev() {
            elements += (number % size) as isize * step;
            number /= size;
        }
        elements * steps.bytes as isize
    }
}

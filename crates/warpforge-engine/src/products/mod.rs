//! Matrix products: which ops they are made of, how their operands lie, and the kernels that compute them.

#[cfg(feature = "onednn")]
mod library;
mod portable;
mod recognize;
#[cfg(feature = "onednn")]
mod rows;
pub(crate) mod tiles;

#[cfg(feature = "onednn")]
pub(crate) use library::Library;
pub(crate) use recognize::{reads, recognize};
#[cfg(feature = "onednn")]
pub(crate) use rows::Rows;
pub(crate) use tiles::TiledProduct;

use warpforge_codegen::instructions::goes_beyond;
use warpforge_tensor::DType;

use self::tiles::TiledBatch;
use crate::choices::Maker;
use crate::epilogue::{Tail, read_dtypes};
use crate::view::View;

/// How products of f32 are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arithmetic {
    /// The fastest way that is as exact as f32: where the machine has a matrix unit for bf16, also in three parts; where it has
    /// none, convolutions also with fewer multiplications.
    #[default]
    Fastest,
    /// In f32 throughout, term by term.
    Plain,
}

/// Whether this machine has instructions for products of bf16.
pub fn has_bf16_products() -> bool {
    has_bf16_vectors() || tiles::has_matrix_unit()
}

/// Whether it has vector instructions that multiply pairs of bf16 and round to bf16.
pub(crate) fn has_bf16_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    let there = goes_beyond() && is_x86_feature_detected!("avx512bf16");
    #[cfg(not(target_arch = "x86_64"))]
    let there = false;
    there
}

/// Whether this machine has instructions for products of numbers of a type.
fn multiplies(dtype: DType) -> bool {
    match dtype {
        DType::BF16 => has_bf16_products(),
        #[cfg(target_arch = "x86_64")]
        DType::F16 => goes_beyond() && is_x86_feature_detected!("avx512fp16"),
        #[cfg(not(target_arch = "x86_64"))]
        DType::F16 => false,
        _ => true,
    }
}

/// Whether the vendor library is there and good for a product: for numbers that the machine has no instructions for, the
/// library is slower than plain loops, or has nothing.
pub(crate) fn is_for_library(product: &Product) -> bool {
    cfg!(feature = "onednn") && product.is_native()
}

/// Who computes a product by rules that tiles and the vendor library could compute; none where only one could. `fixed` says
/// whether the right operand never changes.
pub(crate) fn ruled(product: &Product, fixed: bool, arithmetic: Arithmetic) -> Option<Maker> {
    let takes = tiles::takes(product, arithmetic) || TiledBatch::takes(product, arithmetic);
    if !takes || !is_for_library(product) {
        return None;
    }
    let by_tiles = !product.batch.is_empty() || fixed || tiles::worth_packing(product);
    Some(if by_tiles { Maker::Tiles } else { Maker::Library })
}

/// One index of a product and how far apart its elements are: in the left operand, in the right one, in the cluster's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Index {
    pub(crate) size: usize,
    pub(crate) lhs: isize,
    pub(crate) rhs: isize,
    pub(crate) out: isize,
    /// In the product's own result, before it is placed.
    pub(crate) own: isize,
}

/// A batch of products of matrices, each operand at any distances.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Product {
    /// Operands of the cluster: left and right.
    pub(crate) operands: [usize; 2],
    /// Where their first elements lie.
    pub(crate) offsets: [isize; 2],
    /// The types of left, right and result.
    pub(crate) dtypes: [DType; 3],
    /// Indices of both operands and the result, outermost first.
    pub(crate) batch: Vec<Index>,
    /// The row of the left operand and of the result.
    pub(crate) rows: Index,
    /// The column of the right operand and of the result.
    pub(crate) columns: Index,
    /// What is summed over.
    pub(crate) depth: Index,
    /// What is done to each element, in order.
    pub(crate) tails: Vec<Tail>,
    /// The shape of the product's own result, and where its elements lie in the cluster's.
    pub(crate) result: View,
    /// Who is to compute it; none: whoever usually is the fastest.
    pub(crate) by: Option<Maker>,
    pub(crate) handed: Handed,
    /// The operand in whose place the result may lie: each element is read by the one who writes it, before.
    pub(crate) over: Option<usize>,
}

/// What of a product does not lie as its type says, because one product hands it to the next as that one packs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Handed {
    pub(crate) left: bool,
    pub(crate) result: bool,
}

impl Product {
    /// How many products there are.
    pub(crate) fn count(&self) -> usize {
        self.batch.iter().map(|index| index.size).product()
    }

    /// Multiplications and additions.
    pub(crate) fn flops(&self) -> u64 {
        let sizes = [self.rows.size, self.columns.size, self.depth.size, self.count(), 2];
        sizes.iter().fold(1_u64, |product, size| product.saturating_mul(*size as u64))
    }

    /// Whether the machine has instructions for all types of numbers in it.
    pub(crate) fn is_native(&self) -> bool {
        self.dtypes.into_iter().chain(read_dtypes(&self.tails)).all(multiplies)
    }

    /// Whether what follows the product reads this operand.
    pub(crate) fn reads_in_tails(&self, operand: usize) -> bool {
        crate::epilogue::reads(&self.tails, operand)
    }

    /// Whether nothing follows the product, and its result is where it belongs.
    #[cfg(feature = "onednn")]
    pub(crate) fn is_plain(&self) -> bool {
        self.tails.is_empty()
    }

    /// Where the matrices of product `number` begin: left, right, result.
    pub(crate) fn starts(&self, mut number: usize) -> [isize; 3] {
        let mut starts = [self.offsets[0], self.offsets[1], 0];
        for index in self.batch.iter().rev() {
            let at = (number % index.size.max(1)) as isize;
            number /= index.size.max(1);
            starts[0] += at * index.lhs;
            starts[1] += at * index.rhs;
            starts[2] += at * index.out;
        }
        starts
    }
}

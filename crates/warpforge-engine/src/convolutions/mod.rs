//! Convolutions: which ones the vendor library takes, and how their operands lie.

#[cfg(feature = "onednn")]
mod library;
#[cfg(feature = "onednn")]
mod recognize;

#[cfg(feature = "onednn")]
pub(crate) use library::LibraryConvolution;
#[cfg(feature = "onednn")]
pub(crate) use recognize::recognize;

use warpforge_tensor::DType;

use crate::epilogue::Tail;

/// Sizes and distances of an operand, in the library's order of dimensions: batch (or groups and output features), features,
/// then space.
pub(crate) type Dimensions = Vec<(usize, isize)>;

/// A convolution with what follows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Convolution {
    /// Operands of the cluster: input and kernel.
    pub(crate) operands: [usize; 2],
    /// The types of input, kernel and result.
    pub(crate) dtypes: [DType; 3],
    pub(crate) input: Dimensions,
    pub(crate) kernel: Dimensions,
    pub(crate) result: Dimensions,
    pub(crate) strides: Vec<usize>,
    pub(crate) dilations: Vec<usize>,
    pub(crate) padding: Vec<(i64, i64)>,
    /// Where the first elements of input and kernel lie.
    pub(crate) offsets: [isize; 2],
    /// The dimensions of the result in the library's order.
    pub(crate) order: Vec<usize>,
    /// What is done to each element, in order.
    pub(crate) tails: Vec<Tail>,
}

impl Convolution {
    /// Multiplications and additions.
    pub(crate) fn flops(&self) -> u64 {
        let result: u64 = self.result.iter().map(|(size, _)| *size as u64).product();
        // Each element of the result sums over a kernel of one output feature.
        let kernel: u64 = self.kernel.iter().map(|(size, _)| *size as u64).product();
        let features = self.result.get(1).map_or(1, |(size, _)| *size as u64).max(1);
        2 * result * (kernel / features)
    }
}

/// Whether features lie closest together.
#[cfg(feature = "onednn")]
fn is_channels_last(dimensions: &Dimensions) -> bool {
    dimensions.get(1).is_some_and(|(size, step)| *size == 1 || *step == 1)
}

/// The convolution a function computes, where the library takes it.
#[cfg(not(feature = "onednn"))]
pub(crate) fn recognize(_: &warpforge_hlo::ir::Function, _: bool) -> Option<Convolution> {
    None
}

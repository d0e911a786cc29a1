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

/// Sizes and distances of an operand, in the library's order of dimensions: batch (or groups and output features), features,
/// then space.
pub(crate) type Dimensions = Vec<(usize, isize)>;

/// A convolution of dense tensors.
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

/// The convolution a function computes, where the library takes it.
#[cfg(not(feature = "onednn"))]
pub(crate) fn recognize(_: &warpforge_hlo::ir::Function) -> Option<Convolution> {
    None
}

//! Convolutions: how their operands lie, and the kernels that compute them: by tiles, or by the vendor library.

mod form;
mod kernel_gradient;
#[cfg(feature = "onednn")]
mod library;
mod recognize;
mod tiled;

pub(crate) use kernel_gradient::TiledKernelGradient;
#[cfg(feature = "onednn")]
pub(crate) use library::LibraryConvolution;
pub(crate) use recognize::recognize;
pub(crate) use tiled::{TiledConvolution, bytes as tiled_bytes, overwrites, rounds_beside};

use warpforge_tensor::DType;

use crate::choices::Maker;
use crate::epilogue::Tail;
use crate::products::Arithmetic;

/// Sizes and distances of an operand, in the library's order of dimensions: batch (or groups and output features), features,
/// then space.
pub(crate) type Dimensions = Vec<(usize, isize)>;

/// Which of a convolution's three tensors is computed from the other two. The gradients of a convolution are written as
/// convolutions too; told from others by their shapes, they are computed as what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// The result.
    Forward,
    /// The gradient of the input: `input` is here that of the result, and `result` that of the input.
    Input,
    /// The gradient of the kernel: `kernel` is here that of the result, and `result` that of the kernel.
    Kernel,
}

/// A convolution with what follows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Convolution {
    pub(crate) direction: Direction,
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
    /// Who is to compute it; none: whoever usually is the fastest.
    pub(crate) by: Option<Maker>,
    /// Whether there is a second result: the first one rounded to bf16.
    pub(crate) rounded: bool,
    /// The operand in whose place the result may lie: each element is read by the one who writes it, before.
    pub(crate) over: Option<usize>,
}

impl Convolution {
    /// Multiplications and additions.
    pub(crate) fn flops(&self) -> u64 {
        let elements = |of: &Dimensions| of.iter().map(|(size, _)| *size as u64).product::<u64>();
        // What is forward the result, and the kernel.
        let (result, kernel) = match self.direction {
            Direction::Forward => (&self.result, &self.kernel),
            Direction::Input => (&self.input, &self.kernel),
            Direction::Kernel => (&self.kernel, &self.result),
        };
        // Each element of the result sums over a kernel of one output feature.
        let features = result.get(1).map_or(1, |(size, _)| *size as u64).max(1);
        2 * elements(result) * (elements(kernel) / features)
    }
}

/// Who computes a convolution by rules that tiles and the vendor library could compute; none where only one could.
pub(crate) fn ruled(convolution: &Convolution, arithmetic: Arithmetic) -> Option<Maker> {
    let takes = |by| tiled::takes(&Convolution { by, ..convolution.clone() }, arithmetic);
    match cfg!(feature = "onednn") {
        true if takes(None) => Some(Maker::Tiles),
        true if takes(Some(Maker::Tiles)) => Some(Maker::Library),
        _ => None,
    }
}

/// Whether features lie closest together.
fn is_channels_last(dimensions: &Dimensions) -> bool {
    dimensions.get(1).is_some_and(|(size, step)| *size == 1 || *step == 1)
}

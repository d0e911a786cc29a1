//! What a plan is made of: ops that one kernel computes.

use std::sync::Arc;

use warpforge_hlo::ir::Op;

use super::outline::Outlined;
use crate::chains::Chain;
use crate::convolutions::Convolution;
use crate::kernels::Kernel;
use crate::loops::Lowering;
use crate::products::Product;

/// How a cluster is computed.
#[derive(Clone)]
pub(crate) enum Work {
    /// Chains on elements and reductions of rows.
    Loop(Box<Lowering>),
    /// A matrix product with what follows it.
    Product(Box<Product>),
    /// Two products with a loop between them.
    Chain(Box<Chain>),
    /// A convolution the library takes.
    Convolution(Box<Convolution>),
    /// One op with a kernel of its own.
    Single(Arc<dyn Kernel>),
    /// A loop or a choice of regions, each of which is a plan of its own.
    Control,
    /// The elements of its only input, in another shape: nothing is done.
    Same,
    /// By the reference interpreter, for the stated reason.
    Interpreted(String),
}

/// Ops that are computed together.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) outlined: Outlined,
    pub(crate) work: Work,
}

impl Cluster {
    /// The inputs, by their place, whose memory an output may be.
    pub(crate) fn overwrites(&self, output: usize) -> Vec<usize> {
        let inputs = 0..self.outlined.inputs.len();
        match &self.work {
            Work::Single(kernel) if self.outlined.outputs.len() == 1 => {
                kernel.overwrites().into_iter().collect()
            }
            Work::Loop(rows) => {
                inputs.filter(|input| rows.kernel.may_overwrite(output, *input)).collect()
            }
            Work::Product(product) => product.over.into_iter().collect(),
            Work::Convolution(convolution) if output == 0 => convolution.over.into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The ops in it, the end left out.
    pub(crate) fn ops(&self) -> &[Op] {
        let ops = &self.outlined.function.body.ops;
        &ops[..ops.len().saturating_sub(1)]
    }
}

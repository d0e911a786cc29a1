//! Convolutions of f16 take and give f32, and so do those of bf16 where a machine has no instructions for that: the vendor library
//! computes them number by number, many times slower. Products were summed in f32 before, and results are rounded as before.

use warpforge_hlo::ir::{OpKind, Program, ValueId};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::DType;

use super::{Pass, Rewriter, rewrite};
use crate::EngineError;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct WidenConvolutions {
    /// Whether those of bf16 are, too.
    pub bf16: bool,
}

impl Pass for WidenConvolutions {
    fn name(&self) -> &'static str {
        "widen-convolutions"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let mut rewriter = Rewriter::new(function);
            let dtype = |value: &ValueId| function.ty(*value).tensor().and_then(TensorType::dtype);
            let is_narrow = |value: &ValueId| match dtype(value) {
                Some(DType::F16) => true,
                Some(DType::BF16) => self.bf16,
                _ => false,
            };
            // What a program asks for in more than f32 is summed in more.
            let fits = |value: &ValueId| {
                matches!(dtype(value), Some(DType::F16 | DType::BF16 | DType::F32))
            };
            for op in &function.body.ops {
                let is_convolution = matches!(op.kind, OpKind::Convolution(_));
                if is_convolution
                    && op.operands.iter().all(is_narrow)
                    && op.results.iter().all(fits)
                {
                    rewriter.copy_as(function, op, DType::F32);
                } else {
                    rewriter.copy(function, op);
                }
            }
            Ok(rewriter.finish())
        })
    }
}

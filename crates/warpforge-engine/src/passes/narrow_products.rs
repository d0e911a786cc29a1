//! Products of f32 take and give bf16, with sums in f32: everything between products stays as it was. This is the only
//! pass that changes what is computed, and it runs only when asked for.

use warpforge_hlo::ir::{OpKind, Program, ValueId};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::DType;

use super::{Pass, Rewriter, rewrite};
use crate::EngineError;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct NarrowProducts;

impl Pass for NarrowProducts {
    fn name(&self) -> &'static str {
        "narrow-products"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let mut rewriter = Rewriter::new(function);
            for op in &function.body.ops {
                let values = op.operands.iter().chain(&op.results);
                let wide = |value: &ValueId| {
                    function.ty(*value).tensor().and_then(TensorType::dtype) == Some(DType::F32)
                };
                let product = matches!(op.kind, OpKind::DotGeneral(_) | OpKind::Convolution(_));
                if !product || !values.clone().all(wide) {
                    rewriter.copy(function, op);
                    continue;
                }
                rewriter.copy_as(function, op, DType::BF16);
            }
            Ok(rewriter.finish())
        })
    }
}

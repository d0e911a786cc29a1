//! Products of f32 take and give bf16, with sums in f32: everything between products stays as it was. This is the only
//! pass that changes what is computed, and it runs only when asked for.

use warpforge_hlo::ir::{Op, OpKind, Program, ValueId};
use warpforge_hlo::types::{ElementType, TensorType};
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
                let operands: Vec<ValueId> = op
                    .operands
                    .iter()
                    .map(|operand| narrowed(&mut rewriter, *operand, op))
                    .collect();
                let Some(ty) = function.ty(op.results[0]).tensor().cloned() else {
                    rewriter.copy(function, op);
                    continue;
                };
                let narrow = rewriter.emit_one(op.kind.clone(), operands, of(&ty, DType::BF16), op);
                let wide = rewriter.emit_one(OpKind::Convert, vec![narrow], ty, op);
                rewriter.replace(op.results[0], wide);
            }
            Ok(rewriter.finish())
        })
    }
}

fn of(ty: &TensorType, dtype: DType) -> TensorType {
    TensorType { element: ElementType::Plain(dtype), ..ty.clone() }
}

/// A value as bf16.
fn narrowed(rewriter: &mut Rewriter, operand: ValueId, op: &Op) -> ValueId {
    let value = rewriter.value(operand);
    match rewriter.tensor(value).cloned() {
        Some(ty) => rewriter.emit_one(OpKind::Convert, vec![value], of(&ty, DType::BF16), op),
        None => value,
    }
}

//! Calls to things outside the specification that stand for ops it has, or `chlo` has, become those ops, and annotations that
//! change no value go: the form in which exporters of some versions write `erf` or a sharding.

use warpforge_hlo::ir::{CustomCall, OpKind, Program, Unary};

use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::reference::is_annotation;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct NameCustomCalls;

impl Pass for NameCustomCalls {
    fn name(&self) -> &'static str {
        "name-custom-calls"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let mut rewriter = Rewriter::new(function);
            for op in &function.body.ops {
                let OpKind::CustomCall(call) = &op.kind else {
                    rewriter.copy(function, op);
                    continue;
                };
                let types = |values: &[_]| -> Vec<_> {
                    values.iter().map(|value| function.ty(*value).clone()).collect()
                };
                let (from, to) = (types(&op.operands), types(&op.results));
                if is_annotation(&call.target) && from == to {
                    for (result, operand) in op.results.iter().zip(&op.operands) {
                        let value = rewriter.value(*operand);
                        rewriter.replace(*result, value);
                    }
                } else if let Some(unary) = unary(call)
                    && op.operands.len() == 1
                    && from == to
                {
                    let operands = rewriter.values(&op.operands);
                    let made = rewriter.emit(OpKind::Unary(unary), operands, to, op);
                    rewriter.replace(op.results[0], made[0]);
                } else {
                    rewriter.copy(function, op);
                }
            }
            Ok(rewriter.finish())
        })
    }
}

/// The op that a call stands for, where it is one of one operand.
fn unary(call: &CustomCall) -> Option<Unary> {
    let target = call.target.as_str();
    let short = target.strip_prefix("mhlo.").or_else(|| target.strip_prefix("chlo."))?;
    Unary::from_name(&format!("chlo.{short}"))
        .or_else(|| Unary::from_name(&format!("stablehlo.{short}")))
}

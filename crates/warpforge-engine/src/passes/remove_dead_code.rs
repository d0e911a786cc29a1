//! Ops whose results nothing needs are left out; those with an effect on the world stay.

use warpforge_hlo::ir::{Function, Op, OpKind, Program, Region};

use super::{Pass, Rewriter, rewrite};
use crate::EngineError;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct RemoveDeadCode;

impl Pass for RemoveDeadCode {
    fn name(&self) -> &'static str {
        "remove-dead-code"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let needed = needed(function);
            let mut rewriter = Rewriter::new(function);
            for (op, needed) in function.body.ops.iter().zip(needed) {
                if needed {
                    rewriter.copy(function, op);
                }
            }
            Ok(rewriter.finish())
        })
    }
}

/// Which ops of a function's body have to be computed.
fn needed(function: &Function) -> Vec<bool> {
    let mut wanted = vec![false; function.values.len()];
    let mut needed = vec![false; function.body.ops.len()];
    for (place, op) in function.body.ops.iter().enumerate().rev() {
        let has_result = op.results.iter().any(|result| wanted[result.index()]);
        if has_result || matters(op) {
            needed[place] = true;
            want(op, &mut wanted);
        }
    }
    needed
}

fn want(op: &Op, wanted: &mut [bool]) {
    for operand in &op.operands {
        wanted[operand.index()] = true;
    }
    for region in &op.regions {
        region.ops.iter().for_each(|op| want(op, wanted));
    }
}

/// Whether an op does something besides making its results.
pub(super) fn matters(op: &Op) -> bool {
    let inside = |region: &Region| {
        region.ops.iter().any(|op| !matches!(op.kind, OpKind::Return) && matters(op))
    };
    match &op.kind {
        OpKind::Return | OpKind::FunctionReturn => true,
        OpKind::CustomCall(call) => call.has_side_effect,
        // What it draws decides what the next one draws.
        OpKind::Rng { .. } => true,
        // It may never end.
        OpKind::While => true,
        kind if kind.exchanges() => true,
        _ => op.regions.iter().any(inside),
    }
}

//! Chains of ops that only say where elements lie become one: a reshape of a reshape, a transpose of a transpose, a
//! broadcast of a broadcast. A broadcast or transpose that moves nothing becomes a reshape.

use std::collections::HashMap;

use warpforge_hlo::ir::{Function, Op, OpKind, Program, ValueId};

use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::pattern::sizes;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct FoldViews;

impl Pass for FoldViews {
    fn name(&self) -> &'static str {
        "fold-views"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let mut rewriter = Rewriter::new(function);
            // The new ops that are views, by their results.
            let mut views: HashMap<ValueId, Op> = HashMap::new();
            for op in &function.body.ops {
                let Some((kind, operand)) = folded(function, op, &rewriter, &views) else {
                    rewriter.copy(function, op);
                    continue;
                };
                let result = op.results[0];
                let ty = function.ty(result);
                if kind == OpKind::Reshape && rewriter.ty(operand) == ty {
                    rewriter.replace(result, operand);
                    continue;
                }
                let new = rewriter.emit(kind, vec![operand], vec![ty.clone()], op)[0];
                rewriter.replace(result, new);
                if let Some(emitted) = rewriter.ops().last() {
                    views.insert(new, emitted.clone());
                }
            }
            Ok(rewriter.finish())
        })
    }
}

/// What an op that only places elements amounts to, and of which new value.
fn folded(
    function: &Function,
    op: &Op,
    rewriter: &Rewriter,
    views: &HashMap<ValueId, Op>,
) -> Option<(OpKind, ValueId)> {
    let ([operand], [result]) = (op.operands.as_slice(), op.results.as_slice()) else {
        return None;
    };
    let to = sizes(function.ty(*result).tensor()?)?;
    let mut operand = rewriter.value(*operand);
    let mut kind = match &op.kind {
        OpKind::Reshape | OpKind::Transpose { .. } | OpKind::BroadcastInDim { .. } => {
            op.kind.clone()
        }
        OpKind::Broadcast { sizes } => {
            let rank = to.len();
            OpKind::BroadcastInDim { dimensions: (sizes.len() as i64..rank as i64).collect() }
        }
        _ => return None,
    };
    loop {
        let from = sizes(rewriter.tensor(operand)?)?;
        if moves_nothing(&kind, &from, &to) {
            kind = OpKind::Reshape;
        }
        let Some(view) = views.get(&operand) else { break };
        let source = view.operands[0];
        let joined = match (&view.kind, &kind) {
            (OpKind::Reshape, OpKind::Reshape) => OpKind::Reshape,
            (
                OpKind::Transpose { permutation: first },
                OpKind::Transpose { permutation: second },
            ) => OpKind::Transpose {
                permutation: second.iter().map(|at| first[*at as usize]).collect(),
            },
            (
                OpKind::BroadcastInDim { dimensions: first },
                OpKind::BroadcastInDim { dimensions: second },
            ) => OpKind::BroadcastInDim {
                dimensions: first.iter().map(|at| second[*at as usize]).collect(),
            },
            // A reshape that only puts dimensions of size 1 in says no more than the broadcast after it.
            (OpKind::Reshape, OpKind::BroadcastInDim { dimensions }) => {
                let inner = sizes(rewriter.tensor(source)?)?;
                let kept: Vec<i64> = from
                    .iter()
                    .zip(dimensions)
                    .filter(|(size, _)| **size != 1)
                    .map(|(_, at)| *at)
                    .collect();
                let plain: Vec<usize> = from.iter().copied().filter(|size| *size != 1).collect();
                if inner != plain {
                    break;
                }
                OpKind::BroadcastInDim { dimensions: kept }
            }
            _ => break,
        };
        kind = joined;
        operand = source;
    }
    Some((kind, operand))
}

/// Whether the elements stay in their order, each once.
fn moves_nothing(kind: &OpKind, from: &[usize], to: &[usize]) -> bool {
    let beyond_one = |sizes: &[usize]| -> Vec<usize> {
        sizes.iter().copied().filter(|size| *size != 1).collect()
    };
    match kind {
        OpKind::Reshape => true,
        OpKind::BroadcastInDim { dimensions } => {
            let order: Vec<i64> = from
                .iter()
                .zip(dimensions)
                .filter(|(size, _)| **size != 1)
                .map(|(_, at)| *at)
                .collect();
            order.is_sorted() && beyond_one(from) == beyond_one(to)
        }
        OpKind::Transpose { permutation } => {
            let order: Vec<i64> =
                permutation.iter().copied().filter(|at| from[*at as usize] != 1).collect();
            order.is_sorted()
        }
        _ => false,
    }
}

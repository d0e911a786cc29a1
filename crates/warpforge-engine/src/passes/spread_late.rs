//! What is computed of elements that are each spread over many places is computed once for each and spread then: a mask of a row
//! is not made for every row.

use std::collections::HashMap;

use warpforge_hlo::attribute::Dense;
use warpforge_hlo::ir::{Op, OpKind, Program, ValueId};
use warpforge_hlo::types::TensorType;

use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::pattern::sizes;

/// Places for each element at least: an op on few elements is a kernel more, which has to be worth it.
const LEAST: usize = 32;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct SpreadLate;

/// A value that is another one spread.
#[derive(Clone)]
struct Spread {
    /// In the new function.
    from: ValueId,
    shape: Vec<usize>,
    dimensions: Vec<i64>,
}

/// What an operand is to an op.
enum Operand {
    Spread(Spread),
    /// The same at all places.
    One(Dense),
}

impl Pass for SpreadLate {
    fn name(&self) -> &'static str {
        "spread-late"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let mut rewriter = Rewriter::new(function);
            let mut spread: HashMap<ValueId, Spread> = HashMap::new();
            let mut ones: HashMap<ValueId, Dense> = HashMap::new();
            for op in &function.body.ops {
                match &op.kind {
                    OpKind::Constant(dense) if dense.splat => {
                        ones.insert(op.results[0], dense.clone());
                    }
                    OpKind::BroadcastInDim { dimensions } => {
                        let from = function.ty(op.operands[0]).tensor().and_then(sizes);
                        let to = function.ty(op.results[0]).tensor().and_then(sizes);
                        if let (Some(shape), Some(to)) = (from, to)
                            && is_worth_it(&shape, &to)
                        {
                            let from = rewriter.value(op.operands[0]);
                            let dimensions = dimensions.clone();
                            spread.insert(op.results[0], Spread { from, shape, dimensions });
                        }
                    }
                    kind if is_by_element(kind) => {
                        let operand = |value: &ValueId| {
                            let one = ones.get(value).cloned().map(Operand::One);
                            spread.get(value).cloned().map(Operand::Spread).or(one)
                        };
                        let operands: Option<Vec<Operand>> =
                            op.operands.iter().map(operand).collect();
                        let result = function.ty(op.results[0]).tensor();
                        if let (Some(operands), Some(result)) = (operands, result)
                            && let Some(found) = narrow(&mut rewriter, op, &operands, result)
                        {
                            let kind =
                                OpKind::BroadcastInDim { dimensions: found.dimensions.clone() };
                            let new = rewriter.emit_one(kind, vec![found.from], result.clone(), op);
                            rewriter.replace(op.results[0], new);
                            spread.insert(op.results[0], found);
                            continue;
                        }
                    }
                    _ => {}
                }
                rewriter.copy(function, op);
            }
            Ok(rewriter.finish())
        })
    }
}

/// Whether there are several elements, each for many places.
fn is_worth_it(from: &[usize], to: &[usize]) -> bool {
    let (few, many): (usize, usize) = (from.iter().product(), to.iter().product());
    few > 1 && many / few >= LEAST
}

fn is_by_element(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Compare { .. }
            | OpKind::Select
            | OpKind::Convert
    )
}

/// The op on what its operands are spread from, where all are spread alike.
fn narrow(
    rewriter: &mut Rewriter,
    op: &Op,
    operands: &[Operand],
    result: &TensorType,
) -> Option<Spread> {
    let first = operands.iter().find_map(|operand| match operand {
        Operand::Spread(spread) => Some(spread.clone()),
        Operand::One(_) => None,
    })?;
    let alike = operands.iter().all(|operand| match operand {
        Operand::Spread(Spread { shape, dimensions, .. }) => {
            *shape == first.shape && *dimensions == first.dimensions
        }
        Operand::One(_) => true,
    });
    let like = rewriter.tensor(first.from)?.dimensions.clone();
    let of = |ty: &TensorType| TensorType { dimensions: like.clone(), ..ty.clone() };
    if !alike || op.results.len() != 1 || !op.regions.is_empty() {
        return None;
    }
    let mut values = Vec::with_capacity(operands.len());
    for operand in operands {
        values.push(match operand {
            Operand::Spread(spread) => spread.from,
            Operand::One(dense) => {
                rewriter.constant(Dense { ty: of(&dense.ty), ..dense.clone() }, op)
            }
        });
    }
    let from = rewriter.emit_one(op.kind.clone(), values, of(result), op);
    Some(Spread { from, ..first })
}

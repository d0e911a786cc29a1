//! Products of batches that two dimensions were joined for, such as the rows and heads of attention, take both dimensions as
//! they were: then a product can read and write them wherever they lie, and nothing is copied only to lie in order.

use std::collections::HashMap;

use warpforge_hlo::ir::{DotGeneral, Function, Op, OpKind, Program, ValueId};
use warpforge_hlo::types::TensorType;

use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::pattern::sizes;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct SplitBatches;

impl Pass for SplitBatches {
    fn name(&self) -> &'static str {
        "split-batches"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let rewriter = Rewriter::new(function);
            let mut splitter = Splitter { function, rewriter, split: HashMap::new() };
            for op in &function.body.ops {
                if splitter.rewrite(op).is_none() {
                    splitter.rewriter.copy(function, op);
                    splitter.remember(op);
                }
            }
            Ok(splitter.rewriter.finish())
        })
    }
}

struct Splitter<'a> {
    function: &'a Function,
    rewriter: Rewriter,
    /// New values that are old ones with their first dimension as two.
    split: HashMap<ValueId, ValueId>,
}

impl Splitter<'_> {
    /// Keeps in mind what a reshape joined the first two dimensions of.
    fn remember(&mut self, op: &Op) {
        let (OpKind::Reshape, [operand], [result]) =
            (&op.kind, op.operands.as_slice(), op.results.as_slice())
        else {
            return;
        };
        let size = |value: &ValueId| self.function.ty(*value).tensor().and_then(sizes);
        let (Some(from), Some(to)) = (size(operand), size(result)) else { return };
        if let ([rows, heads, inner @ ..], [all, outer @ ..]) = (from.as_slice(), to.as_slice()) {
            let both = *rows > 1 && *heads > 1 && rows.checked_mul(*heads) == Some(*all);
            if both && inner == outer {
                self.split.insert(*result, self.rewriter.value(*operand));
            }
        }
    }

    /// The sizes of the two dimensions of a value that has them.
    fn batch(&self, old: ValueId) -> Option<[usize; 2]> {
        let split = self.split.get(&old)?;
        let sizes = sizes(self.rewriter.tensor(*split)?)?;
        Some([sizes[0], sizes[1]])
    }

    /// Emits an op on values with two dimensions instead of one, where it is one that keeps them apart.
    fn rewrite(&mut self, op: &Op) -> Option<()> {
        let [result] = op.results.as_slice() else { return None };
        let ty = self.function.ty(*result).tensor()?.clone();
        match &op.kind {
            OpKind::DotGeneral(numbers) => {
                if numbers.lhs_batching != [0] || numbers.rhs_batching != [0] {
                    return None;
                }
                let batch = op.operands.iter().find_map(|operand| self.batch(*operand))?;
                let operands = op.operands.iter();
                let operands: Option<Vec<ValueId>> =
                    operands.map(|operand| self.split_value(*operand, batch, op)).collect();
                let kind = OpKind::DotGeneral(Box::new(moved(numbers)));
                self.emit(kind, operands?, &ty, batch, op)
            }
            OpKind::Transpose { permutation } if permutation.first() == Some(&0) => {
                let batch = self.batch(op.operands[0])?;
                let operand = self.split_value(op.operands[0], batch, op)?;
                let inner = permutation[1..].iter().map(|at| at + 1);
                let permutation = [0, 1].into_iter().chain(inner).collect();
                self.emit(OpKind::Transpose { permutation }, vec![operand], &ty, batch, op)
            }
            OpKind::Reshape => {
                let split = *self.split.get(&op.operands[0])?;
                (self.rewriter.tensor(split) == Some(&ty)).then_some(())?;
                self.rewriter.replace(*result, split);
                Some(())
            }
            _ => None,
        }
    }

    /// A value with its first dimension as two.
    fn split_value(&mut self, old: ValueId, batch: [usize; 2], op: &Op) -> Option<ValueId> {
        if self.batch(old) == Some(batch) {
            return self.split.get(&old).copied();
        }
        let ty = with_two(self.function.ty(old).tensor()?, batch)?;
        let value = self.rewriter.value(old);
        Some(self.rewriter.emit_one(OpKind::Reshape, vec![value], ty, op))
    }

    fn emit(
        &mut self,
        kind: OpKind,
        operands: Vec<ValueId>,
        ty: &TensorType,
        batch: [usize; 2],
        op: &Op,
    ) -> Option<()> {
        let split = self.rewriter.emit_one(kind, operands, with_two(ty, batch)?, op);
        let joined = self.rewriter.emit_one(OpKind::Reshape, vec![split], ty.clone(), op);
        self.split.insert(op.results[0], split);
        self.rewriter.replace(op.results[0], joined);
        Some(())
    }
}

/// The type with its first dimension as two.
fn with_two(ty: &TensorType, batch: [usize; 2]) -> Option<TensorType> {
    let inner = sizes(ty)?;
    Some(ty.with_sizes(&[&batch[..], inner.get(1..)?].concat()))
}

/// The numbers of the dimensions, with one more in front.
fn moved(numbers: &DotGeneral) -> DotGeneral {
    let later = |places: &[i64]| places.iter().map(|at| at + 1).collect();
    DotGeneral {
        lhs_batching: vec![0, 1],
        rhs_batching: vec![0, 1],
        lhs_contracting: later(&numbers.lhs_contracting),
        rhs_contracting: later(&numbers.rhs_contracting),
        ..numbers.clone()
    }
}

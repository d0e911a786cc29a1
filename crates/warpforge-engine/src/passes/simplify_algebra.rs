//! Ops that change nothing give way to what they were given. Only rules that hold for every value, NaN, infinities and the
//! sign of zero included.

use std::collections::HashMap;

use warpforge_hlo::attribute::Dense;
use warpforge_hlo::ir::{Binary, Function, Op, OpKind, Program, Unary, ValueId};

use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::pattern::{combining, is_identity, sizes, splat_number};

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct SimplifyAlgebra;

impl Pass for SimplifyAlgebra {
    fn name(&self) -> &'static str {
        "simplify-algebra"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let mut pass =
                Simplifier { old: function, constants: HashMap::new(), negated: HashMap::new() };
            let mut rewriter = Rewriter::new(function);
            for op in &function.body.ops {
                match pass.same(op) {
                    Some(values) => {
                        for (old, same) in op.results.iter().zip(values) {
                            let new = rewriter.value(same);
                            rewriter.replace(*old, new);
                            pass.alias(*old, same);
                        }
                    }
                    None => match pass.single(op) {
                        Some(single) => {
                            let types = || vec![function.ty(op.results[0]).clone()];
                            let operands = rewriter.values(&[single.operand]);
                            let mut new = rewriter.emit(OpKind::Reshape, operands, types(), op)[0];
                            if let Some((binary, start)) = single.with {
                                let spread = OpKind::BroadcastInDim { dimensions: Vec::new() };
                                let start = rewriter.values(&[start]);
                                let start = rewriter.emit(spread, start, types(), op)[0];
                                let operands = vec![start, new];
                                let combine = OpKind::Binary(binary);
                                new = rewriter.emit(combine, operands, types(), op)[0];
                            }
                            rewriter.replace(op.results[0], new);
                        }
                        None => match pass.simpler(op) {
                            Some((kind, operands)) => {
                                let operands = rewriter.values(&operands);
                                let types = vec![function.ty(op.results[0]).clone()];
                                let new = rewriter.emit(kind, operands, types, op)[0];
                                rewriter.replace(op.results[0], new);
                            }
                            None => rewriter.copy(function, op),
                        },
                    },
                }
                pass.note(op);
            }
            Ok(rewriter.finish())
        })
    }
}

struct Simplifier<'a> {
    old: &'a Function,
    /// Old values that are constants.
    constants: HashMap<ValueId, &'a Dense>,
    /// Old values that are the negative of another.
    negated: HashMap<ValueId, ValueId>,
}

impl<'a> Simplifier<'a> {
    fn note(&mut self, op: &'a Op) {
        match &op.kind {
            OpKind::Constant(dense) => {
                self.constants.insert(op.results[0], dense);
            }
            OpKind::BroadcastInDim { .. } | OpKind::Reshape | OpKind::Convert => {
                // A spread scalar is that scalar at every place.
                if let Some(dense) = self.constants.get(&op.operands[0])
                    && (dense.splat || dense.ty.rank() == 0)
                    && op.kind != OpKind::Convert
                {
                    self.constants.insert(op.results[0], dense);
                }
            }
            OpKind::Unary(Unary::Negate) => {
                self.negated.insert(op.results[0], op.operands[0]);
            }
            _ => {}
        }
    }

    fn alias(&mut self, old: ValueId, same: ValueId) {
        if let Some(dense) = self.constants.get(&same) {
            self.constants.insert(old, dense);
        }
    }

    fn number(&self, value: ValueId) -> Option<f64> {
        splat_number(self.constants.get(&value)?)
    }

    /// The old values that an op's results are equal to.
    fn same(&self, op: &Op) -> Option<Vec<ValueId>> {
        if op.kind == OpKind::OptimizationBarrier {
            return Some(op.operands.clone());
        }
        let [result] = op.results.as_slice() else { return None };
        let operand = |place: usize| op.operands.get(place).copied();
        let one = match &op.kind {
            OpKind::Binary(binary) => self.binary(*binary, operand(0)?, operand(1)?),
            OpKind::Unary(Unary::Negate) => self.negated.get(&operand(0)?).copied(),
            OpKind::Select => match self.number(operand(0)?)? {
                0.0 => operand(2),
                _ => operand(1),
            },
            OpKind::Convert | OpKind::Reshape | OpKind::Slice { .. } => operand(0),
            OpKind::Broadcast { .. } | OpKind::BroadcastInDim { .. } => {
                let in_order = match &op.kind {
                    OpKind::BroadcastInDim { dimensions } => dimensions.is_sorted(),
                    _ => true,
                };
                operand(0).filter(|_| in_order)
            }
            OpKind::Transpose { permutation } => operand(0).filter(|_| permutation.is_sorted()),
            OpKind::Concatenate { .. } if op.operands.len() == 1 => operand(0),
            OpKind::Pad(padding) => {
                let nothing = |sizes: &[i64]| sizes.iter().all(|size| *size == 0);
                operand(0).filter(|_| {
                    nothing(&padding.low) && nothing(&padding.high) && nothing(&padding.interior)
                })
            }
            _ => None,
        }?;
        // Whatever the rule says, a value of another type is another value.
        (self.old.ty(one) == self.old.ty(*result)).then(|| vec![one])
    }

    fn binary(&self, binary: Binary, a: ValueId, b: ValueId) -> Option<ValueId> {
        let dtype = self.old.ty(a).tensor()?.dtype()?;
        if let Some(number) = self.number(b) {
            let right = match binary {
                Binary::Divide => number == 1.0,
                Binary::Subtract => {
                    number == 0.0 && !(dtype.is_float() && number.is_sign_negative())
                }
                _ => is_identity(binary, number, dtype),
            };
            if right {
                return Some(a);
            }
        }
        let left = self.number(a).is_some_and(|number| is_identity(binary, number, dtype));
        left.then_some(b)
    }

    /// A cheaper op of old values with the same result, bit for bit in f32 and narrower types.
    fn simpler(&self, op: &Op) -> Option<(OpKind, Vec<ValueId>)> {
        let (OpKind::Binary(Binary::Power), [base, exponent]) = (&op.kind, op.operands.as_slice())
        else {
            return None;
        };
        let float = self.old.ty(*base).tensor()?.dtype()?.is_float();
        let square = float && self.number(*exponent)? == 2.0;
        square.then(|| (OpKind::Binary(Binary::Multiply), vec![*base, *base]))
    }

    /// What a reduction of single elements comes to.
    fn single(&self, op: &Op) -> Option<Single> {
        let (OpKind::Reduce { dimensions }, [operand, start], [region]) =
            (&op.kind, op.operands.as_slice(), op.regions.as_slice())
        else {
            return None;
        };
        let ty = self.old.ty(*operand).tensor()?;
        let sizes = sizes(ty)?;
        if dimensions.iter().any(|dimension| sizes.get(*dimension as usize) != Some(&1)) {
            return None;
        }
        let binary = combining(region)?;
        let number = self.number(*start);
        let dtype = ty.dtype()?;
        let same = number.is_some_and(|number| is_identity(binary, number, dtype));
        Some(Single { operand: *operand, with: (!same).then_some((binary, *start)) })
    }
}

/// The elements of an old value in another shape, each combined with another one where that changes it.
struct Single {
    operand: ValueId,
    with: Option<(Binary, ValueId)>,
}

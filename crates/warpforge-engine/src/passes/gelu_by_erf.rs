//! The `erfc(-x / sqrt(2))` of a GELU whose gradient reads it too becomes `1 - erf(-x / sqrt(2))`, as PyTorch computes it: what
//! it is multiplied with makes its last digits, far on the negative side, count for nothing, and `erfc` takes several times
//! as long as `erf`. Where nothing else reads it, the GELU as a whole is an activation.

use std::collections::HashSet;

use warpforge_hlo::attribute::Dense;
use warpforge_hlo::ir::{Binary, Function, Op, OpKind, Program, Unary, ValueId};
use warpforge_tensor::DType;

use super::links::Links;
use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::pattern::splat_number;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct GeluByErf;

impl Pass for GeluByErf {
    fn name(&self) -> &'static str {
        "gelu-by-erf"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let found = Reader::new(function).found();
            let mut rewriter = Rewriter::new(function);
            for op in &function.body.ops {
                let result = op.results.first().copied();
                let Some(result) = result.filter(|result| found.contains(result)) else {
                    rewriter.copy(function, op);
                    continue;
                };
                let Some(ty) = function.ty(result).tensor().cloned() else {
                    rewriter.copy(function, op);
                    continue;
                };
                let operands = rewriter.values(&op.operands);
                let kind = OpKind::Unary(Unary::ChloErf);
                let erf = rewriter.emit_one(kind, operands, ty.clone(), op);
                let bytes = 1.0_f32.to_le_bytes().to_vec();
                let one = Dense { ty: ty.clone(), splat: true, bytes: bytes.into() };
                let one = rewriter.constant(one, op);
                let kind = OpKind::Binary(Binary::Subtract);
                let new = rewriter.emit_one(kind, vec![one, erf], ty, op);
                rewriter.replace(result, new);
            }
            Ok(rewriter.finish())
        })
    }
}

struct Reader<'a> {
    function: &'a Function,
    links: Links<'a>,
}

impl<'a> Reader<'a> {
    fn new(function: &'a Function) -> Self {
        Self { function, links: Links::new(function) }
    }

    /// The results of `erfc` that belong to a GELU and are read by something else as well.
    fn found(&self) -> HashSet<ValueId> {
        let products =
            self.function.body.ops.iter().filter_map(|op| self.binary(op, Binary::Multiply));
        let sides = products.flat_map(|[a, b]| [(a, b), (b, a)]);
        sides.filter_map(|(half, erfc)| self.is_gelu(half, erfc).then_some(erfc)).collect()
    }

    fn binary(&self, op: &Op, binary: Binary) -> Option<[ValueId; 2]> {
        (op.kind == OpKind::Binary(binary)).then_some(())?;
        op.operands.as_slice().try_into().ok()
    }

    fn is_gelu(&self, half: ValueId, erfc: ValueId) -> bool {
        let Some(op) = self.links.maker(erfc) else { return false };
        let f32 = self.function.ty(erfc).tensor().and_then(|ty| ty.dtype()) == Some(DType::F32);
        if op.kind != OpKind::Unary(Unary::ChloErfc) || !f32 || self.links.uses(erfc) < 2 {
            return false;
        }
        let (x, by) = self.times(op.operands[0]);
        let (y, factor) = self.times(half);
        x == y && factor == 0.5 && (by + std::f64::consts::FRAC_1_SQRT_2).abs() < 1e-6
    }

    /// A value as another one times a number.
    fn times(&self, value: ValueId) -> (ValueId, f64) {
        let Some(op) = self.links.maker(value) else { return (value, 1.0) };
        if op.kind == OpKind::Unary(Unary::Negate) {
            let (of, by) = self.times(op.operands[0]);
            return (of, -by);
        }
        let Some([a, b]) = self.binary(op, Binary::Multiply) else { return (value, 1.0) };
        let (of, by) = match (self.number(a), self.number(b)) {
            (None, Some(number)) => (a, number),
            (Some(number), None) => (b, number),
            _ => return (value, 1.0),
        };
        let (of, before) = self.times(of);
        (of, before * by)
    }

    /// The number that a value has everywhere.
    fn number(&self, value: ValueId) -> Option<f64> {
        let op = self.links.maker(value)?;
        match &op.kind {
            OpKind::Constant(dense) => splat_number(dense),
            OpKind::BroadcastInDim { .. } | OpKind::Reshape => self.number(op.operands[0]),
            _ => None,
        }
    }
}

//! Batch norm, its training form and its gradient become the sums and products they stand for, so that they fuse with what
//! surrounds them. Exporters write layer norm with them, too. Floats narrower than f32 are computed in f32 and rounded once.

use warpforge_hlo::attribute::Dense;
use warpforge_hlo::ir::{Binary, Function, Op, OpKind, Program, Region, Unary, ValueId};
use warpforge_hlo::types::{ElementType, TensorType, Type};
use warpforge_tensor::DType;

use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::pattern::sizes;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct ExpandNormalization;

impl Pass for ExpandNormalization {
    fn name(&self) -> &'static str {
        "expand-normalization"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let mut rewriter = Rewriter::new(function);
            for op in &function.body.ops {
                let Some(mut writer) = Writer::new(function, op, &mut rewriter) else {
                    rewriter.copy(function, op);
                    continue;
                };
                let made = writer.results(&op.kind);
                for (result, value) in op.results.iter().zip(made) {
                    let ty = function.ty(*result).tensor();
                    let value = ty.map_or(value, |ty| writer.as_type(value, ty));
                    writer.rewriter.replace(*result, value);
                }
            }
            Ok(rewriter.finish())
        })
    }
}

/// Writes ops on tensors of one shape and on vectors with a number for each feature.
struct Writer<'a> {
    rewriter: &'a mut Rewriter,
    origin: &'a Op,
    operands: Vec<ValueId>,
    epsilon: f64,
    feature: i64,
    /// The types of the whole and of a vector, in the arithmetic used.
    whole: TensorType,
    vector: TensorType,
    /// Elements of each feature.
    count: f64,
}

impl<'a> Writer<'a> {
    /// None for other ops, and for tensors that are empty or of unknown size.
    fn new(function: &Function, op: &'a Op, rewriter: &'a mut Rewriter) -> Option<Self> {
        let (OpKind::BatchNormTraining { epsilon, feature_index }
        | OpKind::BatchNormInference { epsilon, feature_index }
        | OpKind::BatchNormGrad { epsilon, feature_index }) = &op.kind
        else {
            return None;
        };
        let ty = function.ty(*op.operands.first()?).tensor()?;
        let shape = sizes(ty)?;
        let features = *shape.get(usize::try_from(*feature_index).ok()?)?;
        let elements: usize = shape.iter().product();
        let dtype = match ty.dtype()? {
            DType::F64 => DType::F64,
            DType::F32 | DType::BF16 | DType::F16 => DType::F32,
            _ => return None,
        };
        if elements == 0 {
            return None;
        }
        let mut writer = Self {
            operands: rewriter.values(&op.operands),
            rewriter,
            origin: op,
            epsilon: f64::from(*epsilon),
            feature: *feature_index,
            whole: TensorType::new(dtype, &shape),
            vector: TensorType::new(dtype, &[features]),
            count: (elements / features) as f64,
        };
        for place in 0..writer.operands.len() {
            let value = writer.operands[place];
            let wide = writer.rewriter.tensor(value).cloned()?;
            let wide = TensorType { element: ElementType::Plain(dtype), ..wide };
            writer.operands[place] = writer.as_type(value, &wide);
        }
        Some(writer)
    }

    fn results(&mut self, kind: &OpKind) -> Vec<ValueId> {
        match (kind, self.operands.clone().as_slice()) {
            (OpKind::BatchNormInference { .. }, [x, scale, offset, mean, variance]) => {
                vec![self.normalized(*x, *scale, *offset, *mean, *variance)]
            }
            (OpKind::BatchNormTraining { .. }, [x, scale, offset]) => {
                let mean = self.mean(*x);
                let spread = self.spread(mean);
                let centered = self.binary(Binary::Subtract, *x, spread);
                let squares = self.binary(Binary::Multiply, centered, centered);
                let variance = self.mean(squares);
                vec![self.normalized(*x, *scale, *offset, mean, variance), mean, variance]
            }
            (OpKind::BatchNormGrad { .. }, [x, scale, mean, variance, gradient]) => {
                self.gradient([*x, *scale, *mean, *variance, *gradient])
            }
            _ => Vec::new(),
        }
    }

    fn normalized(
        &mut self,
        x: ValueId,
        scale: ValueId,
        offset: ValueId,
        mean: ValueId,
        variance: ValueId,
    ) -> ValueId {
        let deviation = self.deviation(variance);
        let (mean, deviation) = (self.spread(mean), self.spread(deviation));
        let centered = self.binary(Binary::Subtract, x, mean);
        let unit = self.binary(Binary::Divide, centered, deviation);
        let (scale, offset) = (self.spread(scale), self.spread(offset));
        let scaled = self.binary(Binary::Multiply, unit, scale);
        self.binary(Binary::Add, scaled, offset)
    }

    /// The gradients of the operand, the scale and the offset.
    fn gradient(&mut self, [x, scale, mean, variance, gradient]: [ValueId; 5]) -> Vec<ValueId> {
        let deviation = self.deviation(variance);
        let mean = self.spread(mean);
        let centered = self.binary(Binary::Subtract, x, mean);
        let moved = self.binary(Binary::Multiply, gradient, centered);
        let (sums, products) = (self.sum(gradient), self.sum(moved));
        let of_scale = self.binary(Binary::Divide, products, deviation);
        // scale / deviation / count * (gradient * count - sums - products * centered / variance)
        let count = self.number(self.count, &self.whole.clone());
        let whole = self.binary(Binary::Multiply, gradient, count);
        let spread_sums = self.spread(sums);
        let less = self.binary(Binary::Subtract, whole, spread_sums);
        let share = self.binary(Binary::Divide, of_scale, deviation);
        let share = self.spread(share);
        let shift = self.binary(Binary::Multiply, share, centered);
        let rest = self.binary(Binary::Subtract, less, shift);
        let factor = self.binary(Binary::Divide, scale, deviation);
        let count = self.number(self.count, &self.vector.clone());
        let factor = self.binary(Binary::Divide, factor, count);
        let factor = self.spread(factor);
        vec![self.binary(Binary::Multiply, factor, rest), of_scale, sums]
    }

    /// The square root of a variance and a little.
    fn deviation(&mut self, variance: ValueId) -> ValueId {
        let little = self.number(self.epsilon, &self.vector.clone());
        let sum = self.binary(Binary::Add, variance, little);
        self.rewriter.emit_one(
            OpKind::Unary(Unary::Sqrt),
            vec![sum],
            self.vector.clone(),
            self.origin,
        )
    }

    fn binary(&mut self, op: Binary, a: ValueId, b: ValueId) -> ValueId {
        let ty = self.rewriter.ty(a).tensor().cloned().unwrap_or_else(|| self.whole.clone());
        self.rewriter.emit_one(OpKind::Binary(op), vec![a, b], ty, self.origin)
    }

    /// A vector as a tensor of the whole shape.
    fn spread(&mut self, vector: ValueId) -> ValueId {
        let kind = OpKind::BroadcastInDim { dimensions: vec![self.feature] };
        self.rewriter.emit_one(kind, vec![vector], self.whole.clone(), self.origin)
    }

    fn mean(&mut self, value: ValueId) -> ValueId {
        let sum = self.sum(value);
        let count = self.number(self.count, &self.vector.clone());
        self.binary(Binary::Divide, sum, count)
    }

    /// The sum of each feature's elements.
    fn sum(&mut self, value: ValueId) -> ValueId {
        let scalar = TensorType { dimensions: Vec::new(), ..self.vector.clone() };
        let zero = self.number(0.0, &scalar);
        let rank = self.whole.dimensions.len() as i64;
        let dimensions = (0..rank).filter(|at| *at != self.feature).collect();
        let arguments =
            [(); 2].map(|()| self.rewriter.fresh_argument(Type::Tensor(scalar.clone())));
        let outer = self.rewriter.open();
        let add = OpKind::Binary(Binary::Add);
        let sum = self.rewriter.emit_one(add, arguments.to_vec(), scalar, self.origin);
        self.rewriter.emit(OpKind::Return, vec![sum], Vec::new(), self.origin);
        let ops = self.rewriter.close(outer);
        let region = Region { arguments: arguments.to_vec(), ops };
        let kind = OpKind::Reduce { dimensions };
        let (ty, origin) = (self.vector.clone(), self.origin);
        self.rewriter.emit_with(kind, vec![value, zero], ty, vec![region], origin)
    }

    fn number(&mut self, number: f64, ty: &TensorType) -> ValueId {
        let bytes: Vec<u8> = match ty.dtype() {
            Some(DType::F64) => number.to_le_bytes().to_vec(),
            _ => (number as f32).to_le_bytes().to_vec(),
        };
        let dense = Dense { ty: ty.clone(), splat: true, bytes: bytes.into() };
        self.rewriter.constant(dense, self.origin)
    }

    fn as_type(&mut self, value: ValueId, ty: &TensorType) -> ValueId {
        if self.rewriter.tensor(value) == Some(ty) {
            return value;
        }
        self.rewriter.emit_one(OpKind::Convert, vec![value], ty.clone(), self.origin)
    }
}

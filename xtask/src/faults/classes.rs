//! Classes of faults, and how each is planted into a program or its arguments.
//!
//! Values of the program keep their numbers: what a fault adds has numbers behind all others, so that what is found can be held
//! against what was planted.

use serde::{Deserialize, Serialize};
use warpforge_hlo::attribute::Dense;
use warpforge_hlo::ir::{Binary, Direction, Function, Op, OpKind, Program, Unary, Value, ValueId};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::{DType, Tensor};

/// What can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Class {
    /// A product reads a square operand the other way round.
    WrongTranspose,
    /// A sum leaves its second part out.
    DroppedBias,
    /// A small constant is ten times what it should be.
    EpsilonTimesTen,
    /// A sum or broadcast is along another dimension of the same size.
    WrongAxis,
    /// A parameter is that of another step.
    StaleWeight,
    /// Two results of one type are given for one another.
    SwappedResults,
    /// One part of a sum is a tenth too large.
    ScaledResidual,
    /// A comparison includes its boundary, or leaves it out.
    OffByOne,
    /// One element is no number.
    NotANumber,
    /// The highest bit of an exponent is flipped in one element of an argument.
    FlippedBit,
    /// A correction that should grow over the steps is 1.
    MissingCorrection,
    /// A product's sums are rounded to bf16.
    NarrowSum,
    /// A difference instead of a sum, or the other way round.
    WrongSign,
    /// The smaller instead of the larger, one function instead of another.
    WrongFunction,
    /// A factor is left out.
    DroppedFactor,
    /// A result is off by a small share: for what must stay silent.
    SlightlyScaled,
}

impl Class {
    /// Those that must be found.
    pub(super) const LARGE: [Self; 15] = [
        Self::WrongTranspose,
        Self::DroppedBias,
        Self::EpsilonTimesTen,
        Self::WrongAxis,
        Self::StaleWeight,
        Self::SwappedResults,
        Self::ScaledResidual,
        Self::OffByOne,
        Self::NotANumber,
        Self::FlippedBit,
        Self::MissingCorrection,
        Self::NarrowSum,
        Self::WrongSign,
        Self::WrongFunction,
        Self::DroppedFactor,
    ];

    /// Whether it changes an argument and not the program.
    pub(super) fn is_of_arguments(self) -> bool {
        matches!(self, Self::StaleWeight | Self::FlippedBit)
    }
}

/// Plants a fault at the op of this number, of the entry function; none where the op has nothing that can be wrong so.
pub(super) fn plant(
    program: &Program,
    entry: &str,
    class: Class,
    at: usize,
    scale: f64,
) -> Option<Program> {
    let mut program = program.clone();
    let function = program.functions.iter_mut().find(|function| function.name == entry)?;
    let mut planter = Planter { function, at };
    planter.plant(class, scale)?;
    warpforge_hlo::verify(&program).is_ok().then_some(program)
}

struct Planter<'a> {
    function: &'a mut Function,
    at: usize,
}

impl Planter<'_> {
    fn op(&self) -> &Op {
        &self.function.body.ops[self.at]
    }

    fn op_mut(&mut self) -> &mut Op {
        &mut self.function.body.ops[self.at]
    }

    fn tensor(&self, value: ValueId) -> Option<&TensorType> {
        self.function.ty(value).tensor()
    }

    fn is_float(&self, value: ValueId) -> bool {
        self.tensor(value).is_some_and(|ty| ty.dtype() == Some(DType::F32))
    }

    fn same_type(&self, left: ValueId, right: ValueId) -> bool {
        self.function.ty(left) == self.function.ty(right)
    }

    fn plant(&mut self, class: Class, scale: f64) -> Option<()> {
        let op = self.op().clone();
        let result = op.results.first().copied();
        match class {
            Class::WrongTranspose => {
                let OpKind::DotGeneral(mut dot) = op.kind.clone() else { return None };
                let right = self.tensor(op.operands[1])?.sizes()?;
                let [contracting] = dot.rhs_contracting[..] else { return None };
                let free = |at: &i64| *at != contracting && !dot.rhs_batching.contains(at);
                let other = (0..right.len() as i64).find(free)?;
                if right[other as usize] != right[contracting as usize] || right[other as usize] < 2
                {
                    return None;
                }
                dot.rhs_contracting = vec![other];
                self.op_mut().kind = OpKind::DotGeneral(dot);
            }
            Class::DroppedBias => self.keep_one(&op, Binary::Add)?,
            Class::DroppedFactor => self.keep_one(&op, Binary::Multiply)?,
            Class::EpsilonTimesTen => {
                let OpKind::Constant(dense) = &op.kind else { return None };
                let value = splat(dense).filter(|value| *value > 0.0 && *value < 1e-4)?;
                self.op_mut().kind = OpKind::Constant(floats(&dense.ty, value * 10.0));
            }
            Class::WrongAxis => self.other_axis(&op)?,
            Class::SwappedResults => {
                let OpKind::FunctionReturn = op.kind else { return None };
                let places = 0..op.operands.len();
                let pairs = places.flat_map(|left| {
                    let operands = &op.operands;
                    (left + 1..operands.len()).map(move |right| (left, right))
                });
                let alike: Vec<(usize, usize)> = pairs
                    .filter(|(left, right)| self.same_type(op.operands[*left], op.operands[*right]))
                    .collect();
                let (left, right) = *alike.get((scale * alike.len() as f64) as usize)?;
                self.op_mut().operands.swap(left, right);
            }
            Class::ScaledResidual => {
                let OpKind::Binary(Binary::Add) = op.kind else { return None };
                if !self.is_float(op.operands[1]) || self.is_constant(op.operands[1]) {
                    return None;
                }
                let scaled = self.times(op.operands[1], 1.1)?;
                let at = self.at;
                self.function.body.ops[at].operands[1] = scaled;
            }
            Class::OffByOne => {
                let OpKind::Compare { direction, kind } = op.kind.clone() else { return None };
                let direction = match direction {
                    Direction::Lt => Direction::Le,
                    Direction::Le => Direction::Lt,
                    Direction::Gt => Direction::Ge,
                    Direction::Ge => Direction::Gt,
                    Direction::Eq | Direction::Ne => return None,
                };
                self.op_mut().kind = OpKind::Compare { direction, kind };
            }
            Class::NotANumber => {
                let result = result.filter(|result| self.is_float(*result))?;
                let ty = self.tensor(result)?.clone();
                let count: u64 = ty.sizes()?.iter().product();
                if count == 0 || matches!(op.kind, OpKind::Constant(_)) {
                    return None;
                }
                let mut numbers = vec![0.0_f32; count as usize];
                numbers[(scale * count as f64) as usize % count as usize] = f32::NAN;
                let bytes: Vec<u8> = numbers.iter().flat_map(|value| value.to_le_bytes()).collect();
                let dense = Dense { ty, splat: false, bytes: bytes.into() };
                self.follow(Binary::Add, OpKind::Constant(dense))?;
            }
            Class::MissingCorrection => {
                let OpKind::Unary(Unary::Negate) = op.kind else { return None };
                let ty = self.tensor(result?)?.clone();
                if !ty.sizes()?.is_empty() {
                    return None;
                }
                let op = self.op_mut();
                op.operands.clear();
                op.kind = OpKind::Constant(floats(&ty, 1.0));
            }
            Class::NarrowSum => {
                let OpKind::DotGeneral(_) = op.kind else { return None };
                self.rounded(result.filter(|result| self.is_float(*result))?)?;
            }
            Class::WrongSign => {
                let kind = match op.kind {
                    OpKind::Binary(Binary::Add) => Binary::Subtract,
                    OpKind::Binary(Binary::Subtract) => Binary::Add,
                    _ => return None,
                };
                if !self.is_float(result?) {
                    return None;
                }
                self.op_mut().kind = OpKind::Binary(kind);
            }
            Class::WrongFunction => {
                let kind = match op.kind {
                    OpKind::Binary(Binary::Maximum) => OpKind::Binary(Binary::Minimum),
                    OpKind::Unary(Unary::Rsqrt) => OpKind::Unary(Unary::Sqrt),
                    OpKind::Unary(Unary::Sqrt) => OpKind::Unary(Unary::Rsqrt),
                    OpKind::Unary(Unary::Tanh) => OpKind::Unary(Unary::Logistic),
                    OpKind::Unary(Unary::Exponential) => OpKind::Unary(Unary::ExponentialMinusOne),
                    _ => return None,
                };
                self.op_mut().kind = kind;
            }
            Class::SlightlyScaled => {
                let result = result.filter(|result| self.is_float(*result))?;
                if matches!(op.kind, OpKind::Constant(_)) {
                    return None;
                }
                let ty = self.tensor(result)?.clone();
                self.follow(Binary::Multiply, OpKind::Constant(floats(&ty, 1.0 + scale)))?;
            }
            Class::StaleWeight | Class::FlippedBit => return None,
        }
        Some(())
    }

    fn is_constant(&self, value: ValueId) -> bool {
        let made = self.function.body.ops.iter().find(|op| op.results.contains(&value));
        made.is_some_and(|op| matches!(op.kind, OpKind::Constant(_)))
    }

    /// A sum or product that is its first operand only.
    fn keep_one(&mut self, op: &Op, kind: Binary) -> Option<()> {
        if op.kind != OpKind::Binary(kind) || !self.is_float(op.operands[0]) {
            return None;
        }
        if self.is_constant(op.operands[0]) || self.is_constant(op.operands[1]) {
            return None;
        }
        let op = self.op_mut();
        op.kind = OpKind::Convert;
        op.operands.truncate(1);
        Some(())
    }

    /// Another dimension of the same size.
    fn other_axis(&mut self, op: &Op) -> Option<()> {
        match &op.kind {
            OpKind::Reduce { dimensions } => {
                let [dimension] = dimensions[..] else { return None };
                let sizes = self.tensor(op.operands[0])?.sizes()?;
                let size = sizes[usize::try_from(dimension).ok()?];
                let same = |at: &i64| *at != dimension && sizes[*at as usize] == size && size > 1;
                let other = (0..sizes.len() as i64).find(same)?;
                self.op_mut().kind = OpKind::Reduce { dimensions: vec![other] };
            }
            OpKind::BroadcastInDim { dimensions } => {
                let [dimension] = dimensions[..] else { return None };
                let sizes = self.tensor(op.results[0])?.sizes()?;
                let size = sizes[usize::try_from(dimension).ok()?];
                let same = |at: &i64| *at != dimension && sizes[*at as usize] == size && size > 1;
                let other = (0..sizes.len() as i64).find(same)?;
                self.op_mut().kind = OpKind::BroadcastInDim { dimensions: vec![other] };
            }
            _ => return None,
        }
        Some(())
    }

    /// A new value of the type of another.
    fn value(&mut self, like: ValueId) -> ValueId {
        let ty = self.function.ty(like).clone();
        self.typed(ty)
    }

    fn typed(&mut self, ty: warpforge_hlo::types::Type) -> ValueId {
        let number = self.function.values.len();
        self.function.values.push(Value { ty, name: format!("planted{number}").into() });
        ValueId(number as u32)
    }

    fn insert(&mut self, at: usize, kind: OpKind, operands: Vec<ValueId>, result: ValueId) {
        self.function.body.ops.insert(at, Op::new(kind, operands, vec![result]));
    }

    /// A value times a number, computed before the op.
    fn times(&mut self, value: ValueId, factor: f64) -> Option<ValueId> {
        let ty = self.tensor(value)?.clone();
        let (constant, product) = (self.value(value), self.value(value));
        let at = self.at;
        self.insert(at, OpKind::Constant(floats(&ty, factor)), Vec::new(), constant);
        self.insert(at + 1, OpKind::Binary(Binary::Multiply), vec![value, constant], product);
        self.at += 2;
        Some(product)
    }

    /// The op's result, combined with a constant, takes its place.
    fn follow(&mut self, with: Binary, constant: OpKind) -> Option<()> {
        let result = *self.op().results.first()?;
        if self.op().results.len() != 1 {
            return None;
        }
        let (before, number) = (self.value(result), self.value(result));
        self.op_mut().results = vec![before];
        let at = self.at;
        self.insert(at + 1, constant, Vec::new(), number);
        self.insert(at + 2, OpKind::Binary(with), vec![before, number], result);
        Some(())
    }

    /// The op's result, rounded to bf16 and back, takes its place.
    fn rounded(&mut self, result: ValueId) -> Option<()> {
        let sizes = self.tensor(result)?.sizes()?;
        let sizes: Vec<usize> = sizes.iter().map(|size| *size as usize).collect();
        let narrow = warpforge_hlo::types::Type::Tensor(TensorType::new(DType::BF16, &sizes));
        let (before, narrow) = (self.value(result), self.typed(narrow));
        self.op_mut().results = vec![before];
        let at = self.at;
        self.insert(at + 1, OpKind::Convert, vec![before], narrow);
        self.insert(at + 2, OpKind::Convert, vec![narrow], result);
        Some(())
    }
}

/// The only number of a constant.
fn splat(dense: &Dense) -> Option<f64> {
    let one = dense.splat || dense.ty.sizes().is_some_and(|sizes| sizes.is_empty());
    let bytes: [u8; 4] = dense.bytes.get(..4)?.try_into().ok()?;
    (one && dense.ty.dtype() == Some(DType::F32)).then(|| f64::from(f32::from_le_bytes(bytes)))
}

fn floats(ty: &TensorType, value: f64) -> Dense {
    let bytes = (value as f32).to_le_bytes().to_vec();
    Dense { ty: ty.clone(), splat: true, bytes: bytes.into() }
}

/// Flips the highest bit of the exponent of one element.
pub(super) fn flip(tensor: &Tensor, at: usize) -> Option<Tensor> {
    let mut values = tensor.floats().ok()?;
    let place = at % values.len().max(1);
    let value = values.get_mut(place)?;
    *value = f64::from(f32::from_bits((*value as f32).to_bits() ^ (1 << 30)));
    Tensor::from_floats(tensor.dtype(), tensor.shape().clone(), values).ok()
}

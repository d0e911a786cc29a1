//! A region of nothing but scalars, made into a list of steps over numbered registers, so that calling it for each element
//! allocates nothing but its results.
//!
//! Invariant: each step computes what the op would, rounded to the type of its result.

use std::collections::HashMap;

use warpforge_hlo::ir::{Binary, CompareKind, Direction, Op, OpKind, Region, Unary, ValueId};
use warpforge_tensor::{DType, Tensor};

use super::Value;
use super::elementwise::{
    binary_scalar, clamp_scalar, compare_scalars, convert_scalar, unary_scalar,
};
use super::interpreter::Frame;
use super::scalar::Scalar;
use super::shape::constant;
use crate::EngineError;

/// The steps, and the registers they work on.
pub(super) struct ScalarProgram {
    registers: Vec<Scalar>,
    /// The type each argument must have; the first registers hold them.
    arguments: Vec<DType>,
    steps: Vec<Step>,
    results: Vec<(usize, DType)>,
}

/// What is computed from which registers into which.
struct Step {
    function: Function,
    operands: [usize; 3],
    result: usize,
    /// The type of the operand that decides, and of the result.
    from: DType,
    to: DType,
}

#[derive(Clone, Copy)]
enum Function {
    Unary(Unary),
    Binary(Binary),
    Compare(Direction, Option<CompareKind>),
    Select,
    Clamp,
    Convert,
}

struct Builder<'a> {
    frame: &'a Frame<'a>,
    places: HashMap<ValueId, usize>,
    registers: Vec<Scalar>,
}

impl Builder<'_> {
    /// The type of a value that is a plain scalar.
    fn dtype(&self, id: ValueId) -> Option<DType> {
        let ty = self.frame.function.ty(id).tensor()?;
        (ty.rank() == 0).then(|| ty.dtype()).flatten()
    }

    fn add(&mut self, id: ValueId, value: Scalar) -> usize {
        self.registers.push(value);
        self.places.insert(id, self.registers.len() - 1);
        self.registers.len() - 1
    }

    /// The register of an operand; a value from around the region gets one.
    fn operand(&mut self, id: ValueId) -> Option<usize> {
        if let Some(place) = self.places.get(&id) {
            return Some(*place);
        }
        self.dtype(id)?;
        match self.frame.peek(id)? {
            Value::Tensor(tensor) => Some(self.add(id, Scalar::first(tensor)?)),
            _ => None,
        }
    }

    fn step(&mut self, op: &Op) -> Option<Option<Step>> {
        let [id] = op.results[..] else { return None };
        let to = self.dtype(id)?;
        let (function, decides) = match &op.kind {
            OpKind::Constant(dense) => {
                self.add(id, Scalar::first(&constant(dense).ok()?)?);
                return Some(None);
            }
            OpKind::Unary(unary) => (Function::Unary(*unary), 0),
            OpKind::Binary(binary) => (Function::Binary(*binary), 0),
            OpKind::Compare { direction, kind } => (Function::Compare(*direction, *kind), 0),
            OpKind::Select => (Function::Select, 1),
            OpKind::Clamp => (Function::Clamp, 1),
            OpKind::Convert => (Function::Convert, 0),
            _ => return None,
        };
        let from = self.dtype(*op.operands.get(decides)?)?;
        let mut operands = [0; 3];
        if op.operands.len() > operands.len() {
            return None;
        }
        for (place, id) in operands.iter_mut().zip(&op.operands) {
            self.dtype(*id)?;
            *place = self.operand(*id)?;
        }
        let result = self.add(id, Scalar::Integer(0));
        Some(Some(Step { function, operands, result, from, to }))
    }
}

impl ScalarProgram {
    /// The program of a region; none where it does anything else.
    pub(super) fn new(frame: &Frame<'_>, region: &Region) -> Option<Self> {
        let mut builder = Builder { frame, places: HashMap::new(), registers: Vec::new() };
        let mut arguments = Vec::new();
        for id in &region.arguments {
            arguments.push(builder.dtype(*id)?);
            builder.add(*id, Scalar::Integer(0));
        }
        let (last, ops) = region.ops.split_last()?;
        let mut steps = Vec::new();
        for op in ops {
            steps.extend(builder.step(op)?);
        }
        let results = last
            .operands
            .iter()
            .map(|id| Some((builder.operand(*id)?, builder.dtype(*id)?)))
            .collect::<Option<_>>()?;
        Some(Self { registers: builder.registers, arguments, steps, results })
    }

    /// Computes the results from the arguments.
    pub(super) fn run(&mut self, arguments: &[Tensor]) -> Result<Vec<Tensor>, EngineError> {
        if arguments.len() != self.arguments.len() {
            return Err(EngineError::Value(format!(
                "a region of {} arguments was entered with {}",
                self.arguments.len(),
                arguments.len()
            )));
        }
        for (register, (argument, dtype)) in
            self.registers.iter_mut().zip(arguments.iter().zip(&self.arguments))
        {
            match Scalar::first(argument) {
                Some(value) if argument.dtype() == *dtype => *register = value,
                _ => {
                    return Err(EngineError::Value(format!(
                        "a region was entered with {argument:?} instead of a scalar of {dtype}"
                    )));
                }
            }
        }
        for step in &self.steps {
            let value = step.compute(&self.registers).ok_or_else(|| {
                EngineError::Unsupported(format!(
                    "{} of elements of type {}",
                    step.function.name(),
                    step.from
                ))
            })?;
            self.registers[step.result] = value.rounded(step.to);
        }
        let result = |(place, dtype): &(usize, DType)| Ok(self.registers[*place].tensor(*dtype)?);
        self.results.iter().map(result).collect()
    }
}

impl Step {
    fn compute(&self, registers: &[Scalar]) -> Option<Scalar> {
        let [a, b, c] = self.operands.map(|place| registers[place]);
        match self.function {
            Function::Unary(op) => unary_scalar(op, a, self.from),
            Function::Binary(op) => binary_scalar(op, a, b, self.from),
            Function::Compare(direction, kind) => {
                let holds = compare_scalars(direction, kind, (a, b), self.from);
                Some(Scalar::Integer(i64::from(holds)))
            }
            Function::Select => Some(if a.is_true() { b } else { c }),
            Function::Clamp => clamp_scalar(a, b, c, self.from),
            Function::Convert => Some(convert_scalar(a, self.from, self.to)),
        }
    }
}

impl Function {
    fn name(self) -> &'static str {
        match self {
            Self::Unary(op) => op.name(),
            Self::Binary(op) => op.name(),
            Self::Compare(..) => "stablehlo.compare",
            Self::Select => "stablehlo.select",
            Self::Clamp => "stablehlo.clamp",
            Self::Convert => "stablehlo.convert",
        }
    }
}

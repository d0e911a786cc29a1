//! Programs made in Rust: functions and regions by closures, ops by methods, the types of results by the verifier's own rules.
//!
//! ```
//! use warpforge_hlo::builder::ProgramBuilder;
//! use warpforge_hlo::{HloError, TensorType};
//! use warpforge_tensor::DType;
//!
//! # fn main() -> Result<(), HloError> {
//! let mut program = ProgramBuilder::new("example");
//! program.function("main", [TensorType::new(DType::F32, &[2, 3])], |f, arguments| {
//!     let zero = f.fill(DType::F32, &[], 0.0)?;
//!     let sums = f.reduce(&[arguments[0]], &[zero], &[1], |body, scalars| {
//!         Ok(vec![body.add(scalars[0], scalars[1])?])
//!     })?;
//!     Ok(vec![f.tanh(sums[0])?])
//! })?;
//! let program = program.finish()?;
//! assert_eq!(program.functions[0].results[0].ty.to_string(), "tensor<2xf32>");
//! # Ok(())
//! # }
//! ```
//!
//! Invariants: an op that breaks a rule is refused where it is added; what [`ProgramBuilder::finish`] hands out has been
//! verified as a whole, also for values used outside the region that defines them.

mod elementwise;
mod shape;
mod structure;

use crate::attribute::Attributes;
use crate::error::{Diagnostic, HloError};
use crate::ir::{Argument, Function, FunctionResult, Op, OpKind, Program, Region, Value, ValueId};
use crate::types::{TensorType, Type};
use crate::verify::{check, infer, verify};

/// What building something gives: the thing, or the rule it breaks.
pub type Built<T> = Result<T, HloError>;

/// Builds a program.
#[derive(Debug, Default)]
pub struct ProgramBuilder {
    program: Program,
}

impl ProgramBuilder {
    /// A module of this name without functions.
    pub fn new(name: &str) -> Self {
        Self { program: Program { name: Some(name.to_owned()), ..Program::default() } }
    }

    /// Adds a function that is called from outside; the closure gets its arguments and hands out its results.
    pub fn function<T: Into<Type>>(
        &mut self,
        name: &str,
        arguments: impl IntoIterator<Item = T>,
        body: impl FnOnce(&mut FunctionBuilder<'_>, &[ValueId]) -> Built<Vec<ValueId>>,
    ) -> Built<()> {
        self.add(name, true, arguments, body)
    }

    /// Adds a function that only functions added after it call.
    pub fn private_function<T: Into<Type>>(
        &mut self,
        name: &str,
        arguments: impl IntoIterator<Item = T>,
        body: impl FnOnce(&mut FunctionBuilder<'_>, &[ValueId]) -> Built<Vec<ValueId>>,
    ) -> Built<()> {
        self.add(name, false, arguments, body)
    }

    fn add<T: Into<Type>>(
        &mut self,
        name: &str,
        public: bool,
        arguments: impl IntoIterator<Item = T>,
        body: impl FnOnce(&mut FunctionBuilder<'_>, &[ValueId]) -> Built<Vec<ValueId>>,
    ) -> Built<()> {
        if self.program.function(name).is_some() {
            return Err(invalid(format!("there is already a function @{name}")));
        }
        let mut builder = FunctionBuilder::new(&self.program, name, public);
        let ids: Vec<ValueId> =
            arguments.into_iter().map(|ty| builder.argument(ty.into())).collect();
        builder.function.arguments = ids
            .iter()
            .map(|id| Argument { value: *id, attributes: Attributes::default(), location: None })
            .collect();
        let results = body(&mut builder, &ids)?;
        let function = builder.finish(ids, results)?;
        self.program.functions.push(function);
        Ok(())
    }

    /// The whole program, verified.
    pub fn finish(self) -> Built<Program> {
        verify(&self.program).map_err(|violation| violation.without_text())?;
        Ok(self.program)
    }
}

/// Builds the ops of a function, and of the regions in it.
#[derive(Debug)]
pub struct FunctionBuilder<'a> {
    program: &'a Program,
    function: Function,
    /// The ops of the function and of each region that is being built in it, innermost last.
    open: Vec<Vec<Op>>,
    /// How many arguments and how many ops with results have a name so far.
    named: (usize, usize),
}

impl<'a> FunctionBuilder<'a> {
    fn new(program: &'a Program, name: &str, public: bool) -> Self {
        let function = Function {
            name: name.to_owned(),
            public,
            arguments: Vec::new(),
            results: Vec::new(),
            attributes: Attributes::default(),
            body: Region::default(),
            values: Vec::new(),
            location: None,
            offset: 0,
        };
        Self { program, function, open: vec![Vec::new()], named: (0, 0) }
    }

    fn finish(mut self, arguments: Vec<ValueId>, results: Vec<ValueId>) -> Built<Function> {
        self.known(&results)?;
        let result = |id: &ValueId| FunctionResult {
            ty: self.function.ty(*id).clone(),
            attributes: Attributes::default(),
        };
        self.function.results = results.iter().map(result).collect();
        let mut ops = self.open.pop().expect("the function's own ops are open until now");
        ops.push(op(OpKind::FunctionReturn, results, Vec::new()));
        self.function.body = Region { arguments, ops };
        Ok(self.function)
    }

    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> Built<&Type> {
        self.known(&[value])?;
        Ok(self.function.ty(value))
    }

    /// The type of a value that is a tensor.
    pub fn tensor_type(&self, value: ValueId) -> Built<&TensorType> {
        let ty = self.ty(value)?;
        ty.tensor().ok_or_else(|| self.broken(&format!("expected a tensor, found a {ty}")))
    }

    /// Adds any op whose result types follow from operands, attributes and regions.
    pub fn op(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        regions: Vec<Region>,
    ) -> Built<Vec<ValueId>> {
        self.known(operands)?;
        let op = op(kind, operands.to_vec(), regions);
        let types =
            infer(self.program, &self.function, &op).map_err(|message| self.broken(&message))?;
        Ok(self.push(op, types))
    }

    /// Adds any op, with its result types.
    pub fn op_with_types(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        regions: Vec<Region>,
        types: Vec<Type>,
    ) -> Built<Vec<ValueId>> {
        self.known(operands)?;
        let results = self.push(op(kind, operands.to_vec(), regions), types);
        let added = self.open.last().and_then(|ops| ops.last()).expect("an op was just added");
        match check(self.program, &self.function, added) {
            Ok(()) => Ok(results),
            Err(message) => Err(self.broken(&message)),
        }
    }

    /// Builds a region for [`Self::op`]; the closure gets its arguments and hands out what it returns. Values of the
    /// function and of regions around it can be used in it.
    pub fn region<T: Into<Type>>(
        &mut self,
        arguments: impl IntoIterator<Item = T>,
        body: impl FnOnce(&mut Self, &[ValueId]) -> Built<Vec<ValueId>>,
    ) -> Built<Region> {
        let arguments: Vec<ValueId> =
            arguments.into_iter().map(|ty| self.argument(ty.into())).collect();
        self.open.push(Vec::new());
        let returned = body(self, &arguments);
        let mut ops = self.open.pop().expect("the region's ops were opened above");
        let returned = returned?;
        self.known(&returned)?;
        ops.push(op(OpKind::Return, returned, Vec::new()));
        Ok(Region { arguments, ops })
    }

    /// Adds an op that has one result.
    fn one(&mut self, kind: OpKind, operands: &[ValueId]) -> Built<ValueId> {
        self.op(kind, operands, Vec::new()).map(|results| only(&results))
    }

    /// Adds an op that has one result, of this type.
    fn one_of_type(
        &mut self,
        kind: OpKind,
        operands: &[ValueId],
        ty: TensorType,
    ) -> Built<ValueId> {
        self.op_with_types(kind, operands, Vec::new(), vec![Type::Tensor(ty)])
            .map(|results| only(&results))
    }

    fn argument(&mut self, ty: Type) -> ValueId {
        let name = format!("arg{}", self.named.0);
        self.named.0 += 1;
        self.value(ty, name)
    }

    fn push(&mut self, mut op: Op, types: Vec<Type>) -> Vec<ValueId> {
        let (number, count) = (self.named.1, types.len());
        self.named.1 += usize::from(count > 0);
        let name =
            |place| if count == 1 { number.to_string() } else { format!("{number}#{place}") };
        let ids: Vec<ValueId> =
            types.into_iter().enumerate().map(|(place, ty)| self.value(ty, name(place))).collect();
        op.results.clone_from(&ids);
        self.open.last_mut().expect("the function's own ops are open").push(op);
        ids
    }

    fn value(&mut self, ty: Type, name: String) -> ValueId {
        let id = ValueId(self.function.values.len() as u32);
        self.function.values.push(Value { ty, name: name.into() });
        id
    }

    /// Whether all these are values of this function.
    fn known(&self, values: &[ValueId]) -> Built<()> {
        if values.iter().all(|id| id.index() < self.function.values.len()) {
            return Ok(());
        }
        Err(self.broken("a value is not one of this function"))
    }

    fn broken(&self, message: &str) -> HloError {
        invalid(format!("in @{}: {message}", self.function.name))
    }
}

fn invalid(message: String) -> HloError {
    HloError::Invalid(Box::new(Diagnostic::placeless(message)))
}

fn op(kind: OpKind, operands: Vec<ValueId>, regions: Vec<Region>) -> Op {
    Op { regions, ..Op::new(kind, operands, Vec::new()) }
}

/// The result of an op whose rule gives exactly one.
fn only(results: &[ValueId]) -> ValueId {
    results[0]
}

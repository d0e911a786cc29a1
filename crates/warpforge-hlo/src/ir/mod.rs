//! What a program is: functions of ops in a tree of regions.
//!
//! Invariants, once [`crate::verify()`] has passed: every operand is defined before it is used, in the same region or one
//! around it; every value has one definition; a region ends with its only terminator.

mod dimensions;
mod kind;
mod location;
mod notation;

pub use dimensions::{
    Channel, Convolution, ConvolutionDimensions, CustomCall, DotGeneral, Gather, Group, Padding,
    Precision, Scatter, Window,
};
pub use kind::{
    Binary, CompareKind, Direction, Distribution, FftKind, OpKind, RandomAlgorithm, Transpose,
    Unary,
};
pub use location::{Location, LocationId, Locations};

use crate::attribute::Attributes;
use crate::types::Type;

/// A value of a function, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

impl ValueId {
    /// The place in [`Function::values`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Its type.
    pub ty: Type,
    /// Its name in the text, without `%`; with `#` and the place for one of several results.
    pub name: Box<str>,
}

/// A module.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// The module's name, if it has one.
    pub name: Option<String>,
    /// The module's attributes.
    pub attributes: Attributes,
    /// The functions, in the order of the text.
    pub functions: Vec<Function>,
    /// Where things come from in the user's model.
    pub locations: Locations,
    /// What was read but has no meaning here, such as sharding annotations.
    pub notes: Vec<String>,
}

/// A function.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Its name, without `@`.
    pub name: String,
    /// Whether it is called from outside.
    pub public: bool,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// Its results.
    pub results: Vec<FunctionResult>,
    /// Attributes of the function itself.
    pub attributes: Attributes,
    /// Its ops; the region's arguments are those of the function.
    pub body: Region,
    /// All values in it, in the order of their definition.
    pub values: Vec<Value>,
    /// Where it comes from.
    pub location: Option<LocationId>,
    /// Where it stands in the text, in bytes.
    pub offset: usize,
}

/// An argument of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The value.
    pub value: ValueId,
    /// Its attributes, such as `jax.arg_info`.
    pub attributes: Attributes,
    /// Where it comes from.
    pub location: Option<LocationId>,
}

/// A result of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionResult {
    /// Its type.
    pub ty: Type,
    /// Its attributes, such as `jax.result_info`.
    pub attributes: Attributes,
}

/// A block of ops with arguments of its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Region {
    /// The values it is entered with.
    pub arguments: Vec<ValueId>,
    /// The ops, the last being the terminator.
    pub ops: Vec<Op>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    /// What it does, with the attributes that say how.
    pub kind: OpKind,
    /// What it reads.
    pub operands: Vec<ValueId>,
    /// What it defines.
    pub results: Vec<ValueId>,
    /// The ops inside it.
    pub regions: Vec<Region>,
    /// Attributes that do not change what it computes.
    pub attributes: Attributes,
    /// Where it comes from in the user's model.
    pub location: Option<LocationId>,
    /// Where it stands in the text, in bytes; 0 for ops made in Rust.
    pub offset: usize,
}

impl Op {
    /// An op made in Rust, without regions.
    pub fn new(kind: OpKind, operands: Vec<ValueId>, results: Vec<ValueId>) -> Self {
        Self {
            kind,
            operands,
            results,
            regions: Vec::new(),
            attributes: Attributes::default(),
            location: None,
            offset: 0,
        }
    }
}

impl Program {
    /// The function of this name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// The function a run begins with: `main`, or the only public one.
    pub fn main(&self) -> Option<&Function> {
        self.function("main").or_else(|| {
            let mut public = self.functions.iter().filter(|function| function.public);
            public.next().filter(|_| public.next().is_none())
        })
    }

    /// The same program without what only says where it stood in a text, and without notes: what two texts of one program
    /// have in common.
    #[must_use]
    pub fn without_places(mut self) -> Self {
        fn walk(region: &mut Region) {
            for op in &mut region.ops {
                op.offset = 0;
                op.regions.iter_mut().for_each(walk);
            }
        }
        self.notes.clear();
        for function in &mut self.functions {
            function.offset = 0;
            walk(&mut function.body);
        }
        self
    }

    /// The number of ops in all functions, regions included.
    pub fn op_count(&self) -> usize {
        self.functions.iter().map(|function| function.body.op_count()).sum()
    }
}

impl Function {
    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> &Type {
        &self.values[value.index()].ty
    }
}

impl Region {
    /// The last op, which hands the region's results out.
    pub fn terminator(&self) -> Option<&Op> {
        self.ops.last()
    }

    /// The number of ops, regions within them included.
    pub fn op_count(&self) -> usize {
        let inner = |op: &Op| op.regions.iter().map(Self::op_count).sum::<usize>();
        self.ops.iter().map(|op| 1 + inner(op)).sum()
    }
}

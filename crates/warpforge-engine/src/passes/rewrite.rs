//! Making a function anew, op by op, in order: what every pass is written with.
//!
//! What always holds: an op is emitted after everything it reads; each value of the old function that is still wanted has a
//! value of the new one; values that are not arguments are named by their number, so the text of a result is the same
//! whatever the names were before.

use warpforge_hlo::attribute::{Attributes, Dense};
use warpforge_hlo::ir::{Function, Op, OpKind, Region, Value, ValueId};
use warpforge_hlo::types::{ElementType, TensorType, Type};
use warpforge_tensor::DType;

/// A function under construction, from an old one.
pub(crate) struct Rewriter {
    function: Function,
    ops: Vec<Op>,
    /// The new value of each old one.
    map: Vec<Option<ValueId>>,
}

impl Rewriter {
    /// Begins with the arguments of the old function.
    pub(crate) fn new(old: &Function) -> Self {
        let mut rewriter = Self {
            function: Function {
                name: old.name.clone(),
                public: old.public,
                arguments: old.arguments.clone(),
                results: old.results.clone(),
                attributes: old.attributes.clone(),
                body: Region::default(),
                values: Vec::with_capacity(old.values.len()),
                location: old.location,
                offset: old.offset,
            },
            ops: Vec::with_capacity(old.body.ops.len()),
            map: vec![None; old.values.len()],
        };
        let arguments: Vec<ValueId> = old
            .body
            .arguments
            .iter()
            .map(|argument| rewriter.import(*argument, &old.values[argument.index()]))
            .collect();
        for (argument, value) in rewriter.function.arguments.iter_mut().zip(&arguments) {
            argument.value = *value;
        }
        rewriter.function.body.arguments = arguments;
        rewriter
    }

    fn import(&mut self, old: ValueId, value: &Value) -> ValueId {
        let new = self.fresh(value.ty.clone(), &value.name);
        self.map[old.index()] = Some(new);
        new
    }

    fn fresh(&mut self, ty: Type, name: &str) -> ValueId {
        let id = ValueId(self.function.values.len() as u32);
        self.function.values.push(Value { ty, name: name.into() });
        id
    }

    /// The new value of an old one.
    pub(crate) fn value(&self, old: ValueId) -> ValueId {
        self.map[old.index()].expect("ops come after what they read")
    }

    /// The new values of several old ones.
    pub(crate) fn values(&self, old: &[ValueId]) -> Vec<ValueId> {
        old.iter().map(|old| self.value(*old)).collect()
    }

    /// Says that an old value is this new one from now on.
    pub(crate) fn replace(&mut self, old: ValueId, new: ValueId) {
        self.map[old.index()] = Some(new);
    }

    /// The type of a new value.
    pub(crate) fn ty(&self, new: ValueId) -> &Type {
        self.function.ty(new)
    }

    /// The type of a new value that is a tensor.
    pub(crate) fn tensor(&self, new: ValueId) -> Option<&TensorType> {
        self.ty(new).tensor()
    }

    /// The ops emitted so far.
    pub(crate) fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Adds an op on new values that stands for an old one.
    pub(crate) fn emit(
        &mut self,
        kind: OpKind,
        operands: Vec<ValueId>,
        types: Vec<Type>,
        origin: &Op,
    ) -> Vec<ValueId> {
        let results: Vec<ValueId> = types.into_iter().map(|ty| self.fresh(ty, "")).collect();
        self.ops.push(Op {
            kind,
            operands,
            results: results.clone(),
            regions: Vec::new(),
            attributes: Attributes::default(),
            location: origin.location,
            offset: origin.offset,
        });
        results
    }

    /// Adds an op with regions and one tensor as its result.
    pub(crate) fn emit_with(
        &mut self,
        kind: OpKind,
        operands: Vec<ValueId>,
        ty: TensorType,
        regions: Vec<Region>,
        origin: &Op,
    ) -> ValueId {
        let result = self.emit_one(kind, operands, ty, origin);
        if let Some(op) = self.ops.last_mut() {
            op.regions = regions;
        }
        result
    }

    /// Adds an op with one tensor as its result.
    pub(crate) fn emit_one(
        &mut self,
        kind: OpKind,
        operands: Vec<ValueId>,
        ty: TensorType,
        origin: &Op,
    ) -> ValueId {
        self.emit(kind, operands, vec![Type::Tensor(ty)], origin)[0]
    }

    /// Adds a constant.
    pub(crate) fn constant(&mut self, dense: Dense, origin: &Op) -> ValueId {
        let ty = dense.ty.clone();
        self.emit_one(OpKind::Constant(dense), Vec::new(), ty, origin)
    }

    /// Copies an op of `old`, with its regions; its results have new values afterwards.
    pub(crate) fn copy(&mut self, old: &Function, op: &Op) {
        let copied = self.copied(old, op);
        self.ops.push(copied);
    }

    /// Copies an op of one result, but it takes and gives elements of another type; its result is converted to what it was.
    pub(crate) fn copy_as(&mut self, old: &Function, op: &Op, dtype: DType) {
        let as_type =
            |ty: &TensorType| TensorType { element: ElementType::Plain(dtype), ..ty.clone() };
        let Some(ty) = old.ty(op.results[0]).tensor().cloned() else {
            return self.copy(old, op);
        };
        let mut operands = self.values(&op.operands);
        for operand in &mut operands {
            if let Some(ty) = self.tensor(*operand).map(as_type) {
                *operand = self.emit_one(OpKind::Convert, vec![*operand], ty, op);
            }
        }
        let result = self.emit_one(op.kind.clone(), operands, as_type(&ty), op);
        let back = match ty.dtype() == Some(dtype) {
            true => result,
            false => self.emit_one(OpKind::Convert, vec![result], ty, op),
        };
        self.replace(op.results[0], back);
    }

    fn copied(&mut self, old: &Function, op: &Op) -> Op {
        let operands = self.values(&op.operands);
        let regions = op.regions.iter().map(|region| self.copied_region(old, region)).collect();
        let results = op
            .results
            .iter()
            .map(|result| self.import(*result, &old.values[result.index()]))
            .collect();
        Op {
            kind: op.kind.clone(),
            operands,
            results,
            regions,
            attributes: op.attributes.clone(),
            location: op.location,
            offset: op.offset,
        }
    }

    /// Copies a region of `old`.
    pub(crate) fn copied_region(&mut self, old: &Function, region: &Region) -> Region {
        let arguments = region
            .arguments
            .iter()
            .map(|argument| self.import(*argument, &old.values[argument.index()]))
            .collect();
        let ops = region.ops.iter().map(|op| self.copied(old, op)).collect();
        Region { arguments, ops }
    }

    /// Makes room for the values of another function whose ops are copied in; its arguments become `arguments`. What was
    /// mapped before is given back by [`Self::leave`].
    pub(crate) fn enter(
        &mut self,
        callee: &Function,
        arguments: &[ValueId],
    ) -> Vec<Option<ValueId>> {
        let mut inner = vec![None; callee.values.len()];
        for (formal, actual) in callee.body.arguments.iter().zip(arguments) {
            inner[formal.index()] = Some(*actual);
        }
        std::mem::replace(&mut self.map, inner)
    }

    /// Goes back to the function that was being rewritten before [`Self::enter`].
    pub(crate) fn leave(&mut self, outer: Vec<Option<ValueId>>) {
        self.map = outer;
    }

    /// Opens a list of ops of its own, such as a region's; [`Self::close`] hands it out.
    pub(crate) fn open(&mut self) -> Vec<Op> {
        std::mem::take(&mut self.ops)
    }

    /// Ends what [`Self::open`] began.
    pub(crate) fn close(&mut self, outer: Vec<Op>) -> Vec<Op> {
        std::mem::replace(&mut self.ops, outer)
    }

    /// An argument for a region that is made here.
    pub(crate) fn fresh_argument(&mut self, ty: Type) -> ValueId {
        self.fresh(ty, "")
    }

    /// Imports the arguments of a region of `old`.
    pub(crate) fn region_arguments(&mut self, old: &Function, region: &Region) -> Vec<ValueId> {
        region
            .arguments
            .iter()
            .map(|argument| self.import(*argument, &old.values[argument.index()]))
            .collect()
    }

    /// Adds an op as it is; everything in it is in new values, but for its results, which are imported from `old`.
    pub(crate) fn push(
        &mut self,
        old: &Function,
        op: &Op,
        operands: Vec<ValueId>,
        regions: Vec<Region>,
    ) {
        let results = op
            .results
            .iter()
            .map(|result| self.import(*result, &old.values[result.index()]))
            .collect();
        self.ops.push(Op {
            kind: op.kind.clone(),
            operands,
            results,
            regions,
            attributes: op.attributes.clone(),
            location: op.location,
            offset: op.offset,
        });
    }

    /// The new function. Its values are renumbered in the order of their definition; none that is not defined is left.
    pub(crate) fn finish(mut self) -> Function {
        self.function.body.ops = self.ops;
        renumbered(&self.function)
    }
}

/// The same function with only the values its ops define, numbered and named in order.
fn renumbered(function: &Function) -> Function {
    let mut new = Function {
        values: Vec::with_capacity(function.values.len()),
        body: Region::default(),
        ..shell(function)
    };
    let mut numbering = Numbering {
        old: function,
        values: Vec::with_capacity(function.values.len()),
        map: vec![ValueId(u32::MAX); function.values.len()],
        named: 0,
        arguments: 0,
    };
    new.body = numbering.region(&function.body);
    for argument in &mut new.arguments {
        argument.value = numbering.map[argument.value.index()];
    }
    new.values = numbering.values;
    new
}

fn shell(function: &Function) -> Function {
    Function {
        name: function.name.clone(),
        public: function.public,
        arguments: function.arguments.clone(),
        results: function.results.clone(),
        attributes: function.attributes.clone(),
        body: Region::default(),
        values: Vec::new(),
        location: function.location,
        offset: function.offset,
    }
}

struct Numbering<'a> {
    old: &'a Function,
    values: Vec<Value>,
    map: Vec<ValueId>,
    named: usize,
    arguments: usize,
}

impl Numbering<'_> {
    fn define(&mut self, old: ValueId, name: String) -> ValueId {
        let id = ValueId(self.values.len() as u32);
        self.values.push(Value { ty: self.old.ty(old).clone(), name: name.into() });
        self.map[old.index()] = id;
        id
    }

    fn region(&mut self, region: &Region) -> Region {
        let arguments = region
            .arguments
            .iter()
            .map(|argument| {
                let name = format!("arg{}", self.arguments);
                self.arguments += 1;
                self.define(*argument, name)
            })
            .collect();
        let ops = region.ops.iter().map(|op| self.op(op)).collect();
        Region { arguments, ops }
    }

    fn op(&mut self, op: &Op) -> Op {
        let operands = op.operands.iter().map(|operand| self.map[operand.index()]).collect();
        let regions = op.regions.iter().map(|region| self.region(region)).collect();
        let number = self.named;
        let results: Vec<ValueId> = match op.results.as_slice() {
            [] => Vec::new(),
            [one] => vec![self.define(*one, number.to_string())],
            several => several
                .iter()
                .enumerate()
                .map(|(place, result)| self.define(*result, format!("{number}#{place}")))
                .collect(),
        };
        self.named += usize::from(!results.is_empty());
        Op {
            kind: op.kind.clone(),
            operands,
            results,
            regions,
            attributes: op.attributes.clone(),
            location: op.location,
            offset: op.offset,
        }
    }
}

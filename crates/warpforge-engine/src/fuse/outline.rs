//! Some ops of a function as a function of their own: its arguments are the values they take from outside, its results those
//! that are needed outside.

use std::collections::{HashMap, HashSet};

use warpforge_hlo::attribute::Attributes;
use warpforge_hlo::ir::{Argument, Function, FunctionResult, Op, OpKind, Region, Value, ValueId};

/// Ops taken out of a function.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outlined {
    /// The function they make up.
    pub(crate) function: Function,
    /// What it is called with: values of the function around.
    pub(crate) inputs: Vec<ValueId>,
    /// What its results are: values of the function around.
    pub(crate) outputs: Vec<ValueId>,
}

impl Outlined {
    /// Adds an op that reads a result, `of`, and makes another one, `to`; `around` has both.
    pub(crate) fn also(&mut self, around: &Function, op: &Op, of: ValueId, to: ValueId) {
        let body = &mut self.function.body;
        let place = self.outputs.iter().position(|output| *output == of);
        let (Some(mut end), Some(place)) = (body.ops.pop(), place) else { return };
        let id = ValueId(self.function.values.len() as u32);
        let ty = around.ty(to).clone();
        self.function.values.push(Value { ty: ty.clone(), name: format!("v{}", id.0).into() });
        body.ops.push(Op { operands: vec![end.operands[place]], results: vec![id], ..op.clone() });
        end.operands.push(id);
        body.ops.push(end);
        self.function.results.push(FunctionResult { ty, attributes: Attributes::default() });
        self.outputs.push(to);
    }
}

/// Makes a function of `ops`, which are in order, with these results.
pub(crate) fn outline(around: &Function, name: &str, ops: &[&Op], outputs: &[ValueId]) -> Outlined {
    let (mut inputs, mut defined) = (Vec::new(), HashSet::new());
    ops.iter().for_each(|op| reads(op, &mut defined, &mut inputs));
    outline_with(around, name, ops, inputs, outputs)
}

fn outline_with(
    around: &Function,
    name: &str,
    ops: &[&Op],
    inputs: Vec<ValueId>,
    outputs: &[ValueId],
) -> Outlined {
    let mut outliner = Outliner { around, map: HashMap::new(), values: Vec::new() };
    let arguments: Vec<ValueId> = inputs.iter().map(|input| outliner.define(*input)).collect();
    let mut body: Vec<Op> = ops.iter().map(|op| outliner.op(op)).collect();
    let returned = outputs.iter().map(|output| outliner.map[output]).collect();
    body.push(Op::new(OpKind::FunctionReturn, returned, Vec::new()));
    let argument = |value: &ValueId| Argument {
        value: *value,
        attributes: Attributes::default(),
        location: None,
    };
    let result = |value: &ValueId| FunctionResult {
        ty: around.ty(*value).clone(),
        attributes: Attributes::default(),
    };
    let function = Function {
        name: name.to_owned(),
        public: false,
        arguments: arguments.iter().map(argument).collect(),
        results: outputs.iter().map(result).collect(),
        attributes: Attributes::default(),
        body: Region { arguments, ops: body },
        values: outliner.values,
        location: None,
        offset: 0,
    };
    Outlined { function, inputs, outputs: outputs.to_vec() }
}

/// The same without reshapes at its end, as long as other ops are left: its result has the same elements in the same order.
pub(crate) fn before_last_reshapes(function: &Function) -> Function {
    let mut function = function.clone();
    while let [_, .., last, end] = function.body.ops.as_slice()
        && last.kind == OpKind::Reshape
        && end.operands == last.results
        && let ([from], [result]) = (last.operands.as_slice(), function.results.as_mut_slice())
    {
        result.ty = function.values[from.index()].ty.clone();
        let (from, end) = (*from, function.body.ops.len() - 1);
        function.body.ops[end].operands = vec![from];
        function.body.ops.remove(end - 1);
    }
    function
}

/// Makes a function of a region: its arguments are those of the region and then the values it takes from outside, but for
/// those that `constants` make, which it makes itself.
pub(crate) fn outline_region(around: &Function, region: &Region, constants: &[Op]) -> Outlined {
    let (end, ops) = match region.ops.split_last() {
        Some((end, ops)) => (end.operands.as_slice(), ops),
        None => ([].as_slice(), [].as_slice()),
    };
    let mut defined: HashSet<ValueId> = HashSet::new();
    let mut inputs = region.arguments.clone();
    ops.iter().for_each(|op| reads(op, &mut defined, &mut inputs));
    for value in end {
        if !defined.contains(value) && !inputs.contains(value) {
            inputs.push(*value);
        }
    }
    let (mut own, mut all): (Vec<ValueId>, Vec<&Op>) = (Vec::new(), Vec::new());
    for constant in constants {
        if constant.results.iter().any(|result| inputs.contains(result)) {
            own.extend(&constant.results);
            all.push(constant);
        }
    }
    inputs.retain(|input| !own.contains(input));
    all.extend(ops);
    outline_with(around, "main", &all, inputs, end)
}

struct Outliner<'a> {
    around: &'a Function,
    map: HashMap<ValueId, ValueId>,
    values: Vec<Value>,
}

impl Outliner<'_> {
    fn define(&mut self, old: ValueId) -> ValueId {
        let id = ValueId(self.values.len() as u32);
        let ty = self.around.ty(old).clone();
        self.values.push(Value { ty, name: format!("v{}", id.0).into() });
        self.map.insert(old, id);
        id
    }

    fn op(&mut self, op: &Op) -> Op {
        let operands = op.operands.iter().map(|operand| self.map[operand]).collect();
        let regions = op.regions.iter().map(|region| self.region(region)).collect();
        let results = op.results.iter().map(|result| self.define(*result)).collect();
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

    fn region(&mut self, region: &Region) -> Region {
        let arguments = region.arguments.iter().map(|argument| self.define(*argument)).collect();
        let ops = region.ops.iter().map(|op| self.op(op)).collect();
        Region { arguments, ops }
    }
}

/// The values that an op and the regions in it read but do not define, in the order of their first use.
fn reads(op: &Op, defined: &mut HashSet<ValueId>, inputs: &mut Vec<ValueId>) {
    for operand in &op.operands {
        if !defined.contains(operand) && !inputs.contains(operand) {
            inputs.push(*operand);
        }
    }
    for region in &op.regions {
        defined.extend(&region.arguments);
        region.ops.iter().for_each(|op| reads(op, defined, inputs));
    }
    defined.extend(&op.results);
}

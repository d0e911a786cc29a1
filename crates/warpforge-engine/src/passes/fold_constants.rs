//! Ops on constants become constants. They are computed by the reference interpreter, so a folded value is what the
//! correctness tier would compute; one number spread over a shape stays one number.

use std::collections::HashMap;

use warpforge_hlo::attribute::{Attributes, Dense};
use warpforge_hlo::ir::{
    Argument, Function, FunctionResult, Op, OpKind, Program, Region, Value as HloValue, ValueId,
};
use warpforge_hlo::types::{TensorType, Type};
use warpforge_tensor::{Shape, Tensor};

use super::remove_dead_code::matters;
use super::{Pass, Rewriter, rewrite};
use crate::EngineError;
use crate::reference::{Interpreter, Value};

/// Larger results are left to be computed when the program runs: a constant takes memory for as long as the plan lives.
const MOST_ELEMENTS: usize = 1 << 16;

/// The pass.
#[derive(Debug, Clone, Copy)]
pub struct FoldConstants;

impl Pass for FoldConstants {
    fn name(&self) -> &'static str {
        "fold-constants"
    }

    fn run(&self, program: Program, entry: &str) -> Result<Program, EngineError> {
        rewrite(program, entry, |function| {
            let mut known: HashMap<ValueId, Dense> = HashMap::new();
            let mut rewriter = Rewriter::new(function);
            for op in &function.body.ops {
                let folded = fold(function, op, &known);
                // An iota alone says in one word what its elements would say in many.
                let kept = matches!(op.kind, OpKind::Constant(_) | OpKind::Iota { .. });
                match folded {
                    Some(values) => {
                        if kept {
                            rewriter.copy(function, op);
                        }
                        for (result, dense) in op.results.iter().zip(values) {
                            if !kept {
                                let new = rewriter.constant(dense.clone(), op);
                                rewriter.replace(*result, new);
                            }
                            known.insert(*result, dense);
                        }
                    }
                    None => rewriter.copy(function, op),
                }
            }
            Ok(rewriter.finish())
        })
    }
}

/// The constants that an op's results are.
fn fold(function: &Function, op: &Op, known: &HashMap<ValueId, Dense>) -> Option<Vec<Dense>> {
    if let OpKind::Constant(dense) = &op.kind {
        return Some(vec![dense.clone()]);
    }
    if matters(op) || op.results.is_empty() || !op.regions.is_empty() {
        return None;
    }
    let foldable = !matches!(
        op.kind,
        OpKind::CustomCall(_) | OpKind::AfterAll | OpKind::CreateToken | OpKind::Tuple
    );
    let operands: Vec<&Dense> =
        op.operands.iter().map(|operand| known.get(operand)).collect::<Option<_>>()?;
    let types: Vec<&TensorType> =
        op.results.iter().map(|result| function.ty(*result).tensor()).collect::<Option<_>>()?;
    let plain = |ty: &TensorType| ty.dtype().is_some() && ty.shape().is_some();
    if !foldable || !types.iter().all(|ty| plain(ty)) || !operands.iter().all(|d| plain(&d.ty)) {
        return None;
    }
    if let Some(dense) = spread(op, &operands, &types) {
        return Some(vec![dense]);
    }
    let small = |ty: &TensorType| ty.shape().is_some_and(|shape| shape.elements() <= MOST_ELEMENTS);
    if !types.iter().all(|ty| small(ty)) || !operands.iter().all(|dense| small(&dense.ty)) {
        return None;
    }
    compute(op, &operands, &types)
}

/// The result of an op that treats all places alike, on constants that are the same at all places.
fn spread(op: &Op, operands: &[&Dense], types: &[&TensorType]) -> Option<Dense> {
    let [ty] = types else { return None };
    let single = |dense: &&Dense| dense.splat || dense.ty.rank() == 0;
    if operands.is_empty() || !operands.iter().all(single) {
        return None;
    }
    match &op.kind {
        OpKind::Broadcast { .. }
        | OpKind::BroadcastInDim { .. }
        | OpKind::Reshape
        | OpKind::Transpose { .. }
        | OpKind::Reverse { .. }
        | OpKind::Slice { .. } => {
            Some(Dense { ty: (*ty).clone(), splat: true, bytes: operands[0].bytes.clone() })
        }
        OpKind::Unary(_)
        | OpKind::Binary(_)
        | OpKind::Compare { .. }
        | OpKind::Select
        | OpKind::Clamp
        | OpKind::Convert
        | OpKind::ReducePrecision { .. } => {
            let scalar = |ty: &TensorType| {
                Some(TensorType {
                    dimensions: Vec::new(),
                    element: ty.element.clone(),
                    bounds: None,
                })
            };
            let scalars: Vec<Dense> = operands
                .iter()
                .map(|dense| {
                    Some(Dense { ty: scalar(&dense.ty)?, splat: false, bytes: dense.bytes.clone() })
                })
                .collect::<Option<_>>()?;
            let scalars: Vec<&Dense> = scalars.iter().collect();
            let result = scalar(ty)?;
            let one = compute(op, &scalars, &[&result])?.pop()?;
            Some(Dense { ty: (*ty).clone(), splat: true, bytes: one.bytes })
        }
        _ => None,
    }
}

/// A constant of these elements; one that is the same at all places is said once.
fn whole(ty: TensorType, bytes: &[u8]) -> Dense {
    let elements = ty.shape().map_or(0, |shape| shape.elements());
    let mut each = bytes.chunks_exact((bytes.len() / elements.max(1)).max(1));
    match each.next() {
        Some(first) if elements > 1 && each.all(|next| next == first) => {
            Dense { ty, splat: true, bytes: first.into() }
        }
        _ => Dense { ty, splat: false, bytes: bytes.into() },
    }
}

/// What the reference interpreter makes of an op on these operands; none where it refuses.
fn compute(op: &Op, operands: &[&Dense], types: &[&TensorType]) -> Option<Vec<Dense>> {
    let inputs = operands.iter().map(|dense| tensor(dense).map(Value::Tensor));
    let inputs: Vec<Value> = inputs.collect::<Option<_>>()?;
    let operand_types: Vec<&TensorType> = operands.iter().map(|dense| &dense.ty).collect();
    let program = single_op(op, &operand_types, types);
    let results = Interpreter::new(&program).run(inputs).ok()?;
    results
        .into_iter()
        .zip(types)
        .map(|(value, ty)| match value {
            Value::Tensor(tensor) => Some(whole((*ty).clone(), tensor.bytes())),
            _ => None,
        })
        .collect()
}

/// All elements of a constant.
pub(crate) fn tensor(dense: &Dense) -> Option<Tensor> {
    let shape: Shape = dense.ty.shape()?;
    let bytes =
        if dense.splat { dense.bytes.repeat(shape.elements()) } else { dense.bytes.to_vec() };
    Tensor::new(dense.ty.storage(), shape, bytes).ok()
}

/// A program of one op, whose operands are its arguments. The op must not use values from outside in a region.
pub(crate) fn single_op(op: &Op, operands: &[&TensorType], results: &[&TensorType]) -> Program {
    let value = |(index, ty): (usize, &&TensorType)| HloValue {
        ty: Type::Tensor((*ty).clone()),
        name: format!("v{index}").into(),
    };
    let all: Vec<&TensorType> = operands.iter().chain(results).copied().collect();
    let values: Vec<HloValue> = all.iter().enumerate().map(value).collect();
    let ids = |range: std::ops::Range<usize>| range.map(|id| ValueId(id as u32)).collect();
    let (arguments, returned): (Vec<ValueId>, Vec<ValueId>) =
        (ids(0..operands.len()), ids(operands.len()..all.len()));
    let plain = Op {
        kind: op.kind.clone(),
        operands: arguments.clone(),
        results: returned.clone(),
        regions: Vec::new(),
        attributes: op.attributes.clone(),
        location: None,
        offset: op.offset,
    };
    let end = Op::new(OpKind::FunctionReturn, returned, Vec::new());
    let argument = |value: &ValueId| Argument {
        value: *value,
        attributes: Attributes::default(),
        location: None,
    };
    let result = |ty: &&TensorType| FunctionResult {
        ty: Type::Tensor((*ty).clone()),
        attributes: Attributes::default(),
    };
    let function = Function {
        name: "main".into(),
        public: true,
        arguments: arguments.iter().map(argument).collect(),
        results: results.iter().map(result).collect(),
        attributes: Attributes::default(),
        body: Region { arguments, ops: vec![plain, end] },
        values,
        location: None,
        offset: 0,
    };
    Program { functions: vec![function], ..Program::default() }
}

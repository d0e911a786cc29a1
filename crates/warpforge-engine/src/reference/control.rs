//! Ops that hand control on: branches, loops, calls; and values that are not tensors.

use warpforge_hlo::ir::{Op, OpKind};
use warpforge_tensor::Tensor;

use super::Value;
use super::interpreter::{Context, Frame, State};
use super::liveness::OpLiveness;
use super::scalar::Scalar;
use super::transfer;
use crate::EngineError;

/// Executes an op of this family; none for any other, with its operands as they were.
pub(super) fn execute(
    context: &Context<'_>,
    state: &mut State<'_>,
    frame: &mut Frame<'_>,
    (op, freed): (&Op, &OpLiveness),
    operands: Vec<Value>,
) -> Result<Result<Vec<Value>, EngineError>, Vec<Value>> {
    Ok(match &op.kind {
        OpKind::Call { callee } => context.call(state, callee, operands),
        OpKind::Composite { decomposition, .. } => context.call(state, decomposition, operands),
        OpKind::If => {
            branch(context, state, frame, (op, freed), &operands, |chosen| usize::from(chosen == 0))
        }
        // What is out of range chooses the last branch.
        OpKind::Case => branch(context, state, frame, (op, freed), &operands, |chosen| {
            usize::try_from(chosen).unwrap_or(usize::MAX)
        }),
        OpKind::While => while_loop(context, state, frame, (op, freed), operands),
        OpKind::OptimizationBarrier => Ok(operands),
        OpKind::Tuple => Ok(vec![Value::Tuple(operands)]),
        OpKind::GetTupleElement { index } => tuple_element(operands, *index),
        OpKind::AfterAll | OpKind::CreateToken => Ok(vec![Value::Token]),
        OpKind::Infeed { .. }
        | OpKind::Outfeed { .. }
        | OpKind::Send { .. }
        | OpKind::Recv { .. } => transfer::execute(state, frame, op, operands),
        _ => return Err(operands),
    })
}

fn integer(value: Option<&Value>) -> Result<i64, EngineError> {
    let first = match value {
        Some(Value::Tensor(tensor)) => Scalar::first(tensor),
        _ => None,
    };
    match first {
        Some(Scalar::Integer(value)) => Ok(value),
        _ => Err(EngineError::Value("what decides must be a scalar integer".into())),
    }
}

fn branch(
    context: &Context<'_>,
    state: &mut State<'_>,
    frame: &mut Frame<'_>,
    (op, freed): (&Op, &OpLiveness),
    operands: &[Value],
    number: impl Fn(i64) -> usize,
) -> Result<Vec<Value>, EngineError> {
    let last = op.regions.len().saturating_sub(1);
    let chosen = number(integer(operands.first())?).min(last);
    match (op.regions.get(chosen), freed.regions.get(chosen)) {
        (Some(region), Some(liveness)) => {
            context.region(state, frame, (region, liveness), Vec::new())
        }
        _ => Err(EngineError::Value("there is no branch".into())),
    }
}

fn while_loop(
    context: &Context<'_>,
    state: &mut State<'_>,
    frame: &mut Frame<'_>,
    (op, freed): (&Op, &OpLiveness),
    mut carried: Vec<Value>,
) -> Result<Vec<Value>, EngineError> {
    let ([condition, body], [condition_liveness, body_liveness]) =
        (op.regions.as_slice(), freed.regions.as_slice())
    else {
        return Err(EngineError::Value("a loop has a condition and a body".into()));
    };
    loop {
        let answer =
            context.region(state, frame, (condition, condition_liveness), carried.clone())?;
        if integer(answer.first())? == 0 {
            return Ok(carried);
        }
        carried = context.region(state, frame, (body, body_liveness), carried)?;
        // A loop without ops still takes steps, so that limits hold of it too.
        state.steps += 1;
        if state.most_steps.is_some_and(|most| state.steps > most) {
            return Err(EngineError::Limit(format!("more than {} ops were executed", state.steps)));
        }
    }
}

fn tuple_element(operands: Vec<Value>, index: i64) -> Result<Vec<Value>, EngineError> {
    match operands.into_iter().next() {
        Some(Value::Tuple(parts)) => usize::try_from(index)
            .ok()
            .and_then(|index| parts.into_iter().nth(index))
            .map(|part| vec![part])
            .ok_or_else(|| EngineError::Value(format!("there is no element {index}"))),
        _ => Err(EngineError::Value("the operand is not a tuple".into())),
    }
}

/// The tensors among values that must all be tensors.
pub(super) fn tensors(values: Vec<Value>) -> Result<Vec<Tensor>, EngineError> {
    values
        .into_iter()
        .map(|value| match value {
            Value::Tensor(tensor) => Ok(tensor),
            Value::Tuple(_) => Err(EngineError::Unsupported("a tuple as an operand".into())),
            Value::Token => Err(EngineError::Unsupported("a token as an operand".into())),
        })
        .collect()
}

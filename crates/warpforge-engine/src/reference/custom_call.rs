//! Calls to things outside the specification that exporters write for ops the specification, or `chlo`, does have, and
//! annotations that change no value.

use warpforge_hlo::attribute::{Attribute, Attributes};
use warpforge_hlo::ir::{CustomCall, Unary};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::Tensor;

use super::Value;
use super::control::tensors;
use super::{elementwise, reduction};
use crate::EngineError;

/// Annotations: each result is the operand in its place.
const ANNOTATIONS: [&str; 9] = [
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "annotate_device_placement",
    "LayoutConstraint",
    "MoveToHost",
    "MoveToDevice",
    "xla.sdy.FuncResultSharding",
    "xla.sdy.Sharding",
];

/// Whether a call changes no value.
pub(crate) fn is_annotation(target: &str) -> bool {
    ANNOTATIONS.contains(&target)
}

/// Executes a call whose results have these types; tuples and tokens only pass through annotations.
pub(super) fn execute(
    call: &CustomCall,
    attributes: &Attributes,
    operands: Vec<Value>,
    results: &[&TensorType],
) -> Result<Vec<Value>, EngineError> {
    let target = call.target.as_str();
    if is_annotation(target) {
        return Ok(operands);
    }
    if target == "shape_assertion" {
        return assertion(&tensors(operands)?, attributes).map(|()| Vec::new());
    }
    let unsupported = || {
        let version = call.api_version;
        EngineError::Unsupported(format!("custom call @{target} (api version {version})"))
    };
    let Some(short) = target.strip_prefix("mhlo.").or_else(|| target.strip_prefix("chlo.")) else {
        return Err(unsupported());
    };
    let operands = tensors(operands)?;
    let computed = match (short, operands.as_slice(), results) {
        ("topk" | "top_k", [operand], [_, _]) => {
            let settings = match attributes.get("mhlo.attributes") {
                Some(Attribute::Dictionary(settings)) => settings,
                _ => return Err(unsupported()),
            };
            let Some(Attribute::Integer { value: k, .. }) = settings.get("k") else {
                return Err(unsupported());
            };
            let largest = settings.get("largest") != Some(&Attribute::Bool(false));
            let k = i64::try_from(*k).map_err(|_| unsupported())?;
            reduction::top_k(k, largest, operand, results)?
        }
        (_, [operand], [result]) => vec![unary(short, operand, result).ok_or_else(unsupported)??],
        _ => return Err(unsupported()),
    };
    Ok(computed.into_iter().map(Value::Tensor).collect())
}

fn unary(
    short: &str,
    operand: &Tensor,
    result: &TensorType,
) -> Option<Result<Tensor, EngineError>> {
    let op = Unary::from_name(&format!("chlo.{short}"))
        .or_else(|| Unary::from_name(&format!("stablehlo.{short}")))?;
    Some(elementwise::unary(op, operand, result.storage()))
}

/// A condition the exporter put in; it must hold.
fn assertion(operands: &[Tensor], attributes: &Attributes) -> Result<(), EngineError> {
    let holds = operands.first().is_some_and(|tensor| tensor.bytes().iter().all(|byte| *byte != 0));
    if holds {
        return Ok(());
    }
    let message = attributes.get("error_message").and_then(Attribute::as_text);
    Err(EngineError::Value(message.unwrap_or("an assertion on sizes does not hold").to_owned()))
}

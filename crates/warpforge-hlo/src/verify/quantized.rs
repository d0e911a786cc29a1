//! Between real numbers and the integers that stand for them.

use super::rule::{Expected, Rule, Sees, same_shape, with_dtype};
use crate::types::ElementType;

pub(super) fn quantize(sees: &Sees<'_>) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    let result = sees.result()?;
    let ElementType::Quantized(quantized) = &result.element else {
        return Err(format!("the result must be quantized, found {result}"));
    };
    let from = match &operand.element {
        ElementType::Plain(dtype) => *dtype,
        ElementType::Quantized(other) => other.expressed,
    };
    if from != quantized.expressed || !same_shape(operand, result) {
        return Err(format!("{operand} cannot become {result}"));
    }
    Ok(Expected::Stated)
}

pub(super) fn dequantize(sees: &Sees<'_>) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    let ElementType::Quantized(quantized) = &operand.element else {
        return Err(format!("the operand must be quantized, found {operand}"));
    };
    Ok(Expected::tensor(with_dtype(operand, quantized.expressed)))
}

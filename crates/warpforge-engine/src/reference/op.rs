//! Which function computes each op: the one place where ops and the files of their families meet.

use warpforge_hlo::ir::{Op, OpKind};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::{Shape, Tensor};

use super::Value;
use super::control::{self, tensors};
use super::interpreter::{Context, Frame, State};
use super::liveness::OpLiveness;
use super::{chlo, custom_call, dynamic_shape, elementwise, families, quantized, shape};
use crate::EngineError;

/// Computes the results of an op.
pub(super) fn execute<'a>(
    context: &Context<'_>,
    state: &mut State<'_>,
    frame: &mut Frame<'a>,
    (op, freed): (&Op, &OpLiveness),
    operands: Vec<Value>,
) -> Result<Vec<Value>, EngineError> {
    let operands = match control::execute(context, state, frame, (op, freed), operands) {
        Ok(done) => return done,
        Err(operands) => operands,
    };
    let types = |ids: &[warpforge_hlo::ValueId]| -> Vec<&'a TensorType> {
        ids.iter().filter_map(|id| frame.function.ty(*id).tensor()).collect()
    };
    let (operand_types, result_types) = (types(&op.operands), types(&op.results));
    if let OpKind::CustomCall(call) = &op.kind {
        return custom_call::execute(call, &op.attributes, operands, &result_types);
    }
    let operands = tensors(operands)?;
    let any_quantized = operand_types.iter().chain(&result_types).any(|ty| ty.dtype().is_none());
    let results = match (&op.kind, operands.as_slice(), operand_types.as_slice()) {
        (OpKind::UniformQuantize, [operand], [ty]) => {
            vec![quantized::uniform_quantize(operand, ty, result_types[0])?]
        }
        (OpKind::UniformDequantize, [operand], [ty]) => {
            vec![quantized::uniform_dequantize(operand, ty)?]
        }
        (OpKind::DotGeneral(numbers), [lhs, rhs], [left, right]) if any_quantized => {
            let (lhs, rhs) = ((lhs, *left), (rhs, *right));
            vec![quantized::dot_general(numbers, lhs, rhs, result_types[0])?]
        }
        (OpKind::Convolution(numbers), [lhs, rhs], [left, right]) if any_quantized => {
            let (lhs, rhs) = ((lhs, *left), (rhs, *right));
            vec![quantized::convolution(numbers, lhs, rhs, result_types[0])?]
        }
        // A region computes with the elements as they are stored; its own ops come here.
        (kind, ..) if any_quantized && !moves_elements(kind) && op.regions.is_empty() => {
            // What is stored stands for real numbers: these are computed with, and stored again.
            let operands = operands
                .iter()
                .zip(&operand_types)
                .map(|(tensor, ty)| quantized::expressed(tensor, ty))
                .collect::<Result<Vec<_>, _>>()?;
            let types: Vec<TensorType> =
                result_types.iter().map(|ty| quantized::expressed_type(ty)).collect();
            let types: Vec<&TensorType> = types.iter().collect();
            compute(context, state, frame, (op, freed), &operands, &types)?
                .into_iter()
                .zip(&result_types)
                .map(|(tensor, ty)| quantized::stored(tensor, ty))
                .collect::<Result<Vec<_>, _>>()?
        }
        _ => compute(context, state, frame, (op, freed), &operands, &result_types)?,
    };
    Ok(results.into_iter().map(Value::Tensor).collect())
}

/// Whether an op only makes or moves elements as they are stored.
pub(super) fn moves_elements(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Constant(_)
            | OpKind::Broadcast { .. }
            | OpKind::BroadcastInDim { .. }
            | OpKind::DynamicBroadcastInDim { .. }
            | OpKind::Reshape
            | OpKind::DynamicReshape
            | OpKind::Transpose { .. }
            | OpKind::Reverse { .. }
            | OpKind::Slice { .. }
            | OpKind::RealDynamicSlice
            | OpKind::DynamicSlice { .. }
            | OpKind::DynamicUpdateSlice
            | OpKind::Concatenate { .. }
            | OpKind::Pad(_)
            | OpKind::DynamicPad
            | OpKind::Select
            | OpKind::BitcastConvert
            | OpKind::GetDimensionSize { .. }
            | OpKind::SetDimensionSize { .. }
            | OpKind::Gather(_)
            | OpKind::DynamicGather(_)
            | OpKind::TorchIndexSelect { .. }
            | OpKind::UniformQuantize
            | OpKind::UniformDequantize
            | OpKind::OptimizationBarrier
            | OpKind::Tuple
            | OpKind::GetTupleElement { .. }
            | OpKind::AllGather { .. }
            | OpKind::AllToAll { .. }
            | OpKind::CollectiveBroadcast { .. }
            | OpKind::CollectivePermute { .. }
            | OpKind::Return
            | OpKind::FunctionReturn
    )
}

/// The shape of a result, where the program states it.
fn stated(kind: &OpKind, result: &TensorType) -> Result<Shape, EngineError> {
    result.shape().ok_or_else(|| shape::unknown_sizes(kind.name()))
}

/// Ops on elements and shapes; the other families have a table of their own.
fn compute(
    context: &Context<'_>,
    state: &mut State<'_>,
    frame: &Frame<'_>,
    (op, freed): (&Op, &OpLiveness),
    operands: &[Tensor],
    results: &[&TensorType],
) -> Result<Vec<Tensor>, EngineError> {
    let [result] = results else {
        return families::compute(context, state, frame, (op, freed), operands, results);
    };
    let one = match (&op.kind, operands) {
        (OpKind::Unary(unary), [operand]) => elementwise::unary(*unary, operand, result.storage()),
        (OpKind::Binary(binary), [lhs, rhs]) => {
            elementwise::binary(*binary, lhs, rhs, result.storage())
        }
        (OpKind::Compare { direction, kind }, [lhs, rhs]) => {
            elementwise::compare(*direction, *kind, lhs, rhs)
        }
        (OpKind::Select, [predicate, on_true, on_false]) => {
            elementwise::select(predicate, on_true, on_false)
        }
        (OpKind::Clamp, [low, operand, high]) => elementwise::clamp(low, operand, high),
        (OpKind::Convert, [operand]) => elementwise::convert(operand, result.storage()),
        (OpKind::BitcastConvert, [operand]) => {
            elementwise::bitcast_convert(operand, result.storage(), stated(&op.kind, result)?)
        }
        (OpKind::ReducePrecision { exponent_bits, mantissa_bits }, [operand]) => {
            elementwise::reduce_precision(operand, *exponent_bits, *mantissa_bits)
        }
        (OpKind::Constant(dense), []) => shape::constant(dense),
        (OpKind::Iota { dimension }, []) => {
            shape::iota(result.storage(), stated(&op.kind, result)?, *dimension)
        }
        (OpKind::Broadcast { .. }, [operand]) => {
            shape::broadcast(operand, stated(&op.kind, result)?)
        }
        (OpKind::BroadcastInDim { dimensions }, [operand]) => {
            shape::broadcast_in_dim(operand, stated(&op.kind, result)?, dimensions)
        }
        (OpKind::Reshape, [operand]) => shape::reshape(operand, stated(&op.kind, result)?),
        (OpKind::Transpose { permutation }, [operand]) => shape::transpose(operand, permutation),
        (OpKind::Reverse { dimensions }, [operand]) => shape::reverse(operand, dimensions),
        (OpKind::Slice { start, limit, strides }, [operand]) => {
            shape::slice(operand, start, limit, strides)
        }
        (OpKind::Concatenate { dimension }, operands) => shape::concatenate(operands, *dimension),
        (OpKind::Pad(padding), [operand, value]) => shape::pad(operand, value, padding),
        (OpKind::DynamicSlice { sizes }, [operand, starts @ ..]) => {
            shape::dynamic_slice(operand, starts, sizes)
        }
        (OpKind::DynamicUpdateSlice, [operand, update, starts @ ..]) => {
            shape::dynamic_update_slice(operand, update, starts)
        }
        (OpKind::DynamicReshape, [operand, sizes]) => {
            dynamic_shape::dynamic_reshape(operand, sizes)
        }
        (OpKind::DynamicBroadcastInDim { dimensions, .. }, [operand, sizes]) => {
            dynamic_shape::dynamic_broadcast_in_dim(operand, sizes, dimensions)
        }
        (OpKind::DynamicIota { dimension }, [sizes]) => {
            dynamic_shape::dynamic_iota(result.storage(), sizes, *dimension)
        }
        (OpKind::DynamicPad, operands) => dynamic_shape::dynamic_pad(operands),
        (OpKind::RealDynamicSlice, operands) => dynamic_shape::real_dynamic_slice(operands),
        (OpKind::GetDimensionSize { dimension }, [operand]) => {
            dynamic_shape::get_dimension_size(operand, *dimension)
        }
        (OpKind::SetDimensionSize { dimension }, [operand, size]) => {
            dynamic_shape::set_dimension_size(operand, size, *dimension)
        }
        (OpKind::Chlo { name, attributes }, operands) => {
            chlo::execute(name, attributes, operands, result)
        }
        _ => return families::compute(context, state, frame, (op, freed), operands, results),
    };
    Ok(vec![one?])
}

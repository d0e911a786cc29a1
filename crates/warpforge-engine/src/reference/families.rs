//! The other half of the table of ops: products, reductions, windows, indices, sorting, transforms, random numbers,
//! normalization, collectives.

use warpforge_hlo::ir::{Op, OpKind};
use warpforge_hlo::types::TensorType;
use warpforge_tensor::{Shape, Tensor};

use super::body::{Body, RegionBody};
use super::collective::Exchange;
use super::interpreter::{Context, Frame, State};
use super::linear_algebra::Triangle;
use super::liveness::OpLiveness;
use super::{
    collective, convolution, fft, indexing, linear_algebra, normalization, product, random,
    reduction, sort, window,
};
use crate::EngineError;

/// Computes an op of any family that is not on single elements or shapes alone.
pub(super) fn compute(
    context: &Context<'_>,
    state: &mut State<'_>,
    frame: &Frame<'_>,
    (op, freed): (&Op, &OpLiveness),
    operands: &[Tensor],
    results: &[&TensorType],
) -> Result<Vec<Tensor>, EngineError> {
    if let Some(done) = with_body(context, state, frame, (op, freed), operands, results) {
        return done;
    }
    if let Some(done) = collectives(state, op, operands, results) {
        return done;
    }
    if let (OpKind::RngBitGenerator { algorithm }, [initial]) = (&op.kind, operands) {
        return random::rng_bit_generator(*algorithm, initial, results);
    }
    if let (OpKind::ChloTopK { k, largest }, [operand]) = (&op.kind, operands) {
        return reduction::top_k(*k, *largest, operand, results);
    }
    match &op.kind {
        OpKind::BatchNormTraining { epsilon, feature_index } => {
            return normalization::batch_norm_training(*epsilon, *feature_index, operands, results);
        }
        OpKind::BatchNormGrad { epsilon, feature_index } => {
            return normalization::batch_norm_grad(*epsilon, *feature_index, operands, results);
        }
        _ => {}
    }
    let [result] = results else { return Err(unsupported(op)) };
    let one = match (&op.kind, operands) {
        (OpKind::Dot { .. }, [lhs, rhs]) => product::dot(lhs, rhs, result),
        (OpKind::DotGeneral(numbers), [lhs, rhs]) => {
            product::dot_general(numbers, lhs, rhs, result)
        }
        (OpKind::Einsum { config }, [lhs, rhs]) => product::einsum(config, lhs, rhs, result),
        (OpKind::UnaryEinsum { config }, [operand]) => {
            product::unary_einsum(config, operand, result)
        }
        (OpKind::Convolution(numbers), [lhs, rhs]) => {
            convolution::convolution(numbers, lhs, rhs, result)
        }
        (OpKind::DynamicConv(numbers), [lhs, rhs, padding]) => {
            convolution::dynamic_conv(numbers, lhs, rhs, padding, result)
        }
        (OpKind::Gather(numbers), [operand, indices]) => {
            indexing::gather(numbers, operand, indices, result)
        }
        (OpKind::DynamicGather(numbers), [operand, indices, sizes]) => {
            indexing::dynamic_gather(numbers, operand, indices, sizes, result)
        }
        (OpKind::TorchIndexSelect { dimension, batch_dimensions }, [operand, index]) => {
            indexing::torch_index_select(*dimension, *batch_dimensions, operand, index, result)
        }
        (OpKind::Fft { kind, length }, [operand]) => fft::fft(*kind, length, operand, result),
        (OpKind::Rng { distribution }, [a, b, _]) => {
            random::rng(*distribution, a, b, &mut state.random, result)
        }
        (OpKind::Cholesky { lower }, [operand]) => {
            linear_algebra::cholesky(*lower, operand, result)
        }
        (OpKind::TriangularSolve { left_side, lower, unit_diagonal, transpose }, [a, b]) => {
            let triangle = Triangle {
                left_side: *left_side,
                lower: *lower,
                unit_diagonal: *unit_diagonal,
                transpose: *transpose,
            };
            linear_algebra::triangular_solve(triangle, a, b, result)
        }
        (OpKind::BatchNormInference { epsilon, feature_index }, operands) => {
            normalization::batch_norm_inference(*epsilon, *feature_index, operands, result)
        }
        _ => Err(unsupported(op)),
    };
    Ok(vec![one?])
}

fn unsupported(op: &Op) -> EngineError {
    EngineError::Unsupported(op.kind.name().to_owned())
}

/// Ops that compute with a region.
fn with_body(
    context: &Context<'_>,
    state: &mut State<'_>,
    frame: &Frame<'_>,
    (op, freed): (&Op, &OpLiveness),
    operands: &[Tensor],
    results: &[&TensorType],
) -> Option<Result<Vec<Tensor>, EngineError>> {
    let pairs: Vec<_> = op.regions.iter().zip(&freed.regions).collect();
    let mut bodies: Vec<RegionBody<'_>> =
        pairs.into_iter().map(|pair| RegionBody::new(context, state, frame, pair)).collect();
    let body = bodies.first_mut()?;
    let one = |result: Result<Tensor, EngineError>| result.map(|tensor| vec![tensor]);
    Some(match (&op.kind, operands, results) {
        (OpKind::Map { .. }, _, [result]) => one(map(operands, result, body)),
        (OpKind::Reduce { dimensions }, ..) => {
            reduction::reduce(dimensions, operands, results, body)
        }
        (OpKind::ReduceWindow(numbers), ..) => {
            window::reduce_window(numbers, operands, results, body)
        }
        (OpKind::Scatter(numbers), ..) => indexing::scatter(numbers, operands, results, body),
        (OpKind::Sort { dimension, .. }, ..) => sort::sort(*dimension, operands, results, body),
        (OpKind::SelectAndScatter(numbers), [operand, source, init], [result]) => {
            let [select, scatter] = bodies.as_mut_slice() else { return None };
            one(window::select_and_scatter(numbers, operand, source, init, result, select, scatter))
        }
        (OpKind::AllReduce { group }, ..) => match exchange(state) {
            Ok(exchange) => collective::all_reduce(group, operands, results, body, exchange),
            Err(error) => Err(error),
        },
        (OpKind::ReduceScatter { dimension, group }, [operand], [result]) => {
            match exchange(state) {
                Ok(exchange) => one(collective::reduce_scatter(
                    *dimension, group, operand, result, body, exchange,
                )),
                Err(error) => Err(error),
            }
        }
        _ => return None,
    })
}

/// How other processes are met.
fn exchange<'s>(state: &'s mut State<'_>) -> Result<&'s mut dyn Exchange, EngineError> {
    match &mut state.exchange {
        Some(exchange) => Ok(&mut **exchange),
        None => {
            let what = "meeting other processes for each element";
            Err(EngineError::Unsupported(what.into()))
        }
    }
}

fn collectives(
    state: &mut State<'_>,
    op: &Op,
    operands: &[Tensor],
    results: &[&TensorType],
) -> Option<Result<Vec<Tensor>, EngineError>> {
    let meets = matches!(
        op.kind,
        OpKind::AllGather { .. }
            | OpKind::AllToAll { .. }
            | OpKind::CollectiveBroadcast { .. }
            | OpKind::CollectivePermute { .. }
            | OpKind::ReplicaId
            | OpKind::PartitionId
    );
    if !meets {
        return None;
    }
    let exchange = match exchange(state) {
        Ok(exchange) => exchange,
        Err(error) => return Some(Err(error)),
    };
    Some(match &op.kind {
        OpKind::AllGather { dimension, group } => {
            collective::all_gather(*dimension, group, operands, results, exchange)
        }
        OpKind::AllToAll { split_dimension, concat_dimension, split_count, group } => {
            let splits = collective::Splits {
                split_dimension: *split_dimension,
                concat_dimension: *concat_dimension,
                split_count: *split_count,
            };
            collective::all_to_all(splits, group, operands, results, exchange)
        }
        OpKind::CollectiveBroadcast { group } => {
            collective::collective_broadcast(group, operands, results, exchange)
        }
        OpKind::CollectivePermute { pairs, channel } => {
            collective::collective_permute(pairs, *channel, operands, results, exchange)
        }
        OpKind::ReplicaId => collective::replica_id(exchange).map(|id| vec![id]),
        _ => collective::partition_id(exchange).map(|id| vec![id]),
    })
}

/// Calls a region with the elements of all operands at each place.
fn map(
    operands: &[Tensor],
    result: &TensorType,
    body: &mut dyn Body,
) -> Result<Tensor, EngineError> {
    let shape = operands.first().map_or_else(Shape::scalar, |operand| operand.shape().clone());
    let mut bytes = Vec::with_capacity(shape.elements() * result.storage().bytes());
    for place in 0..shape.elements() {
        let arguments = operands
            .iter()
            .map(|operand| {
                Tensor::new(operand.dtype(), Shape::scalar(), operand.element_bytes(place))
            })
            .collect::<Result<Vec<_>, _>>()?;
        for value in body.call(&arguments)? {
            bytes.extend_from_slice(value.bytes());
        }
    }
    Ok(Tensor::new(result.storage(), shape, bytes)?)
}

//! Sorting slices of several tensors together by any comparison.
//!
//! Invariants: always stable; a comparison that is no order, or that fails, gives some permutation or its error, never
//! a panic (which is why this is a merge of its own).

use warpforge_hlo::TensorType;
use warpforge_tensor::Tensor;

use super::body::Body;
use super::number::{Comparison, scalar};
use super::place::{axis, chosen, offsets, other_axes, shape_of, wrong};
use super::window::truth;
use crate::EngineError;

/// Sorts all slices along a dimension; a negative one counts from the last.
pub(super) fn sort(
    dimension: i64,
    operands: &[Tensor],
    results: &[&TensorType],
    body: &mut dyn Body,
) -> Result<Vec<Tensor>, EngineError> {
    let first = operands.first().ok_or_else(|| wrong("there is nothing to sort"))?;
    let shape = first.shape();
    if operands.iter().any(|operand| operand.shape() != shape) || operands.len() != results.len() {
        return Err(wrong("tensors that are sorted together must have one shape"));
    }
    let rank = shape.rank();
    if rank == 0 {
        return Ok(operands.to_vec());
    }
    let dimension = if dimension < 0 { dimension.saturating_add(rank as i64) } else { dimension };
    let dimension = axis(dimension, rank)?;
    let (length, stride) = (shape.sizes()[dimension], shape.strides()[dimension]);
    let others = other_axes(&[dimension], rank);
    let starts = offsets(&chosen(shape.sizes(), &others), &chosen(&shape.strides(), &others));
    let quick = Comparison::of_body(body, first.dtype()).map(|order| (order, first.elements()));
    // Where each element of the results comes from.
    let mut sources = vec![0; shape.elements()];
    for start in starts {
        let slice: Vec<usize> = (0..length).map(|place| start + place * stride).collect();
        let sorted = match &quick {
            Some((order, elements)) => {
                merge_sorted(slice.clone(), &mut |a, b| Ok(order.holds(elements, a, b)))?
            }
            None => merge_sorted(slice.clone(), &mut |a, b| less(operands, body, a, b))?,
        };
        for (place, source) in slice.into_iter().zip(sorted) {
            sources[place] = source;
        }
    }
    let arranged = operands.iter().zip(results).map(|(operand, result)| {
        let mut bytes = Vec::with_capacity(operand.bytes().len());
        for source in &sources {
            bytes.extend_from_slice(operand.element_bytes(*source));
        }
        Ok(Tensor::new(operand.dtype(), shape_of(result)?, bytes)?)
    });
    arranged.collect()
}

/// Whether the region puts the elements at one place before those at another.
fn less(operands: &[Tensor], body: &mut dyn Body, a: usize, b: usize) -> Result<bool, EngineError> {
    let mut arguments = Vec::with_capacity(operands.len() * 2);
    for operand in operands {
        arguments.push(scalar(operand, a, operand.dtype())?);
        arguments.push(scalar(operand, b, operand.dtype())?);
    }
    truth(&body.call(&arguments)?)
}

/// Merges ever longer sorted runs. An element of a later run goes first only if it is less.
fn merge_sorted(
    mut items: Vec<usize>,
    less: &mut dyn FnMut(usize, usize) -> Result<bool, EngineError>,
) -> Result<Vec<usize>, EngineError> {
    let mut run = 1;
    while run < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        for pair in items.chunks(run * 2) {
            let (mut left, mut right) = pair.split_at(run.min(pair.len()));
            while let ([first, left_rest @ ..], [second, right_rest @ ..]) = (left, right) {
                if less(*second, *first)? {
                    merged.push(*second);
                    right = right_rest;
                } else {
                    merged.push(*first);
                    left = left_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        items = merged;
        run *= 2;
    }
    Ok(items)
}

//! Gathers and scatters: slices at places that another tensor says.
//!
//! Invariants: a gather's slice is moved inside the operand; an element a scatter would put outside is left out, its
//! neighbours in the window are not. Updates are applied in row-major order of the updates.

use warpforge_hlo::TensorType;
use warpforge_hlo::ir::{Gather, Scatter};
use warpforge_tensor::{DType, Elements, Shape, Tensor};

use super::body::Body;
use super::number::{Collected, Fold, scalar, step, widened};
use super::place::{advance, axes, axis, chosen, offsets, other_axes, shape_of, strides, wrong};
use crate::EngineError;

/// Where windows begin: for each batch index, in row-major order, the start along each dimension of the operand.
struct Starts {
    /// The sizes of the batch dimensions: those of the indices without the one that holds index vectors.
    sizes: Vec<usize>,
    /// One row of starts for each batch index.
    rows: Vec<Vec<i64>>,
}

/// Which dimensions of the indices mean what.
struct IndexNumbers<'a> {
    vector_dimension: i64,
    /// The dimension of the operand that each component of an index vector is for.
    map: &'a [i64],
    operand_batching: &'a [i64],
    indices_batching: &'a [i64],
}

impl Starts {
    fn new(
        numbers: &IndexNumbers<'_>,
        operand_rank: usize,
        indices: &Tensor,
    ) -> Result<Self, EngineError> {
        let shape = indices.shape();
        let vector = axis(numbers.vector_dimension, shape.rank() + 1)?;
        let batch_axes = other_axes(&[vector], shape.rank());
        let sizes = chosen(shape.sizes(), &batch_axes);
        let all_strides = shape.strides();
        let begins = offsets(&sizes, &chosen(&all_strides, &batch_axes));
        let components = shape.sizes().get(vector).copied().unwrap_or(1);
        let vector_stride = all_strides.get(vector).copied().unwrap_or(0);
        let map = axes(numbers.map, operand_rank)?;
        let operand_batching = axes(numbers.operand_batching, operand_rank)?;
        let indices_batching = axes(numbers.indices_batching, shape.rank())?;
        if map.len() != components
            || operand_batching.len() != indices_batching.len()
            || operand_batching.iter().any(|own| map.contains(own))
            || indices_batching.contains(&vector)
        {
            return Err(wrong("the dimension numbers do not fit the indices"));
        }
        // Too large for i64 is too large for every tensor.
        let unsigned = indices.dtype() == DType::U64;
        let values: Vec<i64> = indices
            .integers()?
            .into_iter()
            .map(|value| if unsigned && value < 0 { i64::MAX } else { value })
            .collect();
        let mut rows = Vec::with_capacity(begins.len());
        let mut index = vec![0; sizes.len()];
        for begin in begins {
            let mut row = vec![0; operand_rank];
            for (component, own) in map.iter().enumerate() {
                row[*own] = values[begin + component * vector_stride];
            }
            for (own, other) in operand_batching.iter().zip(&indices_batching) {
                let place = other - usize::from(*other > vector);
                row[*own] = index[place] as i64;
            }
            rows.push(row);
            advance(&mut index, &sizes);
        }
        Ok(Self { sizes, rows })
    }
}

/// Slices of the operand, each moved inside it.
pub(super) fn gather(
    numbers: &Gather,
    operand: &Tensor,
    start_indices: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    sliced_gather(numbers, &numbers.slice_sizes, operand, start_indices, result)
}

/// A gather whose slice sizes are an operand.
pub(super) fn dynamic_gather(
    numbers: &Gather,
    operand: &Tensor,
    start_indices: &Tensor,
    slice_sizes: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    sliced_gather(numbers, &slice_sizes.integers()?, operand, start_indices, result)
}

fn sliced_gather(
    numbers: &Gather,
    slice_sizes: &[i64],
    operand: &Tensor,
    start_indices: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let (shape, from) = (shape_of(result)?, operand.shape());
    let rank = from.rank();
    let slices: Option<Vec<usize>> = slice_sizes
        .iter()
        .zip(from.sizes())
        .map(|(slice, size)| usize::try_from(*slice).ok().filter(|slice| slice <= size))
        .collect();
    let slices = slices
        .filter(|slices| slices.len() == rank && slice_sizes.len() == rank)
        .ok_or_else(|| wrong(format!("slices of {slice_sizes:?} do not fit {from}")))?;
    let index_numbers = IndexNumbers {
        vector_dimension: numbers.index_vector_dim,
        map: &numbers.start_index_map,
        operand_batching: &numbers.operand_batching_dims,
        indices_batching: &numbers.start_indices_batching_dims,
    };
    let starts = Starts::new(&index_numbers, rank, start_indices)?;
    let dropped = [&numbers.collapsed_slice_dims[..], &numbers.operand_batching_dims].concat();
    let dropped = axes(&dropped, rank)?;
    let kept = other_axes(&dropped, rank);
    let windows = axes(&numbers.offset_dims, shape.rank())?;
    let batches = other_axes(&windows, shape.rank());
    if chosen(shape.sizes(), &batches) != starts.sizes
        || chosen(shape.sizes(), &windows) != chosen(&slices, &kept)
        || dropped.iter().any(|own| slices[*own] > 1)
    {
        return Err(wrong(format!("slices of {slices:?} do not make {result}")));
    }
    let (from_strides, to_strides) = (from.strides(), shape.strides());
    let read = offsets(&chosen(&slices, &kept), &chosen(&from_strides, &kept));
    let write = offsets(&chosen(&slices, &kept), &chosen(&to_strides, &windows));
    let begins = offsets(&starts.sizes, &chosen(&to_strides, &batches));
    if shape.elements() == 0 {
        return Ok(Tensor::zeros(operand.dtype(), shape));
    }
    if dropped.iter().any(|own| slices[*own] == 0) {
        return Err(wrong(format!("there is nothing to gather from {from}")));
    }
    let size = operand.dtype().bytes();
    let mut bytes = vec![0; shape.elements() * size];
    for (row, begin) in starts.rows.iter().zip(begins) {
        let mut start = 0;
        for (dimension, place) in row.iter().enumerate() {
            let last = from.sizes()[dimension] - slices[dimension];
            start += usize::try_from(*place).unwrap_or(0).min(last) * from_strides[dimension];
        }
        for (read, write) in read.iter().zip(&write) {
            let to = (begin + write) * size;
            bytes[to..to + size].copy_from_slice(operand.element_bytes(start + read));
        }
    }
    Ok(Tensor::new(operand.dtype(), shape, bytes)?)
}

/// Rows (or what a dimension counts) chosen by an index, once for each batch.
pub(super) fn torch_index_select(
    dimension: i64,
    batch_dimensions: i64,
    operand: &Tensor,
    index: &Tensor,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let (rank, index_rank) = (operand.shape().rank(), index.shape().rank());
    let place = axis(dimension, rank)?;
    let batches = axis(batch_dimensions, index_rank.min(place) + 1)?;
    let list = |range: std::ops::Range<usize>| range.map(|axis| axis as i64).collect::<Vec<_>>();
    let mut slice_sizes: Vec<i64> =
        operand.shape().sizes().iter().map(|size| *size as i64).collect();
    for batch in slice_sizes.iter_mut().take(batches) {
        *batch = (*batch).min(1);
    }
    slice_sizes[place] = slice_sizes[place].min(1);
    // The result: dimensions before the chosen one, those of the index beyond its batches, those after.
    let inserted = index_rank - batches;
    let numbers = Gather {
        offset_dims: [list(batches..place), list(place + inserted..rank + inserted - 1)].concat(),
        collapsed_slice_dims: vec![dimension],
        operand_batching_dims: list(0..batches),
        start_indices_batching_dims: list(0..batches),
        start_index_map: vec![dimension],
        index_vector_dim: index_rank as i64,
        slice_sizes,
        indices_are_sorted: false,
    };
    gather(&numbers, operand, index, result)
}

/// Where each update goes: pairs of a place in the updates and one in the inputs, in the order of the updates.
fn targets(
    numbers: &Scatter,
    inputs: &Shape,
    indices: &Tensor,
    updates: &Shape,
) -> Result<Vec<(usize, usize)>, EngineError> {
    let rank = inputs.rank();
    let index_numbers = IndexNumbers {
        vector_dimension: numbers.index_vector_dim,
        map: &numbers.scatter_dims_to_operand_dims,
        operand_batching: &numbers.input_batching_dims,
        indices_batching: &numbers.scatter_indices_batching_dims,
    };
    let starts = Starts::new(&index_numbers, rank, indices)?;
    let dropped = [&numbers.inserted_window_dims[..], &numbers.input_batching_dims].concat();
    let kept = other_axes(&axes(&dropped, rank)?, rank);
    let windows = axes(&numbers.update_window_dims, updates.rank())?;
    let batches = other_axes(&windows, updates.rank());
    if chosen(updates.sizes(), &batches) != starts.sizes || windows.len() != kept.len() {
        return Err(wrong(format!("updates {updates} do not fit {inputs}")));
    }
    let batch_strides = strides(&starts.sizes);
    let input_strides = inputs.strides();
    let mut found = Vec::new();
    if updates.elements() == 0 {
        return Ok(found);
    }
    let mut index = vec![0; updates.rank()];
    for update in 0..updates.elements() {
        let batch: usize =
            batches.iter().zip(&batch_strides).map(|(own, stride)| index[*own] * stride).sum();
        let mut target = starts.rows[batch].clone();
        for (window, own) in windows.iter().zip(&kept) {
            target[*own] = target[*own].saturating_add(index[*window] as i64);
        }
        let place = target.iter().zip(inputs.sizes()).zip(&input_strides).try_fold(
            0,
            |place, ((target, size), stride)| {
                let target = usize::try_from(*target).ok().filter(|target| target < size)?;
                Some(place + target * stride)
            },
        );
        found.extend(place.map(|place| (update, place)));
        advance(&mut index, updates.sizes());
    }
    Ok(found)
}

/// The inputs with updates folded into some of their elements. The operands: inputs, indices, as many updates.
pub(super) fn scatter(
    numbers: &Scatter,
    operands: &[Tensor],
    results: &[&TensorType],
    body: &mut dyn Body,
) -> Result<Vec<Tensor>, EngineError> {
    let count = results.len();
    let (inputs, rest) = operands.split_at_checked(count).unwrap_or((&[], &[]));
    let Some((indices, updates)) = rest.split_first().filter(|(_, updates)| {
        count > 0
            && updates.len() == count
            && updates.iter().all(|update| update.shape() == updates[0].shape())
            && inputs.iter().all(|input| input.shape() == inputs[0].shape())
    }) else {
        return Err(wrong("a scatter needs inputs, indices, and as many updates"));
    };
    let targets = targets(numbers, inputs[0].shape(), indices, updates[0].shape())?;
    if let ([input], [update], [result]) = (inputs, updates, results)
        && let Some(fold) = Fold::of_body(body, result.storage())
    {
        let dtype = result.storage();
        let elements = match (widened(input, dtype)?, widened(update, dtype)?, fold) {
            (Elements::Integers(values), Elements::Integers(updates), Fold::Integers(fold)) => {
                Elements::Integers(folded(values, &updates, &targets, fold))
            }
            (Elements::Floats(values), Elements::Floats(updates), Fold::Floats(fold)) => {
                Elements::Floats(folded(values, &updates, &targets, fold))
            }
            (Elements::Complex(values), Elements::Complex(updates), Fold::Complex(fold)) => {
                Elements::Complex(folded(values, &updates, &targets, fold))
            }
            _ => return Err(wrong("a scatter folds elements of different kinds")),
        };
        return Ok(vec![Tensor::from_elements(dtype, shape_of(result)?, &elements)?]);
    }
    let dtypes: Vec<DType> = results.iter().map(|result| result.storage()).collect();
    // What was updated, by its place; everything else is still the input's.
    let mut changed: std::collections::HashMap<usize, Vec<Tensor>> = Default::default();
    let at = |tensors: &[Tensor], place: usize| -> Result<Vec<Tensor>, EngineError> {
        tensors.iter().zip(&dtypes).map(|(tensor, dtype)| scalar(tensor, place, *dtype)).collect()
    };
    for (update, place) in targets {
        let state = match changed.remove(&place) {
            Some(state) => state,
            None => at(inputs, place)?,
        };
        let next = at(updates, update)?.into_iter().map(Ok);
        changed.insert(place, step(body, state, next)?);
    }
    let mut made = Vec::with_capacity(count);
    for (number, (input, result)) in inputs.iter().zip(results).enumerate() {
        let mut collected = Collected::new(result.storage());
        for place in 0..input.shape().elements() {
            match changed.get(&place) {
                Some(values) => collected.push(&values[number])?,
                None => collected.push(&scalar(input, place, result.storage())?)?,
            }
        }
        made.push(collected.finish(shape_of(result)?)?);
    }
    Ok(made)
}

fn folded<T: Copy>(
    mut values: Vec<T>,
    updates: &[T],
    targets: &[(usize, usize)],
    fold: fn(T, T) -> T,
) -> Vec<T> {
    for (update, place) in targets {
        values[*place] = fold(values[*place], updates[*update]);
    }
    values
}

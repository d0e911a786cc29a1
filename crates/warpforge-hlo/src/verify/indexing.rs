//! Ops that read or write at places given by other tensors.

use super::rule::{
    Expected, Rule, Sees, axes, axis, increasing, is_index, length, same_shape, same_size,
    scalar_of, with_dimensions,
};
use crate::ir::{Gather, Scatter};
use crate::types::{Dimension, TensorType};

pub(super) fn dynamic_slice(sees: &Sees<'_>, sizes: &[i64]) -> Rule<Expected> {
    let operands = sees.tensors()?;
    let Some((operand, starts)) = operands.split_first() else {
        return Err("expected at least 1 operand".into());
    };
    start_indices(starts, operand.rank())?;
    length("slice_sizes", sizes.len(), operand.rank())?;
    let dimensions =
        sizes.iter().zip(&operand.dimensions).enumerate().map(|(index, (size, dimension))| {
            u64::try_from(*size)
                .ok()
                .filter(|size| dimension.size().is_none_or(|all| *size <= all))
                .map(Dimension::Static)
                .ok_or_else(|| {
                    format!("a slice of {size} does not fit dimension {index} of {operand}")
                })
        });
    let dimensions = dimensions.collect::<Rule<_>>()?;
    Ok(Expected::tensor(with_dimensions(operand, dimensions)))
}

/// One scalar integer for each dimension, all of one type.
fn start_indices(starts: &[&TensorType], rank: usize) -> Rule {
    length("start indices", starts.len(), rank)?;
    for start in starts {
        if start.rank() != 0 || !is_index(start) || start.element != starts[0].element {
            return Err(format!(
                "start indices must be scalar integers of one type, found {start}"
            ));
        }
    }
    Ok(())
}

pub(super) fn dynamic_update_slice(sees: &Sees<'_>) -> Rule<Expected> {
    let operands = sees.tensors()?;
    let [operand, update, starts @ ..] = operands.as_slice() else {
        return Err("expected at least 2 operands".into());
    };
    start_indices(starts, operand.rank())?;
    let fits = update.rank() == operand.rank()
        && update.element == operand.element
        && update.dimensions.iter().zip(&operand.dimensions).all(|(update, all)| {
            match (update.size(), all.size()) {
                (Some(update), Some(all)) => update <= all,
                _ => true,
            }
        });
    if !fits {
        return Err(format!("the update {update} does not fit {operand}"));
    }
    Ok(Expected::tensor((*operand).clone()))
}

/// The dimensions of an index tensor without the one that holds the index vector, and that one's length.
fn index_shape(indices: &TensorType, vector: i64) -> Rule<(Vec<Dimension>, Dimension)> {
    let vector =
        usize::try_from(vector).ok().filter(|vector| *vector <= indices.rank()).ok_or_else(
            || format!("index_vector_dim must be from 0 to {}, found {vector}", indices.rank()),
        )?;
    let mut dimensions = indices.dimensions.clone();
    // Past the last dimension, each element is an index of its own.
    let length =
        if vector == indices.rank() { Dimension::Static(1) } else { dimensions.remove(vector) };
    Ok((dimensions, length))
}

pub(super) fn gather(sees: &Sees<'_>, gather: &Gather, stated: bool) -> Rule<Expected> {
    let tensors = sees.tensors()?;
    let expected = if stated { 2 } else { 3 };
    length("operands", tensors.len(), expected)?;
    let (operand, indices) = (tensors[0], tensors[1]);
    if !is_index(indices) {
        return Err(format!("start_indices must be integers, found {indices}"));
    }
    let (batch, index_length) = index_shape(indices, gather.index_vector_dim)?;
    if !same_size(index_length, Dimension::Static(gather.start_index_map.len() as u64)) {
        return Err(format!(
            "start_index_map must have {index_length} entries, found {:?}",
            gather.start_index_map
        ));
    }
    let rank = operand.rank();
    axes("start_index_map", &gather.start_index_map, rank)?;
    let collapsed = axes("collapsed_slice_dims", &gather.collapsed_slice_dims, rank)?;
    let batching = axes("operand_batching_dims", &gather.operand_batching_dims, rank)?;
    increasing("collapsed_slice_dims", &gather.collapsed_slice_dims)?;
    increasing("offset_dims", &gather.offset_dims)?;
    let start_batching =
        axes("start_indices_batching_dims", &gather.start_indices_batching_dims, indices.rank())?;
    length("start_indices_batching_dims", start_batching.len(), batching.len())?;
    if let Some(both) = collapsed.iter().find(|axis| batching.contains(axis)) {
        return Err(format!("dimension {both} is both collapsed and batching"));
    }
    if !stated {
        axes("offset_dims", &gather.offset_dims, sees.result()?.rank())?;
        return Ok(Expected::Stated);
    }
    length("slice_sizes", gather.slice_sizes.len(), rank)?;
    let mut slice = Vec::new();
    for (index, size) in gather.slice_sizes.iter().enumerate() {
        let fits = u64::try_from(*size)
            .is_ok_and(|size| operand.dimensions[index].size().is_none_or(|all| size <= all));
        if !fits {
            return Err(format!("a slice of {size} does not fit dimension {index} of {operand}"));
        }
        if collapsed.contains(&index) || batching.contains(&index) {
            if *size > 1 {
                return Err(format!(
                    "the slice of dimension {index} must be at most 1 to be collapsed, found {size}"
                ));
            }
        } else {
            slice.push(Dimension::Static(*size as u64));
        }
    }
    length("offset_dims", gather.offset_dims.len(), slice.len())?;
    let result_rank = batch.len() + slice.len();
    let offsets = axes("offset_dims", &gather.offset_dims, result_rank)?;
    let (mut batch, mut slice) = (batch.into_iter(), slice.into_iter());
    let dimensions = (0..result_rank)
        .map(|index| if offsets.contains(&index) { slice.next() } else { batch.next() })
        .map(|dimension| dimension.unwrap_or(Dimension::Dynamic))
        .collect();
    Ok(Expected::tensor(with_dimensions(operand, dimensions)))
}

pub(super) fn scatter(sees: &Sees<'_>, scatter: &Scatter) -> Rule<Expected> {
    let tensors = sees.tensors()?;
    if tensors.len() < 3 || tensors.len().is_multiple_of(2) {
        return Err(format!(
            "expected inputs, indices and as many updates, found {} operands",
            tensors.len()
        ));
    }
    let count = tensors.len() / 2;
    let (inputs, indices, updates) = (&tensors[..count], tensors[count], &tensors[count + 1..]);
    if !is_index(indices) {
        return Err(format!("scatter_indices must be integers, found {indices}"));
    }
    let rank = inputs[0].rank();
    let (batch, index_length) = index_shape(indices, scatter.index_vector_dim)?;
    if !same_size(
        index_length,
        Dimension::Static(scatter.scatter_dims_to_operand_dims.len() as u64),
    ) {
        return Err(format!(
            "scatter_dims_to_operand_dims must have {index_length} entries, found {:?}",
            scatter.scatter_dims_to_operand_dims
        ));
    }
    axes("scatter_dims_to_operand_dims", &scatter.scatter_dims_to_operand_dims, rank)?;
    let inserted = axes("inserted_window_dims", &scatter.inserted_window_dims, rank)?;
    let batching = axes("input_batching_dims", &scatter.input_batching_dims, rank)?;
    increasing("inserted_window_dims", &scatter.inserted_window_dims)?;
    increasing("update_window_dims", &scatter.update_window_dims)?;
    length(
        "scatter_indices_batching_dims",
        axes(
            "scatter_indices_batching_dims",
            &scatter.scatter_indices_batching_dims,
            indices.rank(),
        )?
        .len(),
        batching.len(),
    )?;
    length(
        "update_window_dims",
        scatter.update_window_dims.len() + inserted.len() + batching.len(),
        rank,
    )?;
    for (input, update) in inputs.iter().zip(updates) {
        if !same_shape(input, inputs[0]) || !same_shape(update, updates[0]) {
            return Err("all inputs must have one shape, and all updates".into());
        }
        let windows = axes("update_window_dims", &scatter.update_window_dims, update.rank())?;
        let outside: Vec<Dimension> = (0..update.rank())
            .filter(|index| !windows.contains(index))
            .map(|index| update.dimensions[index])
            .collect();
        if outside.len() != batch.len()
            || !outside.iter().zip(&batch).all(|(a, b)| same_size(*a, *b))
        {
            return Err(format!(
                "the dimensions of the update {update} outside its windows must be those of the indices {indices}"
            ));
        }
        let window_axes =
            (0..rank).filter(|axis| !inserted.contains(axis) && !batching.contains(axis));
        for (window, axis) in windows.iter().zip(window_axes) {
            let fits = match (update.dimensions[*window].size(), input.dimensions[axis].size()) {
                (Some(window), Some(all)) => window <= all,
                _ => true,
            };
            if !fits {
                return Err(format!(
                    "the window of the update {update} does not fit dimension {axis} of {input}"
                ));
            }
        }
    }
    let scalars: Vec<TensorType> =
        inputs.iter().chain(updates).map(|tensor| scalar_of(tensor)).collect();
    let results: Vec<TensorType> = inputs.iter().map(|input| scalar_of(input)).collect();
    sees.region_is(sees.region()?, &scalars, &results)?;
    Ok(Expected::tensors(inputs.iter().map(|input| (*input).clone()).collect()))
}

pub(super) fn torch_index_select(
    sees: &Sees<'_>,
    dimension: i64,
    batch_dimensions: i64,
) -> Rule<Expected> {
    let [operand, index] = sees.operands()?;
    axis("dim", dimension, operand.rank())?;
    if batch_dimensions < 0 || batch_dimensions as usize > index.rank() || !is_index(index) {
        return Err(format!(
            "batch_dims must be from 0 to {}, found {batch_dimensions}",
            index.rank()
        ));
    }
    let result = sees.result()?;
    if result.element == operand.element {
        Ok(Expected::Stated)
    } else {
        Err(format!("the result must have the elements of {operand}, found {result}"))
    }
}

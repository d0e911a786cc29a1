//! Ops that move or make elements without computing with them.

use warpforge_tensor::{DType, Kind};

use super::rule::{Expected, Rule, Sees, axes, axis, is_index, length, same_size, with_dimensions};
use crate::attribute::Dense;
use crate::ir::Padding;
use crate::types::{Dimension, TensorType};

pub(super) fn constant(sees: &Sees<'_>, dense: &Dense) -> Rule<Expected> {
    sees.operands::<0>()?;
    Ok(Expected::tensor(dense.ty.clone()))
}

pub(super) fn iota(sees: &Sees<'_>, dimension: i64) -> Rule<Expected> {
    sees.operands::<0>()?;
    let result = sees.result()?;
    counts(result)?;
    axis("iota_dimension", dimension, result.rank()).map(|_| Expected::Stated)
}

/// Whether elements can be counted up.
fn counts(tensor: &TensorType) -> Rule {
    match tensor.dtype().map(DType::kind) {
        Some(Kind::Boolean) => Err(format!("numbers cannot be counted in {tensor}")),
        _ => Ok(()),
    }
}

pub(super) fn dynamic_iota(sees: &Sees<'_>, dimension: i64) -> Rule<Expected> {
    let [sizes] = sees.operands()?;
    let result = sees.result()?;
    size_vector("the sizes", sizes, result.rank())?;
    axis("iota_dimension", dimension, result.rank()).map(|_| Expected::Stated)
}

/// A vector of integers with an entry for each dimension.
fn size_vector(name: &str, tensor: &TensorType, rank: usize) -> Rule {
    let fits = is_index(tensor)
        && tensor.rank() == 1
        && same_size(tensor.dimensions[0], Dimension::Static(rank as u64));
    if fits {
        Ok(())
    } else {
        Err(format!("{name} must be a vector of {rank} integers, found {tensor}"))
    }
}

pub(super) fn broadcast(sees: &Sees<'_>, sizes: &[i64]) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    let added: Option<Vec<Dimension>> =
        sizes.iter().map(|size| u64::try_from(*size).ok().map(Dimension::Static)).collect();
    let mut dimensions = added.ok_or("broadcast_sizes must not be negative")?;
    dimensions.extend(&operand.dimensions);
    Ok(Expected::tensor(with_dimensions(operand, dimensions)))
}

pub(super) fn broadcast_in_dim(sees: &Sees<'_>, dimensions: &[i64]) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    broadcasts(operand, sees.result()?, dimensions)?;
    Ok(Expected::Stated)
}

fn broadcasts(operand: &TensorType, result: &TensorType, dimensions: &[i64]) -> Rule {
    length("broadcast_dimensions", dimensions.len(), operand.rank())?;
    let places = axes("broadcast_dimensions", dimensions, result.rank())?;
    if operand.dtype() != result.dtype() {
        return Err(format!("the result must have the elements of {operand}, found {result}"));
    }
    for (from, to) in places.into_iter().enumerate() {
        let (size, target) = (operand.dimensions[from], result.dimensions[to]);
        if size != Dimension::Static(1) && !same_size(size, target) {
            return Err(format!(
                "dimension {from} of {operand} has size {size}, which is neither 1 nor the {target} of dimension {to} of the result"
            ));
        }
    }
    Ok(())
}

pub(super) fn dynamic_broadcast_in_dim(sees: &Sees<'_>, dimensions: &[i64]) -> Rule<Expected> {
    let [operand, sizes] = sees.operands()?;
    let result = sees.result()?;
    size_vector("the sizes", sizes, result.rank())?;
    broadcasts(operand, result, dimensions)?;
    Ok(Expected::Stated)
}

pub(super) fn reshape(sees: &Sees<'_>) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    let result = sees.result()?;
    if operand.dtype() != result.dtype() {
        return Err(format!("the result must have the elements of {operand}, found {result}"));
    }
    if let (Some(from), Some(to)) = (operand.shape(), result.shape())
        && from.elements() != to.elements()
    {
        return Err(format!(
            "{operand} has {} elements, but {result} has {}",
            from.elements(),
            to.elements()
        ));
    }
    Ok(Expected::Stated)
}

pub(super) fn dynamic_reshape(sees: &Sees<'_>) -> Rule<Expected> {
    let [operand, sizes] = sees.operands()?;
    let result = sees.result()?;
    size_vector("the sizes", sizes, result.rank())?;
    if operand.dtype() == result.dtype() {
        Ok(Expected::Stated)
    } else {
        Err(format!("the result must have the elements of {operand}, found {result}"))
    }
}

pub(super) fn transpose(sees: &Sees<'_>, permutation: &[i64]) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    length("permutation", permutation.len(), operand.rank())?;
    let places = axes("permutation", permutation, operand.rank())?;
    let dimensions = places.into_iter().map(|axis| operand.dimensions[axis]).collect();
    let expected = with_dimensions(operand, dimensions);
    // The axis of a quantized type moves with its dimension.
    Ok(match operand.dtype() {
        Some(_) => Expected::tensor(expected),
        None => Expected::Shapes(vec![expected]),
    })
}

pub(super) fn reverse(sees: &Sees<'_>, dimensions: &[i64]) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    axes("dimensions", dimensions, operand.rank())?;
    Ok(Expected::tensor(operand.clone()))
}

pub(super) fn slice(
    sees: &Sees<'_>,
    start: &[i64],
    limit: &[i64],
    strides: &[i64],
) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    for (name, values) in [("start_indices", start), ("limit_indices", limit), ("strides", strides)]
    {
        length(name, values.len(), operand.rank())?;
    }
    let mut dimensions = Vec::with_capacity(operand.rank());
    for (index, size) in operand.dimensions.iter().enumerate() {
        let (start, limit, stride) = (start[index], limit[index], strides[index]);
        let within =
            size.size().is_none_or(|size| u64::try_from(limit).is_ok_and(|limit| limit <= size));
        if start < 0 || start > limit || !within {
            return Err(format!(
                "{start}:{limit} does not lie within dimension {index} of {operand}"
            ));
        }
        if stride < 1 {
            return Err(format!("strides must be at least 1, found {stride}"));
        }
        dimensions.push(Dimension::Static(((limit - start) as u64).div_ceil(stride as u64)));
    }
    Ok(Expected::tensor(with_dimensions(operand, dimensions)))
}

pub(super) fn concatenate(sees: &Sees<'_>, dimension: i64) -> Rule<Expected> {
    let operands = sees.tensors()?;
    let Some(first) = operands.first() else { return Err("expected at least 1 operand".into()) };
    let joined = axis("dimension", dimension, first.rank())?;
    let mut total = Some(0_u64);
    for operand in &operands {
        let fits = operand.rank() == first.rank()
            && operand.element == first.element
            && (0..first.rank()).all(|index| {
                index == joined || same_size(operand.dimensions[index], first.dimensions[index])
            });
        if !fits {
            return Err(format!(
                "all operands must agree except in dimension {joined}, found {first} and {operand}"
            ));
        }
        total = total.and_then(|total| total.checked_add(operand.dimensions[joined].size()?));
    }
    let mut dimensions = first.dimensions.clone();
    dimensions[joined] = total.map_or(Dimension::Dynamic, Dimension::Static);
    Ok(Expected::tensor(with_dimensions(first, dimensions)))
}

pub(super) fn pad(sees: &Sees<'_>, padding: &Padding) -> Rule<Expected> {
    let [operand, value] = sees.operands()?;
    if value.rank() != 0 || value.element != operand.element {
        return Err(format!(
            "the padding value must be a scalar of {}, found {value}",
            operand.element
        ));
    }
    for (name, values) in [
        ("edge_padding_low", &padding.low),
        ("edge_padding_high", &padding.high),
        ("interior_padding", &padding.interior),
    ] {
        length(name, values.len(), operand.rank())?;
    }
    let mut dimensions = Vec::with_capacity(operand.rank());
    for (index, size) in operand.dimensions.iter().enumerate() {
        let (low, high, interior) =
            (padding.low[index], padding.high[index], padding.interior[index]);
        if interior < 0 {
            return Err(format!("interior_padding must not be negative, found {interior}"));
        }
        dimensions.push(match size {
            Dimension::Dynamic => Dimension::Dynamic,
            Dimension::Static(size) => {
                let size = i128::from(*size);
                let inside = i128::from(interior) * (size - 1).max(0);
                let total = size + inside + i128::from(low) + i128::from(high);
                Dimension::Static(u64::try_from(total).map_err(|_| {
                    format!("padding of {low} and {high} leaves dimension {index} of {operand} with {total} elements")
                })?)
            }
        });
    }
    Ok(Expected::tensor(with_dimensions(operand, dimensions)))
}

pub(super) fn dynamic_pad(sees: &Sees<'_>) -> Rule<Expected> {
    let [operand, value, low, high, interior] = sees.operands()?;
    if value.rank() != 0 || value.element != operand.element {
        return Err(format!(
            "the padding value must be a scalar of {}, found {value}",
            operand.element
        ));
    }
    for (name, tensor) in [("low", low), ("high", high), ("interior", interior)] {
        size_vector(name, tensor, operand.rank())?;
    }
    ranks(operand, sees.result()?)?;
    Ok(Expected::Stated)
}

fn ranks(operand: &TensorType, result: &TensorType) -> Rule {
    if operand.rank() == result.rank() && operand.element == result.element {
        return Ok(());
    }
    Err(format!("the result must have the rank and elements of {operand}, found {result}"))
}

pub(super) fn real_dynamic_slice(sees: &Sees<'_>) -> Rule<Expected> {
    let [operand, start, limit, strides] = sees.operands()?;
    for (name, tensor) in [("start", start), ("limit", limit), ("strides", strides)] {
        size_vector(name, tensor, operand.rank())?;
    }
    ranks(operand, sees.result()?)?;
    Ok(Expected::Stated)
}

pub(super) fn get_dimension_size(sees: &Sees<'_>, dimension: i64) -> Rule<Expected> {
    let [operand] = sees.operands()?;
    axis("dimension", dimension, operand.rank())?;
    Ok(Expected::tensor(TensorType::new(DType::I32, &[])))
}

pub(super) fn set_dimension_size(sees: &Sees<'_>, dimension: i64) -> Rule<Expected> {
    let [operand, size] = sees.operands()?;
    axis("dimension", dimension, operand.rank())?;
    if size.rank() != 0 || !is_index(size) {
        return Err(format!("the size must be a scalar integer, found {size}"));
    }
    ranks(operand, sees.result()?)?;
    Ok(Expected::Stated)
}

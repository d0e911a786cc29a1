//! Ops whose result's sizes are operands. They are known when the op runs, whatever the program's types say.

use warpforge_hlo::ir::Padding;
use warpforge_tensor::{DType, Shape, Tensor};

use super::shape;
use crate::EngineError;

/// A vector of integers; unsigned ones that are too large as the largest.
fn integers(tensor: &Tensor) -> Result<Vec<i64>, EngineError> {
    let values = tensor.integers()?;
    if tensor.dtype() != DType::U64 {
        return Ok(values);
    }
    Ok(values.into_iter().map(|value| if value < 0 { i64::MAX } else { value }).collect())
}

fn shape_of(sizes: &Tensor) -> Result<Shape, EngineError> {
    let sizes: Option<Vec<usize>> =
        integers(sizes)?.into_iter().map(|size| usize::try_from(size).ok()).collect();
    let sizes = sizes.ok_or_else(|| EngineError::Value("a size is negative".into()))?;
    Shape::new(sizes).map_err(shape::too_large)
}

/// The most elements an op may make because of what an operand holds, which no plan can foresee.
const MOST: usize = 1 << 32;

fn planned(shape: Shape) -> Result<Shape, EngineError> {
    if shape.elements() <= MOST {
        return Ok(shape);
    }
    Err(EngineError::Limit(format!("a result of shape [{shape}] was not planned for")))
}

pub(super) fn dynamic_reshape(operand: &Tensor, sizes: &Tensor) -> Result<Tensor, EngineError> {
    shape::reshape(operand, shape_of(sizes)?)
}

pub(super) fn dynamic_broadcast_in_dim(
    operand: &Tensor,
    sizes: &Tensor,
    dimensions: &[i64],
) -> Result<Tensor, EngineError> {
    shape::broadcast_in_dim(operand, planned(shape_of(sizes)?)?, dimensions)
}

pub(super) fn dynamic_iota(
    dtype: DType,
    sizes: &Tensor,
    dimension: i64,
) -> Result<Tensor, EngineError> {
    shape::iota(dtype, planned(shape_of(sizes)?)?, dimension)
}

pub(super) fn dynamic_pad(operands: &[Tensor]) -> Result<Tensor, EngineError> {
    let [operand, value, low, high, interior] = operands else {
        return Err(EngineError::Value("dynamic_pad takes five operands".into()));
    };
    let padding =
        Padding { low: integers(low)?, high: integers(high)?, interior: integers(interior)? };
    if padding.interior.iter().any(|space| *space < 0) {
        return Err(EngineError::Value("the space between elements is negative".into()));
    }
    let most = MOST as i64;
    let small = |list: &[i64]| list.iter().all(|space| (-most..=most).contains(space));
    if !small(&padding.low) || !small(&padding.high) || !small(&padding.interior) {
        return Err(EngineError::Limit("that much padding was not planned for".into()));
    }
    shape::pad(operand, value, &padding)
}

pub(super) fn real_dynamic_slice(operands: &[Tensor]) -> Result<Tensor, EngineError> {
    let [operand, start, limit, strides] = operands else {
        return Err(EngineError::Value("real_dynamic_slice takes four operands".into()));
    };
    shape::slice(operand, &integers(start)?, &integers(limit)?, &integers(strides)?)
}

pub(super) fn get_dimension_size(operand: &Tensor, dimension: i64) -> Result<Tensor, EngineError> {
    let size = usize::try_from(dimension)
        .ok()
        .and_then(|dimension| operand.shape().sizes().get(dimension))
        .ok_or_else(|| EngineError::Value(format!("there is no dimension {dimension}")))?;
    Ok(Tensor::from_integers(DType::I32, Shape::scalar(), vec![*size as i64])?)
}

/// Only the size it has already; a smaller one would need tensors with a bound.
pub(super) fn set_dimension_size(
    operand: &Tensor,
    size: &Tensor,
    dimension: i64,
) -> Result<Tensor, EngineError> {
    let found = get_dimension_size(operand, dimension)?.integers()?;
    let asked = integers(size)?;
    if found == asked {
        return Ok(operand.clone());
    }
    Err(EngineError::Unsupported(format!(
        "stablehlo.set_dimension_size from {} to {}",
        found.first().copied().unwrap_or(0),
        asked.first().copied().unwrap_or(0)
    )))
}

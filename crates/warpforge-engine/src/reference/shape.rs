//! Ops that make or move elements without computing with them. They work on bytes, so every type moves unchanged,
//! quantized ones as the integers they are stored as.

use warpforge_hlo::attribute::Dense;
use warpforge_hlo::ir::Padding;
use warpforge_tensor::{Complex64, DType, Elements, Kind, Shape, Tensor};

use super::strided::Walk;
use crate::EngineError;

/// More elements than a machine holds; padding that operands state is not in any plan.
const MOST_ELEMENTS: usize = 1 << 40;

/// The tensor of a constant.
pub(super) fn constant(dense: &Dense) -> Result<Tensor, EngineError> {
    let shape = dense.ty.shape().ok_or_else(|| unknown_sizes("stablehlo.constant"))?;
    if !dense.splat {
        return Ok(Tensor::new(dense.ty.storage(), shape, dense.bytes.clone())?);
    }
    let bytes = dense.bytes.repeat(shape.elements());
    Ok(Tensor::new(dense.ty.storage(), shape, bytes)?)
}

pub(super) fn unknown_sizes(name: &str) -> EngineError {
    EngineError::Unsupported(format!("{name} with a result of unknown size"))
}

/// Numbers that count up along one dimension.
pub(super) fn iota(dtype: DType, shape: Shape, dimension: i64) -> Result<Tensor, EngineError> {
    let dimension = axis(dimension, shape.rank())?;
    let length = shape.sizes()[dimension];
    let count = 0..length as i64;
    let elements = match dtype.kind() {
        Kind::Float => Elements::Floats(count.map(|value| value as f64).collect()),
        Kind::Complex => {
            Elements::Complex(count.map(|value| Complex64::new(value as f64, 0.0)).collect())
        }
        _ => Elements::Integers(count.collect()),
    };
    let line = Tensor::from_elements(dtype, Shape::new([length]).map_err(too_large)?, &elements)?;
    broadcast_in_dim(&line, shape, &[dimension as i64])
}

pub(super) fn too_large(error: warpforge_tensor::ShapeError) -> EngineError {
    EngineError::Tensor(error.into())
}

fn axis(dimension: i64, rank: usize) -> Result<usize, EngineError> {
    usize::try_from(dimension)
        .ok()
        .filter(|axis| *axis < rank)
        .ok_or_else(|| EngineError::Value(format!("there is no dimension {dimension}")))
}

/// Repeats a tensor along the dimensions that are not named; named ones of size 1 are repeated too.
pub(super) fn broadcast_in_dim(
    operand: &Tensor,
    shape: Shape,
    dimensions: &[i64],
) -> Result<Tensor, EngineError> {
    let mut steps = vec![0; shape.rank()];
    let sizes = operand.shape().sizes();
    let strides = operand.shape().strides();
    for (from, to) in dimensions.iter().enumerate() {
        let to = axis(*to, shape.rank())?;
        let size = *sizes.get(from).ok_or_else(|| misfit("broadcast", operand, &shape))?;
        if size != 1 && size != shape.sizes()[to] {
            return Err(misfit("broadcast", operand, &shape));
        }
        steps[to] = if size == 1 { 0 } else { strides[from] as i64 };
    }
    Walk { offset: 0, steps }.copy(operand, shape)
}

fn misfit(what: &str, operand: &Tensor, shape: &Shape) -> EngineError {
    EngineError::Value(format!(
        "a tensor of shape [{}] cannot be {what} to [{shape}]",
        operand.shape()
    ))
}

/// Repeats a tensor along new dimensions in front.
pub(super) fn broadcast(operand: &Tensor, shape: Shape) -> Result<Tensor, EngineError> {
    let added = shape.rank().saturating_sub(operand.shape().rank());
    let dimensions: Vec<i64> = (added..shape.rank()).map(|axis| axis as i64).collect();
    broadcast_in_dim(operand, shape, &dimensions)
}

pub(super) fn reshape(operand: &Tensor, shape: Shape) -> Result<Tensor, EngineError> {
    if operand.shape().elements() != shape.elements() {
        return Err(misfit("reshaped", operand, &shape));
    }
    Ok(operand.reshaped(shape)?)
}

pub(super) fn transpose(operand: &Tensor, permutation: &[i64]) -> Result<Tensor, EngineError> {
    let (sizes, strides) = (operand.shape().sizes(), operand.shape().strides());
    let (mut new_sizes, mut steps) = (Vec::new(), Vec::new());
    for from in permutation {
        let from = axis(*from, sizes.len())?;
        new_sizes.push(sizes[from]);
        steps.push(strides[from] as i64);
    }
    let shape = Shape::new(new_sizes).map_err(too_large)?;
    Walk { offset: 0, steps }.copy(operand, shape)
}

pub(super) fn reverse(operand: &Tensor, dimensions: &[i64]) -> Result<Tensor, EngineError> {
    let mut walk = Walk::over(operand.shape());
    for dimension in dimensions {
        let axis = axis(*dimension, operand.shape().rank())?;
        let size = operand.shape().sizes()[axis] as i64;
        walk.offset += (size - 1).max(0) * walk.steps[axis];
        walk.steps[axis] = -walk.steps[axis];
    }
    walk.copy(operand, operand.shape().clone())
}

/// Every `strides`-th element from `start` up to `limit`.
pub(super) fn slice(
    operand: &Tensor,
    start: &[i64],
    limit: &[i64],
    strides: &[i64],
) -> Result<Tensor, EngineError> {
    let rank = operand.shape().rank();
    let mut walk = Walk::over(operand.shape());
    let mut sizes = Vec::with_capacity(rank);
    for (axis, size) in operand.shape().sizes().iter().enumerate() {
        let (Some(&start), Some(&limit), Some(&stride)) =
            (start.get(axis), limit.get(axis), strides.get(axis))
        else {
            return Err(EngineError::Value("a slice needs bounds for each dimension".into()));
        };
        let within = 0 <= start && start <= limit && limit <= *size as i64 && stride > 0;
        if !within {
            return Err(EngineError::Value(format!(
                "{start}:{limit}:{stride} does not lie within dimension {axis} of [{}]",
                operand.shape()
            )));
        }
        sizes.push(((limit - start) as u64).div_ceil(stride as u64) as usize);
        walk.offset += start * walk.steps[axis];
        walk.steps[axis] = walk.steps[axis].saturating_mul(stride);
    }
    walk.copy(operand, Shape::new(sizes).map_err(too_large)?)
}

pub(super) fn concatenate(operands: &[Tensor], dimension: i64) -> Result<Tensor, EngineError> {
    let Some(first) = operands.first() else {
        return Err(EngineError::Value("nothing to concatenate".into()));
    };
    let joined = axis(dimension, first.shape().rank())?;
    let mut sizes = first.shape().sizes().to_vec();
    sizes[joined] = operands
        .iter()
        .try_fold(0_usize, |sum, operand| sum.checked_add(*operand.shape().sizes().get(joined)?))
        .ok_or_else(|| EngineError::Value("the operands cannot be joined".into()))?;
    let shape = Shape::new(sizes).map_err(too_large)?;
    let outer: usize = shape.sizes()[..joined].iter().product();
    let mut bytes = Vec::with_capacity(shape.elements() * first.dtype().bytes());
    for place in 0..outer {
        for operand in operands {
            let row = operand.bytes().len() / outer.max(1);
            bytes.extend_from_slice(&operand.bytes()[place * row..(place + 1) * row]);
        }
    }
    Ok(Tensor::new(first.dtype(), shape, bytes)?)
}

/// Puts space around and between elements; negative space at an edge cuts them off.
pub(super) fn pad(
    operand: &Tensor,
    value: &Tensor,
    padding: &Padding,
) -> Result<Tensor, EngineError> {
    let rank = operand.shape().rank();
    if [&padding.low, &padding.high, &padding.interior].iter().any(|list| list.len() != rank) {
        return Err(EngineError::Value("padding needs an entry for each dimension".into()));
    }
    let mut sizes = Vec::with_capacity(rank);
    for (axis, size) in operand.shape().sizes().iter().enumerate() {
        let size = *size as i128;
        let inside = i128::from(padding.interior[axis]) * (size - 1).max(0);
        let total = size + inside + i128::from(padding.low[axis]) + i128::from(padding.high[axis]);
        sizes.push(usize::try_from(total).map_err(|_| {
            EngineError::Value(format!("padding leaves {total} elements in dimension {axis}"))
        })?);
    }
    let shape = Shape::new(sizes).map_err(too_large)?;
    if shape.elements() > MOST_ELEMENTS {
        return Err(EngineError::Limit(format!("a result of shape [{shape}] is too large")));
    }
    let width = operand.dtype().bytes();
    let mut bytes = value.bytes().repeat(shape.elements());
    let strides = shape.strides();
    // Where each index of each dimension goes, in elements; nowhere when it is cut off.
    let places: Vec<Vec<Option<usize>>> = (0..rank)
        .map(|axis| {
            let step = i128::from(padding.interior[axis]) + 1;
            let low = i128::from(padding.low[axis]);
            let place = |index: usize| {
                let place = usize::try_from(low + index as i128 * step).ok()?;
                (place < shape.sizes()[axis]).then(|| place * strides[axis])
            };
            (0..operand.shape().sizes()[axis]).map(place).collect()
        })
        .collect();
    for_each_place(&places, |from, to| {
        bytes[to * width..(to + 1) * width].copy_from_slice(operand.element_bytes(from));
    });
    Ok(Tensor::new(operand.dtype(), shape, bytes)?)
}

/// Calls with the number of each index in row-major order and the sum of its places, leaving out those without.
fn for_each_place(places: &[Vec<Option<usize>>], mut call: impl FnMut(usize, usize)) {
    let total: usize = places.iter().map(Vec::len).product();
    let mut index = vec![0; places.len()];
    for from in 0..total {
        let to = index.iter().zip(places).try_fold(0, |sum, (at, places)| Some(sum + places[*at]?));
        if let Some(to) = to {
            call(from, to);
        }
        for axis in (0..places.len()).rev() {
            index[axis] += 1;
            if index[axis] < places[axis].len() {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// Where a slice of these sizes begins: as asked, but so that it lies within the operand.
fn clamped_start(
    operand: &Tensor,
    starts: &[Tensor],
    sizes: &[usize],
) -> Result<Vec<i64>, EngineError> {
    let shape = operand.shape().sizes();
    if starts.len() != shape.len() || sizes.len() != shape.len() {
        return Err(EngineError::Value("a slice needs a start for each dimension".into()));
    }
    starts
        .iter()
        .zip(shape.iter().zip(sizes))
        .map(|(start, (all, part))| {
            let value = start.integers()?.first().copied().unwrap_or(0);
            // Unsigned ones above 2^63 are far beyond the end, not before the beginning.
            let beyond = start.dtype() == DType::U64 && value < 0;
            let value = if beyond { i64::MAX } else { value };
            let last = all.checked_sub(*part).ok_or_else(|| {
                EngineError::Value(format!("a slice of {part} does not fit a dimension of {all}"))
            })?;
            Ok(value.clamp(0, last as i64))
        })
        .collect()
}

pub(super) fn dynamic_slice(
    operand: &Tensor,
    starts: &[Tensor],
    sizes: &[i64],
) -> Result<Tensor, EngineError> {
    let sizes: Vec<usize> =
        sizes.iter().map(|size| usize::try_from(*size).unwrap_or(usize::MAX)).collect();
    let start = clamped_start(operand, starts, &sizes)?;
    let limit: Vec<i64> =
        start.iter().zip(&sizes).map(|(start, size)| start + *size as i64).collect();
    slice(operand, &start, &limit, &vec![1; sizes.len()])
}

pub(super) fn dynamic_update_slice(
    operand: &Tensor,
    update: &Tensor,
    starts: &[Tensor],
) -> Result<Tensor, EngineError> {
    let start = clamped_start(operand, starts, update.shape().sizes())?;
    let strides = operand.shape().strides();
    let places: Vec<Vec<Option<usize>>> = start
        .iter()
        .zip(update.shape().sizes().iter().zip(strides))
        .map(|(start, (size, stride))| {
            (0..*size).map(|index| Some((*start as usize + index) * stride)).collect()
        })
        .collect();
    let width = operand.dtype().bytes();
    let mut bytes = operand.bytes().to_vec();
    for_each_place(&places, |from, to| {
        bytes[to * width..(to + 1) * width].copy_from_slice(update.element_bytes(from));
    });
    Ok(Tensor::new(operand.dtype(), operand.shape().clone(), bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(sizes: &[usize], values: Vec<i64>) -> Tensor {
        Tensor::from_integers(DType::I32, Shape::new(sizes).unwrap(), values).unwrap()
    }

    fn counting(sizes: &[usize]) -> Tensor {
        tensor(sizes, (0..sizes.iter().product::<usize>() as i64).collect())
    }

    #[test]
    fn moves() {
        let matrix = counting(&[2, 3]);
        assert_eq!(transpose(&matrix, &[1, 0]).unwrap(), tensor(&[3, 2], vec![0, 3, 1, 4, 2, 5]));
        assert_eq!(reverse(&matrix, &[1]).unwrap(), tensor(&[2, 3], vec![2, 1, 0, 5, 4, 3]));
        assert_eq!(
            slice(&matrix, &[0, 1], &[2, 3], &[1, 1]).unwrap(),
            tensor(&[2, 2], vec![1, 2, 4, 5])
        );
        assert_eq!(slice(&matrix, &[0, 0], &[2, 3], &[2, 2]).unwrap(), tensor(&[1, 2], vec![0, 2]));
        let shape = Shape::new([2, 2, 3]).unwrap();
        let twice = broadcast_in_dim(&matrix, shape, &[0, 2]).unwrap();
        assert_eq!(twice, tensor(&[2, 2, 3], vec![0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5]));
        let joined = concatenate(&[matrix.clone(), counting(&[2, 1])], 1).unwrap();
        assert_eq!(joined, tensor(&[2, 4], vec![0, 1, 2, 0, 3, 4, 5, 1]));
        let empty = slice(&matrix, &[1, 1], &[1, 3], &[1, 1]).unwrap();
        assert_eq!(empty.shape().sizes(), [0, 2]);
    }

    #[test]
    fn padding_may_be_negative_and_between() {
        let line = counting(&[3]);
        let value = tensor(&[], vec![9]);
        let padded = |low, high, interior| {
            let padding = Padding { low: vec![low], high: vec![high], interior: vec![interior] };
            pad(&line, &value, &padding).unwrap().integers().unwrap()
        };
        assert_eq!(padded(1, 2, 0), [9, 0, 1, 2, 9, 9]);
        assert_eq!(padded(0, 0, 1), [0, 9, 1, 9, 2]);
        assert_eq!(padded(-1, 1, 1), [9, 1, 9, 2, 9]);
        assert_eq!(padded(-2, -1, 0), [0_i64; 0]);
    }

    #[test]
    fn slices_at_run_time_stay_within() {
        let line = counting(&[5]);
        let at = |start: i64| tensor(&[], vec![start]);
        assert_eq!(dynamic_slice(&line, &[at(9)], &[2]).unwrap(), tensor(&[2], vec![3, 4]));
        assert_eq!(dynamic_slice(&line, &[at(-1)], &[2]).unwrap(), tensor(&[2], vec![0, 1]));
        let update = tensor(&[2], vec![7, 8]);
        let updated = dynamic_update_slice(&line, &update, &[at(4)]).unwrap();
        assert_eq!(updated, tensor(&[5], vec![0, 1, 2, 7, 8]));
        assert!(dynamic_slice(&line, &[at(0)], &[6]).is_err());
    }

    #[test]
    fn counting_up() {
        let shape = Shape::new([2, 3]).unwrap();
        assert_eq!(
            iota(DType::I32, shape.clone(), 1).unwrap(),
            tensor(&[2, 3], vec![0, 1, 2, 0, 1, 2])
        );
        let rows = iota(DType::F32, shape, 0).unwrap();
        assert_eq!(rows.floats(), Ok(vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0]));
    }
}

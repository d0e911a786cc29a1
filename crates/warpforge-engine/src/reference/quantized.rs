//! Quantized tensors: between integers and the real numbers they stand for, and products of them.
//!
//! Invariant: each step of the specification's `dequantize` and `quantize` is computed in f64 and rounded to the expressed
//! type, so results are those of the specification bit for bit.

use warpforge_hlo::ir::{Convolution, DotGeneral};
use warpforge_hlo::{ElementType, QuantizedType, TensorType};
use warpforge_tensor::{Kind, Shape, Tensor};

use super::place::{axis, shape_of, wrong};
use super::product::round_to;
use super::{convolution, product};
use crate::EngineError;

/// The scale and zero point of each element.
struct Parameters {
    scales: Vec<f64>,
    zero_points: Vec<i64>,
    /// How many neighbours share a scale.
    stride: usize,
}

impl Parameters {
    fn new(quantized: &QuantizedType, shape: &Shape) -> Result<Self, EngineError> {
        let scales: Vec<f64> =
            quantized.scales().map(|scale| round_to(scale, quantized.expressed)).collect();
        let (count, stride) = match quantized.axis {
            None => (1, 1),
            Some(number) => {
                let number = i64::try_from(number).unwrap_or(i64::MAX);
                let place = axis(number, shape.rank())?;
                (shape.sizes()[place], shape.strides()[place])
            }
        };
        let zero_points = quantized.zero_points.clone();
        if scales.len() != count || zero_points.len() != count {
            return Err(wrong(format!("{quantized} does not have {count} scales")));
        }
        Ok(Self { scales, zero_points, stride })
    }

    /// The scale and zero point of an element.
    fn of(&self, place: usize) -> (f64, i64) {
        let number = place / self.stride % self.scales.len();
        (self.scales[number], self.zero_points[number])
    }
}

/// The smallest and largest integer used.
fn range(quantized: &QuantizedType) -> (i64, i64) {
    let bits = quantized.storage.bits().min(63) as u32;
    quantized.storage_range.unwrap_or(match quantized.storage.kind() {
        Kind::Unsigned => (0, (1_i64 << bits.min(62)) - 1),
        _ => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
    })
}

/// The real numbers that stored integers stand for, each a value of the expressed type.
pub(super) fn dequantize(
    tensor: &Tensor,
    quantized: &QuantizedType,
) -> Result<Vec<f64>, EngineError> {
    let parameters = Parameters::new(quantized, tensor.shape())?;
    let real = |(place, stored): (usize, i64)| {
        let (scale, zero) = parameters.of(place);
        let difference = (i128::from(stored) - i128::from(zero)) as f64;
        round_to(round_to(difference, quantized.expressed) * scale, quantized.expressed)
    };
    Ok(tensor.integers()?.into_iter().enumerate().map(real).collect())
}

/// The stored integers nearest to real numbers, ties to even; what lies outside the range goes to its end.
pub(super) fn quantize(
    values: &[f64],
    quantized: &QuantizedType,
    shape: Shape,
) -> Result<Tensor, EngineError> {
    let parameters = Parameters::new(quantized, &shape)?;
    let (low, high) = range(quantized);
    let rounded = |value: f64| round_to(value, quantized.expressed);
    let (least, most) = (rounded(low as f64), rounded(high as f64));
    if values.len() != shape.elements() {
        return Err(wrong(format!("{} numbers do not fill {shape}", values.len())));
    }
    if low > high || least.is_nan() || most.is_nan() {
        return Err(wrong(format!("{quantized} holds no number")));
    }
    let store = |(place, value): (usize, &f64)| {
        let (scale, zero) = parameters.of(place);
        let scaled = rounded(rounded(rounded(*value) / scale) + rounded(zero as f64));
        // The ends themselves may have been rounded outwards.
        (scaled.clamp(least, most).round_ties_even() as i64).clamp(low, high)
    };
    let stored = values.iter().enumerate().map(store).collect();
    Ok(Tensor::from_integers(quantized.storage, shape, stored)?)
}

/// A tensor of real numbers: itself, or what its integers stand for.
pub(super) fn expressed(tensor: &Tensor, ty: &TensorType) -> Result<Tensor, EngineError> {
    match &ty.element {
        ElementType::Plain(_) => Ok(tensor.clone()),
        ElementType::Quantized(quantized) => {
            let values = dequantize(tensor, quantized)?;
            Ok(Tensor::from_floats(quantized.expressed, tensor.shape().clone(), values)?)
        }
    }
}

/// The type with the real numbers that quantized elements stand for.
pub(super) fn expressed_type(ty: &TensorType) -> TensorType {
    match &ty.element {
        ElementType::Plain(_) => ty.clone(),
        ElementType::Quantized(quantized) => {
            TensorType { element: ElementType::Plain(quantized.expressed), ..ty.clone() }
        }
    }
}

/// A tensor of a type, out of real numbers: itself, or the integers that stand for them.
pub(super) fn stored(tensor: Tensor, ty: &TensorType) -> Result<Tensor, EngineError> {
    match &ty.element {
        ElementType::Plain(_) => Ok(tensor),
        ElementType::Quantized(quantized) => {
            quantize(&tensor.floats()?, quantized, tensor.shape().clone())
        }
    }
}

/// A tensor of zeros; quantized ones are the integers that stand for zero.
pub(super) fn zeros(ty: &TensorType) -> Result<Tensor, EngineError> {
    let shape = shape_of(ty)?;
    match &ty.element {
        ElementType::Plain(dtype) => Ok(Tensor::zeros(*dtype, shape)),
        ElementType::Quantized(quantized) => {
            quantize(&vec![0.0; shape.elements()], quantized, shape)
        }
    }
}

/// From real numbers, or from integers of another quantized type, to those of the result's.
pub(super) fn uniform_quantize(
    operand: &Tensor,
    operand_type: &TensorType,
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    stored(expressed(operand, operand_type)?, result)
}

/// The real numbers a quantized tensor stands for.
pub(super) fn uniform_dequantize(
    operand: &Tensor,
    operand_type: &TensorType,
) -> Result<Tensor, EngineError> {
    expressed(operand, operand_type)
}

/// A product where one or both operands are quantized.
pub(super) fn dot_general(
    numbers: &DotGeneral,
    lhs: (&Tensor, &TensorType),
    rhs: (&Tensor, &TensorType),
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let (lhs, rhs) = (expressed(lhs.0, lhs.1)?, expressed(rhs.0, rhs.1)?);
    stored(product::dot_general(numbers, &lhs, &rhs, &expressed_type(result))?, result)
}

/// A convolution where one or both operands are quantized.
pub(super) fn convolution(
    numbers: &Convolution,
    lhs: (&Tensor, &TensorType),
    rhs: (&Tensor, &TensorType),
    result: &TensorType,
) -> Result<Tensor, EngineError> {
    let (lhs, rhs) = (expressed(lhs.0, lhs.1)?, expressed(rhs.0, rhs.1)?);
    stored(convolution::convolution(numbers, &lhs, &rhs, &expressed_type(result))?, result)
}

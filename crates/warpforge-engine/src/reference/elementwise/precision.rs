//! `reduce_precision`: what is left of a float in a format with fewer bits, kept in its own type.
//!
//! To nearest, ties to even; what is too large becomes infinite, what would be subnormal in the smaller format zero.

use warpforge_tensor::{DType, Elements, Tensor, small_float};

use crate::EngineError;
use crate::reference::scalar::rounded;

/// Reduces every element.
pub(in crate::reference) fn reduce_precision(
    operand: &Tensor,
    exponent_bits: i64,
    mantissa_bits: i64,
) -> Result<Tensor, EngineError> {
    let dtype = operand.dtype();
    let exponent_bits = exponent_bits.clamp(1, 11) as u32;
    let mantissa_bits = mantissa_bits.clamp(0, 52) as u32;
    let reduced = operand
        .floats()?
        .into_iter()
        .map(|value| reduce(value, dtype, exponent_bits, mantissa_bits))
        .collect();
    Ok(Tensor::from_elements(dtype, operand.shape().clone(), &Elements::Floats(reduced))?)
}

/// The bits of the exponent and the mantissa of a type; those of f32 for types without infinities.
fn format(dtype: DType) -> (u32, u32) {
    match dtype {
        DType::F64 => (11, 52),
        DType::F16 => (5, 10),
        DType::BF16 => (8, 7),
        _ => (8, 23),
    }
}

fn reduce(value: f64, dtype: DType, exponent_bits: u32, mantissa_bits: u32) -> f64 {
    let (source_exponent, source_mantissa) = format(dtype);
    if value.is_nan() {
        // Without a mantissa there is no pattern left for it but that of infinity.
        return if mantissa_bits > 0 { value } else { f64::INFINITY.copysign(value) };
    }
    let mut bits = pattern(value, dtype);
    if mantissa_bits < source_mantissa {
        let last = 1_u64 << (source_mantissa - mantissa_bits);
        let odd = u64::from(bits & last != 0);
        bits = (bits + (last >> 1) - 1 + odd) & !(last - 1);
    }
    let sign = bits >> (source_exponent + source_mantissa) << (source_exponent + source_mantissa);
    if exponent_bits < source_exponent {
        let bias = (1_u64 << (source_exponent - 1)) - 1;
        let reduced_bias = (1_u64 << (exponent_bits - 1)) - 1;
        let exponent = (bits ^ sign) >> source_mantissa;
        let infinity = ((1_u64 << source_exponent) - 1) << source_mantissa;
        if exponent > bias + reduced_bias {
            bits = sign | infinity;
        } else if exponent <= bias - reduced_bias {
            bits = sign;
        }
    }
    from_pattern(bits, dtype)
}

fn pattern(value: f64, dtype: DType) -> u64 {
    match dtype {
        DType::F64 => value.to_bits(),
        DType::F16 | DType::BF16 => u64::from(small_float::encode(value, dtype).unwrap_or(0)),
        _ => u64::from((value as f32).to_bits()),
    }
}

fn from_pattern(bits: u64, dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::from_bits(bits),
        DType::F16 | DType::BF16 => small_float::decode(bits as u16, dtype).unwrap_or(0.0),
        _ => rounded(f64::from(f32::from_bits(bits as u32)), dtype),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lose_bits_and_range() {
        let half = |value| reduce(value, DType::F32, 5, 10);
        assert_eq!(half(1.0 + 1.0 / 4096.0), 1.0);
        assert_eq!(half(1.0 + 3.0 / 2048.0), 1.0 + 2.0 / 1024.0);
        assert_eq!(half(65519.0), 65504.0);
        assert_eq!(half(-65520.0), f64::NEG_INFINITY);
        assert_eq!(half(f64::powi(2.0, -14)), f64::powi(2.0, -14));
        assert!(half(-f64::powi(2.0, -15)).is_sign_negative());
        assert_eq!(half(f64::powi(2.0, -15)), 0.0);
        assert!(half(f64::NAN).is_nan());
        assert_eq!(reduce(f64::powi(2.0, -24), DType::F16, 5, 10), f64::powi(2.0, -24));
        assert_eq!(reduce(f64::NAN, DType::F32, 5, 0), f64::INFINITY);
    }
}

//! One element as a wide number: what a region that is called for each element computes with.
//!
//! Invariant: a rounded scalar is one the type it was rounded to can hold.

use std::sync::Arc;

use warpforge_tensor::{Complex64, DType, Elements, Kind, Shape, Tensor, TensorError, small_float};

/// One element, widened exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scalar {
    /// A boolean (0 or 1) or an integer; `ui64` as the i64 of the same bits.
    Integer(i64),
    Float(f64),
    Complex(Complex64),
}

impl Scalar {
    /// The first element of a tensor, if it has one.
    pub(super) fn first(tensor: &Tensor) -> Option<Self> {
        let width = tensor.dtype().bytes();
        Some(Self::read(tensor.dtype(), tensor.bytes().get(..width)?))
    }

    /// An element from its bytes, as many as the type has.
    pub(super) fn read(dtype: DType, bytes: &[u8]) -> Self {
        match (dtype, bytes) {
            (DType::F32, [a, b, c, d]) => {
                Self::Float(f64::from(f32::from_le_bytes([*a, *b, *c, *d])))
            }
            (DType::I32, [a, b, c, d]) => {
                Self::Integer(i64::from(i32::from_le_bytes([*a, *b, *c, *d])))
            }
            (DType::I1, [byte]) => Self::Integer(i64::from(*byte)),
            _ => match Elements::from_bytes(dtype, bytes) {
                Elements::Integers(values) => Self::Integer(values.first().copied().unwrap_or(0)),
                Elements::Floats(values) => Self::Float(values.first().copied().unwrap_or(0.0)),
                Elements::Complex(values) => {
                    Self::Complex(values.first().copied().unwrap_or_default())
                }
            },
        }
    }

    /// A tensor of this element alone, rounded to the type.
    pub(super) fn tensor(self, dtype: DType) -> Result<Tensor, TensorError> {
        let bytes: Arc<[u8]> = match (self, dtype) {
            (Self::Float(value), DType::F32) => Arc::new((value as f32).to_le_bytes()),
            (Self::Integer(value), DType::I32) => Arc::new((value as i32).to_le_bytes()),
            (Self::Integer(value), DType::I1) => Arc::new([u8::from(value != 0)]),
            (Self::Integer(value), _) => Elements::Integers(vec![value]).to_bytes(dtype)?.into(),
            (Self::Float(value), _) => Elements::Floats(vec![value]).to_bytes(dtype)?.into(),
            (Self::Complex(value), _) => Elements::Complex(vec![value]).to_bytes(dtype)?.into(),
        };
        Tensor::new(dtype, Shape::scalar(), bytes)
    }

    /// The value once it has been stored in a tensor of this type.
    pub(super) fn rounded(self, dtype: DType) -> Self {
        match self {
            Self::Integer(value) => Self::Integer(wrapped(value, dtype)),
            Self::Float(value) => Self::Float(rounded(value, dtype)),
            Self::Complex(value) => {
                let part = dtype.part();
                Self::Complex(Complex64::new(rounded(value.re, part), rounded(value.im, part)))
            }
        }
    }

    /// Whether it is not zero.
    pub(super) fn is_true(self) -> bool {
        match self {
            Self::Integer(value) => value != 0,
            Self::Float(value) => value != 0.0,
            Self::Complex(value) => value != Complex64::default(),
        }
    }
}

/// A float rounded to a type, to nearest, ties to even.
pub(super) fn rounded(value: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F64 => value,
        DType::F32 => f64::from(value as f32),
        _ => small_float::encode(value, dtype)
            .and_then(|bits| small_float::decode(bits, dtype))
            .unwrap_or(value),
    }
}

/// An integer as a type keeps it: its low bits, sign-extended where the type is signed; whether it is not 0 for `i1`.
pub(super) fn wrapped(value: i64, dtype: DType) -> i64 {
    let unused = 64 - dtype.bits().min(64) as u32;
    match dtype.kind() {
        Kind::Boolean => i64::from(value != 0),
        Kind::Unsigned => (((value as u64) << unused) >> unused) as i64,
        _ => (value << unused) >> unused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_round_as_tensors_do() {
        for dtype in DType::ALL {
            let wide = match dtype.kind() {
                Kind::Float => Scalar::Float(1.3),
                Kind::Complex => Scalar::Complex(Complex64::new(1.3, -0.1)),
                _ => Scalar::Integer(0x0123_4567_89ab_cdef),
            };
            let tensor = wide.tensor(dtype).unwrap();
            assert_eq!(Scalar::first(&tensor), Some(wide.rounded(dtype)), "{dtype}");
        }
    }
}

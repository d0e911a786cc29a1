//! Elements as wide numbers: what slow and exact code computes with, whatever the tensor's type.
//!
//! Invariants: every value of every type has an exact wide one; going back rounds once, to nearest, ties to even.

use num_complex::Complex64;

use crate::small_float::{decode, encode};
use crate::{DType, Kind, TensorError};

/// The elements of a tensor, row-major.
#[derive(Debug, Clone, PartialEq)]
pub enum Elements {
    /// Booleans (0 and 1) and integers; `ui64` as the i64 of the same bits.
    Integers(Vec<i64>),
    /// Floats of every width.
    Floats(Vec<f64>),
    /// Complex numbers of both widths.
    Complex(Vec<Complex64>),
}

/// Reads fixed-size chunks as numbers.
macro_rules! read {
    ($bytes:expr, $number:ty, $wide:expr) => {{
        const SIZE: usize = size_of::<$number>();
        let (chunks, _) = $bytes.as_chunks::<SIZE>();
        chunks.iter().map(|chunk| $wide(<$number>::from_le_bytes(*chunk))).collect()
    }};
}

impl Elements {
    /// Reads the bytes of a tensor; a tail shorter than an element is left out.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Self {
        match dtype {
            DType::I1 | DType::U2 | DType::U4 | DType::U8 => {
                Self::Integers(bytes.iter().map(|byte| i64::from(*byte)).collect())
            }
            DType::I2 | DType::I4 | DType::I8 => Self::Integers(read!(bytes, i8, i64::from)),
            DType::I16 => Self::Integers(read!(bytes, i16, i64::from)),
            DType::I32 => Self::Integers(read!(bytes, i32, i64::from)),
            DType::U16 => Self::Integers(read!(bytes, u16, i64::from)),
            DType::U32 => Self::Integers(read!(bytes, u32, i64::from)),
            DType::I64 | DType::U64 => Self::Integers(read!(bytes, i64, |value| value)),
            DType::BF16 => {
                let wide = |bits: u16| f64::from(f32::from_bits(u32::from(bits) << 16));
                Self::Floats(read!(bytes, u16, wide))
            }
            DType::F16 => Self::Floats(read!(bytes, u16, |bits| small(bits, dtype))),
            DType::F32 => Self::Floats(read!(bytes, f32, f64::from)),
            DType::F64 => Self::Floats(read!(bytes, f64, |value| value)),
            DType::C64 => {
                let parts: Vec<f64> = read!(bytes, f32, f64::from);
                Self::Complex(pairs(&parts))
            }
            DType::C128 => {
                let parts: Vec<f64> = read!(bytes, f64, |value| value);
                Self::Complex(pairs(&parts))
            }
            _ => Self::Floats(bytes.iter().map(|byte| small(u16::from(*byte), dtype)).collect()),
        }
    }

    /// The bytes of a tensor of this type.
    pub fn to_bytes(&self, dtype: DType) -> Result<Vec<u8>, TensorError> {
        match (self, dtype.kind()) {
            (Self::Integers(values), Kind::Boolean) => {
                Ok(values.iter().map(|value| u8::from(*value != 0)).collect())
            }
            (Self::Integers(values), Kind::Signed | Kind::Unsigned) => Ok(integers(values, dtype)),
            (Self::Floats(values), Kind::Float) => Ok(floats(values, dtype)),
            (Self::Complex(values), Kind::Complex) => {
                let parts: Vec<f64> =
                    values.iter().flat_map(|value| [value.re, value.im]).collect();
                Ok(floats(&parts, dtype.part()))
            }
            (Self::Integers(_), _) => Err(TensorError::Kind { dtype, asked: "integers" }),
            (Self::Floats(_), _) => Err(TensorError::Kind { dtype, asked: "floats" }),
            (Self::Complex(_), _) => Err(TensorError::Kind { dtype, asked: "complex numbers" }),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Floats(values) => values.len(),
            Self::Complex(values) => values.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn small(bits: u16, dtype: DType) -> f64 {
    decode(bits, dtype).expect("the type is a float of at most 16 bits")
}

fn pairs(parts: &[f64]) -> Vec<Complex64> {
    parts.chunks_exact(2).map(|pair| Complex64::new(pair[0], pair[1])).collect()
}

/// Bytes of a fixed size for each value.
fn stored<const SIZE: usize, T>(values: &[T], bytes: impl Fn(&T) -> [u8; SIZE]) -> Vec<u8> {
    values.iter().map(bytes).collect::<Vec<_>>().into_flattened()
}

/// Integers that wrap to the type.
fn integers(values: &[i64], dtype: DType) -> Vec<u8> {
    match dtype {
        // Shifting the sign down and up again leaves the low bits, sign-extended.
        DType::I2 => stored(values, |value| [(((*value as i8) << 6) >> 6) as u8]),
        DType::I4 => stored(values, |value| [(((*value as i8) << 4) >> 4) as u8]),
        DType::U2 => stored(values, |value| [*value as u8 & 3]),
        DType::U4 => stored(values, |value| [*value as u8 & 15]),
        _ => match dtype.bytes() {
            1 => stored(values, |value| [*value as u8]),
            2 => stored(values, |value| (*value as u16).to_le_bytes()),
            4 => stored(values, |value| (*value as u32).to_le_bytes()),
            _ => stored(values, |value| value.to_le_bytes()),
        },
    }
}

/// Floats rounded to the type.
fn floats(values: &[f64], dtype: DType) -> Vec<u8> {
    let bits = |value: &f64| encode(*value, dtype).expect("the type is a small float");
    match dtype {
        DType::F64 => stored(values, |value| value.to_le_bytes()),
        DType::F32 => stored(values, |value| (*value as f32).to_le_bytes()),
        DType::F16 | DType::BF16 => stored(values, |value| bits(value).to_le_bytes()),
        _ => stored(values, |value| [bits(value) as u8]),
    }
}

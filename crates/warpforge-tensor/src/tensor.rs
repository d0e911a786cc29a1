//! Tensors: a type, a shape and the elements as bytes, shared when cloned.
//!
//! Invariants: the bytes are exactly those of the shape; elements lie row-major and little-endian; a type narrower than
//! a byte takes one byte with the value in its low bits, signed ones sign-extended; `i1` is 0 or 1.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::bytes::{Bytes, Holder};
use crate::{DType, Elements, Shape, ShapeError};

/// A tensor that cannot be made or read as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// The shape itself is impossible.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The bytes or elements do not fill the shape.
    #[error("a tensor of {dtype} and shape [{shape}] holds {expected} {unit}, found {found}")]
    Length {
        /// The element type.
        dtype: DType,
        /// The shape.
        shape: Shape,
        /// `bytes` or `elements`.
        unit: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// Elements of one kind were given or asked of a type of another kind.
    #[error("{dtype} does not hold {asked}")]
    Kind {
        /// The element type.
        dtype: DType,
        /// What was asked of it.
        asked: &'static str,
    },
    /// Two tensors have no elements that could be compared one by one.
    #[error("cannot compare {actual} with {expected}")]
    Incomparable {
        /// Type and shape of the tensor that is judged.
        actual: String,
        /// Type and shape of the tensor it is judged by.
        expected: String,
    },
    /// A file of tensors cannot be read or written.
    #[error("{}: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file does not hold the tensor asked for.
    #[error("{}: no tensor named {name:?}{}", .path.display(), suggestion(.nearest))]
    Missing {
        /// The file.
        path: PathBuf,
        /// The name asked for.
        name: String,
        /// A name in the file that may have been meant.
        nearest: Option<String>,
    },
}

/// The end of a message that names what may have been meant.
fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

/// A dense tensor.
#[derive(Clone, PartialEq, Eq)]
pub struct Tensor {
    dtype: DType,
    shape: Shape,
    bytes: Bytes,
}

impl Tensor {
    /// A tensor of these bytes. Bits that a type does not use are cleared or made copies of the sign.
    pub fn new(
        dtype: DType,
        shape: Shape,
        bytes: impl AsRef<[u8]> + Into<Arc<[u8]>>,
    ) -> Result<Self, TensorError> {
        Self::of_bytes(dtype, shape, Bytes::from(bytes))
    }

    /// A tensor in memory that came from elsewhere, without a copy.
    pub fn held(dtype: DType, shape: Shape, holder: Arc<dyn Holder>) -> Result<Self, TensorError> {
        Self::of_bytes(dtype, shape, Bytes::Held(holder))
    }

    /// As [`Self::new`], wherever the bytes are.
    pub(crate) fn of_bytes(dtype: DType, shape: Shape, bytes: Bytes) -> Result<Self, TensorError> {
        let expected = shape.elements().checked_mul(dtype.bytes());
        if expected != Some(bytes.len()) {
            return Err(TensorError::Length {
                dtype,
                unit: "bytes",
                expected: expected.unwrap_or(usize::MAX),
                found: bytes.len(),
                shape,
            });
        }
        let bytes = if dtype.bits() < 8 && bytes.iter().any(|byte| *byte != tidy(*byte, dtype)) {
            Bytes::Owned(bytes.iter().map(|byte| tidy(*byte, dtype)).collect())
        } else {
            bytes
        };
        Ok(Self { dtype, shape, bytes })
    }

    /// A tensor whose elements are all zero.
    pub fn zeros(dtype: DType, shape: Shape) -> Self {
        let bytes = vec![0; shape.elements() * dtype.bytes()].into();
        Self { dtype, shape, bytes }
    }

    /// A tensor of these elements: floats are rounded to nearest, ties to even; integers wrap; `i1` is whether the
    /// integer is not 0.
    pub fn from_elements(
        dtype: DType,
        shape: Shape,
        elements: &Elements,
    ) -> Result<Self, TensorError> {
        if elements.len() != shape.elements() {
            return Err(TensorError::Length {
                dtype,
                unit: "elements",
                expected: shape.elements(),
                found: elements.len(),
                shape,
            });
        }
        Ok(Self { dtype, shape, bytes: elements.to_bytes(dtype)?.into() })
    }

    /// A tensor of floats, rounded to the type.
    pub fn from_floats(dtype: DType, shape: Shape, values: Vec<f64>) -> Result<Self, TensorError> {
        Self::from_elements(dtype, shape, &Elements::Floats(values))
    }

    /// A tensor of integers or booleans.
    pub fn from_integers(
        dtype: DType,
        shape: Shape,
        values: Vec<i64>,
    ) -> Result<Self, TensorError> {
        Self::from_elements(dtype, shape, &Elements::Integers(values))
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The elements as they lie in memory.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes of one element, by its row-major place.
    pub fn element_bytes(&self, place: usize) -> &[u8] {
        let size = self.dtype.bytes();
        &self.bytes[place * size..(place + 1) * size]
    }

    /// The elements as wide numbers.
    pub fn elements(&self) -> Elements {
        Elements::from_bytes(self.dtype, &self.bytes)
    }

    /// The elements of a float type.
    pub fn floats(&self) -> Result<Vec<f64>, TensorError> {
        match self.elements() {
            Elements::Floats(values) => Ok(values),
            _ => Err(TensorError::Kind { dtype: self.dtype, asked: "floats" }),
        }
    }

    /// The elements of an integer or boolean type; `ui64` above 2^63 as the i64 of the same bits.
    pub fn integers(&self) -> Result<Vec<i64>, TensorError> {
        match self.elements() {
            Elements::Integers(values) => Ok(values),
            _ => Err(TensorError::Kind { dtype: self.dtype, asked: "integers" }),
        }
    }

    /// The same elements in another shape of as many.
    pub fn reshaped(&self, shape: Shape) -> Result<Self, TensorError> {
        Self::of_bytes(self.dtype, shape, self.bytes.clone())
    }
}

impl fmt::Debug for Tensor {
    /// The type, and the first few elements.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "tensor of {} [{}] ", self.dtype, self.shape)?;
        let shown = self.shape.elements().min(16) * self.dtype.bytes();
        let elements = Elements::from_bytes(self.dtype, &self.bytes[..shown]);
        match elements {
            Elements::Integers(values) => write!(formatter, "{values:?}"),
            Elements::Floats(values) => write!(formatter, "{values:?}"),
            Elements::Complex(values) => write!(formatter, "{values:?}"),
        }
    }
}

/// A byte of a narrow type with the bits it does not use made regular.
fn tidy(byte: u8, dtype: DType) -> u8 {
    let unused = 8 - dtype.bits() as u32;
    match dtype {
        DType::I1 => u8::from(byte != 0),
        DType::I2 | DType::I4 => (((byte << unused) as i8) >> unused) as u8,
        _ => (byte << unused) >> unused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_must_fill_the_shape() {
        let shape = Shape::new([2, 3]).unwrap();
        let error = Tensor::new(DType::F32, shape, vec![0; 20]).unwrap_err();
        let expected = "a tensor of f32 and shape [2x3] holds 24 bytes, found 20";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn narrow_types_have_one_pattern_for_each_value() {
        let shape = Shape::new([3]).unwrap();
        let tensor = Tensor::new(DType::I4, shape.clone(), vec![0x0f, 0x18, 0x07]).unwrap();
        assert_eq!(tensor.integers(), Ok(vec![-1, -8, 7]));
        assert_eq!(Tensor::from_integers(DType::I4, shape.clone(), vec![15, 8, 7]), Ok(tensor));
        let flags = Tensor::new(DType::I1, shape, vec![0xff, 0, 2]).unwrap();
        assert_eq!(flags.bytes(), [1, 0, 1]);
    }

    #[test]
    fn elements_come_back() {
        for dtype in DType::ALL {
            let shape = Shape::new([2]).unwrap();
            let bytes: Vec<u8> = (0..2 * dtype.bytes()).map(|place| (place % 5) as u8).collect();
            let tensor = Tensor::new(dtype, shape.clone(), bytes).unwrap();
            let back = Tensor::from_elements(dtype, shape, &tensor.elements());
            assert_eq!(back.as_ref(), Ok(&tensor), "{dtype}");
        }
    }
}

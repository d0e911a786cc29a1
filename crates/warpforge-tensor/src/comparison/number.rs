//! One element as a value that can be shown and kept as JSON, also where it is not finite.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{DType, Elements, Tensor};

/// The value of an element.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// An integer or a boolean (0 or 1).
    Integer(i64),
    /// An integer above 2^63.
    Unsigned(u64),
    /// A float.
    Float(#[serde(with = "text_if_not_finite")] f64),
    /// A complex number.
    Complex {
        /// Its real part.
        #[serde(with = "text_if_not_finite")]
        re: f64,
        /// Its imaginary part.
        #[serde(with = "text_if_not_finite")]
        im: f64,
    },
}

impl Number {
    /// The element of a tensor at a row-major place.
    pub(super) fn of(tensor: &Tensor, place: usize) -> Self {
        match Elements::from_bytes(tensor.dtype(), tensor.element_bytes(place)) {
            Elements::Integers(values) if tensor.dtype() == DType::U64 => {
                Self::Unsigned(values[0] as u64)
            }
            Elements::Integers(values) => Self::Integer(values[0]),
            Elements::Floats(values) => Self::Float(values[0]),
            Elements::Complex(values) => Self::Complex { re: values[0].re, im: values[0].im },
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(formatter, "{value}"),
            Self::Unsigned(value) => write!(formatter, "{value}"),
            Self::Float(value) => write!(formatter, "{value:?}"),
            Self::Complex { re, im } => write!(formatter, "({re:?}, {im:?})"),
        }
    }
}

/// JSON has no NaN and no infinity: they are kept as text.
pub(super) mod text_if_not_finite {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if value.is_finite() { value.serialize(serializer) } else { serializer.collect_str(value) }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Kept {
            Finite(f64),
            Text(String),
        }
        match Kept::deserialize(deserializer)? {
            Kept::Finite(value) => Ok(value),
            Kept::Text(text) => match text.as_str() {
                "NaN" => Ok(f64::NAN),
                "inf" => Ok(f64::INFINITY),
                "-inf" => Ok(f64::NEG_INFINITY),
                _ => Err(D::Error::custom(format_args!("expected a number, found {text:?}"))),
            },
        }
    }
}

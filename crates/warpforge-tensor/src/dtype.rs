//! Element types: every plain one of the StableHLO specification, with its name in programs and its size.
//!
//! Invariant: a tensor keeps each element in a whole number of bytes, little-endian; types narrower than a byte take
//! one byte with the value in its low bits, signed ones sign-extended.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum DType {
    I1,
    I2,
    I4,
    I8,
    I16,
    I32,
    I64,
    U2,
    U4,
    U8,
    U16,
    U32,
    U64,
    F4E2M1FN,
    F6E2M3FN,
    F6E3M2FN,
    F8E3M4,
    F8E4M3,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E4M3B11FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F8E8M0FNU,
    BF16,
    F16,
    F32,
    F64,
    C64,
    C128,
}

/// What kind of number an element is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `i1`: false or true.
    Boolean,
    /// Two's complement.
    Signed,
    /// Not negative.
    Unsigned,
    /// Floating point of any width.
    Float,
    /// A pair of floats.
    Complex,
}

impl DType {
    /// Every element type.
    pub const ALL: [Self; 30] = [
        Self::I1,
        Self::I2,
        Self::I4,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U2,
        Self::U4,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F4E2M1FN,
        Self::F6E2M3FN,
        Self::F6E3M2FN,
        Self::F8E3M4,
        Self::F8E4M3,
        Self::F8E4M3FN,
        Self::F8E4M3FNUZ,
        Self::F8E4M3B11FNUZ,
        Self::F8E5M2,
        Self::F8E5M2FNUZ,
        Self::F8E8M0FNU,
        Self::BF16,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::C64,
        Self::C128,
    ];

    /// The name in a program.
    pub fn name(self) -> &'static str {
        match self {
            Self::I1 => "i1",
            Self::I2 => "i2",
            Self::I4 => "i4",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U2 => "ui2",
            Self::U4 => "ui4",
            Self::U8 => "ui8",
            Self::U16 => "ui16",
            Self::U32 => "ui32",
            Self::U64 => "ui64",
            Self::F4E2M1FN => "f4E2M1FN",
            Self::F6E2M3FN => "f6E2M3FN",
            Self::F6E3M2FN => "f6E3M2FN",
            Self::F8E3M4 => "f8E3M4",
            Self::F8E4M3 => "f8E4M3",
            Self::F8E4M3FN => "f8E4M3FN",
            Self::F8E4M3FNUZ => "f8E4M3FNUZ",
            Self::F8E4M3B11FNUZ => "f8E4M3B11FNUZ",
            Self::F8E5M2 => "f8E5M2",
            Self::F8E5M2FNUZ => "f8E5M2FNUZ",
            Self::F8E8M0FNU => "f8E8M0FNU",
            Self::BF16 => "bf16",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::C64 => "complex<f32>",
            Self::C128 => "complex<f64>",
        }
    }

    /// What kind of number it holds.
    pub fn kind(self) -> Kind {
        match self {
            Self::I1 => Kind::Boolean,
            Self::I2 | Self::I4 | Self::I8 | Self::I16 | Self::I32 | Self::I64 => Kind::Signed,
            Self::U2 | Self::U4 | Self::U8 | Self::U16 | Self::U32 | Self::U64 => Kind::Unsigned,
            Self::C64 | Self::C128 => Kind::Complex,
            _ => Kind::Float,
        }
    }

    /// Whether it is a signed or unsigned integer; `i1` is not.
    pub fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// Whether it is a float of any width.
    pub fn is_float(self) -> bool {
        self.kind() == Kind::Float
    }

    /// Whether it is complex.
    pub fn is_complex(self) -> bool {
        self.kind() == Kind::Complex
    }

    /// The bits of the value itself, as `bitcast_convert` counts them; 1 for `i1`.
    pub fn bits(self) -> usize {
        match self {
            Self::I1 => 1,
            Self::I2 | Self::U2 => 2,
            Self::I4 | Self::U4 | Self::F4E2M1FN => 4,
            Self::F6E2M3FN | Self::F6E3M2FN => 6,
            Self::I8
            | Self::U8
            | Self::F8E3M4
            | Self::F8E4M3
            | Self::F8E4M3FN
            | Self::F8E4M3FNUZ
            | Self::F8E4M3B11FNUZ
            | Self::F8E5M2
            | Self::F8E5M2FNUZ
            | Self::F8E8M0FNU => 8,
            Self::I16 | Self::U16 | Self::BF16 | Self::F16 => 16,
            Self::I32 | Self::U32 | Self::F32 => 32,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 => 64,
            Self::C128 => 128,
        }
    }

    /// The bytes an element takes in a tensor.
    pub fn bytes(self) -> usize {
        self.bits().div_ceil(8)
    }

    /// The type of the parts of a complex number; itself otherwise.
    pub fn part(self) -> Self {
        match self {
            Self::C64 => Self::F32,
            Self::C128 => Self::F64,
            other => other,
        }
    }

    /// The complex type with parts of this type, if there is one.
    pub fn complex_of(self) -> Option<Self> {
        match self {
            Self::F32 => Some(Self::C64),
            Self::F64 => Some(Self::C128),
            _ => None,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for DType {
    type Err = ();

    /// By the name in a program.
    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name).ok_or(())
    }
}

impl Serialize for DType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for DType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(|()| D::Error::custom(format_args!("unknown element type {name:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back() {
        for dtype in DType::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
            assert!(dtype.bytes() * 8 >= dtype.bits());
        }
        assert!("f33".parse::<DType>().is_err());
    }

    #[test]
    fn parts_and_wholes_agree() {
        for dtype in DType::ALL.into_iter().filter(|dtype| dtype.is_complex()) {
            assert_eq!(dtype.part().complex_of(), Some(dtype));
            assert_eq!(dtype.part().bits() * 2, dtype.bits());
        }
    }
}

//! Element types.

use crate::sys;
use std::ffi::c_int;

/// The type of a tensor's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DataType {
    /// 32-bit floating point.
    F32,
    /// 16-bit floating point with eight bits of exponent.
    Bf16,
    /// 16-bit floating point with five bits of exponent.
    F16,
    /// 64-bit floating point; few primitives take it on CPUs.
    F64,
    /// 32-bit signed integer.
    S32,
    /// 8-bit signed integer.
    S8,
    /// 8-bit unsigned integer.
    U8,
    /// 4-bit signed integer, two in a byte.
    S4,
    /// 4-bit unsigned integer, two in a byte.
    U4,
}

impl DataType {
    /// Every type.
    pub const ALL: [DataType; 9] = [
        DataType::F32,
        DataType::Bf16,
        DataType::F16,
        DataType::F64,
        DataType::S32,
        DataType::S8,
        DataType::U8,
        DataType::S4,
        DataType::U4,
    ];

    /// Bits of one element.
    pub const fn bits(self) -> usize {
        match self {
            DataType::F64 => 64,
            DataType::F32 | DataType::S32 => 32,
            DataType::Bf16 | DataType::F16 => 16,
            DataType::S8 | DataType::U8 => 8,
            DataType::S4 | DataType::U4 => 4,
        }
    }

    /// Bytes of one element, rounded up for types of which a byte holds two.
    pub const fn size(self) -> usize {
        self.bits().div_ceil(8)
    }

    pub(crate) const fn code(self) -> c_int {
        match self {
            DataType::F32 => sys::dnnl_f32,
            DataType::Bf16 => sys::dnnl_bf16,
            DataType::F16 => sys::dnnl_f16,
            DataType::F64 => sys::dnnl_f64,
            DataType::S32 => sys::dnnl_s32,
            DataType::S8 => sys::dnnl_s8,
            DataType::U8 => sys::dnnl_u8,
            DataType::S4 => sys::dnnl_s4,
            DataType::U4 => sys::dnnl_u4,
        }
    }

    /// None for a type that is not listed here, which only a descriptor made by the library can have.
    pub(crate) fn from_code(code: c_int) -> Option<Self> {
        Self::ALL.into_iter().find(|data_type| data_type.code() == code)
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            DataType::F32 => "f32",
            DataType::Bf16 => "bf16",
            DataType::F16 => "f16",
            DataType::F64 => "f64",
            DataType::S32 => "s32",
            DataType::S8 => "s8",
            DataType::U8 => "u8",
            DataType::S4 => "s4",
            DataType::U4 => "u4",
        }
    }
}

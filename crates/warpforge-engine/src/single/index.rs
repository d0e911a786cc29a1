//! Indices in memory, whatever integers they are.
#![allow(unsafe_code)]

use warpforge_tensor::DType;

/// The integer at a place of a tensor; unsigned ones above i64 as the largest.
///
/// # Safety
///
/// The tensor has an element there, of this type, aligned to it.
pub(super) unsafe fn read(base: *const u8, dtype: DType, at: usize) -> i64 {
    // SAFETY: the caller's promise.
    unsafe {
        match dtype {
            DType::I8 => i64::from(*base.cast::<i8>().add(at)),
            DType::I16 => i64::from(*base.cast::<i16>().add(at)),
            DType::I32 => i64::from(*base.cast::<i32>().add(at)),
            DType::I64 => *base.cast::<i64>().add(at),
            DType::U8 | DType::I1 => i64::from(*base.add(at)),
            DType::U16 => i64::from(*base.cast::<u16>().add(at)),
            DType::U32 => i64::from(*base.cast::<u32>().add(at)),
            _ => i64::try_from(*base.cast::<u64>().add(at)).unwrap_or(i64::MAX),
        }
    }
}

/// Whether indices of this type can be read.
pub(super) fn is_index(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::I8
            | DType::I16
            | DType::I32
            | DType::I64
            | DType::U8
            | DType::U16
            | DType::U32
            | DType::U64
    )
}

/// A start held within bounds, as the specification asks: so that the slice lies inside.
pub(super) fn clamped(start: i64, size: usize, slice: usize) -> usize {
    start.clamp(0, size.saturating_sub(slice) as i64) as usize
}

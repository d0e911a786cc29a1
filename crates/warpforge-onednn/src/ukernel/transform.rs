//! Packing B for a micro-kernel.
#![allow(unsafe_code)]

use super::shape::Pack;
use crate::data_type::DataType;
use crate::error::{OnednnError, check, invalid};
use crate::sys;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr::null_mut;

/// How the kernels of these types want B on this machine.
pub fn pack_of_b(a: DataType, b: DataType) -> Result<Pack, OnednnError> {
    let request = || format!("{} times {}", a.name(), b.name());
    let mut pack: c_int = 0;
    // SAFETY: writes one number.
    let status = unsafe { sys::dnnl_brgemm_get_B_pack_type(&mut pack, a.code(), b.code()) };
    check("dnnl_brgemm_get_B_pack_type", status, request)?;
    match pack {
        sys::dnnl_pack_type_no_trans => Ok(Pack::Plain),
        sys::dnnl_pack_type_pack32 => Ok(Pack::Interleaved),
        _ => Err(invalid("pack_of_b", "the library names no way to pack", request())),
    }
}

/// Packs one block of columns of B.
pub struct Transform {
    raw: *mut sys::dnnl_transform,
    request: String,
    bytes: usize,
}

// SAFETY: nothing behind the handle changes after it was generated.
unsafe impl Send for Transform {}
// SAFETY: as above; executions write only to memory that their callers name.
unsafe impl Sync for Transform {}

impl Transform {
    /// Packs a k x n matrix into a block of `block` columns (16, 32, 48 or 64, and at least n), which is the kernel's
    /// `ldb`. The matrix lies row by row with `leading` elements between rows or, `transposed`, column by column.
    pub fn create(
        k: usize,
        n: usize,
        leading: usize,
        transposed: bool,
        block: usize,
        data_type: DataType,
    ) -> Result<Self, OnednnError> {
        const CALL: &str = "Transform::create";
        let name = data_type.name();
        let request = format!(
            "pack {k} x {n} of {name}, leading {leading}, transposed {transposed}, block {block}"
        );
        let size = |value: usize| {
            let value =
                i64::try_from(value).ok().filter(|value| (1..=i64::from(i32::MAX)).contains(value));
            value.ok_or_else(|| invalid(CALL, "sizes are at least 1 and below 2^31", &request))
        };
        if !matches!(block, 16 | 32 | 48 | 64) || n > block {
            return Err(invalid(
                CALL,
                "a block has 16, 32, 48 or 64 columns, and no fewer than B",
                &request,
            ));
        }
        if leading < if transposed { k } else { n } {
            return Err(invalid(CALL, "rows overlap", &request));
        }
        if !matches!(
            data_type,
            DataType::F32 | DataType::Bf16 | DataType::F16 | DataType::S8 | DataType::U8
        ) {
            return Err(invalid(CALL, "matrices of this type are not packed", &request));
        }
        // The library does not look whether the machine has kernels for the type before it generates one.
        pack_of_b(if data_type == DataType::S8 { DataType::U8 } else { data_type }, data_type)?;
        let pack =
            if transposed { sys::dnnl_pack_type_trans } else { sys::dnnl_pack_type_no_trans };
        let code = data_type.code();
        let mut raw = null_mut();
        // SAFETY: numbers, and one handle that is written.
        let status = unsafe {
            sys::dnnl_transform_create(
                &mut raw,
                size(k)?,
                size(n)?,
                pack,
                size(leading)?,
                size(block)?,
                code,
                code,
            )
        };
        check("dnnl_transform_create", status, || request.clone())?;
        // The library packs 16 groups of 32 bits of rows at a time, and may write a last one whole.
        let rows = 16 * (4 / data_type.size());
        let bytes = k.next_multiple_of(rows) * block * data_type.size();
        let transform = Transform { raw, request, bytes };
        // SAFETY: a live handle that nothing else has yet.
        let status = unsafe { sys::dnnl_transform_generate(raw) };
        check("dnnl_transform_generate", status, || transform.request.clone())?;
        Ok(transform)
    }

    /// Bytes of the packed block.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Packs.
    ///
    /// # Safety
    ///
    /// `from` is valid for reads of the matrix, `to` for writes of [`Self::bytes`]; they do not overlap, and nothing
    /// else touches `to` meanwhile.
    pub unsafe fn execute(&self, from: *const u8, to: *mut u8) -> Result<(), OnednnError> {
        // SAFETY: the caller answers for the memory.
        let status = unsafe {
            sys::dnnl_transform_execute(self.raw, from.cast::<c_void>(), to.cast::<c_void>())
        };
        check("dnnl_transform_execute", status, || self.request.clone())
    }
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.request)
    }
}

impl Drop for Transform {
    fn drop(&mut self) {
        // SAFETY: made by the library, owned by this value alone.
        unsafe { sys::dnnl_transform_destroy(self.raw) };
    }
}

//! The same interface over a library without micro-kernels: nothing can be created, and the error says why.
#![allow(unsafe_code)]

use super::shape::{BrgemmPostOps, BrgemmShape, Pack};
use crate::data_type::DataType;
use crate::error::OnednnError;
use std::convert::Infallible;

fn missing<T>() -> Result<T, OnednnError> {
    let (major, minor, patch) = crate::version();
    Err(OnednnError::Missing {
        what: "the matrix micro-kernel interface",
        version: format!("{major}.{minor}.{patch}"),
        remedy: "link a oneDNN 3.8 or newer built with ONEDNN_EXPERIMENTAL_UKERNEL=ON, or the one built by default",
    })
}

/// A micro-kernel, which cannot exist here.
#[derive(Debug)]
pub struct Brgemm(Infallible);

#[allow(missing_docs, clippy::missing_safety_doc, clippy::too_many_arguments)]
impl Brgemm {
    pub fn create(
        _shape: &BrgemmShape,
        _post_ops: Option<&BrgemmPostOps>,
    ) -> Result<Self, OnednnError> {
        missing()
    }

    pub fn shape(&self) -> &BrgemmShape {
        match self.0 {}
    }

    pub fn scratchpad_bytes(&self) -> usize {
        match self.0 {}
    }

    pub fn has_post_ops(&self) -> bool {
        match self.0 {}
    }

    pub fn set_hw_context(&self) -> Result<(), OnednnError> {
        match self.0 {}
    }

    pub unsafe fn execute(
        &self,
        _a: *const u8,
        _b: *const u8,
        _offsets: &[[i64; 2]],
        _c: *mut u8,
        _scratchpad: *mut u8,
    ) -> Result<(), OnednnError> {
        match self.0 {}
    }

    pub unsafe fn execute_post_ops(
        &self,
        _a: *const u8,
        _b: *const u8,
        _offsets: &[[i64; 2]],
        _c: *mut u8,
        _d: *mut u8,
        _scratchpad: *mut u8,
        _operands: &[*const u8],
        _scales: [*const f32; 3],
    ) -> Result<(), OnednnError> {
        match self.0 {}
    }
}

/// Packing, which cannot exist here.
#[derive(Debug)]
pub struct Transform(Infallible);

#[allow(missing_docs, clippy::missing_safety_doc)]
impl Transform {
    pub fn create(
        _k: usize,
        _n: usize,
        _leading: usize,
        _transposed: bool,
        _block: usize,
        _data_type: DataType,
    ) -> Result<Self, OnednnError> {
        missing()
    }

    pub fn bytes(&self) -> usize {
        match self.0 {}
    }

    pub unsafe fn execute(&self, _from: *const u8, _to: *mut u8) -> Result<(), OnednnError> {
        match self.0 {}
    }
}

/// How B is packed, which nothing says here.
pub fn pack_of_b(_a: DataType, _b: DataType) -> Result<Pack, OnednnError> {
    missing()
}

/// Nothing to give back.
pub fn release_hw_context() -> Result<(), OnednnError> {
    Ok(())
}

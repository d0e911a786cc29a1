//! Work on each element alone, on pairs of elements, and on all elements along some dimensions.
#![allow(unsafe_code)]

use crate::algorithm::{BinaryKind, Eltwise, ReductionKind};
use crate::attributes::Attributes;
use crate::engine::engine;
use crate::error::OnednnError;
use crate::memory::MemoryDesc;
use crate::primitive::Primitive;
use crate::sys;

/// Applies a function to each element; `src` and `dst` may be the same memory.
pub fn eltwise_forward(
    algorithm: Eltwise,
    src: &MemoryDesc,
    dst: &MemoryDesc,
    alpha: f32,
    beta: f32,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    let engine = engine()?;
    let request = format!("{algorithm:?}({alpha}, {beta}) {src:?} -> {dst:?}");
    Primitive::create(
        "dnnl_eltwise_forward_primitive_desc_create",
        request,
        attributes,
        |out, attributes| {
            // SAFETY: live handles; the library copies the descriptors.
            unsafe {
                sys::dnnl_eltwise_forward_primitive_desc_create(
                    out,
                    engine,
                    sys::dnnl_forward_inference,
                    algorithm.code(),
                    src.raw(),
                    dst.raw(),
                    alpha,
                    beta,
                    attributes,
                )
            }
        },
    )
}

/// Combines `src` and `src1` ([`crate::Argument::Src1`]) element by element; dimensions of 1 are broadcast.
pub fn binary(
    algorithm: BinaryKind,
    src: &MemoryDesc,
    src1: &MemoryDesc,
    dst: &MemoryDesc,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    let engine = engine()?;
    let request = format!("{algorithm:?} {src:?}, {src1:?} -> {dst:?}");
    Primitive::create(
        "dnnl_binary_primitive_desc_create",
        request,
        attributes,
        |out, attributes| {
            // SAFETY: live handles; the library copies the descriptors.
            unsafe {
                sys::dnnl_binary_primitive_desc_create(
                    out,
                    engine,
                    algorithm.code(),
                    src.raw(),
                    src1.raw(),
                    dst.raw(),
                    attributes,
                )
            }
        },
    )
}

/// Reduces the dimensions that are 1 in `dst`. `power` and `epsilon` are those of a norm.
pub fn reduction(
    algorithm: ReductionKind,
    src: &MemoryDesc,
    dst: &MemoryDesc,
    power: f32,
    epsilon: f32,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    let engine = engine()?;
    let request = format!("reduction {algorithm:?} {src:?} -> {dst:?}");
    Primitive::create(
        "dnnl_reduction_primitive_desc_create",
        request,
        attributes,
        |out, attributes| {
            // SAFETY: live handles; the library copies the descriptors.
            unsafe {
                sys::dnnl_reduction_primitive_desc_create(
                    out,
                    engine,
                    algorithm.code(),
                    src.raw(),
                    dst.raw(),
                    power,
                    epsilon,
                    attributes,
                )
            }
        },
    )
}

//! Pooling over windows, and its gradient.
#![allow(unsafe_code)]

use super::{spatial, spatial_sizes};
use crate::algorithm::PoolingKind;
use crate::attributes::{Attributes, RawAttributes};
use crate::engine::engine;
use crate::error::{OnednnError, check, invalid};
use crate::memory::{Dimensions, MemoryDesc};
use crate::primitive::{Primitive, RawDescriptor, choose_threads};
use crate::sys;
use std::ptr::null_mut;

/// The window and how it moves; one entry for each spatial dimension.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PoolingShape {
    /// Sizes of the window.
    pub kernel: Vec<usize>,
    /// Its steps.
    pub strides: Vec<usize>,
    /// Distance between its elements: 1 is dense.
    pub dilations: Vec<usize>,
    /// Elements before the first.
    pub padding_low: Vec<i64>,
    /// Elements after the last.
    pub padding_high: Vec<i64>,
}

struct Arrays {
    kernel: Dimensions,
    strides: Dimensions,
    dilations: Dimensions,
    padding_low: Dimensions,
    padding_high: Dimensions,
}

fn arrays(
    call: &'static str,
    src: &MemoryDesc,
    shape: &PoolingShape,
    request: &str,
) -> Result<Arrays, OnednnError> {
    let rank = src.dims().len().saturating_sub(2);
    if !(1..=3).contains(&rank) {
        return Err(invalid(
            call,
            "a batch, channels and one to three spatial dimensions are needed",
            request,
        ));
    }
    Ok(Arrays {
        kernel: spatial_sizes(call, "window sizes", &shape.kernel, 0, rank, request)?,
        strides: spatial_sizes(call, "strides", &shape.strides, 0, rank, request)?,
        dilations: spatial_sizes(call, "dilations", &shape.dilations, 1, rank, request)?,
        padding_low: spatial(call, "low paddings", &shape.padding_low, rank, request)?,
        padding_high: spatial(call, "high paddings", &shape.padding_high, rank, request)?,
    })
}

/// Pools `src [n, c, ...]` into `dst [n, c, ...]`. With `training`, pooling by maximum also writes the
/// [`crate::Argument::Workspace`] that its gradient reads.
pub fn pooling_forward(
    kind: PoolingKind,
    src: &MemoryDesc,
    dst: &MemoryDesc,
    shape: &PoolingShape,
    training: bool,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    let engine = engine()?;
    let request = format!("pooling {kind:?} {src:?} -> {dst:?} with {shape:?}");
    let arrays = arrays("pooling_forward", src, shape, &request)?;
    Primitive::create(
        "dnnl_pooling_forward_primitive_desc_create",
        request,
        attributes,
        |out, attributes| forward(out, engine, kind, training, (src, dst), &arrays, attributes),
    )
}

fn forward(
    out: *mut *mut sys::dnnl_primitive_desc,
    engine: *mut sys::dnnl_engine,
    kind: PoolingKind,
    training: bool,
    (src, dst): (&MemoryDesc, &MemoryDesc),
    arrays: &Arrays,
    attributes: *const sys::dnnl_primitive_attr,
) -> std::ffi::c_int {
    let propagation =
        if training { sys::dnnl_forward_training } else { sys::dnnl_forward_inference };
    // SAFETY: live handles and arrays of full length; the library copies everything.
    unsafe {
        sys::dnnl_pooling_forward_primitive_desc_create(
            out,
            engine,
            propagation,
            kind.code(),
            src.raw(),
            dst.raw(),
            arrays.strides.as_ptr(),
            arrays.kernel.as_ptr(),
            arrays.dilations.as_ptr(),
            arrays.padding_low.as_ptr(),
            arrays.padding_high.as_ptr(),
            attributes,
        )
    }
}

/// The gradient of the input from that of the output. The forward pooling must have had the same descriptors for its
/// input and output.
pub fn pooling_backward(
    kind: PoolingKind,
    diff_src: &MemoryDesc,
    diff_dst: &MemoryDesc,
    shape: &PoolingShape,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    let engine = engine()?;
    let request =
        format!("pooling's gradient {kind:?} {diff_dst:?} -> {diff_src:?} with {shape:?}");
    let arrays = arrays("pooling_backward", diff_src, shape, &request)?;
    // The library takes the workspace's layout from the forward primitive.
    let built: RawAttributes = Attributes::new().threads(attributes.thread_count()).build()?;
    choose_threads(attributes.thread_count())?;
    let mut hint = null_mut();
    let status = forward(&mut hint, engine, kind, true, (diff_src, diff_dst), &arrays, built.0);
    check("dnnl_pooling_forward_primitive_desc_create", status, || request.clone())?;
    let hint = RawDescriptor(hint);
    Primitive::create(
        "dnnl_pooling_backward_primitive_desc_create",
        request,
        attributes,
        |out, attributes| {
            // SAFETY: live handles and arrays of full length; the library copies everything.
            unsafe {
                sys::dnnl_pooling_backward_primitive_desc_create(
                    out,
                    engine,
                    kind.code(),
                    diff_src.raw(),
                    diff_dst.raw(),
                    arrays.strides.as_ptr(),
                    arrays.kernel.as_ptr(),
                    arrays.dilations.as_ptr(),
                    arrays.padding_low.as_ptr(),
                    arrays.padding_high.as_ptr(),
                    hint.0,
                    attributes,
                )
            }
        },
    )
}

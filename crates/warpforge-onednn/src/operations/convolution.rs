//! Convolutions and their gradients, over one to three spatial dimensions.
#![allow(unsafe_code)]

use super::{spatial, spatial_sizes};
use crate::attributes::Attributes;
use crate::engine::engine;
use crate::error::{OnednnError, invalid};
use crate::library::refuse_saturated_sums;
use crate::memory::{Dimensions, MemoryDesc, optional};
use crate::primitive::Primitive;
use crate::sys;

/// How the window moves; one entry for each spatial dimension.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConvolutionShape {
    /// Steps of the window.
    pub strides: Vec<usize>,
    /// Distance between the window's elements: 1 is dense.
    pub dilations: Vec<usize>,
    /// Zeros before the first element.
    pub padding_low: Vec<i64>,
    /// Zeros after the last element.
    pub padding_high: Vec<i64>,
}

impl ConvolutionShape {
    /// Dense windows at every place where they fit, over `rank` spatial dimensions.
    pub fn dense(rank: usize) -> Self {
        ConvolutionShape {
            strides: vec![1; rank],
            dilations: vec![1; rank],
            padding_low: vec![0; rank],
            padding_high: vec![0; rank],
        }
    }
}

/// The shape as the library takes it.
struct Arrays {
    strides: Dimensions,
    dilations: Dimensions,
    padding_low: Dimensions,
    padding_high: Dimensions,
}

fn arrays(
    call: &'static str,
    src: &MemoryDesc,
    shape: &ConvolutionShape,
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
        strides: spatial_sizes(call, "strides", &shape.strides, 0, rank, request)?,
        dilations: spatial_sizes(call, "dilations", &shape.dilations, 1, rank, request)?,
        padding_low: spatial(call, "low paddings", &shape.padding_low, rank, request)?,
        padding_high: spatial(call, "high paddings", &shape.padding_high, rank, request)?,
    })
}

/// `dst = src convolved with weights + bias`, then the post-ops.
///
/// Dimensions are `src [n, ic, ...]`, `weights [oc, ic, ...]` or with groups `[g, oc/g, ic/g, ...]`, `bias [oc]`, `dst
/// [n, oc, ...]`; other orders in memory are a matter of strides, and `any` lets the library choose.
pub fn convolution_forward(
    src: &MemoryDesc,
    weights: &MemoryDesc,
    bias: Option<&MemoryDesc>,
    dst: &MemoryDesc,
    shape: &ConvolutionShape,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    let engine = engine()?;
    let bias_text = bias.map_or(String::new(), |bias| format!(" + {bias:?}"));
    let request = format!("convolution {src:?} * {weights:?}{bias_text} -> {dst:?} with {shape:?}");
    let types = [src.data_type(), weights.data_type()];
    refuse_saturated_sums("convolution_forward", types, || request.clone())?;
    let arrays = arrays("convolution_forward", src, shape, &request)?;
    Primitive::create(
        "dnnl_convolution_forward_primitive_desc_create",
        request,
        attributes,
        |out, attributes| {
            // SAFETY: live handles and arrays of full length; the library copies everything.
            unsafe {
                sys::dnnl_convolution_forward_primitive_desc_create(
                    out,
                    engine,
                    sys::dnnl_forward_inference,
                    sys::dnnl_convolution_direct,
                    src.raw(),
                    weights.raw(),
                    optional(bias),
                    dst.raw(),
                    arrays.strides.as_ptr(),
                    arrays.dilations.as_ptr(),
                    arrays.padding_low.as_ptr(),
                    arrays.padding_high.as_ptr(),
                    attributes,
                )
            }
        },
    )
}

/// The gradient of the input from that of the output ([`crate::Argument::DiffDst`]) and the weights.
pub fn convolution_backward_data(
    diff_src: &MemoryDesc,
    weights: &MemoryDesc,
    diff_dst: &MemoryDesc,
    shape: &ConvolutionShape,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    let engine = engine()?;
    let request =
        format!("convolution's gradient {diff_dst:?} * {weights:?} -> {diff_src:?} with {shape:?}");
    let arrays = arrays("convolution_backward_data", diff_src, shape, &request)?;
    Primitive::create(
        "dnnl_convolution_backward_data_primitive_desc_create",
        request,
        attributes,
        |out, attributes| {
            // SAFETY: live handles and arrays of full length; the library copies everything, and takes no hint of the
            // forward primitive when the layouts are given or may be any.
            unsafe {
                sys::dnnl_convolution_backward_data_primitive_desc_create(
                    out,
                    engine,
                    sys::dnnl_convolution_direct,
                    diff_src.raw(),
                    weights.raw(),
                    diff_dst.raw(),
                    arrays.strides.as_ptr(),
                    arrays.dilations.as_ptr(),
                    arrays.padding_low.as_ptr(),
                    arrays.padding_high.as_ptr(),
                    std::ptr::null(),
                    attributes,
                )
            }
        },
    )
}

/// The gradients of the weights, and of the bias when its descriptor is given, from the input and the gradient of the
/// output.
pub fn convolution_backward_weights(
    src: &MemoryDesc,
    diff_weights: &MemoryDesc,
    diff_bias: Option<&MemoryDesc>,
    diff_dst: &MemoryDesc,
    shape: &ConvolutionShape,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    let engine = engine()?;
    let bias_text = diff_bias.map_or(String::new(), |bias| format!(" and {bias:?}"));
    let request = format!(
        "convolution's gradient {src:?} * {diff_dst:?} -> {diff_weights:?}{bias_text} with {shape:?}"
    );
    let arrays = arrays("convolution_backward_weights", src, shape, &request)?;
    let call = "dnnl_convolution_backward_weights_primitive_desc_create";
    Primitive::create(call, request, attributes, |out, attributes| {
        // SAFETY: as for the gradient of the input.
        unsafe {
            sys::dnnl_convolution_backward_weights_primitive_desc_create(
                out,
                engine,
                sys::dnnl_convolution_direct,
                src.raw(),
                diff_weights.raw(),
                optional(diff_bias),
                diff_dst.raw(),
                arrays.strides.as_ptr(),
                arrays.dilations.as_ptr(),
                arrays.padding_low.as_ptr(),
                arrays.padding_high.as_ptr(),
                std::ptr::null(),
                attributes,
            )
        }
    })
}

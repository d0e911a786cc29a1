//! Softmax and layer normalization.
#![allow(unsafe_code)]

use crate::attributes::Attributes;
use crate::data_type::DataType;
use crate::engine::engine;
use crate::error::{OnednnError, invalid};
use crate::memory::{MemoryDesc, optional};
use crate::primitive::Primitive;
use crate::sys;
use std::ffi::{c_int, c_uint};

/// `exp(x - max) / sum` along one dimension.
pub fn softmax_forward(
    src: &MemoryDesc,
    dst: &MemoryDesc,
    axis: usize,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    softmax(sys::dnnl_softmax_accurate, "softmax", src, dst, axis, attributes)
}

/// The logarithm of softmax along one dimension.
pub fn log_softmax_forward(
    src: &MemoryDesc,
    dst: &MemoryDesc,
    axis: usize,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    softmax(sys::dnnl_softmax_log, "log softmax", src, dst, axis, attributes)
}

fn softmax(
    algorithm: c_int,
    name: &str,
    src: &MemoryDesc,
    dst: &MemoryDesc,
    axis: usize,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    let engine = engine()?;
    let request = format!("{name} {src:?} -> {dst:?} along {axis}");
    if axis >= src.dims().len() {
        return Err(invalid("softmax_forward", "there is no such dimension", request));
    }
    Primitive::create(
        "dnnl_softmax_forward_primitive_desc_create",
        request,
        attributes,
        |out, attributes| {
            // SAFETY: live handles; the library copies the descriptors.
            unsafe {
                sys::dnnl_softmax_forward_primitive_desc_create(
                    out,
                    engine,
                    sys::dnnl_forward_inference,
                    algorithm,
                    src.raw(),
                    dst.raw(),
                    axis as c_int,
                    attributes,
                )
            }
        },
    )
}

/// What a layer normalization does besides normalizing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerNormalization {
    /// Added to the variance.
    pub epsilon: f32,
    /// The type of the factors ([`crate::Argument::Scale`], one for each element of the last dimension), if any.
    pub scale: Option<DataType>,
    /// The type of the summands ([`crate::Argument::Shift`]), if any; the same as that of the factors.
    pub shift: Option<DataType>,
    /// Whether mean and variance are also written ([`crate::Argument::Mean`], [`crate::Argument::Variance`]), for the
    /// gradient.
    pub statistics: bool,
}

/// Normalizes along the last dimension. `statistics` describes mean and variance (f32, the dimensions of `src` without
/// the last); without it, the library chooses a layout.
pub fn layer_normalization_forward(
    src: &MemoryDesc,
    dst: &MemoryDesc,
    statistics: Option<&MemoryDesc>,
    what: LayerNormalization,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    let engine = engine()?;
    let request = format!("layer normalization {src:?} -> {dst:?} with {what:?}");
    if let (Some(scale), Some(shift)) = (what.scale, what.shift)
        && scale != shift
    {
        return Err(invalid(
            "layer_normalization_forward",
            "factors and summands are of one type",
            request,
        ));
    }
    let data_type = what.scale.or(what.shift).unwrap_or(DataType::F32).code();
    let flag = |wanted: bool, flag: c_int| if wanted { flag as c_uint } else { 0 };
    let flags = flag(what.scale.is_some(), sys::dnnl_use_scale)
        | flag(what.shift.is_some(), sys::dnnl_use_shift);
    let propagation =
        if what.statistics { sys::dnnl_forward_training } else { sys::dnnl_forward_inference };
    let call = "dnnl_layer_normalization_forward_primitive_desc_create_v2";
    Primitive::create(call, request, attributes, |out, attributes| {
        // SAFETY: live handles; the library copies the descriptors.
        unsafe {
            sys::dnnl_layer_normalization_forward_primitive_desc_create_v2(
                out,
                engine,
                propagation,
                src.raw(),
                dst.raw(),
                optional(statistics),
                data_type,
                what.epsilon,
                flags,
                attributes,
            )
        }
    })
}

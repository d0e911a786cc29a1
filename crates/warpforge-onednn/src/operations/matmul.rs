//! Matrix products, with any number of batch dimensions.
#![allow(unsafe_code)]

use crate::attributes::Attributes;
use crate::engine::engine;
use crate::error::OnednnError;
use crate::memory::{MemoryDesc, optional};
use crate::primitive::Primitive;
use crate::sys;

/// `dst = src * weights + bias`, then the post-ops.
///
/// `src` is `[..., m, k]`, `weights` `[..., k, n]`, `dst` `[..., m, n]`, all of one rank of at least 2; batch dimensions
/// of 1 in `src` or `weights` are broadcast. The bias has the rank of `dst` and its sizes or 1. Any operand may be
/// transposed by its strides, and weights given as `any` get the layout that is fastest. Without rows or columns
/// nothing is computed; `k` of 0, whose sums would all be zero, is refused.
pub fn matmul(
    src: &MemoryDesc,
    weights: &MemoryDesc,
    bias: Option<&MemoryDesc>,
    dst: &MemoryDesc,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    let engine = engine()?;
    let bias_text = bias.map_or(String::new(), |bias| format!(" + {bias:?}"));
    let request = format!("matmul {src:?} * {weights:?}{bias_text} -> {dst:?}");
    Primitive::create(
        "dnnl_matmul_primitive_desc_create",
        request,
        attributes,
        |out, attributes| {
            // SAFETY: live handles; the library copies the descriptors.
            unsafe {
                sys::dnnl_matmul_primitive_desc_create(
                    out,
                    engine,
                    src.raw(),
                    weights.raw(),
                    optional(bias),
                    dst.raw(),
                    attributes,
                )
            }
        },
    )
}

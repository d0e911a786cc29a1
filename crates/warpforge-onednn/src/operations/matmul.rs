//! Matrix products, one or a batch.
#![allow(unsafe_code)]

use crate::attributes::Attributes;
use crate::engine::engine;
use crate::error::{OnednnError, invalid};
use crate::library::refuse_saturated_sums;
use crate::memory::{MemoryDesc, optional};
use crate::primitive::Primitive;
use crate::sys;

/// The library's products with two batch dimensions give wrong numbers for some orders of dimensions in memory, found by a
/// property test (oneDNN 3.14.1, `f32[3, 2, 19, 14]{532, 14, 28, 1} * f32[1, 2, 14, 12]{14, 14, 1, 28}` into strides
/// `{12, 36, 72, 1}`), so none is made; dimensions that follow one another can be joined into one.
const MAX_RANK: usize = 3;

/// `dst = src * weights + bias`, then the post-ops.
///
/// `src` is `[..., m, k]`, `weights` `[..., k, n]`, `dst` `[..., m, n]`, all of one rank, 2 or 3; batch dimensions
/// of 1 in `src` or `weights` are broadcast. The bias has the rank of `dst` and its sizes or 1. Any operand may be
/// transposed by its strides, and weights given as `any` get the layout that is fastest. Without rows or columns
/// nothing is computed; `k` of 0, whose sums would all be zero, is refused, and bytes times bytes where
/// [`crate::sums_bytes_exactly`] says no.
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
    if src.dims().len() > MAX_RANK {
        let reason = "products with several batch dimensions come out wrong for some layouts";
        return Err(invalid("matmul", reason, request));
    }
    refuse_saturated_sums("matmul", [src.data_type(), weights.data_type()], || request.clone())?;
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

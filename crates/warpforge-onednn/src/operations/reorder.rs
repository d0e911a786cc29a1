//! Copies between layouts and element types.
#![allow(unsafe_code)]

use crate::attributes::Attributes;
use crate::engine::engine;
use crate::error::OnednnError;
use crate::memory::MemoryDesc;
use crate::primitive::Primitive;
use crate::sys;

/// Copies a tensor ([`crate::Argument::Src`]) into another layout or type ([`crate::Argument::Dst`]); this is how weights
/// are packed. Conversions to narrower types round to nearest even, those to integers saturate.
pub fn reorder(
    from: &MemoryDesc,
    to: &MemoryDesc,
    attributes: &Attributes,
) -> Result<Primitive, OnednnError> {
    let engine = engine()?;
    let request = format!("reorder {from:?} -> {to:?}");
    Primitive::create(
        "dnnl_reorder_primitive_desc_create",
        request,
        attributes,
        |out, attributes| {
            // SAFETY: live handles; the library copies the descriptors.
            unsafe {
                sys::dnnl_reorder_primitive_desc_create(
                    out,
                    from.raw(),
                    engine,
                    to.raw(),
                    engine,
                    attributes,
                )
            }
        },
    )
}

//! Matrix micro-kernels: the small products from which the library's own primitives are built, for kernels that decide
//! themselves how to block and share out a computation. They run on the calling thread and take no stream.
//!
//! A thread that runs [`Brgemm`]s first calls [`Brgemm::set_hw_context`] (AMX keeps a tile configuration in each thread)
//! and [`release_hw_context`] when it is done; between two different kernels the context is set again. Where the linked
//! oneDNN has no micro-kernels (they are an experimental part of it, which our own build turns on), every constructor
//! answers [`crate::OnednnError::Missing`] and [`is_available`] says so beforehand.

#[cfg_attr(not(onednn_ukernel), path = "ukernel/absent.rs")]
mod brgemm;
mod shape;
#[cfg(onednn_ukernel)]
mod transform;

pub use brgemm::{Brgemm, release_hw_context};
#[cfg(not(onednn_ukernel))]
pub use brgemm::{Transform, pack_of_b};
pub use shape::{BrgemmPostOps, BrgemmShape, Pack};
#[cfg(onednn_ukernel)]
pub use transform::{Transform, pack_of_b};

/// Whether the linked library has micro-kernels.
pub const fn is_available() -> bool {
    cfg!(onednn_ukernel)
}

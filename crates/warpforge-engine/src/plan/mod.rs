//! From clusters to something that runs: which buffer holds which value when, and the kernels in their order.

mod arena;
mod buffers;
mod executable;

pub(crate) use buffers::Buffer;
pub use executable::{Executable, Options, StepReport};

//! oneDNN behind a safe interface: descriptors of memory, primitives with fused post-ops, quantization and packed
//! weights, executions on threads of the caller's, and batch-reduce matrix micro-kernels. This is the only crate that
//! speaks the library's C API, and nothing of C is visible outside it.
//!
//! A computation is described ([`MemoryDesc`], [`Attributes`]), created once ([`matmul`] and its siblings give a
//! [`Primitive`]), bound ([`Execution`]) and run many times on a [`Threadpool`]. The only unsafe calls are those that
//! follow pointers: [`Execution::run`] and the micro-kernels' executions. Everything the library refuses is an
//! [`OnednnError`] that says what was asked.
//!
//! Where oneDNN comes from is decided by `build.rs`; see `docs/onednn.md`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod algorithm;
mod argument;
mod attributes;
mod data_type;
mod engine;
mod error;
mod execution;
mod library;
mod memory;
mod operations;
mod primitive;
mod sys;
mod threads;
pub mod ukernel;

pub use algorithm::{Accumulation, BinaryKind, Eltwise, Fpmath, PoolingKind, ReductionKind};
pub use argument::{Argument, Operand};
pub use attributes::Attributes;
pub use data_type::DataType;
pub use error::{OnednnError, Status};
pub use execution::Execution;
pub use library::{
    MostIsa, NOTICES, cpu_isa, limit_cpu_isa, set_verbose, sums_bytes_exactly, version,
};
pub use memory::{MAX_RANK, MemoryDesc};
pub use operations::{
    ConvolutionShape, LayerNormalization, PoolingShape, binary, convolution_backward_data,
    convolution_backward_weights, convolution_forward, eltwise_forward,
    layer_normalization_forward, log_softmax_forward, matmul, pooling_backward, pooling_forward,
    reduction, reorder, softmax_forward,
};
pub use primitive::Primitive;
pub use threads::{Threadpool, Threads};

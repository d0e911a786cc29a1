//! Loop kernels: chains of ops on elements, with reductions of rows between them, as one pass over memory. Plain Rust,
//! compiled for several sets of vector instructions.

mod activation;
mod columns;
mod compiled;
mod domain;
mod float_function;
mod lane;
mod lower;
mod machine;
pub(crate) mod narrow;
#[cfg(target_arch = "x86_64")]
mod pieces;
mod softmax;
#[cfg(target_arch = "x86_64")]
pub(crate) mod squares;
mod trial;
pub(crate) mod vector;

pub(crate) use compiled::CompiledLoop;
pub(crate) use lower::{Lowering, lower};
pub(crate) use vector::activate;
pub(crate) use warpforge_codegen::instructions::Isa;
pub(crate) use warpforge_codegen::ir::{Extent, Spread};

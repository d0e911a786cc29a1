//! The library's answers against computations by definition, and its refusals. One binary, since each would link the
//! library anew.
#![allow(unsafe_code, clippy::unwrap_used, clippy::type_complexity, missing_docs)]

mod convolution;
mod limits;
mod matmul;
mod operations;
mod quantized;
mod random;
mod support;
mod ukernel;

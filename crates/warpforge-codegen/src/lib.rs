//! The kernel language of loops ([`ir`]), and machine code for kernels written in it.
//!
//! ```text
//! ir::LoopKernel          what is computed, for each element and each row, and where operands lie
//!    steps.rs             its code, a softmax as what it consists of
//!    lower.rs             passes over a row, each a straight-line program on vectors (vector.rs, functions.rs)
//!    x86/                 registers, instructions of AVX-512, executable memory
//!    printed.rs           the same programs as C, to see what a compiler makes of them
//! Generated::run_part     lines of memory that lie evenly are handed to the code
//! ```
//!
//! Code is made in some hundred microseconds, so it is made anew in each process and never stored. A kernel for which there is
//! none says why ([`Unsupported`]); it is then carried out instruction by instruction.

pub mod coefficients;
pub mod instructions;
pub mod ir;

#[cfg(not(all(feature = "x86", target_arch = "x86_64", unix)))]
mod absent;
#[cfg(all(feature = "x86", target_arch = "x86_64", unix))]
mod functions;
#[cfg(all(feature = "x86", target_arch = "x86_64", unix))]
mod lower;
#[cfg(all(feature = "x86", target_arch = "x86_64", unix))]
mod ops;
#[cfg(all(feature = "printed", target_arch = "x86_64", unix))]
pub mod printed;
#[cfg(all(feature = "x86", target_arch = "x86_64", unix))]
mod run;
#[cfg(all(feature = "x86", target_arch = "x86_64", unix))]
mod steps;
#[cfg(all(feature = "x86", target_arch = "x86_64", unix))]
mod vector;
#[cfg(all(feature = "x86", target_arch = "x86_64", unix))]
mod x86;

#[cfg(not(all(feature = "x86", target_arch = "x86_64", unix)))]
pub use absent::Generated;
#[cfg(all(feature = "x86", target_arch = "x86_64", unix))]
pub use run::Generated;

/// How code writes a kernel's results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// To the caches, where they are read soon.
    Near,
    /// Past the caches, which do not hold them; what is read is asked for in advance.
    Past,
    /// Through the caches, which do not hold them either: what is read and what is written is asked for in advance. Memory is
    /// read for nothing, but a core can have more of it underway.
    Through,
}

/// Why there is no code for a kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(pub String);

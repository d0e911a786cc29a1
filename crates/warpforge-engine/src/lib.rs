//! Runs StableHLO programs. The reference interpreter is slow, right and the oracle of every faster way to run one:
//! it walks the parsed, unoptimized program and shares neither passes nor kernels with anything else.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod caches;
#[cfg_attr(not(feature = "onednn"), allow(dead_code))]
mod chains;
mod choices;
mod convolutions;
mod epilogue;
mod error;
mod fuse;
pub mod interface;
mod kernels;
#[cfg(feature = "onednn")]
mod library;
mod loops;
pub mod observe;
pub mod passes;
mod pattern;
mod plan;
pub mod pool;
mod products;
pub mod reference;
mod single;
pub mod summary;
mod view;

/// The licence of the vendor library and the notices of third parties in it, where it is linked; they go with every binary.
#[cfg(feature = "onednn")]
pub const LIBRARY_NOTICES: Option<&str> = Some(warpforge_onednn::NOTICES);
/// No vendor library is linked.
#[cfg(not(feature = "onednn"))]
pub const LIBRARY_NOTICES: Option<&str> = None;

pub use choices::{Asked, Choices, Maker, Measured, Way};
pub use error::{EngineError, Place};
pub use fuse::Fusion;
pub use kernels::Cost;
pub use plan::{
    Audited, Executable, Memory, Options, Sequence, StepReport, fused, loops_of, normalized,
    op_alone, rounding, rounding_of,
};
pub use products::{Arithmetic, has_bf16_products};

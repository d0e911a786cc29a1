//! StableHLO programs: read from text ([`parse()`]), made in Rust ([`builder`]), written back ([`mod@print`]), judged
//! ([`verify()`]).
//!
//! A [`Program`] holds functions; a [`Function`] holds values and a tree of ops, each with a typed [`OpKind`].
//! Pure: text in, values out. Text is from strangers: nothing here panics on any of it, and [`Limits`] cap what it
//! may make us allocate.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod attribute;
pub mod builder;
mod error;
pub mod ir;
mod limits;
mod op_attributes;
pub mod parse;
pub mod print;
pub mod types;
pub mod verify;

pub use attribute::{Attribute, Attributes};
pub use builder::{FunctionBuilder, ProgramBuilder};
pub use error::{Diagnostic, HloError};
pub use ir::{Function, Op, OpKind, Program, Region, Value, ValueId};
pub use limits::Limits;
pub use op_attributes::op_names;
pub use parse::parse;
pub use types::{Dimension, ElementType, QuantizedType, TensorType, Type};
pub use verify::{Violation, parse_verified, verify};

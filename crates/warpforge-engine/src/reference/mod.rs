//! The correctness tier. Rules of its numbers are in docs/numerics.md: elements are widened exactly, computed in f64,
//! and rounded once to the result's type; sums and products are accumulated in f64.

mod body;
mod chlo;
mod control;
mod custom_call;
mod dynamic_shape;
mod elementwise;
mod families;
mod interpreter;
mod liveness;
mod memory;
mod observer;
mod op;
mod processes;
mod scalar;
mod scalar_program;
mod shape;
mod strided;
mod value;

pub use interpreter::{Interpreter, Limits};
pub use memory::MemoryPlan;
pub use observer::{Observation, Observer};
pub use processes::run_processes;
pub use value::Value;

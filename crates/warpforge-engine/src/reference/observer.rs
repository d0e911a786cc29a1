//! Whoever watches a run.

use warpforge_hlo::ir::{Function, Op};

use super::Value;
use crate::EngineError;

/// What an op has computed.
#[derive(Debug)]
pub struct Observation<'a> {
    /// The how-manyth op of the run it was, from 0.
    pub sequence: u64,
    /// The function it is in.
    pub function: &'a Function,
    /// The op.
    pub op: &'a Op,
    /// Its results, in order.
    pub results: &'a [Value],
}

/// Sees the results of every op of functions, branches and loops; what regions compute for each element (the steps of a
/// reduction, the comparisons of a sort) is not shown.
pub trait Observer {
    /// Looks at what an op has computed; an error ends the run.
    fn observe(&mut self, observation: &Observation<'_>) -> Result<(), EngineError>;
}

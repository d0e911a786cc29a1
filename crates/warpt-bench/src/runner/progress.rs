//! What a run tells while it goes on. Events borrow; whoever draws decides what to keep.

use serde::{Deserialize, Serialize};

use crate::component::BenchmarkId;
use crate::record::BenchmarkRunResult;

/// What a case is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Allocating, filling, starting threads.
    Prepare,
    /// Until steady.
    WarmUp,
    /// Samples that count.
    Sampling,
    /// Checking what was computed.
    Verify,
}

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// A benchmark begins.
    BenchmarkStarted {
        /// Its place in the run, from 0.
        index: usize,
        /// How many run.
        total: usize,
        /// Which.
        id: &'a BenchmarkId,
    },
    /// A case moves on. At most some tens of these per second.
    Progress {
        /// The case.
        label: &'a str,
        /// Its place, from 0.
        index: usize,
        /// How many cases the benchmark has.
        count: usize,
        /// What it is doing.
        phase: Phase,
        /// How much of the sampling time is used, from 0 to 1.
        fraction: f64,
    },
    /// A benchmark ended and is in the record.
    BenchmarkFinished {
        /// Its result.
        result: &'a BenchmarkRunResult,
    },
}

/// Told what happens during a run.
pub trait Observer {
    /// Called on the runner's thread; keep it short.
    fn event(&mut self, event: &Event<'_>);
}

/// An observer that does nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Observer for Silent {
    fn event(&mut self, _event: &Event<'_>) {}
}

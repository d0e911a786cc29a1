//! Judges a run of a model by a golden bundle.
//!
//! [`StepLocked`] computes: every step starts from the golden state, so an error stays in the step that made it. What it computes is an
//! [`Outcome`], which can be saved and read back; [`judge()`] compares one with the bundle and knows nothing of how it
//! came about. The [`Validation`] says what matched, by how much, and what was not judged and why. [`free_run()`] trains from the
//! golden start on its own and judges loss curves as wholes. [`spreads()`] holds golden bundles against each other, and
//! [`suggest()`] makes rules of tolerance from that.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod compute;
mod divergence;
mod error;
mod flow;
mod free_run;
mod judge;
mod kind;
mod observe;
mod outcome;
mod programs;
mod questions;
mod runner;
mod spread;
mod suggest;
mod targets;
mod tolerances;
mod validation;

pub use compute::StepLocked;
pub use divergence::{Divergence, Origin, Reproducer, Searching, first_divergence};
pub use error::ValidateError;
pub use flow::{compare, precision_of, validate};
pub use free_run::{
    ALPHA, Curve, FEWEST_SEEDS, FINAL_SHARE, FreeProgress, FreeRun, FreeVerdict, NEGLIGIBLE,
    free_run,
};
pub use judge::{judge, judge_outputs};
pub use kind::Kind;
pub use observe::observed;
pub use outcome::{Named, Outcome, RankOutcome, Saved, Saver};
pub use questions::BatchesCompared;
pub use runner::{Disturbance, Precision, Runner, Tier};
pub use spread::{Spread, Spreads, spreads};
pub use suggest::{FACTOR, KindSpread, Suggestion, suggest};
pub use targets::{METRIC_POINTS, MetricJudged, Speed, TargetJudged};
pub use tolerances::{Rule, Tolerances};
pub use validation::{Judged, Summary, Timing, Validation};

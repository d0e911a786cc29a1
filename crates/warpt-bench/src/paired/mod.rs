//! How two things are compared: the driver that runs what [`warpt_stats::paired`] plans and hands the costs to what it
//! judges with. Everything in the product that says "x times faster" is a [`compare`] of two [`Subject`]s.
//!
//! A is the baseline, B the candidate; a ratio above 1 means that B is better. Subjects are a closure here
//! ([`Body`]), a program run per sample ([`CommandSubject`]), or a program that stays and answers line by line
//! ([`LineProcess`]); [`serve_case`] is the answering side of the latter for one of our own cases. How large a
//! comparison to plan follows from a [`first_reading`]; what is kept of it is a [`PairedRecord`].

mod child;
mod command;
mod driver;
pub mod line_process;
mod plan;
mod record;
mod serve;
mod subject;
mod words;

pub use child::{ChildOutput, Launch};
pub use command::CommandSubject;
pub use driver::{Compared, Progress, compare};
pub use line_process::{LineLimits, LineProcess, MetricMeaning};
pub use plan::{LONG_BODY, Reading, first_reading};
pub use record::{ComparedSide, PAIRED_SCHEMA_VERSION, PairedRecord};
pub use serve::serve_case;
pub use subject::{BODY_SAMPLE_NS, Body, Subject};
pub use warpt_stats::paired::{Comparison, Observations, PairedConfig, Regime, Side, Verdict};
pub use words::split_words;

use crate::error::BenchError;

/// A cost that can be compared, or why not.
fn positive(name: &str, cost: f64) -> Result<f64, BenchError> {
    if cost.is_finite() && cost > 0.0 {
        return Ok(cost);
    }
    let detail = format!("a cost of {cost} cannot be compared; it must be positive");
    Err(BenchError::Child { program: name.to_owned(), detail })
}

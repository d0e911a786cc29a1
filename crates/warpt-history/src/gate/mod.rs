//! May this change be merged? Rules from a file in the user's repository ([`Rules`]), results before and after
//! ([`Baseline`], records), and a judgement that measures again before it accuses ([`Gate`]).
//!
//! What always holds: rules are typed values, never evaluated code; a regression is only declared from measurements taken
//! after the suspicion; what the measurement could not have seen is inconclusive, never a pass; every exception
//! has a reason and an end.

mod baseline;
mod judge;
mod pattern;
mod report;
mod rules;
mod starter;

pub use baseline::{Baseline, BaselineMetric, MetricNoise, NoNoiseFloor, NoiseFloor};
pub use judge::{Gate, Remeasured, Suspect};
pub use pattern::Pattern;
pub use report::{Finding, GATE_SCHEMA_VERSION, GateReport, Outcome};
pub use rules::{Exception, Limit, Rule, Rules, RulesError};
pub use starter::starter;

/// The file's usual name.
pub const RULES_FILE: &str = "warpt-gate.toml";

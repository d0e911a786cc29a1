//! A comparison as a file: what was compared, the judgement, the plan and every cost, so that the verdict can be redone by
//! anyone. Unknown fields survive reading and writing.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpt_machine::inventory::Machine;
use warpt_stats::paired::{Comparison, Observations, PairedConfig};

/// The version of this form; it grows when a field changes meaning or goes away.
pub const PAIRED_SCHEMA_VERSION: u32 = 1;

/// One side of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedSide {
    /// What it is called on the page.
    pub name: String,
    /// The program and its arguments, as they were started.
    pub command: Vec<String>,
    /// The benchmark, when it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<String>,
    /// The case of the benchmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Parameters set on it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    /// Its typical cost: the median over blocks of what the judgement reduces a segment to. Null when not measured.
    pub cost: Option<f64>,
    /// The same as the benchmark's metric states it; absent for commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The unit of `value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_unit: Option<String>,
}

/// A finished comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedRecord {
    /// The version of this form.
    pub schema_version: u32,
    /// The `warpt` that compared.
    pub warpt_version: String,
    /// When it began.
    pub start_time: Timestamp,
    /// When it ended.
    pub end_time: Timestamp,
    /// The baseline.
    pub a: ComparedSide,
    /// The candidate.
    pub b: ComparedSide,
    /// The unit of the costs.
    pub unit: String,
    /// Whether both sides checked what they computed; null where there is nothing to check.
    pub verified: Option<bool>,
    /// The judgement.
    pub comparison: Comparison,
    /// The plan and the rules.
    pub config: PairedConfig,
    /// The time it might take, in seconds.
    pub budget_seconds: f64,
    /// Every cost.
    pub observations: Observations,
    /// The machine; null when it was not looked at.
    #[serde(default)]
    pub system: Option<Machine>,
    /// Fields this version does not know, kept as they were read.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

impl PairedRecord {
    /// Seconds from begin to end.
    #[must_use]
    pub fn elapsed_seconds(&self) -> f64 {
        self.end_time.duration_since(self.start_time).as_secs_f64()
    }
}

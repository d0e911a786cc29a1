//! The record: what a run leaves behind for people and tools, years later.
//!
//! Invariants: field names are the product's public interface and never change meaning within a
//! `schema_version`; fields this version does not know survive a read and a write; every struct can be read from
//! a record of any earlier minor version (new fields are optional).

mod file;
mod metric;
mod outcome;
mod schema;

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use warpt_machine::conditions::Conditions;
use warpt_machine::inventory::Machine;
use warpt_machine::monitor::Timeline;
use warpt_machine::preflight::Preflight;

pub use file::{
    RecordFile, default_file_name, parse_record, random_id, read_record, read_samples, to_json,
    write_atomically,
};
pub use metric::{BenchmarkMetric, Ceiling, SampleData, metric_id};
pub use outcome::{Check, Notice, Outcome};
pub use schema::suite_run_schema;

use crate::component::{BenchmarkComponent, BenchmarkId, BenchmarkKind};
use crate::params::{ParamSpec, ParamValue};

/// The version of the record's schema. It grows when a field changes meaning or goes away, never for additions.
pub const SCHEMA_VERSION: u32 = 1;

/// An available benchmark and how it is run; in a record, with the parameters it ran with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkSpec {
    /// Suite and name.
    pub id: BenchmarkId,
    /// What it exercises.
    pub components: Vec<BenchmarkComponent>,
    /// What kind of workload it is.
    pub kind: BenchmarkKind,
    /// What it measures, in a sentence.
    #[serde(default)]
    pub description: Option<String>,
    /// How long it samples unless told otherwise.
    #[serde(default)]
    pub default_duration_seconds: Option<u64>,
    /// The external program it needs, if any.
    #[serde(default)]
    pub external_tool: Option<String>,
    /// The parameters' values: defaults in a listing, those used in a record.
    #[serde(default)]
    pub params: Option<BTreeMap<String, ParamValue>>,
    /// What the parameters mean and may be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ParamSpec>,
    /// How the result is checked, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// What the result is compared with as its ceiling, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<String>,
    /// Fields of newer versions.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

/// The result of one benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkRunResult {
    /// What ran.
    pub spec: BenchmarkSpec,
    /// What was measured.
    pub metrics: Vec<BenchmarkMetric>,
    /// Whether it ran and every check passed; false for a skipped one.
    pub success: bool,
    /// Passed, failed or skipped.
    #[serde(default)]
    pub outcome: Outcome,
    /// Why it failed or was skipped.
    #[serde(default)]
    pub error_message: Option<String>,
    /// When it started (preparation included).
    #[serde(deserialize_with = "warpt_machine::time::with_or_without_zone")]
    pub start_time: Timestamp,
    /// When it ended.
    #[serde(deserialize_with = "warpt_machine::time::with_or_without_zone")]
    pub end_time: Timestamp,
    /// The machine it ran on, as `warpt list --json` shows it.
    #[serde(default)]
    pub system: Option<Machine>,
    /// What was verified about the computed results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// What a reader of the numbers should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Notice>,
    /// What happened on the machine while it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// The monitor's samples while it ran, when monitoring was on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// Fields of newer versions.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

impl BenchmarkRunResult {
    /// The result of what begins now: failed, for no reason yet, until it [ends](Self::end).
    pub fn begun(spec: BenchmarkSpec, system: Option<Machine>) -> Self {
        let now = Timestamp::now();
        Self {
            spec,
            metrics: Vec::new(),
            success: false,
            outcome: Outcome::Failed,
            error_message: None,
            start_time: now,
            end_time: now,
            system,
            checks: Vec::new(),
            warnings: Vec::new(),
            conditions: None,
            timeline: None,
            extra: Map::new(),
        }
    }

    /// How it ended, with the reason where it did not pass.
    pub fn end(&mut self, outcome: Outcome, reason: Option<String>) {
        self.outcome = outcome;
        self.success = outcome == Outcome::Passed;
        self.error_message = reason;
    }

    /// What happened on the machine meanwhile, and what its reader should know of that.
    pub fn happened_meanwhile(&mut self, conditions: Conditions) {
        self.warnings.extend(outcome::condition_warnings(&conditions));
        self.conditions = Some(conditions);
        self.end_time = Timestamp::now();
    }
}

/// How far a run got.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// The run is going on, or was killed: what is listed is finished and valid.
    Running,
    /// Every selected benchmark is listed.
    #[default]
    Complete,
    /// The user stopped it.
    Interrupted,
}

/// The result of a run over a suite or over components: the file other tools read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkSuiteRun {
    /// The version of this record's schema; 1 when absent.
    #[serde(default = "first_version")]
    pub schema_version: u32,
    /// The suite, or the components joined by `-`.
    pub suite: String,
    /// The components exercised.
    pub components: Vec<BenchmarkComponent>,
    /// The results so far, in the order they ran.
    pub benchmarks: Vec<BenchmarkRunResult>,
    /// Free key and value pairs: tool version, command line, the user's own labels.
    #[serde(default)]
    pub metadata: Option<BTreeMap<String, String>>,
    /// A random identifier of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// How far the run got.
    #[serde(default)]
    pub state: RunState,
    /// When the run started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Timestamp>,
    /// When the last listed benchmark ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<Timestamp>,
    /// What made the host a noisy place to measure, seen before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preflight: Option<Preflight>,
    /// Fields of newer versions.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

fn first_version() -> u32 {
    1
}

impl BenchmarkSuiteRun {
    /// How many results have the outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.benchmarks.iter().filter(|result| result.outcome == outcome).count()
    }
}

//! The records of one monitoring run, why fields are missing from all of them, and what the monitoring itself
//! cost. A run never holds more records than its cap: when it is reached, neighbours are merged and the interval
//! doubles, so a run of days has the shape of one of minutes, and says so.

use super::{MonitorRecord, Sampler};
use crate::MachineError;
use crate::absent::Absent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// What monitoring cost the machine it watched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MonitorCost {
    /// Processor time spent watching, kernel time included; finding out what can be watched is not part of it.
    pub cpu_seconds: f64,
    /// How long monitoring lasted.
    pub wall_seconds: f64,
    /// Processor time in percent of one CPU.
    pub cpu_percent: f64,
    /// Mean processor time of one sample.
    pub per_sample_microseconds: f64,
    /// Samples taken, those later merged included.
    pub samples: u64,
    /// Fields this version does not know, kept as they were read.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A monitoring run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Timeline {
    /// Seconds between the records, as they are now.
    pub interval_seconds: f64,
    /// The records, oldest first.
    pub records: Vec<MonitorRecord>,
    /// How often neighbours were merged because the run had too many records; each doubled the interval.
    pub halvings: u32,
    /// Samples that were not taken because the machine let the monitor run too late.
    pub missed_samples: u64,
    /// The reason for each field that is missing from records.
    #[serde(skip_serializing_if = "Absent::is_empty")]
    pub absent: Absent,
    /// What the monitoring cost.
    pub cost: MonitorCost,
    /// Fields this version does not know, kept as they were read.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Timeline {
    /// The file `--monitor-output` writes: a plain JSON array, one record per line.
    pub fn to_seed_json(&self) -> String {
        let mut text = String::from("[");
        for (position, record) in self.records.iter().enumerate() {
            text.push_str(if position == 0 { "\n  " } else { ",\n  " });
            // Keys are strings and numbers without a JSON form are written as null, so this cannot fail.
            text.push_str(&serde_json::to_string(record).expect("a record is always valid JSON"));
        }
        text.push_str("\n]\n");
        text
    }

    /// The records of such a file.
    pub fn records_from_seed_json(text: &str) -> Result<Vec<MonitorRecord>, MachineError> {
        serde_json::from_str(text).map_err(MachineError::MonitorFile)
    }

    /// Sentences a report should show: what is missing, what was merged or missed.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> =
            self.absent.iter().map(|(field, reason)| format!("{field}: {reason}")).collect();
        if self.halvings > 0 {
            notes.push(format!(
                "records were merged {} times to bound their number; they are now {} s apart",
                self.halvings, self.interval_seconds
            ));
        }
        if self.missed_samples > 0 {
            notes.push(format!(
                "{} samples were missed because the monitor got no CPU in time",
                self.missed_samples
            ));
        }
        notes
    }
}

/// Collects records into a timeline of bounded size.
#[derive(Debug)]
pub struct Recording {
    interval: Duration,
    maximum: usize,
    timeline: Timeline,
}

impl Recording {
    /// An empty recording; `maximum` is at least two.
    pub fn new(interval: Duration, maximum: usize) -> Self {
        Self { interval, maximum: maximum.max(2), timeline: Timeline::default() }
    }

    /// The interval samples should now be taken at.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The records so far.
    pub fn records(&self) -> &[MonitorRecord] {
        &self.timeline.records
    }

    /// Adds a record; returns whether the interval doubled.
    pub fn push(&mut self, record: MonitorRecord) -> bool {
        self.timeline.records.push(record);
        if self.timeline.records.len() <= self.maximum {
            return false;
        }
        let records = std::mem::take(&mut self.timeline.records);
        let mut merged = Vec::with_capacity(self.maximum);
        let mut earlier: Option<MonitorRecord> = None;
        for record in records {
            match earlier.take() {
                Some(first) => merged.push(first.merged_with(record)),
                None => earlier = Some(record),
            }
        }
        merged.extend(earlier);
        self.timeline.records = merged;
        self.timeline.halvings = self.timeline.halvings.saturating_add(1);
        self.interval = self.interval.saturating_mul(2);
        true
    }

    /// Notes samples that were not taken in time.
    pub fn miss(&mut self, samples: u64) {
        self.timeline.missed_samples = self.timeline.missed_samples.saturating_add(samples);
    }

    /// The timeline, with the sampler's reasons and cost.
    pub fn finish(mut self, sampler: &Sampler) -> Timeline {
        self.timeline.interval_seconds = self.interval.as_secs_f64();
        self.timeline.absent = sampler.absent().clone();
        self.timeline.cost = sampler.cost();
        self.timeline
    }
}

//! One number of a result: its identity, its value, the samples behind it and the ceiling above it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use warpt_stats::summary::Summary;
use warpt_stats::warning;

use super::Notice;
use crate::component::BenchmarkId;

/// A single scalar result; `value` is the median of the samples unless `summary` is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BenchmarkMetric {
    /// What is measured, such as `gflops`.
    pub name: String,
    /// The number.
    pub value: f64,
    /// Its unit, such as `GFLOP/s`.
    pub unit: String,
    /// Which direction is good.
    pub higher_is_better: bool,
    /// What tells this metric from others of the same name, such as `dtype` and `threads`.
    #[serde(default)]
    pub tags: Option<BTreeMap<String, String>>,
    /// The stable identifier that history and comparison align by; see [`metric_id`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The distribution of the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// The raw samples, in the metric's unit and in the order taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<SampleData>,
    /// What the value is a fraction of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
    /// Whether a check of the computed result passed; a speed without one is shown as unverified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// It explains another metric rather than being a result of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub supporting: bool,
    /// Fields of newer versions.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

impl BenchmarkMetric {
    /// A number without samples. Nothing has checked it.
    pub fn single(
        benchmark: &BenchmarkId,
        name: &str,
        unit: &str,
        higher_is_better: bool,
        tags: BTreeMap<String, String>,
        value: f64,
    ) -> Self {
        Self {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            higher_is_better,
            id: Some(metric_id(benchmark, name, &tags)),
            tags: Some(tags).filter(|tags| !tags.is_empty()),
            summary: None,
            samples: None,
            ceiling: None,
            verified: None,
            supporting: false,
            extra: Map::new(),
        }
    }

    /// The median of samples, with their summary; none where no sample is finite. Nothing has checked it.
    pub fn of_samples(
        benchmark: &BenchmarkId,
        name: &str,
        unit: &str,
        higher_is_better: bool,
        tags: BTreeMap<String, String>,
        samples: Vec<f64>,
    ) -> Option<Self> {
        let summary = Summary::of(&samples)?;
        let metric = Self::single(benchmark, name, unit, higher_is_better, tags, summary.median);
        let samples = Some(SampleData::Inline { values: samples });
        Some(Self { summary: Some(summary), samples, ..metric })
    }

    /// What a reader of its samples should know.
    pub fn notices(&self) -> impl Iterator<Item = Notice> + '_ {
        let found = match (&self.samples, &self.summary) {
            (Some(SampleData::Inline { values }), Some(summary)) => {
                warning::warnings(values, summary)
            }
            _ => Vec::new(),
        };
        found.into_iter().map(|warning| Notice {
            code: warning.code().into(),
            message: format!("{}: {}", self.name, warning.message()),
            metric: self.id.clone(),
        })
    }
}

/// Raw samples: in the record when few, in the sidecar file beside it when many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SampleData {
    /// The values themselves.
    Inline {
        /// In the metric's unit.
        values: Vec<f64>,
    },
    /// A run of little-endian 64-bit floats in a file beside the record.
    Sidecar {
        /// The file's name (never a path).
        file: String,
        /// Where the run starts, in bytes.
        offset_bytes: u64,
        /// How many values.
        count: u64,
    },
}

/// The limit a value is measured against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// The limit, in the metric's unit.
    pub value: f64,
    /// How much of it was reached: value over limit for rates, limit over value for times.
    pub fraction: f64,
    /// Where the limit comes from, in a sentence.
    pub source: String,
}

impl Ceiling {
    /// A ceiling above `metric`.
    pub fn above(metric: &BenchmarkMetric, limit: f64, source: impl Into<String>) -> Self {
        let fraction =
            if metric.higher_is_better { metric.value / limit } else { limit / metric.value };
        Self { value: limit, fraction, source: source.into() }
    }
}

/// The identifier of a metric: `suite/benchmark/name{tag=value,...}` with the tags sorted by key, no braces
/// when there are none. It depends on nothing else, so the same measurement has the same identifier on every
/// machine and in every version.
pub fn metric_id(benchmark: &BenchmarkId, name: &str, tags: &BTreeMap<String, String>) -> String {
    let mut id = format!("{benchmark}/{name}");
    if !tags.is_empty() {
        let pairs: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
        id.push_str(&format!("{{{}}}", pairs.join(",")));
    }
    id
}

//! What history keeps of a record: one [`RunSummary`] for the run and one [`Row`] for each metric.
//!
//! Invariants: every number is finite; text is capped; numbers are rounded here, once, so that a row reads the same from the
//! journal and from Parquet. Rounding never exceeds a thousandth of the measurement's own interval.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest, Sha256};
use warpt_bench::record::{BenchmarkMetric, BenchmarkRunResult, metric_id};
use warpt_bench::{BenchmarkSuiteRun, Outcome};
use warpt_machine::inventory::Machine;

use crate::error::{HistoryError, Result};

/// Longest text kept in a column; longer text is cut and closed by a digest of the whole.
pub const MAX_TEXT_BYTES: usize = 1024;
/// Most rows of one record.
pub const MAX_ROWS: usize = 1_000_000;
/// The value is kept to this share of its interval's half width.
const VALUE_SHARE: f64 = 1.0 / 1024.0;
/// Interval, minimum and deviation are kept to this share of it.
const SPREAD_SHARE: f64 = 1.0 / 16.0;

/// How far a value can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// The benchmark passed and a check of the computed result did.
    Passed,
    /// The benchmark passed; nothing checked this number.
    Unverified,
    /// The benchmark failed.
    Failed,
}

impl Standing {
    /// Every standing, in the order of its code in files.
    pub const ALL: [Self; 3] = [Self::Passed, Self::Unverified, Self::Failed];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Unverified => "unverified",
            Self::Failed => "failed",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|standing| standing.name() == name)
    }
}

/// What a number is of: the part of a row that repeats from run to run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SeriesKey {
    /// The metric's identifier, `suite/benchmark/name{tag=value,...}`.
    pub metric: String,
    /// The benchmark's parameters, `key=value` sorted and joined by `;`.
    pub params: String,
    /// The unit.
    pub unit: String,
    /// Which direction is good.
    pub higher_is_better: bool,
}

/// One number of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// What it is of.
    #[serde(flatten)]
    pub key: Arc<SeriesKey>,
    /// How far it can be trusted.
    pub standing: Standing,
    /// How many samples are behind it; 0 when the record does not say.
    pub samples: u32,
    /// The median of the samples.
    pub value: f64,
    /// The smallest sample.
    pub minimum: Option<f64>,
    /// Lower end of the interval of the median.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// The scaled median absolute deviation.
    pub mad: Option<f64>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its identifier.
    pub run: String,
    /// When it started, in microseconds since 1970.
    #[serde(serialize_with = "as_timestamp")]
    pub time_us: i64,
    /// Which machine: the digest of its identifier, or of its hardware when it has none.
    pub machine: String,
    /// The suite, or the components joined by `-`.
    pub suite: String,
    /// The hardware's fingerprint.
    pub hardware: String,
    /// A digest of the software: kernel, libraries, tools and warpt itself.
    pub software: String,
    /// `complete`, `running` (it was killed) or `interrupted`.
    pub state: String,
    /// How many benchmarks passed.
    pub passed: u32,
    /// How many failed.
    pub failed: u32,
    /// How many were skipped.
    pub skipped: u32,
    /// How many rows it brought.
    pub rows: u32,
}

fn as_timestamp<S: serde::Serializer>(
    time_us: &i64,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_str(&timestamp(*time_us))
}

/// Microseconds since 1970 as a moment; beyond the calendar, the nearest it has.
pub fn timestamp(time_us: i64) -> Timestamp {
    let nearest = if time_us < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_microsecond(time_us).unwrap_or(nearest)
}

/// A run and its rows, as they go through the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRows {
    /// The run.
    pub summary: RunSummary,
    /// Its numbers.
    pub rows: Vec<Row>,
}

impl RunRows {
    /// What history keeps of a record.
    pub fn of(record: &BenchmarkSuiteRun) -> Result<Self> {
        let first = record.benchmarks.iter().map(|result| result.start_time).min();
        let time = record.start_time.or(first).ok_or_else(|| {
            HistoryError::Unsuitable("it has neither a start time nor a result".into())
        })?;
        let machine = record.benchmarks.iter().find_map(|result| result.system.as_ref());
        let mut rows = Vec::new();
        for result in &record.benchmarks {
            let params = params_text(result);
            rows.extend(result.metrics.iter().filter_map(|metric| row(result, &params, metric)));
        }
        if rows.len() > MAX_ROWS {
            let found = rows.len();
            return Err(HistoryError::Unsuitable(format!("{found} metrics, at most {MAX_ROWS}")));
        }
        let count = |outcome| u32::try_from(record.count(outcome)).unwrap_or(u32::MAX);
        let state = serde_json::to_value(record.state).ok();
        let summary = RunSummary {
            run: capped(&run_id(record)),
            time_us: time.as_microsecond(),
            machine: capped(&machine.map_or_else(|| "unknown".into(), machine_name)),
            suite: capped(&record.suite),
            hardware: machine.map_or_else(|| "unknown".into(), Machine::fingerprint),
            software: software_digest(record, machine),
            state: state.as_ref().and_then(|s| s.as_str()).unwrap_or("complete").to_owned(),
            passed: count(Outcome::Passed),
            failed: count(Outcome::Failed),
            skipped: count(Outcome::Skipped),
            rows: u32::try_from(rows.len()).unwrap_or(u32::MAX),
        };
        Ok(Self { summary, rows })
    }
}

/// The identifier of a run; a record without one gets a digest of its content, the same whenever it is read.
fn run_id(record: &BenchmarkSuiteRun) -> String {
    match &record.run_id {
        Some(run) if !run.is_empty() => run.clone(),
        _ => format!("content-{}", digest(warpt_bench::record::to_json(record).as_bytes())),
    }
}

/// The name history knows a machine by.
pub fn machine_name(machine: &Machine) -> String {
    let host = machine.host.as_ref();
    let id = host.and_then(|host| host.machine_id.clone()).filter(|id| !id.is_empty());
    id.unwrap_or_else(|| machine.fingerprint())
}

fn software_digest(record: &BenchmarkSuiteRun, machine: Option<&Machine>) -> String {
    let version = record.metadata.as_ref().and_then(|data| data.get("warpt_version"));
    let software = machine.and_then(|machine| machine.software.as_ref());
    let text = serde_json::to_string(&(version, software)).unwrap_or_default();
    format!("sw1-{}", &digest(text.as_bytes())[..16])
}

fn params_text(result: &BenchmarkRunResult) -> String {
    let params = result.spec.params.iter().flatten();
    let pairs: Vec<String> = params.map(|(key, value)| format!("{key}={value}")).collect();
    capped(&pairs.join(";"))
}

fn row(result: &BenchmarkRunResult, params: &str, metric: &BenchmarkMetric) -> Option<Row> {
    if !metric.value.is_finite() {
        return None;
    }
    let id = metric.id.clone().unwrap_or_else(|| {
        metric_id(&result.spec.id, &metric.name, &metric.tags.clone().unwrap_or_default())
    });
    let standing = match (result.outcome, metric.verified) {
        (Outcome::Passed, Some(true)) => Standing::Passed,
        (Outcome::Passed, _) => Standing::Unverified,
        _ => Standing::Failed,
    };
    let mut row = Row {
        key: Arc::new(SeriesKey {
            metric: capped(&id),
            params: params.to_owned(),
            unit: capped(&metric.unit),
            higher_is_better: metric.higher_is_better,
        }),
        standing,
        samples: 0,
        value: metric.value,
        minimum: None,
        low: None,
        high: None,
        mad: None,
    };
    if let Some(summary) = &metric.summary {
        let finite = |number: f64| Some(number).filter(|number| number.is_finite());
        row.samples = u32::try_from(summary.count).unwrap_or(u32::MAX);
        row.minimum = finite(summary.minimum);
        row.low = finite(summary.interval.low);
        row.high = finite(summary.interval.high);
        row.mad = finite(summary.mad);
        row.round();
    }
    Some(row)
}

impl Row {
    /// Drops digits far below the measurement's own uncertainty, which would take most of the space: the value to a
    /// 1024th of the interval's half width, the rest to a 16th, the interval outwards. Without an interval, or with one of
    /// no width, nothing is touched.
    pub fn round(&mut self) {
        let (Some(low), Some(high)) = (self.low, self.high) else { return };
        let half = (high - low) / 2.0;
        if !(half.is_finite() && half > 0.0) {
            return;
        }
        let (fine, coarse) = (power_below(half * VALUE_SHARE), power_below(half * SPREAD_SHARE));
        self.value = to_multiple(self.value, fine, f64::round);
        self.low = Some(to_multiple(low, coarse, f64::floor));
        self.high = Some(to_multiple(high, coarse, f64::ceil));
        self.minimum = self.minimum.map(|minimum| to_multiple(minimum, coarse, f64::round));
        self.mad = self.mad.map(|mad| to_multiple(mad, power_below(mad / 64.0), f64::round));
    }
}

/// The largest power of two at or below a positive number; 0 where there is none.
fn power_below(number: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    if number.is_normal() && number > 0.0 {
        f64::from_bits(number.to_bits() & !MANTISSA)
    } else {
        0.0
    }
}

fn to_multiple(number: f64, step: f64, towards: fn(f64) -> f64) -> f64 {
    let rounded = towards(number / step) * step;
    if rounded.is_finite() { rounded } else { number }
}

/// 32 hexadecimal digits that identify some bytes.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Text no longer than a column takes; what is cut is replaced by a digest, so different texts stay different.
pub(crate) fn capped(text: &str) -> String {
    if text.len() <= MAX_TEXT_BYTES {
        return text.to_owned();
    }
    let mut end = MAX_TEXT_BYTES - 40;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}...{}", &text[..end], digest(text.as_bytes()))
}

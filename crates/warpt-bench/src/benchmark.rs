//! What a benchmark is. A [`Benchmark`] describes itself and prepares; preparation yields [`Case`]s, each one
//! series of samples with its own metrics and its own check; the runner owns warm-up, batching and stopping.

use std::collections::BTreeMap;

use crate::component::BenchmarkId;
use crate::context::Context;
use crate::record::{BenchmarkMetric, BenchmarkSpec, Check};
use crate::sampler::Sampler;

/// A named collection of benchmarks with shared semantics.
pub trait Suite: Send + Sync {
    /// The name used in options and records.
    fn name(&self) -> &'static str;
    /// What it is for, in a line.
    fn description(&self) -> &'static str;
    /// Its benchmarks, in the order a whole run takes them. Cheap: building the list does no measurable work.
    fn benchmarks(&self) -> Vec<Box<dyn Benchmark>>;
}

/// A runnable workload.
pub trait Benchmark: Send + Sync {
    /// Its identity, parameters, check and ceiling. Cheap and constant.
    fn spec(&self) -> BenchmarkSpec;

    /// Checks prerequisites, allocates, and returns the cases to measure, in order. Large memory is planned
    /// against [`Context::memory_limit_bytes`] before it is allocated.
    fn prepare(&self, context: &Context) -> Result<Vec<Box<dyn Case>>, Unready>;

    /// After every case: states ceilings that relate metrics to one another.
    fn conclude(&self, _context: &Context, _metrics: &mut Vec<BenchmarkMetric>) {}
}

/// One series of samples.
pub trait Case {
    /// What tells it from its siblings on a progress line, such as `triad, 2 threads`.
    fn label(&self) -> String;

    /// What it measures. The first is the one whose precision decides when to stop.
    fn metrics(&self) -> Vec<MetricSpec>;

    /// Called once before the first sample: allocation, thread start, anything that must not be in a sample.
    fn enter(&mut self) -> Result<(), CaseError> {
        Ok(())
    }

    /// Takes exactly one sample through `sampler`.
    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError>;

    /// After the last sample: whether what was computed is right. No check means an unverified number.
    fn verify(&mut self) -> Vec<Check>;

    /// After the last sample: states ceilings this case measured itself.
    fn annotate(&self, _metrics: &mut [BenchmarkMetric]) {}

    /// The samples taken at least, for bodies so long that the default of 10 would not fit.
    fn minimum_samples(&self) -> usize {
        10
    }

    /// The time one sample should take; the runner batches iterations up to it.
    fn sample_ns(&self) -> u64 {
        5_000_000
    }
}

/// What a case measures and how the number comes out of a sample.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSpec {
    /// Such as `gflops`.
    pub name: &'static str,
    /// Such as `GFLOP/s`.
    pub unit: &'static str,
    /// Which direction is good.
    pub higher_is_better: bool,
    /// What tells it from others of the same name.
    pub tags: BTreeMap<String, String>,
    /// Where the number comes from.
    pub source: MetricSource,
    /// It explains a sibling rather than being a result of its own: kept in the record, left off the page.
    pub supporting: bool,
}

/// How a metric's value comes out of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricSource {
    /// `amount` per iteration divided by the seconds an iteration took; scale `amount` to the unit
    /// (2e-9 flops for GFLOP/s).
    Rate {
        /// Work per iteration in the metric's unit times seconds.
        amount: f64,
    },
    /// The seconds an iteration took times `scale` (1e9 for nanoseconds).
    Time {
        /// Units per second.
        scale: f64,
    },
    /// Whatever the case passed to [`Sampler::observe`] under the metric's name and tags index.
    Observed,
}

impl MetricSpec {
    /// A rate: higher is better.
    pub fn rate(name: &'static str, unit: &'static str, amount: f64) -> Self {
        Self {
            name,
            unit,
            higher_is_better: true,
            tags: BTreeMap::new(),
            source: MetricSource::Rate { amount },
            supporting: false,
        }
    }

    /// A time: lower is better.
    pub fn time(name: &'static str, unit: &'static str, scale: f64) -> Self {
        Self {
            name,
            unit,
            higher_is_better: false,
            tags: BTreeMap::new(),
            source: MetricSource::Time { scale },
            supporting: false,
        }
    }

    /// A number the case observes itself.
    pub fn observed(name: &'static str, unit: &'static str, higher_is_better: bool) -> Self {
        Self {
            name,
            unit,
            higher_is_better,
            tags: BTreeMap::new(),
            source: MetricSource::Observed,
            supporting: false,
        }
    }

    /// The same with one more tag.
    #[must_use]
    #[allow(
        clippy::needless_pass_by_value,
        reason = "numbers and names both read best as they are"
    )]
    pub fn tag(mut self, key: &str, value: impl ToString) -> Self {
        self.tags.insert(key.to_owned(), value.to_string());
        self
    }

    /// The same, left off the page.
    #[must_use]
    pub fn supporting(mut self) -> Self {
        self.supporting = true;
        self
    }

    /// Its name and tags, as people and `--metric` write it.
    pub fn label(&self) -> String {
        let tags = self.tags.iter().map(|(key, value)| format!(" {key}={value}"));
        std::iter::once(self.name.to_owned()).chain(tags).collect()
    }

    /// The stable identifier within `benchmark`.
    pub fn id(&self, benchmark: &BenchmarkId) -> String {
        crate::record::metric_id(benchmark, self.name, &self.tags)
    }
}

/// Why a benchmark did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unready {
    /// The machine lacks what it needs: skipped.
    #[error("{0}")]
    Skipped(String),
    /// It should have worked: a parameter does not fit, a file named in one cannot be read. Failed, and the command
    /// ends with exit 2.
    #[error("{0}")]
    Failed(String),
}

/// Why a case stopped in the middle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaseError {
    /// This case cannot run here although the benchmark can; its siblings go on.
    #[error("{0}")]
    Skipped(String),
    /// The workload failed; the benchmark fails.
    #[error("{0}")]
    Failed(String),
    /// Like failed, and the cause is outside: a vanished peer, a full disk. The command ends with exit 2.
    #[error("{0}")]
    Environment(String),
}

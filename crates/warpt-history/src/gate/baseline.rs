//! What a candidate is held against: one record, or the last runs of this machine, and what is known of the machine's noise.

use std::collections::BTreeMap;

use warpt_bench::record::{BenchmarkMetric, BenchmarkRunResult, BenchmarkSuiteRun};
use warpt_bench::{Outcome, record::metric_id};
use warpt_stats::{mad, median};

use crate::trends::{Trend, Trends};

/// Standard errors from an estimate to the end of its 95% interval.
const INTERVAL: f64 = 1.96;

/// What the machine says about a metric compared with itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricNoise {
    /// How far apart equal things come out: the 95th percentile of the relative distance.
    pub noise_floor_relative: f64,
    /// The smallest relative change a paired comparison finds, where one was stated.
    pub mde_relative: Option<f64>,
    /// How many of the comparisons raised a false alarm.
    pub flagged: u32,
    /// Comparisons made.
    pub repeats: u32,
}

/// Who knows the machine's noise, by metric identifier.
pub trait NoiseFloor {
    /// What is known of a metric.
    fn noise(&self, metric: &str) -> Option<MetricNoise>;
}

/// Nobody does.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoNoiseFloor;

impl NoiseFloor for NoNoiseFloor {
    fn noise(&self, _metric: &str) -> Option<MetricNoise> {
        None
    }
}

impl NoiseFloor for BTreeMap<String, MetricNoise> {
    fn noise(&self, metric: &str) -> Option<MetricNoise> {
        self.get(metric).copied()
    }
}

impl NoiseFloor for crate::null::NullFile {
    fn noise(&self, metric: &str) -> Option<MetricNoise> {
        self.metrics.get(metric).map(|known| MetricNoise {
            noise_floor_relative: known.noise_floor_relative,
            mde_relative: known.mde_relative,
            flagged: known.flagged,
            repeats: known.repeats,
        })
    }
}

/// One metric before the change.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineMetric {
    /// Its value: a median.
    pub value: f64,
    /// Its unit, where known.
    pub unit: Option<String>,
    /// The standard error of the value, as a share of it; nothing when unknown.
    pub relative_error: Option<f64>,
    /// How far single runs spread around it, as a share; known only from several runs.
    pub spread: Option<f64>,
    /// Runs behind it.
    pub runs: usize,
}

/// The metrics before the change, by identifier.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Baseline {
    /// What it is, for people.
    pub name: String,
    /// By metric identifier.
    pub metrics: BTreeMap<String, BaselineMetric>,
    /// Benchmarks that passed, as `suite/name`.
    pub benchmarks: Vec<String>,
}

impl Baseline {
    /// One record.
    #[must_use]
    pub fn from_record(name: impl Into<String>, run: &BenchmarkSuiteRun) -> Self {
        let mut baseline = Self { name: name.into(), ..Self::default() };
        for result in run.benchmarks.iter().filter(|result| result.outcome == Outcome::Passed) {
            baseline.benchmarks.push(result.spec.id.to_string());
            for metric in result.metrics.iter().filter(|metric| metric.value.is_finite()) {
                let measured = BaselineMetric {
                    value: metric.value,
                    unit: Some(metric.unit.clone()),
                    relative_error: relative_error(metric),
                    spread: None,
                    runs: 1,
                };
                baseline.metrics.insert(identifier(result, metric), measured);
            }
        }
        baseline
    }

    /// The series behind a candidate, each since it last changed.
    #[must_use]
    pub fn from_trends(name: impl Into<String>, trends: &Trends) -> Self {
        let values = |trend: &Trend| trend.level().iter().map(|point| point.value).collect();
        let series: BTreeMap<String, Vec<f64>> =
            trends.series.iter().map(|trend| (trend.key.metric.clone(), values(trend))).collect();
        let mut baseline = Self::from_series(name, &series);
        for trend in &trends.series {
            if let Some(metric) = baseline.metrics.get_mut(&trend.key.metric) {
                metric.unit = Some(trend.key.unit.clone());
            }
        }
        baseline
    }

    /// The values of the last runs, by metric identifier, oldest first. After a change point only what follows it counts.
    #[must_use]
    pub fn from_series(name: impl Into<String>, series: &BTreeMap<String, Vec<f64>>) -> Self {
        let mut baseline = Self { name: name.into(), ..Self::default() };
        for (id, values) in series {
            let changes = warpt_stats::change_points::detect(values, &Default::default());
            let since = changes.last().map_or(0, |change| change.settled);
            let level: Vec<f64> =
                values[since..].iter().copied().filter(|value| value.is_finite()).collect();
            let value = median(&level);
            if !value.is_finite() {
                continue;
            }
            let spread = (level.len() >= 3 && value != 0.0).then(|| {
                // Ties can make the typical distance zero although runs do differ.
                let range = level.iter().fold(0.0f64, |far, v| far.max((v - value).abs()));
                mad(&level).max(range / 3.0) / value.abs()
            });
            let error = spread.map(|spread| 1.2533 * spread / (level.len() as f64).sqrt());
            let runs = level.len();
            let measured =
                BaselineMetric { value, unit: None, relative_error: error, spread, runs };
            baseline.metrics.insert(id.clone(), measured);
            let benchmark = id.split('{').next().unwrap_or(id);
            if let Some((benchmark, _)) = benchmark.rsplit_once('/') {
                baseline.benchmarks.push(benchmark.to_owned());
            }
        }
        baseline.benchmarks.sort();
        baseline.benchmarks.dedup();
        baseline
    }
}

/// The identifier of a metric, also in records that do not carry it.
pub(super) fn identifier(result: &BenchmarkRunResult, metric: &BenchmarkMetric) -> String {
    metric.id.clone().unwrap_or_else(|| {
        metric_id(&result.spec.id, &metric.name, &metric.tags.clone().unwrap_or_default())
    })
}

/// The standard error of a metric's value as a share of it, from its interval.
pub(super) fn relative_error(metric: &BenchmarkMetric) -> Option<f64> {
    let half = metric.summary.as_ref()?.relative_half_width;
    half.is_finite().then_some(half / INTERVAL)
}

/// What the difference of a baseline and a candidate is uncertain by, as a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Uncertainty {
    /// One standard error; nothing when neither side states one.
    pub(super) error: Option<f64>,
    /// Whether what varies between runs is part of it.
    pub(super) covers_runs: bool,
}

/// Adds up what is known: the two intervals, how runs spread, how far apart equal things come out.
pub(super) fn uncertainty(
    before: &BaselineMetric,
    after: Option<f64>,
    noise: Option<MetricNoise>,
) -> Uncertainty {
    let floor = noise.map(|noise| noise.noise_floor_relative / INTERVAL);
    let parts = [before.relative_error, before.spread.or(after), floor];
    let known = before.spread.is_some() || (before.relative_error.is_some() && after.is_some());
    let squares: f64 = parts.into_iter().flatten().map(|part| part * part).sum();
    let error = (known || floor.is_some()).then(|| squares.sqrt());
    Uncertainty { error, covers_runs: before.spread.is_some() || floor.is_some() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_counts_from_its_last_change() {
        let mut values = vec![100.0; 20];
        values.extend([120.0; 15]);
        let series = BTreeMap::from([("s/b/time{n=1}".to_owned(), values)]);
        let baseline = Baseline::from_series("history", &series);
        let metric = &baseline.metrics["s/b/time{n=1}"];
        assert_eq!((metric.value, metric.runs, metric.spread), (120.0, 15, Some(0.0)));
        assert_eq!(baseline.benchmarks, ["s/b"]);
        let few = BTreeMap::from([("s/b/x".to_owned(), vec![1.0, f64::NAN])]);
        let baseline = Baseline::from_series("history", &few);
        assert_eq!((baseline.metrics["s/b/x"].runs, baseline.metrics["s/b/x"].spread), (1, None));
    }

    #[test]
    fn uncertainty_says_when_runs_are_not_covered() {
        let before = BaselineMetric {
            value: 1.0,
            unit: None,
            relative_error: Some(0.03),
            spread: None,
            runs: 1,
        };
        let seen = uncertainty(&before, Some(0.04), None);
        assert!((seen.error.unwrap() - 0.05).abs() < 1e-12 && !seen.covers_runs);
        assert_eq!(uncertainty(&before, None, None).error, None);
        let noise = MetricNoise {
            noise_floor_relative: 0.0196,
            mde_relative: None,
            flagged: 0,
            repeats: 20,
        };
        assert!(uncertainty(&before, None, Some(noise)).covers_runs);
    }
}

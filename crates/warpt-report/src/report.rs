//! What a report is made of: one or several runs, perhaps a comparison, perhaps histories. Exporters and the page read
//! this and nothing else, so that whoever has records, a store or a comparison can make every format.

use std::collections::{BTreeMap, HashSet};

use jiff::Timestamp;
use warpt_bench::record::{
    BenchmarkMetric, BenchmarkRunResult, BenchmarkSuiteRun, SampleData, metric_id,
};
use warpt_history::compare::RecordComparison;
use warpt_history::store::Point;
use warpt_history::trends::{Trend, Trends};
use warpt_stats::change_points::{ChangePoint, ChangePointConfig, detect_many};

use crate::text::inert;

/// Longest name in an exported file.
const MAX_NAME_CHARS: usize = 500;

/// A run and what it is called, usually its file's name.
#[derive(Debug, Clone)]
pub struct NamedRun {
    /// The name.
    pub name: String,
    /// The run; samples that should be drawn are in it.
    pub run: BenchmarkSuiteRun,
}

/// One metric over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// The metric's identifier.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is good.
    pub higher_is_better: bool,
    /// The values, oldest first.
    pub points: Vec<SeriesPoint>,
    /// Where the level changed, by position.
    pub change_points: Vec<SeriesChange>,
}

/// One run's value of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesPoint {
    /// When it was measured.
    pub time: Timestamp,
    /// The value.
    pub value: f64,
    /// The interval of the value, where it is known.
    pub interval: Option<(f64, f64)>,
    /// What the run is called: a file, a commit, a build.
    pub label: String,
}

/// A change of level in a series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesChange {
    /// The first point of the new level.
    pub index: usize,
    /// The level before.
    pub before: f64,
    /// The level after.
    pub after: f64,
}

impl From<&ChangePoint> for SeriesChange {
    fn from(change: &ChangePoint) -> Self {
        Self { index: change.index, before: change.before, after: change.after }
    }
}

impl Series {
    fn of(metric: String, trend: &Trend) -> Self {
        let point = |point: &Point| SeriesPoint {
            time: point.time,
            value: point.value,
            interval: point.low.zip(point.high),
            label: point.run.chars().take(12).collect(),
        };
        Self {
            metric,
            unit: trend.key.unit.clone(),
            higher_is_better: trend.key.higher_is_better,
            points: trend.points.iter().map(point).collect(),
            change_points: trend.changes.iter().map(SeriesChange::from).collect(),
        }
    }
}

/// Everything a report shows.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Its heading.
    pub title: String,
    /// The runs, oldest first.
    pub runs: Vec<NamedRun>,
    /// The last run against a baseline.
    pub comparison: Option<RecordComparison>,
    /// Metrics over time.
    pub history: Vec<Series>,
    /// When the report was made; a page without it has no such line, so that equal input can give equal pages.
    pub created: Option<Timestamp>,
}

impl Report {
    /// A report over runs, ordered by their start; metrics measured in at least two of them become histories.
    pub fn of_runs(title: impl Into<String>, mut runs: Vec<NamedRun>) -> Self {
        runs.sort_by_key(|named| start(&named.run));
        let history = if runs.len() > 1 { histories(&runs) } else { Vec::new() };
        Self { title: title.into(), runs, history, ..Self::default() }
    }

    /// The histories of a run's metrics, in its order; supporting metrics and those met only once have none.
    pub fn histories(run: &BenchmarkSuiteRun, trends: &Trends) -> Vec<Series> {
        let by_metric: BTreeMap<&str, &Trend> =
            trends.series.iter().map(|trend| (trend.key.metric.as_str(), trend)).collect();
        let metrics = run
            .benchmarks
            .iter()
            .flat_map(|result| result.metrics.iter().map(move |metric| (result, metric)));
        metrics
            .filter(|(_, metric)| !metric.supporting)
            .filter_map(|(result, metric)| {
                let trend = metric.id.as_deref().and_then(|id| by_metric.get(id))?;
                (trend.points.len() > 1).then(|| Series::of(identifier(result, metric), trend))
            })
            .collect()
    }

    /// Every metric with its run and result, supporting ones included.
    pub fn metrics(
        &self,
    ) -> impl Iterator<Item = (&NamedRun, &BenchmarkRunResult, &BenchmarkMetric)> {
        self.runs.iter().flat_map(|named| {
            named.run.benchmarks.iter().flat_map(move |result| {
                result.metrics.iter().map(move |metric| (named, result, metric))
            })
        })
    }

    /// The run's name where there are several, to be put before other names.
    pub(crate) fn prefix(&self, named: &NamedRun) -> String {
        if self.runs.len() > 1 { format!("{}: ", inert(&named.name, 100)) } else { String::new() }
    }
}

/// When a run started, as far as its record says.
pub(crate) fn start(run: &BenchmarkSuiteRun) -> Option<Timestamp> {
    run.start_time.or_else(|| run.benchmarks.first().map(|result| result.start_time))
}

/// A metric's identifier, inert and not too long.
pub(crate) fn identifier(result: &BenchmarkRunResult, metric: &BenchmarkMetric) -> String {
    let none = BTreeMap::new();
    let tags = metric.tags.as_ref().unwrap_or(&none);
    let id = metric.id.clone();
    let id = id.unwrap_or_else(|| metric_id(&result.spec.id, &metric.name, tags));
    inert(&id, MAX_NAME_CHARS)
}

/// The samples in the record; none when they are elsewhere or were not kept.
pub(crate) fn samples(metric: &BenchmarkMetric) -> &[f64] {
    match &metric.samples {
        Some(SampleData::Inline { values }) => values,
        _ => &[],
    }
}

/// Names handed out once each: a repeated one gets a number, because many consumers refuse or merge duplicates.
#[derive(Debug, Default)]
pub(crate) struct UniqueNames {
    taken: HashSet<String>,
}

impl UniqueNames {
    pub(crate) fn take(&mut self, name: &str) -> String {
        let mut unique = name.to_owned();
        let mut number = 2;
        while !self.taken.insert(unique.clone()) {
            unique = format!("{name} #{number}");
            number += 1;
        }
        unique
    }
}

fn histories(runs: &[NamedRun]) -> Vec<Series> {
    let mut order: Vec<String> = Vec::new();
    let mut series: BTreeMap<String, Series> = BTreeMap::new();
    for named in runs {
        for result in named.run.benchmarks.iter().filter(|result| result.success) {
            for metric in result.metrics.iter().filter(|m| !m.supporting && m.value.is_finite()) {
                let id = identifier(result, metric);
                // The unit is part of what makes values comparable.
                let key = format!("{id}\u{0}{}", metric.unit);
                let entry = series.entry(key.clone()).or_insert_with(|| {
                    order.push(key);
                    Series {
                        metric: id,
                        unit: metric.unit.clone(),
                        higher_is_better: metric.higher_is_better,
                        ..Series::default()
                    }
                });
                entry.points.push(SeriesPoint {
                    time: result.start_time,
                    value: metric.value,
                    interval: metric.summary.as_ref().map(|s| (s.interval.low, s.interval.high)),
                    label: named.name.clone(),
                });
            }
        }
    }
    let series = order.iter().filter_map(|key| series.remove(key));
    let mut series: Vec<Series> = series.filter(|series| series.points.len() > 1).collect();
    let values = |series: &Series| series.points.iter().map(|point| point.value).collect();
    let values: Vec<Vec<f64>> = series.iter().map(values).collect();
    let found = detect_many(&values, &ChangePointConfig::default());
    for (series, changes) in series.iter_mut().zip(&found.changes) {
        series.change_points = changes.iter().map(SeriesChange::from).collect();
    }
    series
}

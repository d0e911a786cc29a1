//! The series of the store and where each changed: what `history points`, the gate's baseline, a comparison's noise
//! floors and a report's pictures are made of.
//!
//! Invariants: a trend is one metric with one set of parameters on one machine, oldest point first; points that failed
//! or are not finite are not in it. Cost grows with the points selected, all of which are in memory.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use warpt_bench::BenchmarkSuiteRun;
use warpt_stats::change_points::{ChangeKind, ChangePoint, ChangePointConfig, detect_many};
use warpt_stats::quantile;

use crate::HistoryError;
use crate::store::row::{RunRows, SeriesKey, Standing, timestamp};
use crate::store::{Point, Selection, Store};

/// Runs at one level that say how far apart two of them come out.
const MIN_RUNS_FOR_NOISE: usize = 8;
/// Runs looked at for that: more add nothing but time.
const MAX_RUNS_FOR_NOISE: usize = 100;

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// What it is of.
    pub key: Arc<SeriesKey>,
    /// The machine.
    pub machine: String,
    /// Its points, oldest first.
    pub points: Vec<Point>,
    /// Where it changed; indices are places in `points`.
    pub changes: Vec<ChangePoint>,
}

/// Many series, judged together: the more there are, the more is asked of each change.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trends {
    /// Each series, ordered by metric, parameters and machine.
    pub series: Vec<Trend>,
    /// The p value a change had to stay below.
    pub threshold: f64,
}

/// Whether a record's own numbers are part of the series behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Itself {
    /// As their newest points, where the record is in the store.
    Included,
    /// They are what is judged.
    LeftOut,
}

/// A change with what it is of and when it came, for people and tools.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundChange {
    /// What changed.
    #[serde(flatten)]
    pub key: Arc<SeriesKey>,
    /// Where.
    pub machine: String,
    /// When the first run after the change started.
    pub time: Timestamp,
    /// That run.
    pub run: String,
    /// The last run before it.
    pub before_run: String,
    /// Step or drift.
    pub kind: ChangeKind,
    /// The level before: a median.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// The change as a share of the level before; absent when that is zero.
    pub relative: Option<f64>,
    /// Whether it went the good way.
    pub better: bool,
    /// How often noise would give such a change anywhere in the series.
    pub p_value: f64,
}

impl Trends {
    /// Looks for changes in all series of the points, which come as [`crate::store::Store::series`] gives them.
    #[must_use]
    pub fn of(points: Vec<Point>, config: &ChangePointConfig) -> Self {
        let mut series: Vec<Trend> = Vec::new();
        for point in points {
            if point.standing == Standing::Failed || !point.value.is_finite() {
                continue;
            }
            match series.last_mut() {
                Some(last) if last.key == point.key && last.machine == point.machine => {
                    last.points.push(point);
                }
                _ => series.push(Trend {
                    key: Arc::clone(&point.key),
                    machine: point.machine.clone(),
                    points: vec![point],
                    changes: Vec::new(),
                }),
            }
        }
        let values: Vec<Vec<f64>> = series
            .iter()
            .map(|trend| trend.points.iter().map(|point| point.value).collect())
            .collect();
        let found = detect_many(&values, config);
        for (trend, changes) in series.iter_mut().zip(found.changes) {
            trend.changes = changes;
        }
        Self { series, threshold: found.threshold }
    }

    /// The series a record's numbers belong to: the same metrics and parameters on its machine, from `since` on, up to
    /// the record. Its own numbers are the newest points, or left out.
    pub fn behind(
        store: &Store,
        record: &BenchmarkSuiteRun,
        since: Option<Timestamp>,
        itself: Itself,
    ) -> Result<Self, HistoryError> {
        let run = RunRows::of(record)?;
        let summary = &run.summary;
        let selection = Selection::default()
            .on(summary.machine.clone())
            .within(since, timestamp(summary.time_us.saturating_add(1)).into());
        let wanted: HashSet<&SeriesKey> = run.rows.iter().map(|row| row.key.as_ref()).collect();
        let mut points = store.series(&selection)?;
        points.retain(|point| {
            let own = point.run == summary.run;
            wanted.contains(point.key.as_ref()) && !(own && itself == Itself::LeftOut)
        });
        Ok(Self::of(points, &ChangePointConfig::default()))
    }

    /// Every change, newest first.
    #[must_use]
    pub fn found(&self) -> Vec<FoundChange> {
        let mut found: Vec<FoundChange> = self
            .series
            .iter()
            .flat_map(|trend| trend.changes.iter().filter_map(|change| trend.found(change)))
            .collect();
        found.sort_by(|a, b| (b.time, &a.key, &a.machine).cmp(&(a.time, &b.key, &b.machine)));
        found
    }
}

impl Trend {
    /// The points since the last change.
    #[must_use]
    pub fn level(&self) -> &[Point] {
        let since = self.changes.last().map_or(0, |change| change.settled);
        self.points.get(since..).unwrap_or_default()
    }

    /// How far apart two runs of the present level come out: the 95th percentile of their relative distance. Nothing
    /// with fewer than eight runs.
    #[must_use]
    pub fn noise_between_runs(&self) -> Option<f64> {
        let level = self.level();
        let level = &level[level.len().saturating_sub(MAX_RUNS_FOR_NOISE)..];
        if level.len() < MIN_RUNS_FOR_NOISE {
            return None;
        }
        let mut distances = Vec::with_capacity(level.len() * (level.len() - 1) / 2);
        for (place, one) in level.iter().enumerate() {
            for other in &level[..place] {
                let (small, large) = (one.value.min(other.value), one.value.max(other.value));
                distances.push(large / small - 1.0);
            }
        }
        distances.retain(|distance| distance.is_finite() && *distance >= 0.0);
        distances.sort_by(f64::total_cmp);
        (!distances.is_empty()).then(|| quantile(&distances, 0.95))
    }

    fn found(&self, change: &ChangePoint) -> Option<FoundChange> {
        let first = self.points.get(change.index)?;
        let last = self.points.get(change.index.checked_sub(1)?)?;
        Some(FoundChange {
            key: Arc::clone(&self.key),
            machine: self.machine.clone(),
            time: first.time,
            run: first.run.clone(),
            before_run: last.run.clone(),
            kind: change.kind,
            before: change.before,
            after: change.after,
            relative: change.relative.is_finite().then_some(change.relative),
            better: (change.after > change.before) == self.key.higher_is_better,
            p_value: change.p_value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(metric: &str, machine: &str, values: &[f64]) -> Vec<Point> {
        let key = Arc::new(SeriesKey {
            metric: metric.into(),
            params: String::new(),
            unit: "s".into(),
            higher_is_better: false,
        });
        let point = |(place, value): (usize, &f64)| Point {
            time: Timestamp::from_second(place as i64 * 86_400).unwrap(),
            machine: machine.into(),
            run: format!("run{place}"),
            key: Arc::clone(&key),
            standing: Standing::Passed,
            samples: 10,
            value: *value,
            minimum: None,
            low: None,
            high: None,
            mad: None,
        };
        values.iter().enumerate().map(point).collect()
    }

    fn wobbling(level: f64, count: usize) -> impl Iterator<Item = f64> {
        (0..count).map(move |place| level * (1.0 + 0.002 * ((place * 7 % 5) as f64 - 2.0)))
    }

    #[test]
    fn a_step_is_found_where_and_when_it_came() {
        let stepped: Vec<f64> = wobbling(100.0, 20).chain(wobbling(130.0, 20)).collect();
        let quiet: Vec<f64> = wobbling(50.0, 40).collect();
        let mut all = points("s/b/a", "one", &stepped);
        all.extend(points("s/b/a", "two", &quiet));
        all[3].standing = Standing::Failed;
        let trends = Trends::of(all, &ChangePointConfig::default());
        assert_eq!(trends.series.len(), 2);
        let found = trends.found();
        assert_eq!(found.len(), 1);
        let change = &found[0];
        assert_eq!((change.machine.as_str(), change.run.as_str()), ("one", "run20"));
        assert_eq!((change.before_run.as_str(), change.better), ("run19", false));
        assert_eq!(trends.series[0].level().len(), 20);
    }

    #[test]
    fn noise_is_that_of_the_present_level() {
        let stepped: Vec<f64> = wobbling(100.0, 20).chain(wobbling(130.0, 20)).collect();
        let trends = Trends::of(points("s/b/a", "one", &stepped), &ChangePointConfig::default());
        let noise = trends.series[0].noise_between_runs().unwrap();
        assert!((0.005..0.01).contains(&noise), "{noise}");
        let few = Trends::of(points("s/b/a", "one", &[1.0; 7]), &ChangePointConfig::default());
        assert_eq!(few.series[0].noise_between_runs(), None);
    }
}

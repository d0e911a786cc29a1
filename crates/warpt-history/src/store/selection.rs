//! What is asked of the store, and the points that answer.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::Serialize;

use super::layout::day_of;
use super::row::{Row, RunSummary, SeriesKey, Standing, timestamp};

/// Which rows are wanted; what is left out does not restrict.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// A metric's whole identifier; ending in `*`, every metric that begins so.
    pub metric: Option<String>,
    /// The benchmark's parameters, as the points show them.
    pub params: Option<String>,
    /// A machine.
    pub machine: Option<String>,
    /// A run.
    pub run: Option<String>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
}

impl Selection {
    /// One metric, everywhere and always.
    pub fn metric(id: impl Into<String>) -> Self {
        Self { metric: Some(id.into()), ..Self::default() }
    }

    /// The same on one machine.
    #[must_use]
    pub fn on(mut self, machine: impl Into<String>) -> Self {
        self.machine = Some(machine.into());
        self
    }

    /// The same between two moments.
    #[must_use]
    pub fn within(mut self, since: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        (self.since, self.until) = (since, until);
        self
    }

    pub(crate) fn wants_metric(&self, metric: &str) -> bool {
        match self.metric.as_deref() {
            None => true,
            Some(pattern) => match pattern.strip_suffix('*') {
                Some(beginning) => metric.starts_with(beginning),
                None => metric == pattern,
            },
        }
    }

    pub(crate) fn wants_params(&self, params: &str) -> bool {
        self.params.as_deref().is_none_or(|wanted| wanted == params)
    }

    pub(crate) fn wants_machine(&self, machine: &str) -> bool {
        self.machine.as_deref().is_none_or(|wanted| wanted == machine)
    }

    pub(crate) fn wants_run(&self, run: &str) -> bool {
        self.run.as_deref().is_none_or(|wanted| wanted == run)
    }

    pub(crate) fn wants_time(&self, time_us: i64) -> bool {
        self.since.is_none_or(|since| time_us >= since.as_microsecond())
            && self.until.is_none_or(|until| time_us < until.as_microsecond())
    }

    pub(crate) fn wants_summary(&self, run: &RunSummary) -> bool {
        self.wants_machine(&run.machine) && self.wants_run(&run.run) && self.wants_time(run.time_us)
    }

    /// Whether no metric between two names, in their order, is wanted.
    pub(crate) fn excludes_metrics(&self, first: &[u8], last: &[u8]) -> bool {
        let Some(pattern) = self.metric.as_deref() else { return false };
        let (beginning, open) = match pattern.strip_suffix('*') {
            Some(beginning) => (beginning.as_bytes(), true),
            None => (pattern.as_bytes(), false),
        };
        last < beginning || (first > beginning && !(open && first.starts_with(beginning)))
    }

    /// The days (UTC) the selection touches.
    pub(crate) fn days(&self) -> std::ops::RangeInclusive<Date> {
        let day = |time: Timestamp| day_of(time.as_microsecond());
        self.since.map_or(Date::MIN, day)..=self.until.map_or(Date::MAX, day)
    }
}

/// One number of one run at its time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// When the run started.
    pub time: Timestamp,
    /// The machine.
    pub machine: String,
    /// The run.
    pub run: String,
    /// What the number is of.
    #[serde(flatten)]
    pub key: Arc<SeriesKey>,
    /// How far it can be trusted.
    pub standing: Standing,
    /// How many samples are behind it; 0 when unknown.
    pub samples: u32,
    /// The median.
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

impl Point {
    pub(crate) fn of(run: &RunSummary, row: &Row) -> Self {
        Self {
            time: timestamp(run.time_us),
            machine: run.machine.clone(),
            run: run.run.clone(),
            key: Arc::clone(&row.key),
            standing: row.standing,
            samples: row.samples,
            value: row.value,
            minimum: row.minimum,
            low: row.low,
            high: row.high,
            mad: row.mad,
        }
    }
}

/// Sorts points by what they are of, machine and time: each series in one piece, in order.
pub(crate) fn arrange(points: &mut [Point]) {
    points.sort_by(|a, b| {
        (&a.key, &a.machine, a.time, &a.run).cmp(&(&b.key, &b.machine, b.time, &b.run))
    });
}

//! Roll-ups: what a day was, per machine and metric (`machine_days`) and over the fleet (`fleet_days`). They are made
//! again from all rows of a day when rows came to it, and answer for a day only while they are newer than its rows.

use jiff::civil::Date;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use warpt_stats::order::{quantile, sorted};

use super::batch::{GROUP_ROWS, texts};
use super::compact::Change;
use super::index::{Index, Table};
use super::layout::Layout;
use super::merge::{self, Measured};
use super::row::SeriesKey;
use super::table::{Column, Kind, Schema};
use crate::error::Result;

/// The columns of `machine_days`. Where `count` is 1 the median is the only value and the other numbers are null.
pub(crate) const MACHINE_DAYS: Schema = &[
    ("machine", Kind::Text),
    ("metric", Kind::Text),
    ("params", Kind::Text),
    ("unit", Kind::Text),
    ("higher_is_better", Kind::Flag),
    ("count", Kind::Count),
    ("median", Kind::Number),
    ("minimum", Kind::MaybeNumber),
    ("mean", Kind::MaybeNumber),
    ("p95", Kind::MaybeNumber),
    ("maximum", Kind::MaybeNumber),
];

/// The columns of `fleet_days`: how the machines' medians of a day are distributed.
pub(crate) const FLEET_DAYS: Schema = &[
    ("metric", Kind::Text),
    ("params", Kind::Text),
    ("unit", Kind::Text),
    ("higher_is_better", Kind::Flag),
    ("machines", Kind::Count),
    ("mean", Kind::Number),
    ("minimum", Kind::Number),
    ("p5", Kind::Number),
    ("p25", Kind::Number),
    ("p50", Kind::Number),
    ("p75", Kind::Number),
    ("p95", Kind::Number),
    ("p99", Kind::Number),
    ("maximum", Kind::Number),
];

/// How the machines' medians of one metric were distributed on a day.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetDay {
    /// The day (UTC).
    pub day: Date,
    /// What the numbers are of.
    #[serde(flatten)]
    pub key: Arc<SeriesKey>,
    /// How many machines.
    pub machines: u32,
    /// Their mean.
    pub mean: f64,
    /// The smallest.
    pub minimum: f64,
    /// Five percent are below.
    pub p5: f64,
    /// A quarter is below.
    pub p25: f64,
    /// Half are below.
    pub p50: f64,
    /// Three quarters are below.
    pub p75: f64,
    /// 95 percent are below.
    pub p95: f64,
    /// 99 percent are below.
    pub p99: f64,
    /// The largest.
    pub maximum: f64,
}

impl FleetDay {
    /// From the medians of the machines; none when there are none.
    pub(crate) fn of(day: Date, key: Arc<SeriesKey>, medians: &[f64]) -> Option<Self> {
        if medians.is_empty() {
            return None;
        }
        let ascending = sorted(medians);
        let at = |q: f64| quantile(&ascending, q);
        Some(Self {
            day,
            key,
            machines: u32::try_from(medians.len()).unwrap_or(u32::MAX),
            mean: mean(&ascending),
            minimum: at(0.0),
            p5: at(0.05),
            p25: at(0.25),
            p50: at(0.5),
            p75: at(0.75),
            p95: at(0.95),
            p99: at(0.99),
            maximum: at(1.0),
        })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Days with rows newer than their roll-ups.
pub(crate) fn outdated(index: &Index) -> BTreeSet<Date> {
    let newest = |table: Table| {
        let mut days: HashMap<Date, u64> = HashMap::new();
        for part in index.parts.iter().filter(|part| part.table == table) {
            let newest = days.entry(part.day).or_default();
            *newest = part.generation.max(*newest);
        }
        days
    };
    let rolled = newest(Table::FleetDays);
    let rows = newest(Table::Rows).into_iter();
    rows.filter(|(day, rows)| rolled.get(day) < Some(rows)).map(|(day, _)| day).collect()
}

/// Whether a day's roll-ups speak for all of its rows in Parquet.
pub(crate) fn is_current(index: &Index, day: Date) -> bool {
    let newest = |table: Table| index.parts(table, day..=day).map(|part| part.generation).max();
    newest(Table::FleetDays).is_some() && newest(Table::FleetDays) >= newest(Table::Rows)
}

/// Makes the roll-ups of a day; one row group is in memory at a time.
pub(crate) fn roll_up(
    layout: &Layout,
    index: &Index,
    day: Date,
    change: &mut Change<'_>,
) -> Result<()> {
    for table in [Table::MachineDays, Table::FleetDays] {
        index.parts(table, day..=day).for_each(|part| change.remove(part));
    }
    let mut fleet: Vec<FleetDay> = Vec::new();
    let mut machines = MachineDays::default();
    let mut part = change.open(Table::MachineDays, day, MACHINE_DAYS)?;
    merge::by_key(layout, index, day, &mut |key, values| {
        let key = Arc::new(key.clone());
        let mut medians = Vec::with_capacity(values.len());
        for values in values.chunk_by(|a, b| a.0 == b.0) {
            medians.push(machines.push(&key, values));
            if machines.rows() == GROUP_ROWS {
                part.write(&std::mem::take(&mut machines).columns())?;
            }
        }
        fleet.extend(FleetDay::of(day, key, &medians));
        Ok(())
    })?;
    if machines.rows() > 0 {
        part.write(&machines.columns())?;
    }
    change.close(part, None)?;
    let mut part = change.open(Table::FleetDays, day, FLEET_DAYS)?;
    for days in fleet.chunks(GROUP_ROWS) {
        part.write(&fleet_columns(days))?;
    }
    change.close(part, None)
}

/// Rows of `machine_days` being gathered.
#[derive(Default)]
struct MachineDays {
    machines: Vec<String>,
    places: HashMap<Arc<str>, u32>,
    machine: Vec<u32>,
    keys: Vec<Arc<SeriesKey>>,
    key: Vec<u32>,
    count: Vec<i32>,
    median: Vec<f64>,
    rest: [Vec<f64>; 4],
}

impl MachineDays {
    fn rows(&self) -> usize {
        self.median.len()
    }

    /// Adds a machine's values of a key; their median.
    fn push(&mut self, key: &Arc<SeriesKey>, values: &[Measured]) -> f64 {
        if self.keys.last() != Some(key) {
            self.keys.push(Arc::clone(key));
        }
        self.key.push(self.keys.len() as u32 - 1);
        let name = &values[0].0;
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                let place = self.machines.len() as u32;
                self.machines.push(name.to_string());
                self.places.insert(Arc::clone(name), place);
                place
            }
        };
        self.machine.push(place);
        self.count.push(i32::try_from(values.len()).unwrap_or(i32::MAX));
        let (median, rest) = match values {
            [(_, only)] => (*only, [f64::NAN; 4]),
            several => {
                let numbers: Vec<f64> = several.iter().map(|(_, value)| *value).collect();
                let ascending = sorted(&numbers);
                let at = |q: f64| quantile(&ascending, q);
                (at(0.5), [at(0.0), mean(&ascending), at(0.95), at(1.0)])
            }
        };
        self.median.push(median);
        for (column, number) in self.rest.iter_mut().zip(rest) {
            column.push(number);
        }
        median
    }

    fn columns(self) -> Vec<Column> {
        let text = |of: fn(&SeriesKey) -> &str| {
            let (dictionary, of_key) = texts(self.keys.iter().map(|key| of(key)));
            let codes = self.key.iter().map(|key| of_key[*key as usize]).collect();
            Column::Text { dictionary, codes }
        };
        let (metric, params) = (text(|key| &key.metric), text(|key| &key.params));
        let unit = text(|key| &key.unit);
        let direction = self.key.iter().map(|key| self.keys[*key as usize].higher_is_better);
        let direction = Column::Flag(direction.collect());
        let [minimum, mean, p95, maximum] = self.rest.map(Column::MaybeNumber);
        vec![
            Column::Text { dictionary: self.machines, codes: self.machine },
            metric,
            params,
            unit,
            direction,
            Column::Count(self.count),
            Column::Number(self.median),
            minimum,
            mean,
            p95,
            maximum,
        ]
    }
}

fn fleet_columns(days: &[FleetDay]) -> Vec<Column> {
    let text = |of: fn(&FleetDay) -> &str| {
        let (dictionary, codes) = texts(days.iter().map(of));
        Column::Text { dictionary, codes }
    };
    let number = |of: fn(&FleetDay) -> f64| Column::Number(days.iter().map(of).collect());
    let machines = days.iter().map(|day| i32::try_from(day.machines).unwrap_or(i32::MAX));
    vec![
        text(|day| &day.key.metric),
        text(|day| &day.key.params),
        text(|day| &day.key.unit),
        Column::Flag(days.iter().map(|day| day.key.higher_is_better).collect()),
        Column::Count(machines.collect()),
        number(|day| day.mean),
        number(|day| day.minimum),
        number(|day| day.p5),
        number(|day| day.p25),
        number(|day| day.p50),
        number(|day| day.p75),
        number(|day| day.p95),
        number(|day| day.p99),
        number(|day| day.maximum),
    ]
}

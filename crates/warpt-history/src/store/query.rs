//! Questions over days: the fleet's percentiles, a machine's days, and a day against those before it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::ToSpan;
use jiff::civil::Date;
use serde::Serialize;
use warpt_stats::order::{median, quantile, sorted};

use super::Store;
use super::batch::ROWS;
use super::index::Table;
use super::layout::{day_of, start_of};
use super::rollup::{self, FLEET_DAYS, FleetDay, MACHINE_DAYS};
use super::row::{SeriesKey, Standing, timestamp};
use super::runs_table::{Texts, counts, flags, numbers};
use super::scan::{choose, may_hold};
use super::selection::Selection;
use super::snapshot::Snapshot;
use super::table::TableFile;
use crate::error::Result;

/// A day of one series: of a machine, or of the fleet when no machine was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Daily {
    /// The day (UTC).
    pub day: Date,
    /// What the number is of.
    #[serde(flatten)]
    pub key: Arc<SeriesKey>,
    /// How many runs of the machine, or machines of the fleet.
    pub count: u32,
    /// The median of their values.
    pub median: f64,
}

/// A day against the days before it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recent {
    /// What the numbers are of.
    #[serde(flatten)]
    pub key: Arc<SeriesKey>,
    /// The day (UTC).
    pub day: Date,
    /// Its median.
    pub value: f64,
    /// How many days before it there are numbers for.
    pub days: u32,
    /// The median of those days.
    pub baseline: f64,
    /// The smallest of them.
    pub lowest: f64,
    /// The largest of them.
    pub highest: f64,
    /// The value over the baseline; absent when that is zero.
    pub ratio: Option<f64>,
    /// Whether the value is worse than every day before it. A remark, not a verdict: that is for the gate.
    pub worst: bool,
}

impl Store {
    /// How the machines' medians of each metric were distributed, day by day.
    pub fn fleet(&self, selection: &Selection) -> Result<Vec<FleetDay>> {
        self.look(|snapshot| snapshot.fleet(selection))
    }

    /// Daily medians: of the selection's machine, or of the fleet.
    pub fn daily(&self, selection: &Selection) -> Result<Vec<Daily>> {
        self.look(|snapshot| snapshot.daily(selection))
    }

    /// A day against up to `days` days before it, for every series of the selection that has numbers on both sides.
    pub fn recent(&self, selection: &Selection, day: Date, days: u32) -> Result<Vec<Recent>> {
        let first = day.saturating_sub(i64::from(days).days());
        let end = start_of(day.tomorrow().unwrap_or(day));
        let selection =
            selection.clone().within(Some(timestamp(start_of(first))), Some(timestamp(end)));
        let mut series: BTreeMap<Arc<SeriesKey>, Vec<Daily>> = BTreeMap::new();
        for daily in self.daily(&selection)? {
            series.entry(Arc::clone(&daily.key)).or_default().push(daily);
        }
        Ok(series.into_values().filter_map(|dailies| recent(&dailies, day)).collect())
    }
}

fn recent(dailies: &[Daily], day: Date) -> Option<Recent> {
    let today = dailies.iter().find(|daily| daily.day == day)?;
    let before = dailies.iter().filter(|daily| daily.day < day).map(|daily| daily.median);
    let before = sorted(&before.collect::<Vec<f64>>());
    let (lowest, highest) = (*before.first()?, *before.last()?);
    let baseline = quantile(&before, 0.5);
    let value = today.median;
    let worst = if today.key.higher_is_better { value < lowest } else { value > highest };
    Some(Recent {
        key: Arc::clone(&today.key),
        day,
        value,
        days: before.len() as u32,
        baseline,
        lowest,
        highest,
        ratio: (baseline != 0.0).then(|| value / baseline),
        worst,
    })
}

/// The values of each machine, of each key, on each day.
type Grouped = BTreeMap<(Date, Arc<SeriesKey>), BTreeMap<String, Vec<f64>>>;

impl Snapshot {
    fn fleet(&self, selection: &Selection) -> Result<Vec<FleetDay>> {
        let mut days = Vec::new();
        let days_wanted = selection.days();
        // A roll-up speaks for whole days and all machines, and not for what is still in the journal.
        let journal: std::collections::BTreeSet<Date> =
            self.journal.iter().map(|run| day_of(run.summary.time_us)).collect();
        let usable = |day: Date| {
            selection.machine.is_none()
                && selection.run.is_none()
                && is_whole(selection, day)
                && !journal.contains(&day)
                && rollup::is_current(&self.index, day)
        };
        for part in self.index.parts(Table::FleetDays, days_wanted) {
            if usable(part.day) {
                let file = TableFile::open(&self.index.path(&self.layout, part), FLEET_DAYS)?;
                read_fleet(&file, part.day, selection, &mut days)?;
            }
        }
        let grouped = self.grouped(selection, &|day| !usable(day))?;
        for ((day, key), machines) in grouped {
            let medians: Vec<f64> = machines.values().map(|values| median(values)).collect();
            days.extend(FleetDay::of(day, key, &medians));
        }
        days.sort_by(|a, b| (&a.key, a.day).cmp(&(&b.key, b.day)));
        Ok(days)
    }

    fn daily(&self, selection: &Selection) -> Result<Vec<Daily>> {
        if selection.machine.is_none() {
            let fleet = self.fleet(selection)?.into_iter();
            return Ok(fleet
                .map(|day| Daily {
                    day: day.day,
                    key: day.key,
                    count: day.machines,
                    median: day.p50,
                })
                .collect());
        }
        let mut dailies = Vec::new();
        let grouped = self.grouped(selection, &|_| true)?;
        for ((day, key), machines) in grouped {
            let values: Vec<f64> = machines.into_values().flatten().collect();
            let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
            dailies.push(Daily { day, key, count, median: median(&values) });
        }
        // Days whose rows were pruned are still in the roll-ups.
        for part in self.index.parts(Table::MachineDays, selection.days()) {
            let has_rows = self.index.parts(Table::Rows, part.day..=part.day).next().is_some();
            if !has_rows && is_whole(selection, part.day) {
                let file = TableFile::open(&self.index.path(&self.layout, part), MACHINE_DAYS)?;
                read_machine_days(&file, part.day, selection, &mut dailies)?;
            }
        }
        dailies.sort_by(|a, b| (&a.key, a.day).cmp(&(&b.key, b.day)));
        Ok(dailies)
    }

    /// Values by day, key and machine, from rows and journal; failed results are left out.
    fn grouped(&self, selection: &Selection, wanted: &dyn Fn(Date) -> bool) -> Result<Grouped> {
        let mut grouped = Grouped::new();
        let parts = self.index.parts(Table::Rows, selection.days());
        for part in parts.filter(|part| may_hold(part, selection) && wanted(part.day)) {
            let file = TableFile::open(&self.index.path(&self.layout, part), ROWS)?;
            for group in 0..file.groups() {
                group_values(&file, group, part.day, selection, &mut grouped)?;
            }
        }
        for run in self.journal.iter().filter(|run| selection.wants_summary(&run.summary)) {
            let day = day_of(run.summary.time_us);
            if !wanted(day) {
                continue;
            }
            let rows = run.rows.iter().filter(|row| {
                row.standing != Standing::Failed
                    && selection.wants_metric(&row.key.metric)
                    && selection.wants_params(&row.key.params)
            });
            for row in rows {
                let machines = grouped.entry((day, Arc::clone(&row.key))).or_default();
                machines.entry(run.summary.machine.clone()).or_default().push(row.value);
            }
        }
        Ok(grouped)
    }
}

/// Whether the selection takes all of a day.
fn is_whole(selection: &Selection, day: Date) -> bool {
    let last = start_of(day.tomorrow().unwrap_or(day)) - 1;
    selection.wants_time(start_of(day)) && selection.wants_time(last)
}

fn group_values(
    file: &TableFile,
    group: usize,
    day: Date,
    selection: &Selection,
    grouped: &mut Grouped,
) -> Result<()> {
    let Some(chosen) = choose(file, group, selection)? else { return Ok(()) };
    let unit = Texts::read(file, group, "unit")?;
    let standing = Texts::read(file, group, "standing")?;
    let direction = flags(file, group, "higher_is_better")?;
    let value = numbers(file, group, "value")?;
    // Rows of a key are neighbours, so the map is entered once a key.
    let codes = |row: usize| {
        (chosen.metric.codes[row], chosen.params.codes[row], unit.codes[row], direction[row])
    };
    for rows in chosen.rows.chunk_by(|a, b| codes(*a as usize) == codes(*b as usize)) {
        let first = rows[0] as usize;
        let key = Arc::new(SeriesKey {
            metric: chosen.metric.at(first).to_owned(),
            params: chosen.params.at(first).to_owned(),
            unit: unit.at(first).to_owned(),
            higher_is_better: direction[first],
        });
        let sound = |row: &usize| standing.at(*row) != Standing::Failed.name();
        let mut sound = rows.iter().map(|row| *row as usize).filter(sound).peekable();
        if sound.peek().is_none() {
            continue;
        }
        let machines = grouped.entry((day, key)).or_default();
        for row in sound {
            let machine = chosen.machine.at(row);
            match machines.get_mut(machine) {
                Some(values) => values.push(value[row]),
                None => {
                    machines.insert(machine.to_owned(), vec![value[row]]);
                }
            }
        }
    }
    Ok(())
}

fn read_fleet(
    file: &TableFile,
    day: Date,
    selection: &Selection,
    into: &mut Vec<FleetDay>,
) -> Result<()> {
    for group in 0..file.groups() {
        let text = |name: &str| Texts::read(file, group, name);
        let (metric, params, unit) = (text("metric")?, text("params")?, text("unit")?);
        let direction = flags(file, group, "higher_is_better")?;
        let machines = counts(file, group, "machines")?;
        let number = |name: &str| numbers(file, group, name);
        let (mean, minimum, maximum) = (number("mean")?, number("minimum")?, number("maximum")?);
        let (p5, p25, p50) = (number("p5")?, number("p25")?, number("p50")?);
        let (p75, p95, p99) = (number("p75")?, number("p95")?, number("p99")?);
        for row in 0..metric.len() {
            if !selection.wants_metric(metric.at(row)) || !selection.wants_params(params.at(row)) {
                continue;
            }
            into.push(FleetDay {
                day,
                key: Arc::new(SeriesKey {
                    metric: metric.at(row).to_owned(),
                    params: params.at(row).to_owned(),
                    unit: unit.at(row).to_owned(),
                    higher_is_better: direction[row],
                }),
                machines: machines[row],
                mean: mean[row],
                minimum: minimum[row],
                p5: p5[row],
                p25: p25[row],
                p50: p50[row],
                p75: p75[row],
                p95: p95[row],
                p99: p99[row],
                maximum: maximum[row],
            });
        }
    }
    Ok(())
}

fn read_machine_days(
    file: &TableFile,
    day: Date,
    selection: &Selection,
    into: &mut Vec<Daily>,
) -> Result<()> {
    for group in 0..file.groups() {
        if let Some((first, last)) = file.text_bounds(group, "metric")
            && selection.excludes_metrics(first, last)
        {
            continue;
        }
        let text = |name: &str| Texts::read(file, group, name);
        let machine = text("machine")?;
        let (metric, params, unit) = (text("metric")?, text("params")?, text("unit")?);
        let direction = flags(file, group, "higher_is_better")?;
        let count = counts(file, group, "count")?;
        let median = numbers(file, group, "median")?;
        for row in 0..metric.len() {
            if selection.wants_machine(machine.at(row))
                && selection.wants_metric(metric.at(row))
                && selection.wants_params(params.at(row))
            {
                into.push(Daily {
                    day,
                    key: Arc::new(SeriesKey {
                        metric: metric.at(row).to_owned(),
                        params: params.at(row).to_owned(),
                        unit: unit.at(row).to_owned(),
                        higher_is_better: direction[row],
                    }),
                    count: count[row],
                    median: median[row],
                });
            }
        }
    }
    Ok(())
}

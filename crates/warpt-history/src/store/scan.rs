//! Finds rows in Parquet: files by day and range of machines, row groups by range of metrics, rows by codes of the
//! dictionaries. Columns that the answer does not need are not read.

use std::collections::HashMap;
use std::sync::Arc;

use super::batch::ROWS;
use super::index::{Part, Table};
use super::row::{SeriesKey, Standing, timestamp};
use super::runs_table::{Texts, counts, flags, numbers, times};
use super::selection::{Point, Selection};
use super::snapshot::Snapshot;
use super::table::TableFile;
use crate::error::Result;

/// Whether a file may hold the selection's machine.
pub(crate) fn may_hold(part: &Part, selection: &Selection) -> bool {
    match (&part.machines, &selection.machine) {
        (Some((first, last)), Some(machine)) => first <= machine && machine <= last,
        _ => true,
    }
}

/// The rows of a row group that a selection wants, with what they were chosen by.
pub(crate) struct Chosen {
    pub(crate) rows: Vec<u32>,
    pub(crate) metric: Texts,
    pub(crate) params: Texts,
    pub(crate) machine: Texts,
    pub(crate) times: Vec<i64>,
}

/// Chooses the rows of a row group; none when there are none.
pub(crate) fn choose(
    file: &TableFile,
    group: usize,
    selection: &Selection,
) -> Result<Option<Chosen>> {
    if let Some((first, last)) = file.text_bounds(group, "metric")
        && selection.excludes_metrics(first, last)
    {
        return Ok(None);
    }
    let metric = Texts::read(file, group, "metric")?;
    let mut rows: Vec<u32> = (0..metric.len() as u32).collect();
    keep(&mut rows, &metric, selection.metric.is_some(), |text| selection.wants_metric(text));
    if rows.is_empty() {
        return Ok(None);
    }
    let machine = Texts::read(file, group, "machine")?;
    keep(&mut rows, &machine, selection.machine.is_some(), |text| selection.wants_machine(text));
    if rows.is_empty() {
        return Ok(None);
    }
    let params = Texts::read(file, group, "params")?;
    keep(&mut rows, &params, selection.params.is_some(), |text| selection.wants_params(text));
    if selection.run.is_some() {
        let run = Texts::read(file, group, "run")?;
        keep(&mut rows, &run, true, |text| selection.wants_run(text));
    }
    let times = times(file, group)?;
    if selection.since.is_some() || selection.until.is_some() {
        rows.retain(|row| selection.wants_time(times[*row as usize]));
    }
    Ok((!rows.is_empty()).then_some(Chosen { rows, metric, params, machine, times }))
}

/// Asks each text of a dictionary once, not once a row.
fn keep(rows: &mut Vec<u32>, texts: &Texts, restricted: bool, wanted: impl Fn(&str) -> bool) {
    if restricted {
        let wanted: Vec<bool> = texts.dictionary.iter().map(|text| wanted(text)).collect();
        rows.retain(|row| wanted[texts.codes[*row as usize] as usize]);
    }
}

/// Hands every wanted point in Parquet to `visit`, file by file.
pub(crate) fn visit(
    snapshot: &Snapshot,
    selection: &Selection,
    visit: &mut dyn FnMut(Point) -> Result<()>,
) -> Result<()> {
    let parts = snapshot.index.parts(Table::Rows, selection.days());
    for part in parts.filter(|part| may_hold(part, selection)) {
        let file = TableFile::open(&snapshot.index.path(&snapshot.layout, part), ROWS)?;
        for group in 0..file.groups() {
            if let Some(chosen) = choose(&file, group, selection)? {
                points(&file, group, &chosen, visit)?;
            }
        }
    }
    Ok(())
}

fn points(
    file: &TableFile,
    group: usize,
    chosen: &Chosen,
    visit: &mut dyn FnMut(Point) -> Result<()>,
) -> Result<()> {
    let run = Texts::read(file, group, "run")?;
    let unit = Texts::read(file, group, "unit")?;
    let standing = Texts::read(file, group, "standing")?;
    let direction = flags(file, group, "higher_is_better")?;
    let samples = counts(file, group, "samples")?;
    let number = |name: &str| numbers(file, group, name);
    let (value, minimum) = (number("value")?, number("minimum")?);
    let (low, high, mad) = (number("low")?, number("high")?, number("mad")?);
    let mut keys: HashMap<(u32, u32, u32, bool), Arc<SeriesKey>> = HashMap::new();
    for row in chosen.rows.iter().map(|row| *row as usize) {
        let codes =
            (chosen.metric.codes[row], chosen.params.codes[row], unit.codes[row], direction[row]);
        let key = keys.entry(codes).or_insert_with(|| {
            Arc::new(SeriesKey {
                metric: chosen.metric.at(row).to_owned(),
                params: chosen.params.at(row).to_owned(),
                unit: unit.at(row).to_owned(),
                higher_is_better: direction[row],
            })
        });
        let maybe = |numbers: &[f64]| Some(numbers[row]).filter(|number| !number.is_nan());
        visit(Point {
            time: timestamp(chosen.times[row]),
            machine: chosen.machine.at(row).to_owned(),
            run: run.at(row).to_owned(),
            key: Arc::clone(key),
            // A standing of a newer version is not trusted.
            standing: Standing::from_name(standing.at(row)).unwrap_or(Standing::Unverified),
            samples: samples[row],
            value: value[row],
            minimum: maybe(&minimum),
            low: maybe(&low),
            high: maybe(&high),
            mad: maybe(&mad),
        })?;
    }
    Ok(())
}

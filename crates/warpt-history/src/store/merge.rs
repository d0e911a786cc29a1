//! The rows of a day, metric by metric, across all of its files: each file is sorted by metric, so one row group of each
//! is in memory at a time, whatever the day holds.

use std::sync::Arc;

use super::batch::ROWS;
use super::index::{Index, Table};
use super::layout::Layout;
use super::row::{SeriesKey, Standing};
use super::runs_table::{Texts, flags, numbers};
use super::table::TableFile;
use crate::error::Result;
use jiff::civil::Date;

/// A machine and a value.
pub(crate) type Measured = (Arc<str>, f64);

/// Hands each key of a day with the values of its machines, ordered by machine, to `each`; keys come in their order.
/// Failed results are left out.
pub(crate) fn by_key(
    layout: &Layout,
    index: &Index,
    day: Date,
    each: &mut dyn FnMut(&SeriesKey, &[Measured]) -> Result<()>,
) -> Result<()> {
    let mut cursors = Vec::new();
    for part in index.parts(Table::Rows, day..=day) {
        let file = TableFile::open(&index.path(layout, part), ROWS)?;
        cursors.extend(Cursor::open(file)?);
    }
    let mut values: Vec<Measured> = Vec::new();
    while let Some(key) = cursors.iter().map(Cursor::key).min() {
        values.clear();
        let mut contributors = 0;
        let mut still = Vec::with_capacity(cursors.len());
        for cursor in cursors {
            if cursor.key() == key {
                contributors += 1;
                still.extend(cursor.take(&key, &mut values)?);
            } else {
                still.push(cursor);
            }
        }
        cursors = still;
        if contributors > 1 {
            values.sort_by(|a, b| a.0.cmp(&b.0));
        }
        if !values.is_empty() {
            each(&key, &values)?;
        }
    }
    Ok(())
}

/// A place in a file.
struct Cursor {
    file: TableFile,
    next_group: usize,
    group: Group,
    row: usize,
    key: SeriesKey,
}

struct Group {
    metric: Texts,
    params: Texts,
    unit: Texts,
    direction: Vec<bool>,
    failed: Vec<bool>,
    standing: Vec<u32>,
    machines: Vec<Arc<str>>,
    machine: Vec<u32>,
    value: Vec<f64>,
}

impl Group {
    fn read(file: &TableFile, group: usize) -> Result<Self> {
        let text = |name: &str| Texts::read(file, group, name);
        let machine = text("machine")?;
        let standing = text("standing")?;
        let failed = standing.dictionary.iter().map(|name| name == Standing::Failed.name());
        Ok(Self {
            metric: text("metric")?,
            params: text("params")?,
            unit: text("unit")?,
            direction: flags(file, group, "higher_is_better")?,
            failed: failed.collect(),
            standing: standing.codes,
            machines: machine.dictionary.iter().map(|name| name.as_str().into()).collect(),
            machine: machine.codes,
            value: numbers(file, group, "value")?,
        })
    }

    fn codes(&self, row: usize) -> (u32, u32, u32, bool) {
        (self.metric.codes[row], self.params.codes[row], self.unit.codes[row], self.direction[row])
    }

    fn key(&self, row: usize) -> SeriesKey {
        SeriesKey {
            metric: self.metric.at(row).to_owned(),
            params: self.params.at(row).to_owned(),
            unit: self.unit.at(row).to_owned(),
            higher_is_better: self.direction[row],
        }
    }
}

impl Cursor {
    /// At the first row of a file; none when it has no rows.
    fn open(file: TableFile) -> Result<Option<Self>> {
        Self::at_group(file, 0)
    }

    fn at_group(file: TableFile, mut number: usize) -> Result<Option<Self>> {
        while number < file.groups() {
            let group = Group::read(&file, number)?;
            number += 1;
            if group.metric.len() > 0 {
                let key = group.key(0);
                return Ok(Some(Self { file, next_group: number, group, row: 0, key }));
            }
        }
        Ok(None)
    }

    fn key(&self) -> SeriesKey {
        self.key.clone()
    }

    /// Takes the values of a key, into the next row groups if need be; the cursor behind them, if there is more.
    fn take(mut self, key: &SeriesKey, values: &mut Vec<Measured>) -> Result<Option<Self>> {
        loop {
            let group = &self.group;
            let codes = group.codes(self.row);
            while self.row < group.metric.len() && group.codes(self.row) == codes {
                let row = self.row;
                if !group.failed[group.standing[row] as usize] {
                    let machine = &group.machines[group.machine[row] as usize];
                    values.push((Arc::clone(machine), group.value[row]));
                }
                self.row += 1;
            }
            if self.row < group.metric.len() {
                self.key = group.key(self.row);
            } else {
                match Self::at_group(self.file, self.next_group)? {
                    Some(next) => self = next,
                    None => return Ok(None),
                }
            }
            if self.key != *key {
                return Ok(Some(self));
            }
        }
    }
}

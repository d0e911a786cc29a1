//! Looking after the store: is every file what the index says, and making the index again from the files.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use jiff::civil::Date;
use serde::Serialize;

use super::batch::ROWS;
use super::compact::settle;
use super::index::{Index, Part, Table};
use super::layout::Layout;
use super::rollup::{FLEET_DAYS, MACHINE_DAYS};
use super::row::RunRows;
use super::runs_table::{RUNS, read};
use super::table::{Schema, TableFile};
use super::{Selection, Store, journal, records};
use crate::error::Result;

/// What a check found.
#[derive(Debug, Default, Serialize)]
pub struct Checked {
    /// Runs in all.
    pub runs: u64,
    /// Of them in the journal still.
    pub journal_runs: u64,
    /// Rows in Parquet.
    pub rows: u64,
    /// Parquet files read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Records on the disk.
    pub records: u64,
    /// Runs whose record was pruned.
    pub runs_without_record: u64,
    /// Records that no run in journal or Parquet names: their writer was killed. A rebuild takes them up.
    pub records_without_run: u64,
    /// Bytes of the journal that belong to no whole run: writes that were cut off.
    pub lost_bytes: u64,
    /// What is wrong.
    pub problems: Vec<String>,
}

fn schema(table: Table) -> Schema {
    match table {
        Table::Rows => ROWS,
        Table::Runs => RUNS,
        Table::MachineDays => MACHINE_DAYS,
        Table::FleetDays => FLEET_DAYS,
    }
}

impl Store {
    /// Reads everything and compares it with the index.
    pub fn check(&self) -> Result<Checked> {
        let mut checked = Checked::default();
        let (index, journal_runs, lost_bytes) = self.look(|snapshot| {
            Ok((snapshot.index.clone(), snapshot.journal.len() as u64, snapshot.lost_bytes))
        })?;
        (checked.journal_runs, checked.lost_bytes) = (journal_runs, lost_bytes);
        for part in &index.parts {
            checked.files += 1;
            checked.bytes += part.bytes;
            match self.check_part(&index, part) {
                Ok(rows) if rows != part.rows => checked
                    .problems
                    .push(format!("{}: {rows} rows, the index says {}", part.file, part.rows)),
                Ok(rows) if part.table == Table::Rows => checked.rows += rows,
                Ok(_) => {}
                Err(error) => checked.problems.push(error.to_string()),
            }
        }
        let runs = self.runs(&Selection::default())?;
        checked.runs = runs.len() as u64;
        let mut seen = HashSet::new();
        let twice = runs.iter().filter(|run| !seen.insert(&run.run));
        let twice: Vec<String> =
            twice.map(|run| format!("run {} is there twice", run.run)).collect();
        checked.problems.extend(twice);
        let mut paths: HashSet<_> = runs.iter().map(|run| self.layout.record(run)).collect();
        for path in records::list(&self.layout.records()) {
            checked.records += 1;
            if let Err(error) = records::read(&path) {
                checked.problems.push(error.to_string());
            }
            if !paths.remove(&path) {
                checked.records_without_run += 1;
            }
        }
        checked.runs_without_record = paths.len() as u64;
        Ok(checked)
    }

    fn check_part(&self, index: &Index, part: &Part) -> Result<u64> {
        let schema = schema(part.table);
        let file = TableFile::open(&index.path(&self.layout, part), schema)?;
        for group in 0..file.groups() {
            for (name, _) in schema {
                file.column(group, name)?;
            }
        }
        Ok(file.rows())
    }

    /// Makes the index again from the files, and takes up records whose writer was killed before it could journal them.
    pub fn rebuild(&self) -> Result<Checked> {
        let exclusive = self.exclusive()?;
        let layout = &self.layout;
        // A readable index may know of moves that are not finished; only a lost one is not asked.
        if let Ok(Some(_)) = Index::read(layout) {
            settle(layout)?;
        }
        let parts = find_parts(layout)?;
        let generation = parts.iter().map(|part| part.generation).max().unwrap_or(0);
        let previous = Index::read(layout).ok().flatten().map_or(0, |index| index.generation);
        let index = Index { generation: generation.max(previous) + 1, parts, ..Index::default() };
        let mut known = HashSet::new();
        for part in index.parts.iter().filter(|part| part.table == Table::Runs) {
            let file = TableFile::open(&layout.root().join(&part.file), RUNS)?;
            let mut runs = Vec::new();
            read(&file, |_, _| true, &mut runs)?;
            known.extend(runs.into_iter().map(|run| run.run));
        }
        // What the journal holds twice or Parquet holds already is dropped by the compaction below.
        index.write(layout)?;
        let snapshot = super::snapshot::Snapshot::take(layout)?;
        known.extend(snapshot.journal.iter().map(|run| run.summary.run.clone()));
        drop(snapshot);
        for path in records::list(&layout.records()) {
            let Ok(Some(record)) = records::read(&path) else { continue };
            if let Ok(run) = RunRows::of(&record)
                && known.insert(run.summary.run.clone())
            {
                journal::append(layout, &journal::frames(&[run])?)?;
            }
        }
        self.compact_holding(&exclusive)?;
        drop(exclusive);
        self.check()
    }
}

/// The Parquet files that count. Rows and runs all do; of roll-ups the newest of each day.
fn find_parts(layout: &Layout) -> Result<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    for table in Table::ALL {
        for folder in records::below(&layout.root().join(table.name())) {
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
            let day = name.as_deref().and_then(|name| name.strip_prefix("day="));
            let Some(day) = day.and_then(|day| day.parse::<Date>().ok()) else { continue };
            let files = records::below(&folder).into_iter();
            for path in files.filter(|path| path.extension().is_some_and(|end| end == "parquet")) {
                parts.push(part(layout, table, day, &path)?);
            }
        }
    }
    let mut newest: BTreeMap<(Table, Date), u64> = BTreeMap::new();
    for part in &parts {
        let newest = newest.entry((part.table, part.day)).or_default();
        *newest = part.generation.max(*newest);
    }
    parts.retain(|part| {
        let rolled = matches!(part.table, Table::MachineDays | Table::FleetDays);
        !rolled || newest.get(&(part.table, part.day)) == Some(&part.generation)
    });
    Ok(parts)
}

fn part(layout: &Layout, table: Table, day: Date, path: &Path) -> Result<Part> {
    let file = TableFile::open(path, schema(table))?;
    let relative = path.strip_prefix(layout.root()).unwrap_or(path);
    let machines = match table {
        Table::Rows | Table::Runs => file.bounds("machine"),
        _ => None,
    };
    Ok(Part {
        table,
        day,
        file: relative.to_string_lossy().into_owned(),
        generation: file.note("warpt.generation").and_then(|text| text.parse().ok()).unwrap_or(0),
        rows: file.rows(),
        bytes: path.metadata().map(|data| data.len()).unwrap_or(0),
        machines,
    })
}

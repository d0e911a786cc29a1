//! Compaction: what the journal holds becomes Parquet.
//!
//! Each round writes its files below `staging/`, flushed; replaces the index, which is the moment it becomes true; then
//! moves the files to their places and removes what they replace. Killed before the index is replaced, nothing happened;
//! killed after, whoever comes next finishes the moves. Rounds are bounded, so that memory is.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;

use super::batch::{self, Batch, ROWS};
use super::index::{Index, Part, Pending, Table};
use super::journal::{self, sync_directory};
use super::layout::{FORMAT_VERSION, Layout};
use super::records::create_directory;
use super::row::RunRows;
use super::runs_table::{self, RUNS};
use super::table::{Column, Encoding, Schema, TableFile, TableWriter};
use super::{Store, rollup};
use crate::error::{HistoryError, Result};

/// A round takes whole journal files up to about so many rows.
const ROUND_ROWS: usize = 4_000_000;

/// What a compaction did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Compacted {
    /// Runs moved into Parquet.
    pub runs: u64,
    /// Their rows.
    pub rows: u64,
    /// Runs that Parquet held already.
    pub duplicates: u64,
    /// Bytes of Parquet written, roll-ups included.
    pub bytes: u64,
    /// Days whose roll-ups were made again.
    pub days: u64,
    /// Bytes of the journal that belonged to no whole run.
    pub lost_bytes: u64,
}

/// The right to change the index; released when dropped, or by the kernel when the process ends.
pub(crate) struct Exclusive {
    _lock: File,
}

impl Store {
    /// Moves the journal into Parquet and brings the roll-ups up to date. Waits for another compaction to end.
    pub fn compact(&self) -> Result<Compacted> {
        let exclusive = self.exclusive()?;
        self.compact_holding(&exclusive)
    }

    /// Compacts when the journal has become large and nobody else does; for callers on their way out.
    pub fn compact_if_due(&self) -> Result<Option<Compacted>> {
        const DUE_BYTES: u64 = 32 << 20;
        let directory = self.layout.journal();
        let waiting = journal::sealed(&directory)?.into_iter();
        let files = waiting.chain([directory.join(journal::CURRENT)]);
        let bytes: u64 = files.filter_map(|path| path.metadata().ok()).map(|data| data.len()).sum();
        if bytes < DUE_BYTES {
            return Ok(None);
        }
        match self.try_exclusive()? {
            Some(exclusive) => self.compact_holding(&exclusive).map(Some),
            None => Ok(None),
        }
    }

    /// Writes runs straight into Parquet, past the journal: for many at once. Durable on return; runs that are known, by
    /// their identifier and day, are passed over. Roll-ups follow with the next compaction.
    pub fn load(&self, runs: Vec<RunRows>) -> Result<Compacted> {
        let _exclusive = self.exclusive()?;
        let mut index = settle(&self.layout)?;
        let mut done = Compacted::default();
        let mut known = Known::default();
        let (met, mut fresh) = (runs.len() as u64, Vec::with_capacity(runs.len()));
        for run in runs {
            if known.is_new(&run, &self.layout, &index)? {
                fresh.push(run);
            }
        }
        done.runs = fresh.len() as u64;
        done.duplicates = met - done.runs;
        let mut change = Change::begin(&self.layout, &index)?;
        for (day, batch) in batch::by_day(fresh) {
            change.add_day(day, &batch)?;
        }
        done.rows = change.rows_of(Table::Rows);
        done.bytes = change.bytes();
        let through = index.journal_through;
        change.commit(&mut index, through)?;
        Ok(done)
    }

    pub(crate) fn exclusive(&self) -> Result<Exclusive> {
        let lock = self.lock_file()?;
        let path = self.layout.root().join("lock");
        flock(&lock, FlockOperation::LockExclusive)
            .map_err(|error| HistoryError::file("cannot lock", path, error.into()))?;
        Ok(Exclusive { _lock: lock })
    }

    fn try_exclusive(&self) -> Result<Option<Exclusive>> {
        let lock = self.lock_file()?;
        let taken = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        Ok(taken.then_some(Exclusive { _lock: lock }))
    }

    fn lock_file(&self) -> Result<File> {
        let path = self.layout.root().join("lock");
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| HistoryError::file("cannot open", path, error))
    }

    pub(crate) fn compact_holding(&self, _exclusive: &Exclusive) -> Result<Compacted> {
        let layout = &self.layout;
        let mut index = settle(layout)?;
        journal::seal(layout)?;
        let mut done = Compacted::default();
        let mut known = Known::default();
        let mut waiting = journal::sealed(&layout.journal())?.into_iter().peekable();
        while waiting.peek().is_some() {
            let (mut runs, mut rows, mut through) = (Vec::new(), 0, index.journal_through);
            while rows < ROUND_ROWS {
                let Some(path) = waiting.next() else { break };
                let number = journal::number(&path).unwrap_or(0);
                if number <= index.journal_through {
                    continue;
                }
                through = number;
                let frames = journal::read(&path)?.unwrap_or_default();
                done.lost_bytes += frames.lost_bytes;
                rows += frames.runs.iter().map(|run| run.rows.len()).sum::<usize>();
                runs.extend(frames.runs);
            }
            let met = runs.len() as u64;
            let mut fresh: Vec<RunRows> = Vec::with_capacity(runs.len());
            for run in runs {
                if known.is_new(&run, layout, &index)? {
                    fresh.push(run);
                }
            }
            done.duplicates += met - fresh.len() as u64;
            done.runs += fresh.len() as u64;
            let mut change = Change::begin(layout, &index)?;
            for (day, batch) in batch::by_day(fresh) {
                change.add_day(day, &batch)?;
            }
            done.rows += change.rows_of(Table::Rows);
            done.bytes += change.bytes();
            index = change.commit(&mut index, through)?;
        }
        for day in rollup::outdated(&index) {
            let mut change = Change::begin(layout, &index)?;
            rollup::roll_up(layout, &index, day, &mut change)?;
            done.bytes += change.bytes();
            done.days += 1;
            let through = index.journal_through;
            index = change.commit(&mut index, through)?;
        }
        Ok(done)
    }
}

/// Reads the index and finishes what a killed writer left.
pub(crate) fn settle(layout: &Layout) -> Result<Index> {
    let mut index = Index::read(layout)?.unwrap_or_default();
    if index.pending.is_some() {
        finish(layout, &mut index)?;
    }
    // Nothing below staging belongs to the index now; and whoever writes there holds the lock, which is ours.
    let _ = std::fs::remove_dir_all(layout.staging());
    let directory = layout.journal();
    for path in journal::sealed(&directory)? {
        if journal::number(&path) <= Some(index.journal_through) {
            remove(&path)?;
        }
    }
    Ok(index)
}

/// Does what is pending and says so in the index.
fn finish(layout: &Layout, index: &mut Index) -> Result<()> {
    let Some(pending) = index.pending.take() else { return Ok(()) };
    let staging = layout.staging();
    let mut changed = BTreeSet::new();
    for file in &pending.moves {
        let to = layout.root().join(file);
        let generation =
            index.parts.iter().find(|part| part.file == *file).map(|part| part.generation);
        let from = staging.join(generation.unwrap_or(index.generation).to_string()).join(file);
        if !from.exists() {
            continue;
        }
        let directory = to.parent().unwrap_or(layout.root());
        create_directory(directory)?;
        std::fs::rename(&from, &to)
            .map_err(|error| HistoryError::file("cannot move", &from, error))?;
        changed.insert(directory.to_owned());
    }
    changed.iter().for_each(|directory| sync_directory(directory));
    for file in &pending.removes {
        remove(&layout.root().join(file))?;
    }
    index.generation += 1;
    index.write(layout)?;
    let _ = std::fs::remove_dir_all(staging);
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(HistoryError::file("cannot remove", path, error))
        }
        _ => Ok(()),
    }
}

/// Which runs Parquet holds, day by day as they are asked for.
#[derive(Default)]
struct Known {
    days: HashMap<Date, HashSet<String>>,
}

impl Known {
    /// Whether a run is met for the first time; from now on it has been.
    fn is_new(&mut self, run: &RunRows, layout: &Layout, index: &Index) -> Result<bool> {
        let day = super::layout::day_of(run.summary.time_us);
        let known = match self.days.entry(day) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let mut runs = Vec::new();
                for part in index.parts(Table::Runs, day..=day) {
                    let file = TableFile::open(&index.path(layout, part), RUNS)?;
                    runs_table::read(&file, |_, _| true, &mut runs)?;
                }
                place.insert(runs.into_iter().map(|run| run.run).collect())
            }
        };
        Ok(known.insert(run.summary.run.clone()))
    }
}

/// A file of a table being written.
pub(crate) struct PartWriter {
    table: Table,
    day: Date,
    file: String,
    path: PathBuf,
    writer: TableWriter,
}

impl PartWriter {
    /// Adds a row group.
    pub(crate) fn write(&mut self, group: &[Column]) -> Result<()> {
        self.writer.write(group)
    }
}

/// Files that will take effect together.
pub(crate) struct Change<'a> {
    layout: &'a Layout,
    generation: u64,
    opened: usize,
    parts: Vec<Part>,
    /// Files that leave the index.
    removed: Vec<String>,
}

impl<'a> Change<'a> {
    pub(crate) fn begin(layout: &'a Layout, index: &Index) -> Result<Self> {
        let generation = index.generation + 1;
        let staging = layout.staging().join(generation.to_string());
        let _ = std::fs::remove_dir_all(&staging);
        Ok(Self { layout, generation, opened: 0, parts: Vec::new(), removed: Vec::new() })
    }

    /// Begins a file of a table.
    pub(crate) fn open(&mut self, table: Table, day: Date, schema: Schema) -> Result<PartWriter> {
        let name = format!("{:08}-{:04}.parquet", self.generation, self.opened);
        self.opened += 1;
        let file = format!("{}/day={day}/{name}", table.name());
        let path = self.layout.staging().join(self.generation.to_string()).join(&file);
        create_directory(path.parent().unwrap_or(self.layout.root()))?;
        let notes = [
            ("warpt.table", table.name().to_owned()),
            ("warpt.format", FORMAT_VERSION.to_string()),
            ("warpt.generation", self.generation.to_string()),
        ];
        let writer = TableWriter::create(&path, schema, Encoding::Compact, &notes)?;
        Ok(PartWriter { table, day, file, path, writer })
    }

    /// Ends a file, durably.
    pub(crate) fn close(
        &mut self,
        part: PartWriter,
        machines: Option<(String, String)>,
    ) -> Result<()> {
        let PartWriter { table, day, file, path, writer } = part;
        let (rows, bytes) = writer.finish()?;
        path.parent().into_iter().for_each(sync_directory);
        let generation = self.generation;
        self.parts.push(Part { table, day, file, generation, rows, bytes, machines });
        Ok(())
    }

    /// The rows and runs of a day.
    fn add_day(&mut self, day: Date, batch: &Batch) -> Result<()> {
        for file in batch.files() {
            let mut part = self.open(Table::Rows, day, ROWS)?;
            for group in file.groups() {
                part.write(&group)?;
            }
            self.close(part, file.machines())?;
        }
        let runs = batch.runs();
        let mut part = self.open(Table::Runs, day, RUNS)?;
        for runs in runs.chunks(batch::GROUP_ROWS) {
            part.write(&runs_table::columns(runs))?;
        }
        let machines = runs.first().zip(runs.last());
        let machines = machines.map(|(first, last)| (first.machine.clone(), last.machine.clone()));
        self.close(part, machines)
    }

    /// A file leaves the index and is removed.
    pub(crate) fn remove(&mut self, part: &Part) {
        self.removed.push(part.file.clone());
    }

    fn rows_of(&self, table: Table) -> u64 {
        self.parts.iter().filter(|part| part.table == table).map(|part| part.rows).sum()
    }

    fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Makes it true, then tidies up.
    pub(crate) fn commit(self, index: &mut Index, journal_through: u64) -> Result<Index> {
        let sealed = journal::sealed(&self.layout.journal())?;
        let compacted = sealed
            .iter()
            .filter(|path| journal::number(path).is_some_and(|number| number <= journal_through));
        let compacted = compacted.filter_map(|path| path.file_name()?.to_str());
        let compacted = compacted.map(|name| format!("journal/{name}"));
        let removed: HashSet<&String> = self.removed.iter().collect();
        let mut next = index.clone();
        next.generation = self.generation;
        next.journal_through = journal_through;
        next.parts.retain(|part| !removed.contains(&part.file));
        next.pending = Some(Pending {
            moves: self.parts.iter().map(|part| part.file.clone()).collect(),
            removes: self.removed.iter().cloned().chain(compacted).collect(),
        });
        next.parts.extend(self.parts);
        next.parts.sort_by(|a, b| (a.table, a.day, &a.file).cmp(&(b.table, b.day, &b.file)));
        next.write(self.layout)?;
        finish(self.layout, &mut next)?;
        Ok(next)
    }
}

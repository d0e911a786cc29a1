//! The append-only store of records: journal, immutable record files, date-partitioned Parquet, an index that can be
//! rebuilt.
//!
//! What always holds: a record is durable before [`Store::append`] returns; any number of processes may append and read
//! at once; a kill at any moment loses nothing acknowledged and doubles nothing. `docs/history.md` describes the files.

mod batch;
mod check;
mod compact;
mod export;
pub mod frame;
mod import;
mod index;
mod journal;
pub mod layout;
mod merge;
mod prune;
mod query;
mod records;
mod rollup;
pub mod row;
mod runs_table;
mod scan;
mod selection;
mod snapshot;
mod table;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::path::Path;

use serde::{Deserialize, Serialize};
use warpt_bench::BenchmarkSuiteRun;

pub use check::Checked;
pub use compact::Compacted;
pub use export::{COLUMNS, csv_field, csv_line};
pub use import::{Imported, Refused};
pub use index::{Index, Part, Table};
pub use layout::{FORMAT_VERSION, Layout};
pub use prune::{PrunePlan, PruneRules};
pub use query::{Daily, Recent};
pub use rollup::FleetDay;
pub use row::{Row, RunRows, RunSummary, SeriesKey, Standing};
pub use selection::{Point, Selection};

use crate::error::{HistoryError, Result};
use records::Kept;
use snapshot::Snapshot;

/// A store, opened.
#[derive(Debug, Clone)]
pub struct Store {
    layout: Layout,
}

/// What became of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Appended {
    /// It is kept, under this run identifier.
    Added(String),
    /// It was there already.
    Present(String),
}

#[derive(Serialize, Deserialize)]
struct Format {
    format: u32,
    created_by: String,
}

impl Store {
    /// Opens a store, creating it where there is none.
    pub fn open(directory: &Path) -> Result<Self> {
        let layout = Layout::new(directory);
        records::create_directory(&layout.journal())?;
        let store = Self { layout };
        store.check_format()?;
        Ok(store)
    }

    fn check_format(&self) -> Result<()> {
        let path = self.layout.format();
        match std::fs::read(&path) {
            Ok(text) => {
                let format: Format = serde_json::from_slice(&text)
                    .map_err(|error| HistoryError::malformed(&path, error.to_string()))?;
                if format.format > FORMAT_VERSION {
                    let (found, known) = (format.format, FORMAT_VERSION);
                    return Err(HistoryError::Newer { path, found, known });
                }
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let format = Format {
                    format: FORMAT_VERSION,
                    created_by: format!("warpt {}", env!("CARGO_PKG_VERSION")),
                };
                let text = warpt_bench::record::to_json(&format);
                Ok(warpt_bench::record::write_atomically(&path, text.as_bytes())?)
            }
            Err(error) => Err(HistoryError::file("cannot read", path, error)),
        }
    }

    /// Where things are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The index as it is now.
    pub fn index(&self) -> Result<Index> {
        Ok(Index::read(&self.layout)?.unwrap_or_default())
    }

    /// Keeps a record. When this returns, it is on the disk.
    pub fn append(&self, record: &BenchmarkSuiteRun) -> Result<Appended> {
        let run = RunRows::of(record)?;
        let id = run.summary.run.clone();
        // Whether it can be journaled is known before anything is on the disk.
        let frames = journal::frames(std::slice::from_ref(&run))?;
        let kept = records::write(&self.layout.record(&run.summary), record)?;
        // A record without its rows was left by a writer that was killed between the two: this one finishes the work.
        if kept == Kept::Present && self.knows(&run.summary)? {
            return Ok(Appended::Present(id));
        }
        journal::append(&self.layout, &frames)?;
        Ok(Appended::Added(id))
    }

    /// Keeps runs whose records are elsewhere: rows of other tools, or of a fleet's collector. Durable on return.
    pub fn append_runs(&self, runs: &[RunRows]) -> Result<()> {
        journal::append(&self.layout, &journal::frames(runs)?)
    }

    /// The runs of a selection (its metric and params aside), oldest first.
    pub fn runs(&self, selection: &Selection) -> Result<Vec<RunSummary>> {
        self.look(|snapshot| snapshot.runs(selection))
    }

    /// The record of a run, by its identifier or an unambiguous beginning of it; none when there is no such run, or its
    /// record was pruned.
    pub fn record(&self, run: &str) -> Result<Option<BenchmarkSuiteRun>> {
        match self.find_run(run)? {
            Some(summary) => records::read(&self.layout.record(&summary)),
            None => Ok(None),
        }
    }

    /// The run with an identifier, or with an unambiguous beginning of one.
    pub fn find_run(&self, run: &str) -> Result<Option<RunSummary>> {
        let runs = self.runs(&Selection::default())?;
        if let Some(exact) = runs.iter().find(|summary| summary.run == run) {
            return Ok(Some(exact.clone()));
        }
        let mut candidates = runs.into_iter().filter(|summary| summary.run.starts_with(run));
        match (candidates.next(), candidates.next()) {
            (Some(_), Some(_)) if run.is_empty() => {
                Err(HistoryError::Question("which run? its identifier is empty".into()))
            }
            (Some(_), Some(_)) => {
                Err(HistoryError::Question(format!("several runs begin with {run:?}")))
            }
            (found, _) => Ok(found),
        }
    }

    /// The points of a selection: each series (metric, parameters, machine) in one piece, oldest first.
    pub fn series(&self, selection: &Selection) -> Result<Vec<Point>> {
        self.look(|snapshot| snapshot.series(selection))
    }

    /// Whether a run is in the journal or in Parquet.
    fn knows(&self, run: &RunSummary) -> Result<bool> {
        let selection = Selection { run: Some(run.run.clone()), ..Selection::default() };
        Ok(!self.runs(&selection)?.is_empty())
    }

    /// Answers from one consistent state. A file that a compaction removed meanwhile means that there is a newer state.
    fn look<T>(&self, answer: impl Fn(&Snapshot) -> Result<T>) -> Result<T> {
        const ATTEMPTS: u32 = 20;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let snapshot = Snapshot::take(&self.layout)?;
            match answer(&snapshot) {
                Err(HistoryError::File { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound && attempt < ATTEMPTS => {}
                answered => return answered,
            }
        }
    }
}

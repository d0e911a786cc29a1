//! The store at one moment: an index and the journal beside it that belong together, however many writers and
//! compactions are at work.

use std::collections::HashSet;

use super::index::{Index, Table};
use super::journal;
use super::layout::Layout;
use super::row::{RunRows, RunSummary};
use super::runs_table::{self, RUNS};
use super::scan::{self, may_hold};
use super::selection::{Point, Selection, arrange};
use super::table::TableFile;
use crate::error::{HistoryError, Result};

/// An index and the runs that are not in its files.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) layout: Layout,
    pub(crate) index: Index,
    /// Runs of the journal, each once.
    pub(crate) journal: Vec<RunRows>,
    /// Bytes of the journal that belong to no run.
    pub(crate) lost_bytes: u64,
}

impl Snapshot {
    pub(crate) fn take(layout: &Layout) -> Result<Self> {
        const ATTEMPTS: u32 = 100;
        let directory = layout.journal();
        for _ in 0..ATTEMPTS {
            let index = Index::read(layout)?.unwrap_or_default();
            let sealed = journal::sealed(&directory)?;
            let mut snapshot =
                Self { layout: layout.clone(), index, journal: Vec::new(), lost_bytes: 0 };
            let mut seen = HashSet::new();
            let through = snapshot.index.journal_through;
            let waiting = sealed.iter().filter(|path| journal::number(path) > Some(through));
            let mut whole = true;
            for path in waiting.cloned().chain([directory.join(journal::CURRENT)]) {
                match journal::read(&path)? {
                    Some(frames) => {
                        snapshot.lost_bytes += frames.lost_bytes;
                        let new = |run: &RunRows| seen.insert(run.summary.run.clone());
                        snapshot.journal.extend(frames.runs.into_iter().filter(new));
                    }
                    None => whole &= path.ends_with(journal::CURRENT),
                }
            }
            // Sealed or compacted meanwhile: what was read may miss a file, or hold one twice.
            let generation = Index::read(layout)?.unwrap_or_default().generation;
            if whole
                && generation == snapshot.index.generation
                && journal::sealed(&directory)? == sealed
            {
                return Ok(snapshot);
            }
        }
        Err(HistoryError::Question(format!(
            "{} changes faster than it can be read; try again",
            layout.root().display()
        )))
    }

    /// The runs of a selection, oldest first.
    pub(crate) fn runs(&self, selection: &Selection) -> Result<Vec<RunSummary>> {
        let mut runs = Vec::new();
        let parts = self.index.parts(Table::Runs, selection.days());
        for part in parts.filter(|part| may_hold(part, selection)) {
            let file = TableFile::open(&self.index.path(&self.layout, part), RUNS)?;
            let wanted = |machine: &str, run: &str| {
                selection.wants_machine(machine) && selection.wants_run(run)
            };
            runs_table::read(&file, wanted, &mut runs)?;
        }
        runs.retain(|run| selection.wants_time(run.time_us));
        let journal = self.journal.iter().map(|run| &run.summary);
        runs.extend(journal.filter(|run| selection.wants_summary(run)).cloned());
        runs.sort_by(|a, b| (a.time_us, &a.run).cmp(&(b.time_us, &b.run)));
        Ok(runs)
    }

    /// The points of a selection, each series in one piece.
    pub(crate) fn series(&self, selection: &Selection) -> Result<Vec<Point>> {
        let mut points = Vec::new();
        self.visit(selection, &mut |point| {
            points.push(point);
            Ok(())
        })?;
        arrange(&mut points);
        Ok(points)
    }

    /// Hands every point of a selection to `visit`, in no particular order.
    pub(crate) fn visit(
        &self,
        selection: &Selection,
        visit: &mut dyn FnMut(Point) -> Result<()>,
    ) -> Result<()> {
        scan::visit(self, selection, visit)?;
        for run in self.journal.iter().filter(|run| selection.wants_summary(&run.summary)) {
            let wanted = run.rows.iter().filter(|row| {
                selection.wants_metric(&row.key.metric) && selection.wants_params(&row.key.params)
            });
            for row in wanted {
                visit(Point::of(&run.summary, row))?;
            }
        }
        Ok(())
    }
}

//! Pruning: what is old goes, whole days at a time. A plan says first what will go; carrying it out removes exactly that.

use std::collections::HashMap;
use std::path::PathBuf;

use jiff::civil::Date;
use serde::Serialize;

use super::compact::{Change, settle};
use super::index::{Part, Table};
use super::layout::day_of;
use super::{Selection, Store, records};
use crate::error::{HistoryError, Result};

/// What may go. What is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PruneRules {
    /// Records (with their raw samples) of days before this one; rows and roll-ups stay.
    pub records_before: Option<Date>,
    /// Of each machine and suite, keep only so many newest records.
    pub records_kept: Option<usize>,
    /// Rows of days before this one; roll-ups stay.
    pub rows_before: Option<Date>,
    /// Roll-ups and the list of runs of days before this one.
    pub rollups_before: Option<Date>,
}

/// What will go, or went.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PrunePlan {
    /// Record files.
    pub records: Vec<PathBuf>,
    /// Their bytes.
    pub record_bytes: u64,
    /// Parquet files.
    pub parts: Vec<Part>,
    /// Rows in them.
    pub rows: u64,
    /// Their bytes.
    pub part_bytes: u64,
}

impl Store {
    /// What the rules would remove.
    pub fn plan_prune(&self, rules: &PruneRules) -> Result<PrunePlan> {
        let mut plan = PrunePlan::default();
        let index = self.look(|snapshot| Ok(snapshot.index.clone()))?;
        let before = |limit: Option<Date>, day: Date| limit.is_some_and(|limit| day < limit);
        for part in &index.parts {
            let goes = match part.table {
                Table::Rows => before(rules.rows_before, part.day),
                // A roll-up without its rows cannot be made again, so it never goes before them.
                Table::Runs | Table::MachineDays | Table::FleetDays => {
                    before(rules.rollups_before, part.day) && before(rules.rows_before, part.day)
                }
            };
            if goes {
                plan.rows += part.rows;
                plan.part_bytes += part.bytes;
                plan.parts.push(part.clone());
            }
        }
        let mut kept: HashMap<(String, String), usize> = HashMap::new();
        let runs = self.runs(&Selection::default())?;
        // Newest first, so that the newest are the ones counted as kept.
        for run in runs.iter().rev() {
            let path = self.layout.record(run);
            let Ok(data) = path.metadata() else { continue };
            let count = kept.entry((run.machine.clone(), run.suite.clone())).or_default();
            let surplus = rules.records_kept.is_some_and(|most| *count >= most);
            if surplus || before(rules.records_before, day_of(run.time_us)) {
                plan.record_bytes += data.len();
                plan.records.push(path);
            } else {
                *count += 1;
            }
        }
        plan.records.sort();
        Ok(plan)
    }

    /// Removes what the rules name; what went. The journal is compacted first, so that old rows in it go too.
    pub fn prune(&self, rules: &PruneRules) -> Result<PrunePlan> {
        let exclusive = self.exclusive()?;
        self.compact_holding(&exclusive)?;
        let plan = self.plan_prune(rules)?;
        if !plan.parts.is_empty() {
            let mut index = settle(&self.layout)?;
            let mut change = Change::begin(&self.layout, &index)?;
            plan.parts.iter().for_each(|part| change.remove(part));
            let through = index.journal_through;
            change.commit(&mut index, through)?;
        }
        for path in &plan.records {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(HistoryError::file("cannot remove", path, error));
                }
                _ => {}
            }
        }
        self.remove_empty_folders();
        Ok(plan)
    }

    /// Folders of days that hold nothing any more; those that do refuse to go.
    fn remove_empty_folders(&self) {
        for below in [self.layout.records()]
            .into_iter()
            .chain(Table::ALL.map(|table| self.layout.root().join(table.name())))
        {
            for day in records::below(&below) {
                records::below(&day).iter().for_each(|shard| drop(std::fs::remove_dir(shard)));
                let _ = std::fs::remove_dir(day);
            }
        }
    }
}

//! The index: which Parquet files count and what each holds, in one file that is replaced as a whole. Nothing in it is
//! known only to it: [`super::Store::rebuild`] makes it again from the files.
//!
//! Replacing it is the moment a compaction becomes true. Files still to be moved or removed then are `pending`; a reader
//! looks in both places, and the next writer finishes the move.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::layout::{FORMAT_VERSION, Layout};
use crate::error::{HistoryError, Result};

/// A larger index is refused: it would describe more files than a file system holds well.
const MAX_BYTES: u64 = 1 << 30;

/// A kind of Parquet file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// One row a metric a run.
    Rows,
    /// One row a run.
    Runs,
    /// One row a machine, metric and day.
    MachineDays,
    /// One row a metric and day.
    FleetDays,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 4] = [Self::Rows, Self::Runs, Self::MachineDays, Self::FleetDays];

    /// Its folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Runs => "runs",
            Self::MachineDays => "machine_days",
            Self::FleetDays => "fleet_days",
        }
    }
}

/// One Parquet file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What kind of rows it holds.
    pub table: Table,
    /// The day they are of.
    pub day: Date,
    /// Its path below the store.
    pub file: String,
    /// The compaction that wrote it.
    pub generation: u64,
    /// How many rows.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// The first and the last machine in it, in the order of their names; absent where there are none.
    pub machines: Option<(String, String)>,
}

/// Moves and removals that belong to the index but may not have happened yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    /// Below `staging/GENERATION/` and to be below the store, by the same path.
    pub moves: Vec<String>,
    /// To be removed, below the store.
    pub removes: Vec<String>,
}

/// The index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// The version of the store's format.
    pub format: u32,
    /// Grows with every change.
    pub generation: u64,
    /// Sealed journal files up to this number are in Parquet.
    pub journal_through: u64,
    /// The files that count.
    pub parts: Vec<Part>,
    /// What is still to be done, if the last change was cut off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Pending>,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            format: FORMAT_VERSION,
            generation: 0,
            journal_through: 0,
            parts: Vec::new(),
            pending: None,
        }
    }
}

impl Index {
    /// Reads the index; none when there is none.
    pub(crate) fn read(layout: &Layout) -> Result<Option<Self>> {
        let path = layout.index();
        let fail = |error| HistoryError::file("cannot read", &path, error);
        let mut text = Vec::new();
        match File::open(&path) {
            Ok(file) => file.take(MAX_BYTES).read_to_end(&mut text).map_err(fail)?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fail(error)),
        };
        match Self::parse(&text) {
            Ok(index) if index.format > FORMAT_VERSION => {
                Err(HistoryError::Newer { path, found: index.format, known: FORMAT_VERSION })
            }
            Ok(index) => Ok(Some(index)),
            Err(detail) => Err(HistoryError::malformed(
                &path,
                format!("{detail}; `warpt history rebuild` makes it again from the files"),
            )),
        }
    }

    /// Checks the text of an index. Paths must stay below the store.
    pub fn parse(text: &[u8]) -> std::result::Result<Self, String> {
        let index: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let pending = index.pending.iter();
        let paths = pending.flat_map(|pending| pending.moves.iter().chain(&pending.removes));
        let paths = paths.chain(index.parts.iter().map(|part| &part.file));
        for path in paths {
            let plain = |piece: &str| !piece.is_empty() && piece != "." && piece != "..";
            if path.contains(['\\', '\0']) || !path.split('/').all(plain) {
                let shown: String = path.chars().take(80).collect();
                return Err(format!("{shown:?} is not a path below the store"));
            }
        }
        Ok(index)
    }

    /// Replaces the index.
    pub(crate) fn write(&self, layout: &Layout) -> Result<()> {
        let text = warpt_bench::record::to_json(self);
        Ok(warpt_bench::record::write_atomically(&layout.index(), text.as_bytes())?)
    }

    /// Where a part's file is now.
    pub(crate) fn path(&self, layout: &Layout, part: &Part) -> PathBuf {
        let place = layout.root().join(&part.file);
        let waiting =
            self.pending.as_ref().is_some_and(|pending| pending.moves.contains(&part.file));
        if waiting && !place.exists() {
            let staged = layout.staging().join(part.generation.to_string()).join(&part.file);
            if staged.exists() {
                return staged;
            }
        }
        place
    }

    /// The parts of a table within days, both included.
    pub(crate) fn parts(
        &self,
        table: Table,
        days: std::ops::RangeInclusive<Date>,
    ) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.table == table && days.contains(&part.day))
    }
}

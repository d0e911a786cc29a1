//! Where things are in the store. Names are made of a few safe characters whatever a record says, and no directory
//! grows with the fleet: records are spread over 256 folders a day.
//!
//! ```text
//! format.json                                  the version of this layout
//! records/2026-11-15/3f/TIME_MACHINE_RUN.json.zst   each record, whole, never changed
//! journal/current.wj, journal/NUMBER.wj        runs and rows not yet in Parquet
//! rows/day=2026-11-15/NAME.parquet             one row a metric a run
//! runs/day=2026-11-15/NAME.parquet             one row a run
//! machine_days/day=.../NAME.parquet            roll-up: one row a machine, metric and day
//! fleet_days/day=.../NAME.parquet              roll-up: one row a metric and day
//! index.json                                   which Parquet files count, and what is in each; can be rebuilt
//! staging/                                     files of a compaction that is not committed
//! ```

use std::path::{Path, PathBuf};

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::row::{RunSummary, digest, timestamp};

/// The version of the layout and of the Parquet schemas.
pub const FORMAT_VERSION: u32 = 1;

/// The paths of a store.
#[derive(Debug, Clone)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The store's directory.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn format(&self) -> PathBuf {
        self.root.join("format.json")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.root.join("index.json")
    }

    pub(crate) fn records(&self) -> PathBuf {
        self.root.join("records")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.root.join("journal")
    }

    pub(crate) fn staging(&self) -> PathBuf {
        self.root.join("staging")
    }

    /// Where a run's record is; a function of the run alone, so a run kept twice is seen at once.
    pub fn record(&self, run: &RunSummary) -> PathBuf {
        let shard = &digest(run.machine.as_bytes())[..2];
        let time = timestamp(run.time_us).strftime("%Y%m%dT%H%M%S%.6fZ").to_string();
        let name = format!("{time}_{}_{}.json.zst", safe(&run.machine), safe(&run.run));
        self.records().join(day_of(run.time_us).to_string()).join(shard).join(name)
    }
}

/// The day (UTC) of a moment.
pub fn day_of(time_us: i64) -> Date {
    timestamp(time_us).to_zoned(TimeZone::UTC).date()
}

/// The first microsecond of a day (UTC).
pub fn start_of(day: Date) -> i64 {
    day.to_zoned(TimeZone::UTC).map_or(i64::MIN, |zoned| zoned.timestamp().as_microsecond())
}

/// A name for a file: letters, digits, `.`, `-`; anything else, or too long a text, ends in a digest.
fn safe(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    if !text.is_empty() && text.len() <= 64 && text.chars().all(plain) && !text.starts_with('.') {
        return text.to_owned();
    }
    let start: String = text.chars().filter(|c| c.is_ascii_alphanumeric()).take(24).collect();
    format!("{start}-{}", digest(text.as_bytes()))
}

//! The table `runs`: one row a run.

use super::row::RunSummary;
use super::table::{Column, Kind, Schema, TableFile};
use crate::error::Result;

/// Its columns.
pub(crate) const RUNS: Schema = &[
    ("time", Kind::Time),
    ("machine", Kind::Text),
    ("run", Kind::Text),
    ("suite", Kind::Text),
    ("hardware", Kind::Text),
    ("software", Kind::Text),
    ("state", Kind::Text),
    ("passed", Kind::Count),
    ("failed", Kind::Count),
    ("skipped", Kind::Count),
    ("rows", Kind::Count),
];

/// Runs as columns.
pub(crate) fn columns(runs: &[&RunSummary]) -> Vec<Column> {
    let text = |of: fn(&RunSummary) -> &str| {
        let (dictionary, codes) = super::batch::texts(runs.iter().map(|run| of(run)));
        Column::Text { dictionary, codes }
    };
    let count = |of: fn(&RunSummary) -> u32| {
        Column::Count(runs.iter().map(|run| i32::try_from(of(run)).unwrap_or(i32::MAX)).collect())
    };
    vec![
        Column::Time {
            dictionary: runs.iter().map(|run| run.time_us).collect(),
            codes: (0..runs.len() as u32).collect(),
        },
        text(|run| &run.machine),
        text(|run| &run.run),
        text(|run| &run.suite),
        text(|run| &run.hardware),
        text(|run| &run.software),
        text(|run| &run.state),
        count(|run| run.passed),
        count(|run| run.failed),
        count(|run| run.skipped),
        count(|run| run.rows),
    ]
}

/// Reads the runs of a file that pass a test of their machine and identifier.
pub(crate) fn read(
    file: &TableFile,
    wanted: impl Fn(&str, &str) -> bool,
    into: &mut Vec<RunSummary>,
) -> Result<()> {
    for group in 0..file.groups() {
        let machines = Texts::read(file, group, "machine")?;
        let runs = Texts::read(file, group, "run")?;
        let rows: Vec<usize> =
            (0..runs.len()).filter(|row| wanted(machines.at(*row), runs.at(*row))).collect();
        if rows.is_empty() {
            continue;
        }
        let text = |name: &str| Texts::read(file, group, name);
        let (suites, hardware, software) = (text("suite")?, text("hardware")?, text("software")?);
        let states = text("state")?;
        let times = times(file, group)?;
        let count = |name: &str| counts(file, group, name);
        let (passed, failed) = (count("passed")?, count("failed")?);
        let (skipped, row_counts) = (count("skipped")?, count("rows")?);
        into.extend(rows.into_iter().map(|row| RunSummary {
            run: runs.at(row).to_owned(),
            time_us: times[row],
            machine: machines.at(row).to_owned(),
            suite: suites.at(row).to_owned(),
            hardware: hardware.at(row).to_owned(),
            software: software.at(row).to_owned(),
            state: states.at(row).to_owned(),
            passed: passed[row],
            failed: failed[row],
            skipped: skipped[row],
            rows: row_counts[row],
        }));
    }
    Ok(())
}

/// A column of text.
pub(crate) struct Texts {
    pub(crate) dictionary: Vec<String>,
    pub(crate) codes: Vec<u32>,
}

impl Texts {
    pub(crate) fn read(file: &TableFile, group: usize, name: &str) -> Result<Self> {
        match file.column(group, name)? {
            Column::Text { dictionary, codes } => Ok(Self { dictionary, codes }),
            _ => Ok(Self { dictionary: Vec::new(), codes: Vec::new() }),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.codes.len()
    }

    /// The text of a row; codes are checked when a file is read.
    pub(crate) fn at(&self, row: usize) -> &str {
        &self.dictionary[self.codes[row] as usize]
    }
}

pub(crate) fn times(file: &TableFile, group: usize) -> Result<Vec<i64>> {
    Ok(match file.column(group, "time")? {
        Column::Time { dictionary, codes } => {
            codes.into_iter().map(|code| dictionary[code as usize]).collect()
        }
        _ => Vec::new(),
    })
}

pub(crate) fn counts(file: &TableFile, group: usize, name: &str) -> Result<Vec<u32>> {
    Ok(match file.column(group, name)? {
        Column::Count(counts) => {
            counts.into_iter().map(|count| u32::try_from(count).unwrap_or(0)).collect()
        }
        _ => Vec::new(),
    })
}

pub(crate) fn numbers(file: &TableFile, group: usize, name: &str) -> Result<Vec<f64>> {
    Ok(match file.column(group, name)? {
        Column::Number(numbers) | Column::MaybeNumber(numbers) => numbers,
        _ => Vec::new(),
    })
}

pub(crate) fn flags(file: &TableFile, group: usize, name: &str) -> Result<Vec<bool>> {
    Ok(match file.column(group, name)? {
        Column::Flag(flags) => flags,
        _ => Vec::new(),
    })
}

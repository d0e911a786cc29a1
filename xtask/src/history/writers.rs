//! Several processes append at once while another compacts; afterwards every acknowledged record is there, once.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context, ensure};
use warpt_history::store::{Selection, Store};

use crate::measurement::{Goal, Measured, Row};

/// A worker whose acknowledgements are collected.
pub(super) struct Worker {
    pub(super) child: Child,
    pub(super) writer: Option<u32>,
    acknowledged: JoinHandle<Vec<u64>>,
}

impl Worker {
    /// Starts a writer, or without one a compaction.
    pub(super) fn start(
        store: &Path,
        writer: Option<u32>,
        first: u64,
        seconds: u64,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["history", "work", "--store"]).arg(store);
        command.args(["--first", &first.to_string(), "--seconds", &seconds.to_string()]);
        if let Some(writer) = writer {
            command.args(["--writer", &writer.to_string()]);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = BufReader::new(child.stdout.take().context("standard output was piped")?);
        let acknowledged = std::thread::spawn(move || {
            // A line that the kill cut off acknowledges nothing.
            let lines = output.split(b'\n').map_while(Result::ok);
            lines.filter_map(|line| String::from_utf8(line).ok()?.parse().ok()).collect()
        });
        Ok(Self { child, writer, acknowledged })
    }

    /// The records it acknowledged, after its end.
    pub(super) fn acknowledged(self) -> anyhow::Result<Vec<String>> {
        let numbers =
            self.acknowledged.join().map_err(|_| anyhow::anyhow!("a reader of output panicked"))?;
        let writer = self.writer.unwrap_or(0);
        Ok(numbers.iter().map(|number| format!("run-{writer:04}-{number:08}")).collect())
    }
}

/// Runs the writers and looks.
pub(super) fn write(directory: &Path, count: u32, seconds: u64) -> anyhow::Result<Vec<Row>> {
    let place = directory.join("store");
    let store = Store::open(&place)?;
    let mut workers = Vec::new();
    for writer in (0..count).map(Some).chain([None]) {
        workers.push(Worker::start(&place, writer, 0, seconds)?);
    }
    let mut acknowledged = Vec::new();
    for mut worker in workers {
        let status = worker.child.wait()?;
        ensure!(status.success(), "a worker ended with {status}");
        acknowledged.extend(worker.acknowledged()?);
    }
    let found = present(&store, &acknowledged)?;
    let checked = store.check()?;
    for problem in &checked.problems {
        eprintln!("problem: {problem}");
    }
    let mut row = kept("acknowledged_kept", found, acknowledged.len());
    row.notes.push(format!(
        "{count} writers and a compaction for {seconds} s: {} records, {:.0} a second",
        acknowledged.len(),
        acknowledged.len() as f64 / seconds.max(1) as f64
    ));
    let sound = usize::from(checked.problems.is_empty() && checked.runs as usize >= found);
    Ok(vec![row, kept("store_sound", sound, 1)])
}

/// How many of the runs named are in the store; an error when one is there twice, or any does not read back.
pub(super) fn present(store: &Store, named: &[String]) -> anyhow::Result<usize> {
    let runs = store.runs(&Selection::default())?;
    let mut there = std::collections::HashSet::new();
    for run in &runs {
        ensure!(there.insert(run.run.as_str()), "run {} is there twice", run.run);
    }
    let missing: Vec<&String> = named.iter().filter(|run| !there.contains(run.as_str())).collect();
    for run in missing.iter().take(5) {
        eprintln!("lost: {run}");
    }
    // Rows are counted as well: a run without its rows would be lost all the same.
    let mut rows = 0;
    store.visit(&Selection::default(), &mut |_| {
        rows += 1;
        Ok(())
    })?;
    let expected: u64 = runs.iter().map(|run| u64::from(run.rows)).sum();
    ensure!(rows == expected, "{rows} rows, the runs say {expected}");
    Ok(named.len() - missing.len())
}

/// A row that is met when nothing is missing.
pub(super) fn kept(name: &str, found: usize, expected: usize) -> Row {
    let ratio = if expected == 0 { f64::NAN } else { found as f64 / expected as f64 };
    let measured = Measured {
        ours: found as f64,
        peer: expected as f64,
        unit: "",
        ratio,
        low: ratio,
        high: ratio,
        notes: Vec::new(),
    };
    Row::new(name, Goal::Minimum(1.0), measured)
}

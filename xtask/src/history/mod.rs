//! `cargo xtask history`: what the history store carries, shown on this machine: rows and queries from 10^5 to 10^7, DuckDB's
//! answers beside ours, writers at once, and kills at random moments.

mod duckdb;
mod kills;
mod scale;
mod synthetic;
mod worker;
mod writers;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::Verdict;
use crate::measurement::{Row, table, write_json};

/// Options of `cargo xtask history`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    check: Check,
    /// Also write the rows to this file as JSON.
    #[arg(long, global = true, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Where stores are made and removed again [default: the system's temporary directory].
    #[arg(long, global = true, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Check {
    /// Write 10^5, 10^6 and 10^7 rows and answer four questions from each: CPU seconds, bytes a row, linearity.
    Scale {
        /// The largest number of rows, as a power of ten.
        #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(5..=8))]
        power: u32,
    },
    /// DuckDB from PyPI reads what the store wrote and exported: the same answers, and what each costs.
    Duckdb {
        /// How many rows, as a power of ten.
        #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(4..=8))]
        power: u32,
    },
    /// Writers at once: every record that was acknowledged is there, once.
    Writers {
        /// How many processes.
        #[arg(long, default_value_t = 4)]
        count: u32,
        /// For how long.
        #[arg(long, default_value_t = 60)]
        seconds: u64,
    },
    /// Writers and compactions killed at random moments: nothing acknowledged is lost, the store is readable after each.
    Kills {
        /// How many kills.
        #[arg(long, default_value_t = 300)]
        count: u32,
        /// The seed of the moments.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// A process to be killed.
    #[command(hide = true)]
    Work(worker::Arguments),
}

/// Runs a check.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let place = || match &arguments.directory {
        Some(directory) => tempfile::tempdir_in(directory),
        None => tempfile::tempdir(),
    };
    let rows: Vec<Row> = match &arguments.check {
        Check::Scale { power } => scale::measure(place()?.path(), *power)?,
        Check::Duckdb { power } => duckdb::compare(place()?.path(), *power)?,
        Check::Writers { count, seconds } => writers::write(place()?.path(), *count, *seconds)?,
        Check::Kills { count, seed } => kills::kill(place()?.path(), *count, *seed)?,
        Check::Work(arguments) => return worker::work(arguments).map(|()| Verdict::Clean),
    };
    print!("{}", table(&rows));
    if let Some(path) = &arguments.json {
        write_json(path, &rows)?;
    }
    Ok(Verdict::clean_if(rows.iter().all(|row| row.met)))
}

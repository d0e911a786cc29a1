//! `cargo xtask peers micro` and `peers model`: ours and other people's programs on the same machine, interleaved by the
//! paired driver, as rows with a goal each. Installs what it needs, takes down what it sets up, and reports what cannot
//! run as not met.

mod averaged;
mod fio;
mod hpcc;
pub(crate) mod install;
mod iperf;
pub(crate) mod model;
mod namespaces;
pub(crate) mod ours;
mod rows;
mod session;

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use crate::measurement::{Row, table, write_json};
use crate::{Verdict, interrupt};

/// Options of `cargo xtask peers`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    suite: Suite,
}

#[derive(Debug, Subcommand)]
enum Suite {
    /// The micro suite against STREAM, C loops, MKL, OpenBLAS, fio and iperf3.
    Micro(MicroArguments),
    /// Whole models against PyTorch, XLA, ONNX Runtime, OpenVINO and IREE.
    Model(model::ModelArguments),
}

/// Options of `cargo xtask peers micro`.
#[derive(Debug, Args)]
pub(crate) struct MicroArguments {
    /// Also write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only these rows, by name or by the beginning of it (comma-separated).
    #[arg(long, value_name = "ROW", value_delimiter = ',')]
    only: Vec<String>,
    /// Few and short samples: shows that every row works, not what it measures.
    #[arg(long)]
    quick: bool,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "PATH")]
    warpt: Option<PathBuf>,
    /// Where scratch files of the disk rows go [default: the peers' cache].
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
    /// List the rows and their goals, and exit.
    #[arg(long)]
    list: bool,
}

/// Measures the rows asked for.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    match &arguments.suite {
        Suite::Micro(arguments) => run_micro(arguments),
        Suite::Model(arguments) => model::run(arguments),
    }
}

fn run_micro(arguments: &MicroArguments) -> anyhow::Result<Verdict> {
    let wanted: Vec<&rows::Definition> =
        rows::ROWS.iter().filter(|row| is_wanted(row.name, &arguments.only)).collect();
    let unknown =
        |only: &&String| !rows::ROWS.iter().any(|row| row.name.starts_with(only.as_str()));
    if let Some(unknown) = arguments.only.iter().find(unknown) {
        let names: Vec<&str> = rows::ROWS.iter().map(|row| row.name).collect();
        bail!("no row {unknown:?}; the rows are {}", names.join(", "));
    }
    if arguments.list {
        for row in wanted {
            println!("{:<22}  {:>9}  {}", row.name, row.goal.text(), row.what);
        }
        return Ok(Verdict::Clean);
    }
    let cancel = interrupt::install()?;
    let session = session::Session::open(arguments, cancel)?;
    let mut rows = Vec::new();
    for definition in &wanted {
        eprintln!("{}: {}", definition.name, definition.what);
        let measured = (definition.measure)(&session);
        if std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
        if session.cancel.is_cancelled() {
            bail!("interrupted after {} of {} rows", rows.len(), wanted.len());
        }
        rows.push(match measured {
            Ok(measured) => Row::new(definition.name, definition.goal, measured),
            Err(error) => Row::unmeasured(definition.name, definition.goal, format!("{error:#}")),
        });
        // Written after each row: an interrupted hour leaves what it measured.
        if let Some(path) = &arguments.json {
            write_json(path, &rows).context("cannot keep the rows")?;
        }
    }
    print!("{}", table(&rows));
    if arguments.quick {
        println!("These are quick samples: they show that the rows work, not what they measure.");
    }
    Ok(Verdict::clean_if(rows.iter().all(|row| row.met)))
}

fn is_wanted(name: &str, only: &[String]) -> bool {
    only.is_empty() || only.iter().any(|prefix| name.starts_with(prefix.as_str()))
}

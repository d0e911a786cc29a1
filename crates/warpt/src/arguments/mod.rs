//! The command line as types. Help texts here are the reference; man pages and completions are made from them.

mod ab;
pub mod compare;
pub mod data;
pub mod export_model;
pub mod gate;
pub mod golden;
pub mod history;
mod null;
pub mod python_package;
pub mod report;
pub mod run;
pub mod train;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use warpt_bench::BenchmarkComponent;

pub use self::ab::AbArguments;
pub use self::null::NullArguments;
use crate::export::ExportArguments;
use crate::output::Color;

/// One command for machines and models: measure, run, validate
///
/// Exit codes: 0 pass, 1 failed check, 2 error, 3 inconclusive (nothing ran, or the measurement could not tell).
/// Nothing is ever sent anywhere.
#[derive(Debug, Parser)]
#[command(name = "warpt", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Arguments {
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
    /// Read this configuration file instead of the nearest warpt.toml
    #[arg(long, global = true, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what this machine is: hardware, limits, software
    List(ListArguments),
    /// List, describe and run benchmarks
    Benchmark(BenchmarkArguments),
    /// Compare two commands, binaries or parameter sets: better, worse, same or inconclusive
    Ab(Box<AbArguments>),
    /// List, query and look after the results of earlier runs
    History(history::HistoryArguments),
    /// Judge a change by the rules of a repository; measures again before it accuses
    Gate(Box<gate::GateArguments>),
    /// Run a StableHLO program and show or keep what it computes
    Run(Box<run::RunArguments>),
    /// Watch the machine: CPU, memory, GPU, steal, energy
    Monitor(MonitorArguments),
    /// Turn records into a page, a comment, a spreadsheet or another tool's format
    Report(report::ReportArguments),
    /// Write a PyTorch model as StableHLO programs, through the warpforge Python package
    Export(export_model::ExportModelArguments),
    /// Make and look at golden bundles: what plain PyTorch computes, step by step
    Golden(golden::GoldenArguments),
    /// Judge a model by a golden bundle: loss, activations, gradients and updates of every step
    Validate(Box<golden::ValidateArguments>),
    /// Train a model on data as it is published, with checkpoints, and measure how good it is
    Train(train::TrainArguments),
    /// The data sets of recipes: where they are expected, whether they are as published, their licences
    Data(data::DataArguments),
    /// Show the configuration and where each value came from
    Config(ConfigArguments),
    /// Print the licences of this program and of everything in it
    #[command(alias = "licenses")]
    Licences,
    /// Print a shell completion script
    Completions(CompletionsArguments),
    /// Write the man pages to a directory
    Man(ManArguments),
}

/// Options of `warpt list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// Show only these parts (repeatable, comma-separated)
    #[arg(long, value_name = "COMPONENT", value_delimiter = ',', value_parser = component)]
    pub component: Vec<BenchmarkComponent>,
    /// Print JSON instead of a page
    #[arg(long)]
    pub json: bool,
    /// Hide host names, serial numbers and addresses
    #[arg(long)]
    pub redact: bool,
    /// Where a copy goes
    #[command(flatten)]
    pub export: ExportArguments,
}

/// `warpt benchmark` and what follows.
#[derive(Debug, Args)]
pub struct BenchmarkArguments {
    /// What to do
    #[command(subcommand)]
    pub command: BenchmarkCommand,
}

/// The benchmark commands.
#[derive(Debug, Subcommand)]
pub enum BenchmarkCommand {
    /// List the suites and their benchmarks
    List(BenchmarkListArguments),
    /// Describe one benchmark: what it measures, its parameters, check and ceiling
    Describe(DescribeArguments),
    /// Run benchmarks and keep a record
    Run(Box<RunArguments>),
    /// Compare benchmarks with themselves: this machine's false alarms and noise floor
    Null(NullArguments),
    /// Compare two records: what changed, by how much, and what could explain it
    Compare(compare::CompareArguments),
    /// Answer network benchmarks of another machine
    ServeNet(ServeNetArguments),
    /// Take single samples on request, for interleaved comparison with another process
    #[command(hide = true)]
    ServeSamples(ServeSamplesArguments),
    /// Run one benchmark for a parent process
    #[command(hide = true)]
    RunChild,
}

/// Options of `warpt benchmark list`.
#[derive(Debug, Args)]
pub struct BenchmarkListArguments {
    /// Only this suite
    #[arg(long)]
    pub suite: Option<String>,
    /// Only benchmarks of these components (repeatable, comma-separated)
    #[arg(long, value_name = "COMPONENT", value_delimiter = ',', value_parser = component)]
    pub component: Vec<BenchmarkComponent>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Options of `warpt benchmark describe`.
#[derive(Debug, Args)]
pub struct DescribeArguments {
    /// The suite; may be left out where the name is unique
    #[arg(long)]
    pub suite: Option<String>,
    /// The benchmark, as NAME or SUITE/NAME
    #[arg(long, value_name = "NAME", required_unless_present = "name")]
    pub benchmark: Option<String>,
    /// The same without the option's name
    #[arg(value_name = "NAME", conflicts_with = "benchmark")]
    pub name: Option<String>,
    /// Print JSON instead of a page
    #[arg(long)]
    pub json: bool,
}

/// Options of `warpt benchmark run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Run this suite
    #[arg(long)]
    pub suite: Option<String>,
    /// Run this benchmark, as NAME or SUITE/NAME (repeatable)
    #[arg(long, value_name = "NAME")]
    pub benchmark: Vec<String>,
    /// Run the defaults of these components, or filter the suite by them (repeatable, comma-separated)
    #[arg(long, value_name = "COMPONENT", value_delimiter = ',', value_parser = component)]
    pub component: Vec<BenchmarkComponent>,
    /// Seconds of sampling per benchmark [default: each benchmark's own]
    #[arg(long, value_name = "SECONDS")]
    pub duration: Option<String>,
    /// Warm up at least so long before each measurement [default: 0, until steady]
    #[arg(long, value_name = "SECONDS")]
    pub burnin_seconds: Option<String>,
    /// Stop early once the 95% interval is within this share of the median [default: 0.005]
    #[arg(long, value_name = "SHARE")]
    pub precision: Option<String>,
    /// Set a parameter, as KEY=VALUE or BENCHMARK.KEY=VALUE (repeatable; see `describe`)
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = key_value)]
    pub params: Vec<(String, String)>,
    /// Network benchmarks: measure against `serve-net` on this host instead of loopback
    #[arg(long, value_name = "HOST[:PORT]")]
    pub peer: Option<String>,
    /// Network benchmarks: the file with the token shared with the peer
    #[arg(long, value_name = "PATH")]
    pub token_file: Option<PathBuf>,
    /// Use at most so many CPUs [default: all usable ones]
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<String>,
    /// Put scratch files here [default: the working directory]
    #[arg(long, value_name = "PATH")]
    pub directory: Option<String>,
    /// Run each benchmark in a process of its own: a crash costs one benchmark, memory starts cold
    #[arg(long)]
    pub isolate: bool,
    /// Add a label to the record's metadata (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub label: Vec<(String, String)>,
    /// Hide host names, serial numbers and addresses in the record
    #[arg(long)]
    pub redact: bool,
    /// Say what would run and for how long, and exit
    #[arg(long)]
    pub dry_run: bool,
    /// Print the record as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Where the record goes; it is written with the default name unless told otherwise
    #[command(flatten)]
    pub export: ExportArguments,
    /// Write no record
    #[arg(long, conflicts_with_all = ["export", "export_file"])]
    pub no_export: bool,
    /// Do not add the run to the history
    #[arg(long)]
    pub no_history: bool,
    /// What to watch meanwhile
    #[command(flatten)]
    pub monitor: MonitorOptions,
}

/// Monitoring beside a run.
#[derive(Debug, Args)]
pub struct MonitorOptions {
    /// Sample CPU, memory, GPU and energy in the background and keep the timeline in the record
    #[arg(long)]
    pub monitor: bool,
    /// Seconds between the monitor's samples [default: 1.0]
    #[arg(long, value_name = "SECONDS")]
    pub monitor_interval: Option<String>,
    /// Also write the timeline to this file (implies --monitor)
    #[arg(long, value_name = "PATH")]
    pub monitor_output: Option<PathBuf>,
}

/// Options of `warpt benchmark serve-net`.
#[derive(Debug, Args)]
pub struct ServeNetArguments {
    /// The address to listen on; anything but loopback needs a token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7411")]
    pub bind: std::net::SocketAddr,
    /// A file whose content is the token shared with the other side
    #[arg(long, value_name = "PATH")]
    pub token_file: Option<PathBuf>,
}

/// Options of `warpt benchmark serve-samples`.
#[derive(Debug, Args)]
pub struct ServeSamplesArguments {
    /// The benchmark, as SUITE/NAME
    #[arg(long)]
    pub benchmark: String,
    /// The case, by its label; without it the cases are listed
    #[arg(long)]
    pub case: Option<String>,
    /// The metric, by name or by name and tags; the case's first without it
    #[arg(long)]
    pub metric: Option<String>,
    /// Parameters, as KEY=VALUE
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = key_value)]
    pub params: Vec<(String, String)>,
    /// Use at most so many CPUs
    #[arg(long)]
    pub threads: Option<usize>,
    /// Where scratch files go
    #[arg(long, default_value = ".")]
    pub directory: PathBuf,
}

/// Options of `warpt monitor`.
#[derive(Debug, Args)]
pub struct MonitorArguments {
    /// Seconds between samples [default: 1.0]
    #[arg(long, visible_alias = "monitor-interval", value_name = "SECONDS")]
    pub interval: Option<String>,
    /// Stop after so many seconds [default: until Ctrl-C]
    #[arg(long, value_name = "SECONDS")]
    pub duration: Option<f64>,
    /// Write the timeline to this file
    #[arg(long, visible_alias = "monitor-output", value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Print the samples as a JSON array at the end instead of drawing them
    #[arg(long)]
    pub json: bool,
    /// Where a copy goes
    #[command(flatten)]
    pub export: ExportArguments,
}

/// `warpt config` and what follows.
#[derive(Debug, Args)]
pub struct ConfigArguments {
    /// What to do
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// The configuration commands.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print every setting, its value and where it came from
    Show {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
}

/// Options of `warpt completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Options of `warpt man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// The directory, created if missing
    #[arg(long, value_name = "DIRECTORY")]
    pub out: PathBuf,
}

fn component(text: &str) -> Result<BenchmarkComponent, String> {
    text.parse().map_err(|error: warpt_bench::BenchError| error.to_string())
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

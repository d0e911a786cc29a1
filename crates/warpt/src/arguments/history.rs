//! The arguments of `warpt history`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use jiff::civil::Date;

/// `warpt history` and what follows.
#[derive(Debug, Args)]
pub struct HistoryArguments {
    /// The store [default: the setting `history_directory`, else warpt/history below the user's data directory]
    #[arg(long, global = true, value_name = "DIRECTORY")]
    pub store: Option<PathBuf>,
    /// What to do
    #[command(subcommand)]
    pub command: HistoryCommand,
}

/// The history commands.
#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// List the runs
    List(ListRunsArguments),
    /// Show a run again, from its record
    Show(ShowArguments),
    /// Ask for series, machines, the fleet, or a day against those before it
    Query(QueryArguments),
    /// Find where metrics changed: steps and drifts, with false alarms held down over all of them
    Points(PointsArguments),
    /// Remove what is old; says what would go unless told --yes
    Prune(PruneArguments),
    /// Take in record files and folders of them
    Import(ImportArguments),
    /// Write rows for other tools
    Export(ExportRowsArguments),
    /// Move the journal into Parquet and bring the roll-ups up to date
    Compact(Json),
    /// Read everything and compare it with the index
    Check(Json),
    /// Make the index again from the files
    Rebuild(Json),
}

/// How an answer is printed.
#[derive(Debug, Clone, Args)]
pub struct Json {
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Which runs or rows.
#[derive(Debug, Clone, Default, Args)]
pub struct Which {
    /// Only this machine
    #[arg(long)]
    pub machine: Option<String>,
    /// Not before: a day (2026-11-15), a moment (2026-11-15T12:00:00Z) or an age (7d, 12h)
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Before: the same forms; a day is included
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
}

/// The form of an answer of rows.
#[derive(Debug, Clone, Default, Args)]
pub struct Form {
    /// Print JSON instead of a table
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Print CSV instead of a table
    #[arg(long)]
    pub csv: bool,
}

/// Options of `warpt history list`.
#[derive(Debug, Args)]
pub struct ListRunsArguments {
    /// Which runs
    #[command(flatten)]
    pub which: Which,
    /// Only this suite
    #[arg(long)]
    pub suite: Option<String>,
    /// At most so many, the newest
    #[arg(long, default_value_t = 50)]
    pub limit: usize,
    /// The form
    #[command(flatten)]
    pub form: Form,
}

/// Options of `warpt history show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// The run, or an unambiguous beginning of its identifier
    pub run: String,
    /// Print the record as JSON
    #[arg(long)]
    pub json: bool,
}

/// `warpt history query` and what follows.
#[derive(Debug, Args)]
pub struct QueryArguments {
    /// What to ask
    #[command(subcommand)]
    pub question: Question,
}

/// The questions.
#[derive(Debug, Subcommand)]
pub enum Question {
    /// One metric over time
    Series(SeriesArguments),
    /// Everything of one machine: each metric's newest value, or all of them
    Machine(MachineArguments),
    /// Percentiles over the machines, day by day
    Fleet(FleetArguments),
    /// A day, yesterday unless told otherwise, against the days before it
    Recent(RecentArguments),
}

/// Options of `warpt history query series`.
#[derive(Debug, Args)]
pub struct SeriesArguments {
    /// The metric's identifier; ending in * every metric that begins so
    #[arg(long)]
    pub metric: String,
    /// Only with these parameters, as the answer shows them
    #[arg(long)]
    pub params: Option<String>,
    /// Which runs
    #[command(flatten)]
    pub which: Which,
    /// The form
    #[command(flatten)]
    pub form: Form,
}

/// Options of `warpt history query machine`.
#[derive(Debug, Args)]
pub struct MachineArguments {
    /// The machine
    pub machine: String,
    /// Only metrics that are this, or begin so when it ends in *
    #[arg(long)]
    pub metric: Option<String>,
    /// Every value, not just the newest
    #[arg(long)]
    pub all: bool,
    /// Not before
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Before
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// The form
    #[command(flatten)]
    pub form: Form,
}

/// Options of `warpt history query fleet`.
#[derive(Debug, Args)]
pub struct FleetArguments {
    /// The metric's identifier; ending in * every metric that begins so
    #[arg(long)]
    pub metric: String,
    /// Only with these parameters
    #[arg(long)]
    pub params: Option<String>,
    /// Not before
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Before
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// The form
    #[command(flatten)]
    pub form: Form,
}

/// Options of `warpt history query recent`.
#[derive(Debug, Args)]
pub struct RecentArguments {
    /// The metric's identifier; ending in * every metric that begins so [default: all]
    #[arg(long)]
    pub metric: Option<String>,
    /// One machine [default: the fleet]
    #[arg(long)]
    pub machine: Option<String>,
    /// The day (UTC) [default: yesterday]
    #[arg(long)]
    pub day: Option<Date>,
    /// How many days before it
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3660))]
    pub days: u32,
    /// Only those worse than on every day before
    #[arg(long)]
    pub worst: bool,
    /// The form
    #[command(flatten)]
    pub form: Form,
}

/// Options of `warpt history points`.
#[derive(Debug, Args)]
pub struct PointsArguments {
    /// The metric's identifier; ending in * every metric that begins so [default: all]
    #[arg(long)]
    pub metric: Option<String>,
    /// Which runs
    #[command(flatten)]
    pub which: Which,
    /// Only changes for the worse
    #[arg(long)]
    pub worse: bool,
    /// The form
    #[command(flatten)]
    pub form: Form,
}

/// Options of `warpt history prune`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("rule").required(true).multiple(true))]
pub struct PruneArguments {
    /// Records, with their raw samples, older than so many days; rows and roll-ups stay
    #[arg(long, value_name = "DAYS", group = "rule")]
    pub records_older: Option<u32>,
    /// All but so many newest records of each machine and suite
    #[arg(long, value_name = "COUNT", group = "rule")]
    pub records_keep: Option<usize>,
    /// Rows older than so many days; roll-ups stay
    #[arg(long, value_name = "DAYS", group = "rule")]
    pub rows_older: Option<u32>,
    /// Roll-ups and the list of runs older than so many days, where the rows go too
    #[arg(long, value_name = "DAYS", group = "rule", requires = "rows_older")]
    pub rollups_older: Option<u32>,
    /// Do it
    #[arg(long)]
    pub yes: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Options of `warpt history import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// Record files (.json, .json.zst), or folders to look in
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// A file format for other tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// Parquet in plain encodings, read by everything.
    Parquet,
    /// Comma-separated values with a header.
    Csv,
    /// One JSON object a line.
    Jsonl,
}

/// Options of `warpt history export`.
#[derive(Debug, Args)]
pub struct ExportRowsArguments {
    /// The format
    #[arg(long, value_enum)]
    pub format: RowFormat,
    /// The file; `-` for standard output, except for Parquet
    #[arg(long, value_name = "PATH")]
    pub out: PathBuf,
    /// Only this metric, or every one that begins so when it ends in *
    #[arg(long)]
    pub metric: Option<String>,
    /// Only with these parameters
    #[arg(long)]
    pub params: Option<String>,
    /// Which runs
    #[command(flatten)]
    pub which: Which,
}

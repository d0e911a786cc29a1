//! Options of `warpt gate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::export::ExportArguments;

/// Options of `warpt gate`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct GateArguments {
    /// What else to do
    #[command(subcommand)]
    pub command: Option<GateCommand>,
    /// The rules
    #[arg(long, value_name = "PATH", default_value = warpt_history::gate::RULES_FILE)]
    pub rules: PathBuf,
    /// The record from before the change
    #[arg(long, value_name = "RECORD")]
    pub baseline: Option<PathBuf>,
    /// Take the machine's runs in the history for the time before the change, each metric since it last changed
    #[arg(long, conflicts_with = "baseline")]
    pub history: bool,
    /// The history's store
    #[arg(long, value_name = "DIRECTORY", requires = "history")]
    pub store: Option<PathBuf>,
    /// How many days of history count
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=3660))]
    pub days: u16,
    /// What `warpt benchmark null` measured [default: the file it keeps for this machine]
    #[arg(long, value_name = "PATH")]
    pub null: Option<PathBuf>,
    /// The record from after the change; without it the baseline's benchmarks are run now
    #[arg(long, value_name = "RECORD")]
    pub candidate: Option<PathBuf>,
    /// The warpt from before the change: suspicious metrics are measured again, paired with it
    #[arg(long, value_name = "PATH")]
    pub baseline_binary: Option<PathBuf>,
    /// The warpt from after the change [default: this one]
    #[arg(long, value_name = "PATH")]
    pub candidate_binary: Option<PathBuf>,
    /// Do not measure again: a suspicion then stays inconclusive
    #[arg(long)]
    pub no_remeasure: bool,
    /// Runs of the candidate that confirm a suspicion where no baseline program is given
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(5..=100))]
    pub runs: u16,
    /// Put scratch files here
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub directory: PathBuf,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
    /// Where a copy goes
    #[command(flatten)]
    pub export: ExportArguments,
}

/// The gate's other commands.
#[derive(Debug, Subcommand)]
pub enum GateCommand {
    /// Write a commented rules file to start from
    Init {
        /// The record whose benchmarks it names
        record: PathBuf,
        /// The file to write
        #[arg(long, value_name = "PATH", default_value = warpt_history::gate::RULES_FILE)]
        rules: PathBuf,
    },
}

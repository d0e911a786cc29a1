//! Options of `warpt data`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Options of `warpt data`.
#[derive(Debug, Args)]
pub struct DataArguments {
    /// What to do
    #[command(subcommand)]
    pub command: DataCommand,
}

/// What follows `warpt data`.
#[derive(Debug, Subcommand)]
pub enum DataCommand {
    /// Show the data sets, their licences, where they are expected and how to get them
    List(DataListArguments),
    /// Check that a data set is there, whole and as published
    Check(DataCheckArguments),
}

/// Where data sets are, and how they are shown.
#[derive(Debug, Args)]
pub struct DataListArguments {
    /// Where data sets lie, each in a folder of its name [default: $WARPFORGE_DATA, or ~/.local/share/warpforge/data]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Options of `warpt data check`.
#[derive(Debug, Args)]
pub struct DataCheckArguments {
    /// The data set
    pub name: String,
    /// Say that its licence is accepted, by naming it; asked of licences that exclude commercial use
    #[arg(long, value_name = "LICENCE")]
    pub accept_licence: Option<String>,
    /// Where it is looked for, and how that is shown
    #[command(flatten)]
    pub place: DataListArguments,
}

//! Options of `warpt report`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use warpt_report::formats::FORMATS;

/// Options of `warpt report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// The records; with several the last one is shown in detail and metrics become histories
    #[arg(value_name = "RECORD", required = true)]
    pub records: Vec<PathBuf>,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "html", value_parser = formats())]
    pub format: String,
    /// Where to write it; `-` is standard output [default: a new file for html, standard output for the others]
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Compare the last record with this one and show what changed
    #[arg(long, value_name = "RECORD")]
    pub baseline: Option<PathBuf>,
    /// Draw the history of the last record's metrics on its machine, with the points where they changed
    #[arg(long)]
    pub history: bool,
    /// The history's store
    #[arg(long, value_name = "DIRECTORY", requires = "history")]
    pub store: Option<PathBuf>,
    /// The heading
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

fn formats() -> PossibleValuesParser {
    let value = |format: &warpt_report::formats::Format| {
        clap::builder::PossibleValue::new(format.name).help(format.description)
    };
    FORMATS.iter().map(value).collect::<Vec<_>>().into()
}

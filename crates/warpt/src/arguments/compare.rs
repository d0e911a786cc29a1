//! Options of `warpt benchmark compare`.

use std::path::PathBuf;

use clap::Args;

use crate::export::ExportArguments;

/// Options of `warpt benchmark compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// The record of the baseline
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The record of the candidate
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Take differences between separate runs up to this share for noise
    #[arg(long, value_name = "SHARE", default_value_t = warpt_history::compare::DEFAULT_FLOOR)]
    pub floor: f64,
    /// Take how far apart runs of B's machine came out in the history for the noise of each metric, where there are
    /// eight or more; each replaces --floor for its metric
    #[arg(long)]
    pub history: bool,
    /// The history's store
    #[arg(long, value_name = "DIRECTORY", requires = "history")]
    pub store: Option<PathBuf>,
    /// Also compare metrics whose result was not checked
    #[arg(long)]
    pub unverified: bool,
    /// Add a score of this name: the geometric mean of all ratios to A
    #[arg(long, value_name = "NAME")]
    pub score: Option<String>,
    /// Take the score although members are missing
    #[arg(long, requires = "score")]
    pub score_allow_missing: bool,
    /// Show unchanged and supporting metrics and every refusal
    #[arg(long)]
    pub all: bool,
    /// Print JSON instead of a page
    #[arg(long)]
    pub json: bool,
    /// Where a copy goes
    #[command(flatten)]
    pub export: ExportArguments,
}

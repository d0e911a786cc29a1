//! The arguments of `warpt golden` and `warpt validate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::key_value;
use super::python_package::PythonPackageArguments;
use super::run::{Precision, Tier, size};
use crate::export::ExportArguments;

/// `warpt golden` and what follows.
#[derive(Debug, Args)]
pub struct GoldenArguments {
    /// What to do
    #[command(subcommand)]
    pub command: GoldenCommand,
}

/// The commands for golden bundles.
#[derive(Debug, Subcommand)]
pub enum GoldenCommand {
    /// Train a model with plain PyTorch and write everything it computed as a bundle
    Make(GoldenMakeArguments),
    /// Show what a bundle holds, after every digest in it was verified
    Inspect(GoldenInspectArguments),
}

/// Options of `warpt golden make`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    warpt golden make --list\n  \
    warpt golden make mlp --steps 3 --out golden\n  \
    warpt golden make bert-squad --layers 4 --hidden 256 --heads 4 --intermediate 1024 --steps 3 --out golden\n  \
    warpt golden make bert-squad --model bert-large-uncased --steps 3 --batch-size 1 --out golden\n  \
    warpt golden make --module my_model:build --steps 3 --out golden\n\n\
    `warpt golden make RECIPE --help` shows the options of a recipe.")]
pub struct GoldenMakeArguments {
    /// What the golden run is told
    #[command(flatten)]
    pub package: PythonPackageArguments,
}

/// Options of `warpt golden inspect`.
#[derive(Debug, Args)]
pub struct GoldenInspectArguments {
    /// The bundle
    #[arg(value_name = "DIR")]
    pub bundle: PathBuf,
    /// Print JSON instead of a page
    #[arg(long)]
    pub json: bool,
}

/// Options of `warpt validate`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Exit codes: 0 all match, 1 mismatch, 2 error, 3 nothing to judge."
)]
pub struct ValidateArguments {
    /// Judge saved results instead of running
    #[command(subcommand)]
    pub command: Option<ValidateCommand>,
    /// The golden bundle
    #[arg(value_name = "DIR", required = true)]
    pub bundle: Option<PathBuf>,
    /// How to run the steps
    #[arg(long, value_enum, default_value = "production")]
    pub tier: Tier,
    /// How exactly the production tier computes products; bf16 is judged by wider tolerances
    #[arg(long, value_enum, default_value = "f32")]
    pub precision: Precision,
    /// Threads of the production tier [default: one for each processor this process may use]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Run only so many of the recorded steps
    #[arg(long, value_name = "COUNT")]
    pub steps: Option<usize>,
    /// Train from the start of every golden run instead, and judge the loss curves as wholes
    #[arg(long, conflicts_with_all = ["steps", "save_results", "tolerances"])]
    pub free_run: bool,
    /// Run nothing: write tolerances to this file, from how far golden bundles of the same training lie apart
    #[arg(long, value_name = "FILE", requires = "golden", conflicts_with_all = [
        "free_run", "steps", "save_results", "tolerances", "junit", "html", "export", "export_file", "label"])]
    pub suggest_tolerances: Option<PathBuf>,
    /// With --suggest-tolerances: the same training made with other threads or types (repeatable)
    #[arg(long, value_name = "DIR", requires = "suggest_tolerances", num_args = 1..)]
    pub golden: Vec<PathBuf>,
    /// Refuse programs that need more memory, such as 12GiB [default: 80% of what is free]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Keep what was computed in this directory, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub save_results: Option<PathBuf>,
    /// On a mismatch, write the op or kernel it begins with to this directory, as a program with its inputs
    #[arg(long, value_name = "DIR", default_value = "divergence")]
    pub reproducer: PathBuf,
    /// On a mismatch, do not look for where it begins: that takes as long as the correctness tier
    #[arg(long, conflicts_with = "reproducer")]
    pub no_search: bool,
    /// How it is judged and shown
    #[command(flatten)]
    pub judgement: JudgementArguments,
    /// What is kept of it
    #[command(flatten)]
    pub record: RecordArguments,
}

/// What is kept of a validation: a record as benchmarks have it.
#[derive(Debug, Args)]
pub struct RecordArguments {
    /// Add a label to the record's metadata (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub label: Vec<(String, String)>,
    /// Hide host names, serial numbers and addresses in the record and the page
    #[arg(long)]
    pub redact: bool,
    /// Where the record goes
    #[command(flatten)]
    pub export: ExportArguments,
    /// Do not add the run to the history
    #[arg(long)]
    pub no_history: bool,
}

/// What follows `warpt validate`.
#[derive(Debug, Subcommand)]
pub enum ValidateCommand {
    /// Judge results that were saved, here or on another machine
    Compare(ValidateCompareArguments),
}

/// Options of `warpt validate compare`.
#[derive(Debug, Args)]
pub struct ValidateCompareArguments {
    /// The golden bundle
    #[arg(long, value_name = "DIR")]
    pub golden: PathBuf,
    /// What `warpt validate --save-results` wrote
    #[arg(long, value_name = "DIR")]
    pub results: PathBuf,
    /// How it is judged and shown
    #[command(flatten)]
    pub judgement: JudgementArguments,
}

/// How a validation is judged and shown.
#[derive(Debug, Args)]
pub struct JudgementArguments {
    /// Take tolerances for some tensors from this file; presets hold for all others
    #[arg(long, value_name = "FILE")]
    pub tolerances: Option<PathBuf>,
    /// Print every comparison as JSON instead of a table
    #[arg(long)]
    pub json: bool,
    /// Also write every comparison as a test case to this file, as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Also write a page for people to this file, as HTML that needs nothing else
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

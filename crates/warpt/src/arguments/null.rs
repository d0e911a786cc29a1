//! The arguments of `warpt benchmark null`.

use std::path::PathBuf;

use clap::Args;

use super::ab::positive;
use super::key_value;

/// Examples shown at the end of the long help.
const EXAMPLES: &str = "\
Examples:
  How noisy are these benchmarks here?
    warpt benchmark null --benchmark cpu_flops --benchmark mem_bandwidth
  One case, more often:
    warpt benchmark null --benchmark cpu_flops --case \"f32 gemm\" --repeats 50

Exit codes: 0 at most 1 of 100 comparisons flagged (always allowed: one), 1 more, 2 error, 3 nothing could be measured.";

/// Options of `warpt benchmark null`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See --help for examples.")]
pub struct NullArguments {
    /// Compare this benchmark with itself, as NAME or SUITE/NAME (repeatable)
    #[arg(long, value_name = "NAME", required = true)]
    pub benchmark: Vec<String>,
    /// Only cases whose label contains this (repeatable)
    #[arg(long, value_name = "LABEL")]
    pub case: Vec<String>,
    /// Set a parameter, as KEY=VALUE or BENCHMARK.KEY=VALUE (repeatable)
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = key_value)]
    pub params: Vec<(String, String)>,
    /// Use at most so many CPUs [default: all usable ones]
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
    /// Where scratch files go [default: the working directory]
    #[arg(long, value_name = "PATH")]
    pub directory: Option<PathBuf>,
    /// Comparisons of each case with itself
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeats: u32,
    /// The time each comparison may take
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = positive)]
    pub budget: f64,
    /// Print the file as JSON instead of a table
    #[arg(long)]
    pub json: bool,
    /// Keep what was found in this file [default: one per machine below the user's state directory]
    #[arg(long, value_name = "PATH")]
    pub export_file: Option<PathBuf>,
}

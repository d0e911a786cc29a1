//! The arguments of `warpt ab`.

use std::path::PathBuf;

use clap::Args;

use super::key_value;
use crate::export::ExportArguments;

/// Examples shown at the end of the long help.
const EXAMPLES: &str = "\
Examples:
  Two commands, timed from start to end:
    warpt ab --a \"sort big.txt\" --b \"sort --parallel=4 big.txt\"
    warpt ab --shell --a \"gzip -k < log | wc -c\" --b \"zstd < log | wc -c\"
  Two builds of warpt on one benchmark:
    warpt ab --a-binary ./warpt-old --b-binary ./warpt \\
        --benchmark cpu_flops --case \"f32 gemm 2048 x 2048, 1\"
  Two parameter sets of one benchmark:
    warpt ab --benchmark mem_bandwidth --case \"triad, 1\" \\
        --a-params array_bytes=67108864 --b-params array_bytes=1073741824
  Is anything above 0.5% different? Give it five minutes, keep the evidence:
    warpt ab --a ./old --b ./new --floor 0.5 --budget 300 --export

A is the baseline, B the candidate. The ratio is the cost of A over the cost of B: above 1 means that B is better.
Exit codes: 0 same or better, 1 worse (or a check failed), 2 error, 3 inconclusive.";

/// Options of `warpt ab`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See --help for examples.")]
pub struct AbArguments {
    /// The baseline command, split into words as a shell would but not run by one
    #[arg(long, value_name = "COMMAND", requires = "b", required_unless_present = "benchmark")]
    pub a: Option<String>,
    /// The candidate command
    #[arg(long, value_name = "COMMAND", requires = "a")]
    pub b: Option<String>,
    /// Run the commands by `sh -c`, for pipes and redirections; the shell's own time counts too
    #[arg(long, requires = "a")]
    pub shell: bool,
    /// Show what the commands print (on standard error) instead of discarding it
    #[arg(long, requires = "a")]
    pub show_output: bool,
    /// The longest a single run of a command may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0, requires = "a", value_parser = positive)]
    pub timeout: f64,
    /// Compare on this benchmark, as NAME or SUITE/NAME
    #[arg(long, value_name = "NAME", conflicts_with_all = ["a", "b"])]
    pub benchmark: Option<String>,
    /// The `warpt` of the baseline [default: this one]
    #[arg(long, value_name = "PATH", requires = "benchmark")]
    pub a_binary: Option<PathBuf>,
    /// The `warpt` of the candidate [default: this one]
    #[arg(long, value_name = "PATH", requires = "benchmark")]
    pub b_binary: Option<PathBuf>,
    /// Set parameters of the baseline (repeatable)
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = key_value, requires = "benchmark")]
    pub a_params: Vec<(String, String)>,
    /// Set parameters of the candidate (repeatable)
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = key_value, requires = "benchmark")]
    pub b_params: Vec<(String, String)>,
    /// Set parameters of both sides (repeatable)
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = key_value, requires = "benchmark")]
    pub params: Vec<(String, String)>,
    /// The case of the benchmark: its label or a part that fits only one; needed where there are several
    #[arg(long, value_name = "LABEL", requires = "benchmark")]
    pub case: Option<String>,
    /// The metric of the case, by name [default: its first]
    #[arg(long, value_name = "NAME", requires = "benchmark")]
    pub metric: Option<String>,
    /// Use at most so many CPUs [default: all usable ones]
    #[arg(long, value_name = "COUNT", requires = "benchmark")]
    pub threads: Option<usize>,
    /// Where commands run and scratch files go [default: the working directory]
    #[arg(long, value_name = "PATH")]
    pub directory: Option<PathBuf>,
    /// Go on while inconclusive, up to so long in all
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = positive)]
    pub budget: f64,
    /// Never call a difference smaller than this; also what `same` means
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    pub floor: f64,
    /// The seed of the order of the sides [default: another each time]
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Print the comparison with every cost as JSON instead of a page
    #[arg(long)]
    pub json: bool,
    /// Where a copy goes
    #[command(flatten)]
    pub export: ExportArguments,
}

/// Seconds above zero.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => Ok(seconds),
        _ => Err("expected seconds above 0 and up to 1000000".to_owned()),
    }
}

/// A share in per cent, with or without its sign.
fn percent(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('%').trim_end().parse::<f64>() {
        Ok(percent) if (0.0..=1000.0).contains(&percent) => Ok(percent),
        _ => Err("expected per cent between 0 and 1000".to_owned()),
    }
}

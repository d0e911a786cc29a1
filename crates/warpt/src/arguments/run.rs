//! Options of `warpt run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Examples shown at the end of the long help.
const EXAMPLES: &str = "\
Examples:
  Look at what a program computes, with made-up inputs:
    warpt run model.mlir --random-inputs 1
  Weights from one file, a batch from another, results to a third:
    warpt run model.mlir --inputs weights.safetensors --inputs batch.safetensors --outputs out.safetensors
  Every intermediate value, with an index:
    warpt run model.mlir --inputs in.safetensors --trace trace/
  Where the time goes:
    warpt run model.mlir --weights weights.safetensors --inputs batch.safetensors --profile

Inputs are found by the name the exporter gave an argument, by its name in the text, or by its place: arg0, arg1, ...
With several processes, 1.0/arg0 is for replica 1, partition 0 alone, and results are named the same way.

Exit codes: 0 done, 1 a kernel is wrong (--audit), 2 error.";

/// How a program is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tier {
    /// Fastest
    Production,
    /// As fast, but for counters inside: phases, threads, ranges of values, what is no number
    #[value(aliases = ["optimized-observable", "OPTIMIZED_OBSERVABLE", "optimized_observable"])]
    Observable,
    /// Slow and right, every value visible
    Correctness,
}

/// How exactly products are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// As the program says
    F32,
    /// From and to bf16, with sums in f32
    Bf16,
    /// As bf16 where this machine has instructions for its products, else as f32
    Auto,
}

/// How products of f32 are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum F32Products {
    /// The fastest way that is as exact as f32: in three parts of bf16 where the machine has a matrix unit, convolutions with
    /// fewer multiplications where it has none
    Fastest,
    /// In f32 throughout, term by term
    Plain,
}

/// What is computed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fusion {
    /// Whatever one kernel can compute, but for what was measured to be faster apart, or by another kernel, on this machine
    Measured,
    /// Whatever one kernel can compute, by rules alone
    All,
    /// All but attention and other products with what is done to rows between them
    NoChains,
    /// Every op by itself
    None,
}

/// What a row of a profile is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProfileBy {
    /// Kernels of the same ops
    Ops,
    /// Each kernel, in the order of the run, with its place in the model
    Kernels,
}

/// A stage of a program on its way to kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    /// As it was read
    Parsed,
    /// After the passes
    Normalized,
    /// A function for each kernel
    Fused,
    /// Kernels in order, and where they read and write
    Plan,
}

impl Tier {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Production => "production",
            Self::Observable => "observable",
            Self::Correctness => "correctness",
        }
    }
}

/// Options of `warpt run`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See --help for examples.")]
pub struct RunArguments {
    /// The program, as StableHLO text
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How to run it [default: production, or correctness with an option that only it has]
    #[arg(long, value_enum)]
    pub tier: Option<Tier>,
    /// Run this function [default: main, or the only public one]
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// Take inputs from this safetensors file (repeatable; later files win)
    #[arg(long, value_name = "PATH")]
    pub inputs: Vec<PathBuf>,
    /// Take inputs from this file that are the same in every run, such as weights: they are packed once (repeatable)
    #[arg(long, value_name = "PATH")]
    pub weights: Vec<PathBuf>,
    /// Threads of the production tier [default: one for each processor this process may use]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// How exactly the production tier computes products: as the program says, or f32 products from and to bf16
    #[arg(long, value_enum)]
    pub precision: Option<Precision>,
    /// How the production tier computes products of f32: the fastest way that is as exact, or in f32 throughout
    #[arg(long, value_enum, default_value = "fastest", hide_default_value = true)]
    pub f32_products: F32Products,
    /// What the production tier computes together; less than all shows what fusion does to time and numbers
    #[arg(long, value_enum, default_value = "measured", hide_default_value = true)]
    pub fusion: Fusion,
    /// Show what kernels of the production tier took and how far that is from what the machine can do: those of the same
    /// ops together, or each
    #[arg(long, value_enum, value_name = "BY", num_args = 0..=1, require_equals = true,
        default_missing_value = "ops", conflicts_with = "json")]
    pub profile: Option<ProfileBy>,
    /// Hold every kernel of the production tier against what its ops give one by one from the same values (slow); wrong
    /// ones are written to DIR, each as a program of its own with its inputs
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "-",
        conflicts_with_all = ["profile", "serve"])]
    pub audit: Option<PathBuf>,
    /// Write the kernels of a run to this file as a trace for Perfetto or chrome://tracing
    #[arg(long, value_name = "PATH")]
    pub trace_file: Option<PathBuf>,
    /// Draw kernels below what the machine can do, as an SVG picture
    #[arg(long, value_name = "PATH")]
    pub roofline: Option<PathBuf>,
    /// Print the program at a stage on its way to kernels, and run nothing
    #[arg(long, value_enum, value_name = "STAGE")]
    pub dump: Option<Stage>,
    /// Run whenever a line says so: `run` answers with nanoseconds, `outputs PATH` writes the last results, `quit` ends
    #[arg(long, hide = true)]
    pub serve: bool,
    /// Write the results to this safetensors file instead of showing them
    #[arg(long, value_name = "PATH")]
    pub outputs: Option<PathBuf>,
    /// Make up inputs that no file has: floats in [-1, 1), integers 0 or 1, from this seed
    #[arg(long, value_name = "SEED")]
    pub random_inputs: Option<u64>,
    /// Write every intermediate value to this directory, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub trace: Option<PathBuf>,
    /// Run as so many copies at once, which meet in the program's collectives (correctness tier)
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub replicas: u32,
    /// Split each copy into so many partitions (correctness tier)
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub partitions: u32,
    /// Feed this safetensors file to `infeed` and `recv`: tensors named feed.0.0, feed.0.1, feed.1.0, channel3.0.0, ...
    #[arg(long, value_name = "PATH")]
    pub infeed: Option<PathBuf>,
    /// Write what `outfeed` and `send` hand to the host to this safetensors file, named as for --infeed
    #[arg(long, value_name = "PATH")]
    pub outfeed: Option<PathBuf>,
    /// Refuse programs that need more memory, such as 12GiB [default: 80% of what is free]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<u64>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,
}

impl RunArguments {
    /// The tier that was asked for, by itself or by an option that only one tier has.
    pub fn tier(&self) -> Tier {
        let implied =
            if self.only_in_correctness().is_some() { Tier::Correctness } else { Tier::Production };
        self.tier.unwrap_or(implied)
    }

    /// The first option given that only the correctness tier has.
    pub fn only_in_correctness(&self) -> Option<&'static str> {
        first_given(&[
            (self.trace.is_some(), "--trace"),
            (self.replicas > 1, "--replicas"),
            (self.partitions > 1, "--partitions"),
            (self.infeed.is_some(), "--infeed"),
            (self.outfeed.is_some(), "--outfeed"),
        ])
    }

    /// The first option given that only the production tier has.
    pub fn only_in_production(&self) -> Option<&'static str> {
        first_given(&[
            (self.profile.is_some(), "--profile"),
            (self.trace_file.is_some(), "--trace-file"),
            (self.roofline.is_some(), "--roofline"),
            (self.audit.is_some(), "--audit"),
            (self.serve, "--serve"),
            (self.threads.is_some(), "--threads"),
            (self.precision.is_some(), "--precision"),
            (self.f32_products != F32Products::Fastest, "--f32-products"),
            (self.fusion != Fusion::Measured, "--fusion"),
        ])
    }

    /// The function that was asked for, without `@`.
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref().map(|name| name.strip_prefix('@').unwrap_or(name))
    }
}

fn first_given(options: &[(bool, &'static str)]) -> Option<&'static str> {
    options.iter().find(|(given, _)| *given).map(|(_, option)| *option)
}

/// A number of bytes: `4096`, `512MiB`, `1.5GB`, `16G` (binary without a B).
pub(super) fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let power = |letter: &str| "kmgt".find(letter).map(|place| place as i32 + 1);
    let factor = match unit.as_str() {
        "" | "b" => Some(1.0),
        unit if unit.len() == 1 => power(unit).map(|power| 1024_f64.powi(power)),
        unit => match (unit.get(..1), unit.get(1..)) {
            (Some(letter), Some("ib")) => power(letter).map(|power| 1024_f64.powi(power)),
            (Some(letter), Some("b")) => power(letter).map(|power| 1000_f64.powi(power)),
            _ => None,
        },
    };
    let value = number.parse::<f64>().ok().filter(|value| value.is_finite());
    match (value, factor) {
        (Some(value), Some(factor)) if value > 0.0 => Ok((value * factor) as u64),
        _ => Err("expected a size such as 4096, 512MiB or 16G".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("1.5KiB"), Ok(1536));
        assert_eq!((size("2 GB"), size("2g")), (Ok(2_000_000_000), Ok(2 << 30)));
        for wrong in ["", "GiB", "-1", "1x", "1iB", "nan", "0"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}

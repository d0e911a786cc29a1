//! The arguments of `warpt export`: a few of its own, the rest goes to the Python package as it is.

use std::ffi::OsString;

use clap::Args;

/// Options of `warpt export`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    warpt export --list\n  \
    warpt export bert --layers 2 --out bert --check\n  \
    warpt export --module my_package.models:build --out mine\n  \
    warpt export convert program.mlirbc\n\n\
    `warpt export RECIPE --help` shows the options of a recipe.")]
pub struct ExportModelArguments {
    /// The Python with the warpforge package [default: python3]
    #[arg(long, value_name = "PATH")]
    pub python: Option<String>,
    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600.0, value_parser = seconds)]
    pub time_limit: f64,
    /// A recipe and its options, --module, --list, or convert and a file
    #[arg(
        value_name = "ARGUMENT",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub rest: Vec<OsString>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.001..=1e7).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds, from 0.001 to 10000000".to_owned()),
    }
}

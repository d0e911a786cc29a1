//! Arguments of commands that are done by the Python package: a few of their own, the rest goes there as it is.

use std::ffi::OsString;

use clap::Args;

/// Which Python, for how long, with what.
#[derive(Debug, Args)]
pub struct PythonPackageArguments {
    /// The Python with the warpforge package [default: python3]
    #[arg(long, value_name = "PATH")]
    pub python: Option<String>,
    /// Give up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600.0, value_parser = seconds)]
    pub time_limit: f64,
    /// A recipe and its options, or --list
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

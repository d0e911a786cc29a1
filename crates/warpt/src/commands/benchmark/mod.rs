//! `warpt benchmark`: list, describe, run, and the sides that other processes talk to.

mod catalogue;
mod compare;
mod null;
mod run;
mod serve;

use std::path::Path;

use anyhow::Result;

use crate::arguments::{BenchmarkArguments, BenchmarkCommand};
use crate::exit::Exit;
use crate::output::Output;

/// Dispatches.
pub fn run(
    arguments: BenchmarkArguments,
    config: Option<&Path>,
    output: &mut Output,
) -> Result<Exit> {
    match arguments.command {
        BenchmarkCommand::List(list) => catalogue::list(&list, output),
        BenchmarkCommand::Describe(describe) => catalogue::describe(&describe, output),
        BenchmarkCommand::Run(run) => run::run(&run, config, output),
        BenchmarkCommand::Null(null) => null::run(&null, output),
        BenchmarkCommand::Compare(arguments) => compare::run(&arguments, config, output),
        BenchmarkCommand::ServeNet(serve) => serve::network(&serve, output),
        BenchmarkCommand::ServeSamples(serve) => serve::samples(&serve, output),
        BenchmarkCommand::RunChild => serve::child(),
    }
}

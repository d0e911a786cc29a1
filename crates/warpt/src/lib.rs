//! One command for machines and models: arguments become a request, a request becomes one call, the answer is
//! rendered. Nothing is computed here.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod arguments;
pub mod commands;
pub mod config;
pub mod exit;
pub mod export;
pub mod interrupt;
pub mod output;
pub mod progress;
mod waiting;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::exit::Exit;
use crate::output::Output;

/// Runs the command line and says how it ended: 0 pass, 1 failed check, 2 error, 3 inconclusive.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are answers, not errors; a closed pipe is the reader's business.
            let _ = error.print();
            return if error.use_stderr() { Exit::Error.into() } else { Exit::Pass.into() };
        }
    };
    let mut output = Output::new(arguments.color);
    match dispatch(arguments, &mut output) {
        Ok(exit) => exit.into(),
        Err(error) if output::is_closed_pipe(&error) => Exit::Pass.into(),
        Err(error) => {
            output.error(&error);
            Exit::Error.into()
        }
    }
}

fn dispatch(arguments: Arguments, output: &mut Output) -> anyhow::Result<Exit> {
    let config = arguments.config.as_deref();
    match arguments.command {
        Command::List(list) => commands::list::run(&list, config, output),
        Command::Benchmark(benchmark) => commands::benchmark::run(benchmark, config, output),
        Command::Ab(ab) => commands::ab::run(&ab, output),
        Command::History(history) => commands::history::run(&history, config, output),
        Command::Gate(gate) => commands::gate::run(&gate, config, output),
        Command::Monitor(monitor) => commands::monitor::run(&monitor, config, output),
        Command::Report(report) => commands::report::run(&report, config, output),
        Command::Run(run) => commands::run::run(&run, output),
        Command::Export(export) => commands::export_model::run(&export, config, output),
        Command::Golden(golden) => commands::golden::run(&golden, config, output),
        Command::Train(train) => commands::train::run(&train, config, output),
        Command::Data(data) => commands::data::run(&data, output),
        Command::Validate(validate) => commands::validate::run(&validate, config, output),
        Command::Config(command) => commands::config::run(&command, config, output),
        Command::Licences => commands::documentation::licences(output),
        Command::Completions(completions) => {
            commands::documentation::completions(&completions, output)
        }
        Command::Man(man) => commands::documentation::man(&man, output),
    }
}

//! `cargo xtask <chore>`: everything the project does to itself, one file or folder per chore.
//!
//! A chore ends with 0 when all is well, 1 when it found something wrong, 2 when it could not do its work.
#![cfg_attr(test, allow(clippy::unwrap_used))]
// This is an outer crate: its output is for the person at the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bless;
mod ci;
mod conformance;
mod exports;
mod faults;
mod fuzz;
mod history;
mod hlo;
mod install;
mod interrupt;
mod licences;
mod loops;
mod measurement;
mod models;
mod op_status;
mod peers;
mod points;
mod programs;
mod python;
mod report;
mod repository;
mod sanitize;
mod schema;
mod smoke;
mod tidy;
mod tier;
mod truth;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own chores.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Run every gate, as the continuous integration does.
    Ci(ci::Arguments),
    /// Check the habits that the compiler does not: crate arrows, file headers, printing, unsafe, links, licences.
    Tidy,
    /// Write the JSON schemas of the files warpt exports into `schemas/`.
    Schema(schema::Arguments),
    /// Rewrite every committed snapshot from the code: look at the difference before committing it.
    Bless,
    /// Fuzz one target for a while; without a target, build all and replay their seeds.
    Fuzz(fuzz::Arguments),
    /// Measure ours against other programs on this machine, interleaved.
    Peers(peers::Arguments),
    /// The matrix products of a program called bare on the vendor library: a side of `peers model`.
    BareProducts(peers::model::bare::Arguments),
    /// Show how often comparisons are right: false alarms, power, honesty, beside other tools.
    Truth(truth::Arguments),
    /// What the history store carries: rows, queries, writers at once, kills.
    History(history::Arguments),
    /// Find planted changes in synthetic histories, beside Hunter on the same ones.
    Points(points::Arguments),
    /// How long programs take to be read and verified, and that the time is linear in their size.
    Hlo(hlo::Arguments),
    /// Plant faults into a model and see which of them `warpt validate` finds and names.
    Faults(faults::Arguments),
    /// How near to the speed of memory loops run, and what attention as one kernel gains.
    Loops(loops::Arguments),
    /// Export whole models from PyTorch, run them in the correctness tier, and compare.
    Models(models::Arguments),
    /// Random programs in the production tier and the reference interpreter, both against f64.
    Programs(programs::Arguments),
    /// Make reports of sample records, have their formats read by other programs, and photograph the page.
    Report(report::Arguments),
    /// Judge the reference interpreter by JAX's own test harnesses.
    Conformance(conformance::Arguments),
    /// Write `docs/op-status.md`: how far every op is carried.
    OpStatus(op_status::Arguments),
    /// Write the licences of everything linked into `warpt`, which `warpt licences` prints.
    Licences(licences::Arguments),
    /// Run the tests above unsafe code under AddressSanitizer.
    Sanitize,
    /// Checks of the whole that take minutes.
    Smoke(smoke::Arguments),
}

/// What a chore found; an error beside it means that it could not look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Clean,
    Found,
}

impl Verdict {
    fn clean_if(clean: bool) -> Self {
        if clean { Self::Clean } else { Self::Found }
    }
}

fn run(chore: &Chore) -> anyhow::Result<Verdict> {
    match chore {
        Chore::Ci(arguments) => ci::run(arguments),
        Chore::Faults(arguments) => faults::run(arguments),
        Chore::Tidy => tidy::run(),
        Chore::Schema(arguments) => schema::run(arguments),
        Chore::Bless => bless::run(),
        Chore::Fuzz(arguments) => fuzz::run(arguments),
        Chore::Peers(arguments) => peers::run(arguments),
        Chore::BareProducts(arguments) => peers::model::bare::run(arguments),
        Chore::Truth(arguments) => truth::run(arguments),
        Chore::History(arguments) => history::run(arguments),
        Chore::Points(arguments) => points::run(arguments),
        Chore::Hlo(arguments) => hlo::run(arguments),
        Chore::Loops(arguments) => loops::run(arguments),
        Chore::Models(arguments) => models::run(arguments),
        Chore::Programs(arguments) => programs::run(arguments),
        Chore::Report(arguments) => report::run(arguments),
        Chore::Conformance(arguments) => conformance::run(arguments),
        Chore::OpStatus(arguments) => op_status::run(arguments),
        Chore::Licences(arguments) => licences::run(arguments),
        Chore::Sanitize => sanitize::run(),
        Chore::Smoke(arguments) => smoke::run(arguments),
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse().chore) {
        Ok(Verdict::Clean) => ExitCode::SUCCESS,
        Ok(Verdict::Found) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        super::Arguments::command().debug_assert();
    }
}

//! `warpt run`: a program, its inputs, its results.

mod audit;
mod ceilings;
mod choices;
mod correctness;
mod feeds;
mod inputs;
mod kept;
mod observed;
mod production;
mod profile;
mod program;
mod results;
mod trace;
mod watch;

use anyhow::{Result, bail};
use warpforge_engine::reference::Interpreter;
use warpforge_hlo::Program;
use warpt_machine::cgroup::Cgroups;
use warpt_machine::counters::memory::Memory;
use warpt_machine::source::SystemRoot;

use self::program::Source;
use crate::arguments::run::{RunArguments, Tier};
use crate::exit::Exit;
use crate::output::Output;

/// Reads, runs and shows.
pub fn run(arguments: &RunArguments, output: &mut Output) -> Result<Exit> {
    let tier = arguments.tier();
    let (needed, misplaced) = match tier {
        Tier::Correctness => (Tier::Production, arguments.only_in_production()),
        _ => (Tier::Correctness, arguments.only_in_correctness()),
    };
    if let Some(option) = misplaced {
        bail!("{option} needs --tier {}", needed.name());
    }
    let source = Source::read(&arguments.file)?;
    for note in &source.program.notes {
        output.note(&format!("note: {}", warpt_report::text::clean(note)));
    }
    if let Some(stage) = arguments.dump {
        output.text(&production::dump(arguments, &source, stage)?)?;
        return Ok(Exit::Pass);
    }
    match tier {
        Tier::Production | Tier::Observable => production::run(arguments, &source, output),
        Tier::Correctness => correctness::run(arguments, &source, output),
    }
}

fn interpreter<'a>(program: &'a Program, arguments: &'a RunArguments) -> Interpreter<'a> {
    match arguments.function() {
        Some(name) => Interpreter::new(program).function(name),
        None => Interpreter::new(program),
    }
}

/// Four fifths of what is free, within the tightest limit of a control group; what cannot be read does not limit.
pub(super) fn free_memory() -> u64 {
    let root = SystemRoot::live();
    let available = Memory::read(&root).ok().and_then(|memory| memory.available_bytes);
    let limit = Cgroups::read(&root).memory_limit_bytes().ok();
    let free = match (available, limit) {
        (Some(available), Some(limit)) => available.min(limit),
        (Some(free), None) | (None, Some(free)) => free,
        (None, None) => u64::MAX,
    };
    free / 5 * 4
}

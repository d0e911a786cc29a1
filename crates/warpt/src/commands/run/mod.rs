//! `warpt run`: a program, its inputs, its results.

mod ceilings;
mod inputs;
mod production;
mod profile;
mod program;
mod results;
mod trace;
mod watch;

use std::time::Instant;

use anyhow::{Result, bail};
use warpforge_engine::reference::{Interpreter, Limits};
use warpforge_engine::{EngineError, interface};
use warpforge_hlo::Program;
use warpt_machine::cgroup::Cgroups;
use warpt_machine::counters::memory::Memory;
use warpt_machine::source::SystemRoot;

use self::program::Source;
use self::trace::Trace;
use self::watch::Watch;
use crate::arguments::run::{RunArguments, Tier};
use crate::exit::Exit;
use crate::interrupt;
use crate::output::Output;

/// Reads, runs and shows.
pub fn run(arguments: &RunArguments, output: &mut Output) -> Result<Exit> {
    if !Tier::PRESENT.contains(&arguments.tier) {
        let present: Vec<&str> = Tier::PRESENT.iter().map(|tier| tier.name()).collect();
        bail!(
            "the {} tier is not there yet; there is: {}",
            arguments.tier.name(),
            present.join(", ")
        );
    }
    let source = Source::read(&arguments.file)?;
    for note in &source.program.notes {
        output.note(&format!("note: {}", warpt_report::text::clean(note)));
    }
    if let Some(stage) = arguments.dump {
        output.text(&production::dump(arguments, &source, stage)?)?;
        return Ok(Exit::Pass);
    }
    if arguments.tier == Tier::Production {
        return production::run(arguments, &source, output);
    }
    let for_production = [
        (arguments.profile.is_some(), "--profile"),
        (arguments.trace_file.is_some(), "--trace-file"),
        (arguments.roofline.is_some(), "--roofline"),
        (arguments.serve, "--serve"),
        (arguments.threads.is_some(), "--threads"),
        (arguments.precision.is_some(), "--precision"),
    ];
    if let Some((_, option)) = for_production.iter().find(|(given, _)| *given) {
        bail!("{option} needs --tier production");
    }
    let planned = interpreter(&source.program, arguments);
    let entry = planned.entry()?;
    let limit = arguments.max_memory.unwrap_or_else(free_memory);
    let plan = planned.memory()?;
    if plan.peak_bytes > limit {
        // Before the inputs are read: they alone may be too much.
        let place = plan.place.map(Box::new);
        return Err(source.too_much_memory(plan.peak_bytes, limit, place.as_deref()));
    }
    let values =
        inputs::gather(entry, &arguments.weights, &arguments.inputs, arguments.random_inputs)?;
    let values = values.into_iter().map(|gathered| gathered.value).collect();
    let trace = arguments.trace.as_deref().map(Trace::new).transpose()?;
    let cancel = interrupt::install()?;
    let flag = cancel.flag();
    let mut watch =
        Watch::new(&source, trace, source.program.op_count(), output.progress_is_visible());
    let started = Instant::now();
    let outcome = interpreter(&source.program, arguments)
        .limits(Limits { memory_bytes: Some(limit), steps: None })
        .cancel(&flag)
        .observer(&mut watch)
        .run(values);
    let seconds = started.elapsed().as_secs_f64();
    let ops = watch.finish()?;
    let values = match outcome {
        Ok(values) => values,
        Err(EngineError::Cancelled) => {
            output.note(&format!("interrupted after {ops} ops"));
            return Ok(Exit::Interrupted);
        }
        Err(error) => return Err(source.explain(error)),
    };
    let ran = results::Ran {
        file: &arguments.file,
        tier: arguments.tier,
        function: &entry.name,
        ops,
        seconds,
        peak_bytes: plan.peak_bytes,
        plan: None,
        results: interface::results(entry).into_iter().zip(values).collect(),
    };
    if let Some(path) = &arguments.outputs {
        ran.write(path)?;
    }
    if arguments.json {
        output.line(&ran.json())?;
    } else if let Some(path) = &arguments.outputs {
        output.note(&format!("{} results written to {}", ran.results.len(), path.display()));
    } else {
        let width = output.width();
        output.text(&ran.page(width))?;
    }
    Ok(Exit::Pass)
}

fn interpreter<'a>(program: &'a Program, arguments: &'a RunArguments) -> Interpreter<'a> {
    match &arguments.function {
        Some(name) => Interpreter::new(program).function(name.strip_prefix('@').unwrap_or(name)),
        None => Interpreter::new(program),
    }
}

/// Four fifths of what is free, within the tightest limit of a control group; what cannot be read does not limit.
fn free_memory() -> u64 {
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

//! A run in the correctness tier: one process with its trace and progress, or a grid of processes.

use std::time::Instant;

use anyhow::{Result, bail};
use warpforge_engine::reference::{Grid, Host, Limits, Processes, Value};
use warpforge_engine::{EngineError, interface};

use super::program::Source;
use super::trace::Trace;
use super::watch::Watch;
use super::{feeds, free_memory, inputs, interpreter, results};
use crate::arguments::run::RunArguments;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::Output;

/// Runs and shows.
pub(super) fn run(arguments: &RunArguments, source: &Source, output: &mut Output) -> Result<Exit> {
    let planned = interpreter(&source.program, arguments);
    let entry = planned.entry()?;
    let limit = arguments.max_memory.unwrap_or_else(free_memory);
    let plan = planned.memory()?;
    let grid = Grid { replicas: arguments.replicas, partitions: arguments.partitions };
    let names = process_names(grid);
    if names.len() > 1 && arguments.trace.is_some() {
        bail!("--trace shows one process: run without --replicas and --partitions");
    }
    let needed = plan.peak_bytes.saturating_mul(names.len() as u64);
    if needed > limit {
        // Before the inputs are read: they alone may be too much.
        let place = plan.place.map(Box::new);
        return Err(source.too_much_memory(needed, limit, place.as_deref()));
    }
    let mut values: Vec<Vec<Value>> = Vec::new();
    for (number, name) in names.iter().enumerate() {
        // Each process has inputs of its own.
        let seed = arguments.random_inputs.map(|seed| seed.wrapping_add(number as u64));
        let files = inputs::Files { seed, ..inputs::Files::of(arguments) };
        let gathered = inputs::gather(entry, files, name)?;
        values.push(gathered.into_iter().map(|gathered| gathered.value).collect());
    }
    let mut hosts = feeds::read(arguments.infeed.as_deref(), &names)?;
    let cancel = interrupt::install()?;
    let flag = cancel.flag();
    let limits = Limits { memory_bytes: Some(limit), steps: None };
    let started = Instant::now();
    let (outcome, ops) = if grid == Grid::ONE {
        let trace = arguments.trace.as_deref().map(Trace::new).transpose()?;
        let total = source.program.op_count();
        let mut watch = Watch::new(source, trace, total, output.progress_is_visible());
        let outcome = interpreter(&source.program, arguments)
            .limits(limits)
            .cancel(&flag)
            .host(&mut hosts[0])
            .observer(&mut watch)
            .run(values.swap_remove(0));
        (outcome.map(|results| vec![results]), Some(watch.finish()?))
    } else {
        output.note(&format!("{} processes", names.len()));
        let program = &source.program;
        let function = arguments.function();
        let processes = Processes { program, function, grid, limits, cancel: Some(&flag) };
        (processes.run(values, &mut hosts), None)
    };
    let seconds = started.elapsed().as_secs_f64();
    let values = match outcome {
        Ok(values) => values,
        Err(EngineError::Cancelled) => {
            let done = ops.map_or_else(String::new, |ops| format!(" after {ops} ops"));
            output.note(&format!("interrupted{done}"));
            return Ok(Exit::Interrupted);
        }
        Err(error) => return Err(source.explain(error)),
    };
    if let Some(path) = &arguments.outfeed {
        let count = feeds::write(path, &names, &hosts)?;
        output.note(&format!("{count} tensors for the host written to {}", path.display()));
    }
    let left: usize = hosts.iter().map(Host::left).sum();
    if left > 0 {
        output.note(&format!("{left} entries of --infeed were not read"));
    }
    let ports = || interface::results(entry);
    let named = names.iter().zip(values).flat_map(|(process, values)| {
        ports().into_iter().zip(values).map(move |(mut port, value)| {
            port.name = format!("{process}{}", port.name);
            (port, value)
        })
    });
    let ran = results::Ran {
        file: &arguments.file,
        tier: arguments.tier(),
        function: &entry.name,
        ops,
        seconds,
        peak_bytes: needed,
        plan: None,
        results: named.collect(),
    };
    ran.show(arguments, output)?;
    Ok(Exit::Pass)
}

/// What stands before the names of each process's tensors; nothing where there is one process.
fn process_names(grid: Grid) -> Vec<String> {
    if grid == Grid::ONE {
        return vec![String::new()];
    }
    grid.processes().map(|process| format!("{}.{}/", process.replica, process.partition)).collect()
}

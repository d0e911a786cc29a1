//! The production tier: compile once, run once or as often as asked.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use warpforge_engine::pool::{Placement, Pool, allowed_cpus};
use warpforge_engine::reference::Value;
use warpforge_engine::{
    Arithmetic, Executable, Options, Sequence, fused, has_bf16_products, interface, normalized,
    passes,
};
use warpforge_hlo::ir::Function;
use warpforge_tensor::Tensor;

use super::audit::Audit;
use super::observed::Seen;
use super::profile::Profile;
use super::program::Source;
use super::{ceilings, choices, free_memory, inputs, interpreter, results};
use crate::arguments::run::{F32Products, Fusion, Precision, RunArguments, Stage, Tier};
use crate::exit::Exit;
use crate::output::Output;

/// Compiles and runs.
pub(super) fn run(arguments: &RunArguments, source: &Source, output: &mut Output) -> Result<Exit> {
    if arguments.trace.is_some() {
        bail!("--trace needs --tier correctness: kernels do not keep what lies between their ops");
    }
    let entry = interpreter(&source.program, arguments).entry()?;
    let gathered = inputs::gather(entry, inputs::Files::of(arguments), "")?;
    let mut fixed = HashMap::new();
    let mut values = Vec::new();
    let replaced = interface::replaced(entry);
    for (place, gathered) in gathered.into_iter().enumerate() {
        match gathered.value {
            // What a result takes the place of changes from run to run.
            Value::Tensor(tensor) if gathered.fixed && replaced[place].is_none() => {
                fixed.insert(place, tensor);
            }
            value => values.push(value),
        }
    }
    let threads = threads(arguments);
    // Before there are threads that wait for work, and take time from what is measured.
    let ceilings = wants_profile(arguments).then(|| ceilings::ceilings(threads)).transpose()?;
    let pool = Arc::new(Pool::new(threads, &Placement::spread(threads))?);
    let options = options(arguments, entry, fixed, threads);
    let started = Instant::now();
    let compiled = Executable::compile(&source.program, pool, &options);
    let mut executable = compiled.map_err(|error| source.explain(error))?;
    let compile_seconds = started.elapsed().as_secs_f64();
    if let Some(choices) = &options.choices {
        choices::keep(choices);
    }
    if let Some(reason) = executable.unplanned() {
        output.note(&format!("note: run by the reference interpreter: {reason}"));
    }
    if arguments.serve {
        let ready = serde_json::json!({
            "threads": threads,
            "ready_milliseconds": (source.seconds + compile_seconds) * 1e3,
            "compile_milliseconds": compile_seconds * 1e3,
            "kernels": executable.report().len(),
            "plan": executable.plan_hash(),
            "arena_bytes": executable.memory().arena_bytes,
            "live_bytes": executable.memory().live_bytes + executable.memory().result_bytes,
            "kept_bytes": executable.memory().kept_bytes,
        });
        output.line(&format!("ready {ready}"))?;
        let values = values.as_slice();
        return if replaced.iter().any(Option::is_some) && executable.unplanned().is_none() {
            let sequence = Sequence::new(executable, values)?;
            serve(arguments, entry, &mut Continued { sequence, values }, output)
        } else {
            serve(arguments, entry, &mut Repeated { executable, values, last: None }, output)
        };
    }
    if let Some(folder) = &arguments.audit {
        let folder = (folder.as_os_str() != "-").then_some(folder.as_path());
        let audit = Audit::of(&mut executable, &values, folder, output.progress_is_visible())?;
        if arguments.json {
            output.line(&audit.json().to_string())?;
        } else {
            output.text(&audit.page(output.width()))?;
        }
        return Ok(if audit.passed() { Exit::Pass } else { Exit::Failed });
    }
    let started = Instant::now();
    let mut computed = executable.run(&values).map_err(|error| source.explain(error))?;
    let seconds = started.elapsed().as_secs_f64();
    let profile = match ceilings {
        Some(ceilings) => {
            let measured = Profile::measure(
                &mut executable,
                &values,
                &mut computed,
                ceilings,
                compile_seconds,
            );
            let mut profile = measured.map_err(|error| source.explain(error))?;
            if profile.beats_the_ceilings() {
                profile.hold_against(ceilings::again(threads, profile.ceilings())?);
            }
            Some(profile)
        }
        None => None,
    };
    let ran = ran(arguments, entry, &executable, seconds, computed);
    if let Some(profile) = &profile {
        profile.write(arguments, output)?;
    }
    match (&profile, arguments.profile) {
        (Some(profile), Some(by)) => {
            ran.write_if_asked(arguments)?;
            output.text(&profile.page(by, output.width()))?;
            for line in options.choices.as_deref().map(choices::lines).unwrap_or_default() {
                output.line(&line)?;
            }
        }
        _ if options.observed && executable.unplanned().is_none() => {
            // The first run also brought memory and code into place.
            executable.run(&values).map_err(|error| source.explain(error))?;
            ran.write_if_asked(arguments)?;
            let seen = Seen { steps: executable.report() };
            if arguments.json {
                output.line(&ran.json(Some(seen.json())))?;
            } else {
                output.text(&seen.page(output.width()))?;
            }
        }
        _ => ran.show(arguments, output)?,
    }
    Ok(Exit::Pass)
}

/// How many threads a run has.
fn threads(arguments: &RunArguments) -> usize {
    match arguments.threads {
        Some(threads) => usize::from(threads),
        None => allowed_cpus().len().max(1),
    }
}

/// `threads` were counted before there was a pool, which takes this thread to one processor.
fn options(
    arguments: &RunArguments,
    entry: &Function,
    fixed: HashMap<usize, Tensor>,
    threads: usize,
) -> Options {
    Options {
        function: Some(entry.name.clone()),
        memory_bytes: Some(arguments.max_memory.unwrap_or_else(free_memory)),
        precision: match arguments.precision {
            Some(Precision::Bf16) => passes::Precision::Bf16,
            Some(Precision::Auto) if has_bf16_products() => passes::Precision::Bf16,
            Some(Precision::F32 | Precision::Auto) | None => passes::Precision::AsWritten,
        },
        arithmetic: match arguments.f32_products {
            F32Products::Fastest => Arithmetic::Fastest,
            F32Products::Plain => Arithmetic::Plain,
        },
        fusion: match arguments.fusion {
            Fusion::Measured | Fusion::All => warpforge_engine::Fusion::All,
            Fusion::NoChains => warpforge_engine::Fusion::NoChains,
            Fusion::None => warpforge_engine::Fusion::None,
        },
        choices: (arguments.fusion == Fusion::Measured).then(|| choices::known(threads)),
        others: false,
        observed: arguments.tier() == Tier::Observable,
        audited: arguments.audit.is_some(),
        fixed,
    }
}

/// The text of a program at a stage on its way to kernels.
pub(super) fn dump(arguments: &RunArguments, source: &Source, stage: Stage) -> Result<String> {
    if stage == Stage::Parsed {
        return Ok(source.program.to_string());
    }
    let entry = interpreter(&source.program, arguments).entry()?;
    let threads = threads(arguments);
    let options = options(arguments, entry, inputs::weights(entry, &arguments.weights)?, threads);
    let explained = |error| source.explain(error);
    Ok(match stage {
        Stage::Parsed | Stage::Normalized => {
            normalized(&source.program, &options).map_err(explained)?.to_string()
        }
        Stage::Fused => fused(&source.program, &options).map_err(explained)?.to_string(),
        Stage::Plan => {
            let pool = Arc::new(Pool::new(threads, &Placement::Anywhere)?);
            let executable =
                Executable::compile(&source.program, pool, &options).map_err(explained)?;
            if let Some(choices) = &options.choices {
                choices::keep(choices);
            }
            match executable.unplanned() {
                Some(reason) => format!("no plan; the reference interpreter runs it: {reason}\n"),
                None => format!("{}hash: {}\n", executable.plan_text(), executable.plan_hash()),
            }
        }
    })
}

fn wants_profile(arguments: &RunArguments) -> bool {
    arguments.profile.is_some() || arguments.trace_file.is_some() || arguments.roofline.is_some()
}

fn ran<'a>(
    arguments: &'a RunArguments,
    entry: &'a Function,
    executable: &Executable,
    seconds: f64,
    computed: Vec<Value>,
) -> results::Ran<'a> {
    results::Ran {
        file: &arguments.file,
        tier: arguments.tier(),
        function: &entry.name,
        ops: Some(executable.function().body.op_count() as u64),
        seconds,
        peak_bytes: executable.memory().bytes(),
        plan: executable.unplanned().is_none().then(|| executable.plan_hash()),
        results: interface::results(entry).into_iter().zip(computed).collect(),
    }
}

/// Runs of a program that was made ready, one whenever a line asks for it.
trait Served {
    /// Runs once.
    fn run(&mut self) -> Result<()>;

    /// Results to be written, and the executable they come from.
    fn results(&mut self) -> Result<(&Executable, Vec<Value>)>;
}

/// Every run begins with the same values; results are those of the last.
struct Repeated<'a> {
    executable: Executable,
    values: &'a [Value],
    last: Option<Vec<Value>>,
}

impl Served for Repeated<'_> {
    fn run(&mut self) -> Result<()> {
        // The memory of results that nobody has is used again.
        self.last = None;
        self.last = Some(self.executable.run(self.values)?);
        Ok(())
    }

    fn results(&mut self) -> Result<(&Executable, Vec<Value>)> {
        let last = self.last.take().context("nothing has run yet")?;
        Ok((&self.executable, last))
    }
}

/// Results take the places of arguments: a run goes on where the last one ended. Results are those of the first run from the
/// beginning.
struct Continued<'a> {
    sequence: Sequence,
    values: &'a [Value],
}

impl Served for Continued<'_> {
    fn run(&mut self) -> Result<()> {
        Ok(self.sequence.step()?)
    }

    fn results(&mut self) -> Result<(&Executable, Vec<Value>)> {
        for (input, value) in self.values.iter().enumerate() {
            self.sequence.set(input, value)?;
        }
        self.sequence.step()?;
        Ok((self.sequence.executable(), self.sequence.results()?))
    }
}

/// Answers lines until `quit` or the end.
fn serve(
    arguments: &RunArguments,
    entry: &Function,
    served: &mut dyn Served,
    output: &mut Output,
) -> Result<Exit> {
    let mut seconds = 0.0;
    for line in std::io::stdin().lock().lines() {
        let line = line.context("cannot read the next request")?;
        match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
            ("run", _) => {
                let started = Instant::now();
                served.run()?;
                let elapsed = started.elapsed();
                seconds = elapsed.as_secs_f64();
                output.line(&elapsed.as_nanos().to_string())?;
            }
            ("outputs", path) => {
                let (executable, computed) = served.results()?;
                ran(arguments, entry, executable, seconds, computed).write(Path::new(path))?;
                output.line("ok")?;
            }
            ("quit", _) => break,
            (other, _) => bail!("expected run, outputs PATH or quit, found {other:?}"),
        }
    }
    Ok(Exit::Pass)
}

//! `warpt gate`: read the rules and the records, judge, measure again what is suspicious, judge for good.

mod before;
mod remeasure;

use std::path::Path;

use anyhow::{Context, Result, bail};
use jiff::Zoned;
use warpt_bench::record::{read_record, to_json};
use warpt_bench::{BenchmarkSuiteRun, Cancel, Outcome as Ran};
use warpt_history::gate::{Gate, GateReport, Outcome, Remeasured, Rules, starter};

use self::before::Before;
use self::remeasure::Remeasure;
use crate::arguments::gate::{GateArguments, GateCommand};
use crate::exit::Exit;
use crate::export;
use crate::interrupt;
use crate::output::Output;

/// Judges, or writes rules to start from.
pub fn run(arguments: &GateArguments, config: Option<&Path>, output: &mut Output) -> Result<Exit> {
    if let Some(GateCommand::Init { record, rules }) = &arguments.command {
        return init(record, rules, output);
    }
    let rules = Rules::read(&arguments.rules)?;
    let Before { like: before, baseline } = before::find(arguments, config)?;
    let noise = before::noise(arguments.null.as_deref(), output)?;
    let cancel = interrupt::install()?;
    let remeasure = Remeasure::new(arguments, &rules, &before, &cancel)?;
    let (name, candidate) = match &arguments.candidate {
        Some(path) => (path.display().to_string(), read_record(path)?),
        None => {
            output.note("running the baseline's benchmarks for the candidate");
            match remeasure.whole(&before) {
                Err(_) if cancel.is_cancelled() => return Ok(Exit::Interrupted),
                run => (remeasure.candidate().display().to_string(), run?),
            }
        }
    };
    let today = Zoned::now().date();
    let mut gate = Gate::open(&rules, &baseline, (&name, &candidate), noise.as_ref(), today);
    if !arguments.no_remeasure && !again(&mut gate, &remeasure, &cancel, output) {
        return Ok(Exit::Interrupted);
    }
    let report = gate.finish(&arguments.rules.display().to_string());
    show(&report, arguments, output)?;
    Ok(exit(&report, &candidate))
}

/// Measures every suspect again; false when the user stopped it.
fn again(
    gate: &mut Gate<'_>,
    remeasure: &Remeasure<'_>,
    cancel: &Cancel,
    output: &mut Output,
) -> bool {
    let suspects: Vec<_> = gate.suspects().cloned().collect();
    let mut measured: Vec<(String, Remeasured)> = Vec::new();
    for (index, suspect) in suspects.iter().enumerate() {
        if measured.iter().any(|(metric, _)| *metric == suspect.metric) {
            continue;
        }
        output.note(&format!(
            "measuring again ({} of {}): {}",
            index + 1,
            suspects.len(),
            warpt_report::text::clean(&suspect.metric)
        ));
        // Runs give every metric of a benchmark at once.
        let siblings: Vec<&str> = suspects
            .iter()
            .filter(|other| other.benchmark == suspect.benchmark)
            .map(|other| other.metric.as_str())
            .collect();
        measured.extend(remeasure.suspect(suspect, &siblings));
        if cancel.is_cancelled() {
            return false;
        }
    }
    for (metric, again) in measured {
        gate.remeasured(&metric, again);
    }
    true
}

fn show(report: &GateReport, arguments: &GateArguments, output: &mut Output) -> Result<()> {
    if let Some(path) = arguments.export.path("gate", "") {
        export::write(&path, report)?;
        output.note(&format!("written to {}", path.display()));
    }
    if arguments.json {
        return output.line(&to_json(report));
    }
    let width = output.width();
    output.text(&warpt_report::gate::page(report, width))
}

fn exit(report: &GateReport, candidate: &BenchmarkSuiteRun) -> Exit {
    if candidate.count(Ran::Passed) == 0 && report.verdict != Outcome::Regression {
        return Exit::Inconclusive;
    }
    match report.verdict {
        Outcome::Pass | Outcome::Excepted => Exit::Pass,
        Outcome::Inconclusive => Exit::Inconclusive,
        Outcome::Regression | Outcome::ExpiredException | Outcome::Broken => Exit::Failed,
    }
}

fn init(record: &Path, rules: &Path, output: &mut Output) -> Result<Exit> {
    let run = read_record(record)?;
    if rules.exists() {
        bail!("{} exists; remove it or name another with --rules", rules.display());
    }
    let text = starter(&run);
    warpt_bench::record::write_atomically(rules, text.trim_end().as_bytes())
        .context("the rules cannot be written")?;
    output.note(&format!(
        "written to {}; look at the limits before relying on them",
        rules.display()
    ));
    Ok(Exit::Pass)
}

//! `warpt benchmark null`: each case against itself, again and again, so that the gate knows what this machine's noise
//! looks like. The file is rewritten after each case; what was measured before an interrupt is kept.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use jiff::Timestamp;
use warpt_bench::paired::{Compared, PairedConfig, Verdict};
use warpt_bench::registry::Selected;
use warpt_bench::runner::{Runner, Silent, production_clock};
use warpt_bench::{BenchmarkId, Cancel, RunRequest};
use warpt_history::null::{NullFile, NullMachine, NullMetric, NullTrial, default_path};
use warpt_machine::inventory::Machine;
use warpt_report::number::seconds;

use super::super::ab::{Wanted, against_itself, benchmark_side, is_interrupt, random_seed};
use crate::arguments::NullArguments;
use crate::commands::list;
use crate::exit::Exit;
use crate::export;
use crate::interrupt;
use crate::output::Output;

/// A case to be compared with itself.
struct NullCase {
    benchmark: BenchmarkId,
    label: String,
    metric: String,
    params: Vec<(String, String)>,
}

/// Compares the chosen cases with themselves.
pub(super) fn run(arguments: &NullArguments, output: &mut Output) -> Result<Exit> {
    let cancel = interrupt::install()?;
    let machine = list::collect(&[], false);
    let cases = cases(arguments, &machine, &cancel)?;
    let path = match &arguments.export_file {
        Some(path) => path.clone(),
        None => default_path(&machine.fingerprint())
            .context("neither XDG_STATE_HOME nor HOME is set: choose a place with --export-file")?,
    };
    let mut file = open(&path, &machine)?;
    if let Some(directory) = path.parent().filter(|_| arguments.export_file.is_none()) {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot create {}", directory.display()))?;
    }
    let all = arguments.budget * f64::from(arguments.repeats) * cases.len() as f64;
    output.note(&format!(
        "{} cases, {} comparisons each, up to {}",
        cases.len(),
        arguments.repeats,
        seconds(all)
    ));
    let mut measured = Vec::new();
    let mut ended = false;
    for (index, case) in cases.iter().enumerate() {
        output.note(&format!("[{}/{}] {}", index + 1, cases.len(), case.metric));
        let (trials, interrupted) = trials(arguments, case, &cancel)?;
        let now = Timestamp::now();
        if let Some(metric) = NullMetric::from_trials(&trials, arguments.budget, now) {
            file.metrics.insert(case.metric.clone(), metric);
            file.written_at = now;
            env!("CARGO_PKG_VERSION").clone_into(&mut file.warpt_version);
            export::write(&path, &file)?;
            measured.push(case.metric.clone());
        }
        if interrupted {
            ended = true;
            break;
        }
    }
    if arguments.json {
        output.line(&warpt_bench::record::to_json(&file))?;
    } else {
        let width = output.width();
        output.text(&warpt_report::null::table(&file, &measured, width))?;
    }
    if !measured.is_empty() {
        output.note(&format!("kept in {}", path.display()));
    }
    Ok(if ended { Exit::Interrupted } else { exit(&file, &measured) })
}

/// What there is to compare: every case that fits, by its first metric.
fn cases(arguments: &NullArguments, machine: &Machine, cancel: &Cancel) -> Result<Vec<NullCase>> {
    let request = RunRequest {
        benchmarks: arguments.benchmark.clone(),
        params: arguments.params.clone(),
        threads: arguments.threads,
        working_directory: directory(arguments),
        ..RunRequest::default()
    };
    let clock = production_clock();
    let runner = Runner {
        clock: &clock,
        machine: std::sync::Arc::new(machine.clone()),
        cancel: cancel.clone(),
        observer: &mut Silent,
        isolation: None,
    };
    let mut found = Vec::new();
    let mut labels = Vec::new();
    for item in warpt_suites::registry().select(&request)? {
        let id = item.spec.id.clone();
        let context = runner.context(&item, &request);
        for case in item.benchmark.prepare(&context).with_context(|| id.to_string())? {
            let label = case.label();
            let fits = |part: &String| label.to_lowercase().contains(&part.to_lowercase());
            labels.push(label.clone());
            let metric = case.metrics().first().map(|metric| metric.id(&id));
            if let (Some(metric), true) =
                (metric, arguments.case.is_empty() || arguments.case.iter().any(fits))
            {
                let params = own_params(&item, &arguments.params);
                found.push(NullCase { benchmark: id.clone(), label, metric, params });
            }
        }
    }
    if found.is_empty() {
        bail!("no case fits; the cases are:\n  {}", labels.join("\n  "));
    }
    Ok(found)
}

/// The parameters that this benchmark knows, without their scope.
fn own_params(item: &Selected, params: &[(String, String)]) -> Vec<(String, String)> {
    let own = params.iter().filter_map(|(key, value)| {
        let (scope, name) = match key.split_once('.') {
            Some((scope, name)) => (Some(scope), name),
            None => (None, key.as_str()),
        };
        let mine = scope.is_none_or(|scope| scope == item.spec.id.name)
            && item.spec.parameters.iter().any(|spec| spec.name == name);
        mine.then(|| (name.to_owned(), value.clone()))
    });
    own.collect()
}

fn directory(arguments: &NullArguments) -> PathBuf {
    arguments.directory.clone().unwrap_or_else(|| ".".into())
}

/// The file to add to: the one that is there, if it speaks of this machine.
fn open(path: &Path, machine: &Machine) -> Result<NullFile> {
    let hostname = machine.host.as_ref().and_then(|host| host.hostname.clone());
    let here = NullMachine { fingerprint: machine.fingerprint(), hostname };
    match NullFile::read(path).with_context(|| path.display().to_string())? {
        None => Ok(NullFile::new(here, env!("CARGO_PKG_VERSION"), Timestamp::now())),
        Some(file) if file.machine.fingerprint == here.fingerprint => Ok(file),
        Some(_) => Err(anyhow!(
            "{} speaks of another machine; choose another place with --export-file",
            path.display()
        )),
    }
}

/// The comparisons of one case with itself, and whether the user ended them.
fn trials(
    arguments: &NullArguments,
    case: &NullCase,
    cancel: &Cancel,
) -> Result<(Vec<NullTrial>, bool)> {
    let binary = std::env::current_exe().context("cannot find this program")?;
    let (name, directory) = (case.benchmark.to_string(), directory(arguments));
    let wanted = Wanted {
        binary: &binary,
        benchmark: &name,
        params: case.params.clone(),
        threads: arguments.threads,
        directory: Some(&directory),
    };
    let budget = Duration::from_secs_f64(arguments.budget);
    let mut trials = Vec::new();
    for _ in 0..arguments.repeats {
        let side = || benchmark_side(&wanted, &case.label, None, cancel);
        let like = PairedConfig { seed: random_seed(), ..PairedConfig::short() };
        match against_itself(side(), side(), budget, &like, cancel) {
            Ok(compared) => trials.push(trial(&compared)),
            Err(error) if is_interrupt(&error) => return Ok((trials, true)),
            Err(error) => return Err(error.context(case.metric.clone())),
        }
    }
    Ok((trials, false))
}

fn trial(compared: &Compared) -> NullTrial {
    let found = &compared.comparison;
    NullTrial {
        ratio: found.ratio,
        minimum_detectable_effect: found.minimum_detectable_effect,
        flagged: found.verdict.is_difference(),
        inconclusive: found.verdict == Verdict::Inconclusive,
    }
}

/// More than one false alarm in a hundred is worth an exit code; a single one may always happen.
fn exit(file: &NullFile, measured: &[String]) -> Exit {
    let found = || measured.iter().filter_map(|metric| file.metrics.get(metric));
    let repeats: u64 = found().map(|metric| u64::from(metric.repeats)).sum();
    let flagged: u64 = found().map(|metric| u64::from(metric.flagged)).sum();
    match repeats {
        0 => Exit::Inconclusive,
        _ if flagged > 1.max(repeats / 100) => Exit::Failed,
        _ => Exit::Pass,
    }
}

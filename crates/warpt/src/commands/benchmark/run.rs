//! `warpt benchmark run`: settle the configuration, choose, look at the host, run, keep, render.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use jiff::Timestamp;
use warpt_bench::isolate::Isolation;
use warpt_bench::record::{
    RecordFile, RunState, SCHEMA_VERSION, default_file_name, random_id, to_json,
};
use warpt_bench::registry::Selected;
use warpt_bench::runner::{RunEnd, Runner, duration_seconds, production_clock};
use warpt_bench::{BenchmarkComponent, BenchmarkSuiteRun, Outcome, RunRequest};
use warpt_machine::preflight::{Preflight, PreflightConfig};
use warpt_machine::source::SystemRoot;
use warpt_report::{number, result};

use super::super::monitor::{Watch, WatchOptions};
use crate::arguments::RunArguments;
use crate::commands::{history, list};
use crate::config::Config;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::Output;
use crate::progress::Progress;

/// Runs the selected benchmarks.
pub(super) fn run(
    arguments: &RunArguments,
    config: Option<&Path>,
    output: &mut Output,
) -> Result<Exit> {
    let config = settle(arguments, config)?;
    let request = request(arguments, &config)?;
    let selected = warpt_suites::registry().select(&request)?;
    if arguments.dry_run {
        return dry_run(&selected, &request, arguments, output);
    }
    let cancel = interrupt::install()?;
    let machine = Arc::new(list::collect(&[], config.flag("redact")));
    let preflight = Preflight::check(&SystemRoot::live(), &PreflightConfig::default());
    let run = describe_run(&selected, &request, arguments, preflight);
    let mut record = match export_path(arguments, &config, &request) {
        Some(path) => Some(RecordFile::create(&path, run.clone())?),
        None => None,
    };
    if let (Some(preflight), false) = (&run.preflight, arguments.json) {
        output.note(result::preflight(preflight, output.width()).trim_end());
    }
    let watch = Watch::start(&watch_options(arguments, &config))?;
    let seconds = selected.iter().map(|item| duration_seconds(item, &request)).collect();
    let mut progress = Progress::new(seconds, output, !arguments.json);
    let end = Runner {
        clock: &production_clock(),
        machine,
        cancel,
        observer: &mut progress,
        isolation: Some(Isolation {
            program: std::env::current_exe().context("cannot find this program")?,
            arguments: vec!["benchmark".into(), "run-child".into()],
        }),
    }
    .run(selected, &request, run, record.as_mut(), &mut |result| {
        result.timeline = watch.slice(result.start_time, result.end_time);
    });
    progress.finish()?;
    let timeline = watch.stop()?;
    let end = end?;
    render(arguments, &end, record.as_ref(), timeline.as_ref(), output)?;
    if !arguments.no_history && config.flag("history") {
        history::keep(&end.run, &config, output);
    }
    Ok(verdict(&end))
}

/// Lays the options over the configuration.
fn settle(arguments: &RunArguments, file: Option<&Path>) -> Result<Config> {
    let mut config = Config::load(file)?;
    config.option("duration", arguments.duration.as_deref())?;
    config.option("burnin_seconds", arguments.burnin_seconds.as_deref())?;
    config.option("precision", arguments.precision.as_deref())?;
    config.option("threads", arguments.threads.as_deref())?;
    config.option("directory", arguments.directory.as_deref())?;
    config.option("monitor_interval", arguments.monitor.monitor_interval.as_deref())?;
    config.switch("isolate", arguments.isolate)?;
    config.switch("redact", arguments.redact)?;
    config.switch(
        "monitor",
        arguments.monitor.monitor || arguments.monitor.monitor_output.is_some(),
    )?;
    Ok(config)
}

fn request(arguments: &RunArguments, config: &Config) -> Result<RunRequest> {
    let mut request = RunRequest {
        suite: arguments.suite.clone(),
        benchmarks: arguments.benchmark.clone(),
        components: arguments.component.clone(),
        duration_seconds: config.number("duration"),
        burnin_seconds: config.number("burnin_seconds").unwrap_or(0.0),
        params: arguments.params.clone(),
        target_precision: config.number("precision").unwrap_or(0.005),
        isolate: config.flag("isolate"),
        working_directory: PathBuf::from(config.text("directory")),
        threads: config.number("threads").map(|count| count as usize),
    };
    // Parameters of the files serve whichever benchmarks know them; on the command line an unknown one is a mistake.
    let known = known_parameters(&request)?;
    let from_files = config.params.iter().filter(|(key, _)| {
        let name = key.rsplit('.').next().unwrap_or(key);
        known.iter().any(|(benchmark, parameter)| {
            parameter == name && key.split_once('.').is_none_or(|(scope, _)| scope == benchmark)
        })
    });
    request.params = from_files.cloned().chain(arguments.params.iter().cloned()).collect();
    if let Some(peer) = &arguments.peer {
        request.params.push(("peer".into(), peer.clone()));
    }
    if let Some(path) = &arguments.token_file {
        request.params.push(("token_file".into(), path.display().to_string()));
    }
    Ok(request)
}

/// Benchmark and parameter names of what would run without any parameters.
fn known_parameters(request: &RunRequest) -> Result<Vec<(String, String)>> {
    let bare = RunRequest { params: Vec::new(), ..request.clone() };
    let selected = warpt_suites::registry().select(&bare)?;
    let names = selected.iter().flat_map(|item| {
        item.spec.parameters.iter().map(|spec| (item.spec.id.name.clone(), spec.name.clone()))
    });
    Ok(names.collect())
}

fn dry_run(
    selected: &[Selected],
    request: &RunRequest,
    arguments: &RunArguments,
    output: &mut Output,
) -> Result<Exit> {
    if arguments.json {
        let specs: Vec<_> = selected.iter().map(|item| &item.spec).collect();
        output.line(&to_json(&specs))?;
        return Ok(Exit::Pass);
    }
    let mut total = 0.0;
    for item in selected {
        let seconds = duration_seconds(item, request);
        total += seconds;
        output.line(&format!(
            "would run {} for up to {}",
            item.spec.id,
            number::seconds(seconds)
        ))?;
    }
    let count = selected.len();
    output.line(&format!("{count} benchmarks, up to {} of sampling", number::seconds(total)))?;
    Ok(Exit::Pass)
}

/// The record before anything ran.
fn describe_run(
    selected: &[Selected],
    request: &RunRequest,
    arguments: &RunArguments,
    preflight: Preflight,
) -> BenchmarkSuiteRun {
    let mut components: Vec<BenchmarkComponent> = request.components.clone();
    if components.is_empty() {
        components = selected.iter().flat_map(|item| item.spec.components.clone()).collect();
    }
    components.sort();
    components.dedup();
    let mut metadata: BTreeMap<String, String> = arguments.label.iter().cloned().collect();
    metadata.insert("warpt_version".into(), env!("CARGO_PKG_VERSION").into());
    if let Some(duration) = request.duration_seconds {
        metadata.insert("duration_seconds".into(), duration.to_string());
    }
    metadata.insert("burnin_seconds".into(), request.burnin_seconds.to_string());
    metadata.insert("target_precision".into(), request.target_precision.to_string());
    metadata.insert("isolated".into(), request.isolate.to_string());
    BenchmarkSuiteRun {
        schema_version: SCHEMA_VERSION,
        suite: request.subject(),
        components,
        benchmarks: Vec::new(),
        metadata: Some(metadata),
        run_id: Some(random_id()),
        state: RunState::Running,
        start_time: Some(Timestamp::now()),
        end_time: None,
        preflight: Some(preflight),
        extra: serde_json::Map::new(),
    }
}

fn export_path(arguments: &RunArguments, config: &Config, request: &RunRequest) -> Option<PathBuf> {
    if arguments.no_export {
        return None;
    }
    arguments.export.path("benchmark", &request.subject()).or_else(|| {
        let name = default_file_name("benchmark", &request.subject(), Timestamp::now());
        config.flag("export").then(|| PathBuf::from(name))
    })
}

fn watch_options(arguments: &RunArguments, config: &Config) -> WatchOptions {
    WatchOptions {
        enabled: config.flag("monitor"),
        interval_seconds: config.number("monitor_interval").unwrap_or(1.0),
        output: arguments.monitor.monitor_output.clone(),
    }
}

fn render(
    arguments: &RunArguments,
    end: &RunEnd,
    record: Option<&RecordFile>,
    timeline: Option<&warpt_machine::monitor::Timeline>,
    output: &mut Output,
) -> Result<()> {
    if arguments.json {
        output.line(&to_json(&end.run))?;
    } else {
        if let Some(timeline) = timeline {
            let width = output.width();
            output.text(&warpt_report::timeline::page(timeline, width))?;
        }
        output.text(&result::summary(&end.run))?;
    }
    if let Some(record) = record {
        output.note(&format!("record: {}", record.path().display()));
    }
    Ok(())
}

/// A run passes when something ran and nothing failed.
fn verdict(end: &RunEnd) -> Exit {
    if end.environment_error {
        return Exit::Error;
    }
    if end.run.state == RunState::Interrupted {
        return Exit::Interrupted;
    }
    if end.run.count(Outcome::Failed) > 0 {
        return Exit::Failed;
    }
    if end.run.count(Outcome::Passed) == 0 { Exit::Inconclusive } else { Exit::Pass }
}

//! `warpt report`: records become a page or another tool's file. It reads and writes files and measures nothing.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use jiff::Timestamp;
use warpt_bench::record::{
    SampleData, default_file_name, read_record, read_samples, write_atomically,
};
use warpt_history::compare::{CompareOptions, compare};
use warpt_history::trends::{Itself, Trends};
use warpt_report::formats::Format;
use warpt_report::number::bytes;
use warpt_report::report::{NamedRun, Report};

use crate::arguments::report::ReportArguments;
use crate::commands::history;
use crate::config::Config;
use crate::exit::Exit;
use crate::export::plain;
use crate::output::Output;

/// Samples kept per metric: enough for a picture and for other tools' tests.
const MAX_SAMPLES: usize = 10_000;

/// Writes the report.
pub fn run(
    arguments: &ReportArguments,
    config: Option<&Path>,
    output: &mut Output,
) -> Result<Exit> {
    let format = Format::named(&arguments.format)
        .with_context(|| format!("unknown format {:?}", arguments.format))?;
    let mut runs = Vec::new();
    for path in &arguments.records {
        runs.push(read(path, output)?);
    }
    let title = arguments.title.clone().unwrap_or_else(|| title(&runs));
    let mut report = Report::of_runs(title, runs);
    report.created = Some(Timestamp::now());
    if let (Some(path), Some(last)) = (&arguments.baseline, report.runs.last()) {
        let baseline = read(path, output)?;
        let options = CompareOptions::default();
        let comparison =
            compare((&baseline.name, &baseline.run), (&last.name, &last.run), &options)
                .map_err(|error| anyhow!(error))?;
        report.comparison = Some(comparison);
    }
    if let (true, Some(last)) = (arguments.history, report.runs.last()) {
        let store = history::open(arguments.store.as_deref(), &Config::load(config)?)?;
        let trends = Trends::behind(&store, &last.run, None, Itself::Included)?;
        let shown = Report::histories(&last.run, &trends);
        if shown.is_empty() {
            output.note("history: no earlier run of these benchmarks on this machine");
        }
        report.history = shown;
    }
    let text = (format.render)(&report);
    let text = text.trim_end_matches('\n');
    match target(arguments, format, &report) {
        None => output.line(text)?,
        Some(path) => {
            write_atomically(&path, text.as_bytes())?;
            output.note(&format!("report: {} ({})", path.display(), bytes(text.len() as u64)));
        }
    }
    Ok(Exit::Pass)
}

/// A record with the samples of its sidecar file in it.
fn read(path: &Path, output: &mut Output) -> Result<NamedRun> {
    let mut run = read_record(path)?;
    let mut missing = 0;
    for metric in run.benchmarks.iter_mut().flat_map(|result| &mut result.metrics) {
        let Some(samples @ SampleData::Sidecar { .. }) = &metric.samples else { continue };
        match read_samples(path, samples) {
            Ok(values) => {
                let step = values.len().div_ceil(MAX_SAMPLES).max(1);
                let values = values.into_iter().step_by(step).collect();
                metric.samples = Some(SampleData::Inline { values });
            }
            Err(_) => missing += 1,
        }
    }
    if missing > 0 {
        output.note(&format!(
            "{}: the samples of {missing} metrics are not beside it, so they are not drawn",
            path.display()
        ));
    }
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
    Ok(NamedRun { name: name.unwrap_or_else(|| path.display().to_string()), run })
}

fn title(runs: &[NamedRun]) -> String {
    let mut suites: Vec<&str> = runs.iter().map(|named| named.run.suite.as_str()).collect();
    suites.sort_unstable();
    suites.dedup();
    format!("warpt {}", suites.join(", "))
}

fn target(arguments: &ReportArguments, format: &Format, report: &Report) -> Option<PathBuf> {
    match &arguments.output {
        Some(path) if path.as_os_str() == "-" => None,
        Some(path) => Some(path.clone()),
        None if format.name == "html" => {
            let subject = report.runs.last().map(|named| plain(&named.run.suite));
            let name = default_file_name("report", &subject.unwrap_or_default(), Timestamp::now());
            Some(Path::new(&name).with_extension(format.extension))
        }
        None => None,
    }
}

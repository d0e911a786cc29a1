//! A validation as the record that benchmarks leave: the verdict as outcome and checks, the time of each step as samples. So the
//! history keeps it, and `warpt benchmark compare`, `warpt gate` and `warpt report` read it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use jiff::Timestamp;
use serde_json::{Map, Value};
use warpforge_golden::{Bundle, Run};
use warpforge_validate::{FreeRun, FreeVerdict, Judged, Kind, Timing, Validation};
use warpt_bench::record::{
    BenchmarkMetric, BenchmarkRunResult, BenchmarkSpec, Check, RunState, SCHEMA_VERSION, random_id,
};
use warpt_bench::{
    BenchmarkComponent, BenchmarkId, BenchmarkKind, BenchmarkSuiteRun, Outcome, ParamValue,
};
use warpt_machine::conditions::ConditionsProbe;
use warpt_machine::inventory::Machine;
use warpt_machine::preflight::{Preflight, PreflightConfig};
use warpt_machine::source::SystemRoot;

use super::{free_run, page};
use crate::arguments::golden::{RecordArguments, ValidateArguments};
use crate::commands::{history, list};
use crate::config::Config;
use crate::export::{self, plain};
use crate::output::Output;

/// The suite that validations are of.
pub const SUITE: &str = "validate";

/// What is known before anything ran.
pub(super) struct Recording {
    machine: Machine,
    preflight: Preflight,
    start: Timestamp,
    labels: BTreeMap<String, String>,
    probe: ConditionsProbe,
}

/// The configuration with the options of a record laid over it.
pub(super) fn settle(arguments: &RecordArguments, file: Option<&Path>) -> Result<Config> {
    let mut config = Config::load(file)?;
    config.switch("redact", arguments.redact)?;
    Ok(config)
}

fn for_history(arguments: &RecordArguments, config: &Config) -> bool {
    !arguments.no_history && config.flag("history")
}

impl Recording {
    /// Looks at the machine, where a record, a page or the history asks for it.
    pub(super) fn begin(arguments: &ValidateArguments, config: &Config) -> Option<Self> {
        let record = &arguments.record;
        let wanted = for_history(record, config)
            || record.export.export
            || record.export.export_file.is_some()
            || arguments.judgement.html.is_some();
        wanted.then(|| {
            let machine = list::collect(&[], config.flag("redact"));
            let root = SystemRoot::live();
            Self {
                machine,
                preflight: Preflight::check(&root, &PreflightConfig::default()),
                start: Timestamp::now(),
                labels: record.label.iter().cloned().collect(),
                probe: ConditionsProbe::begin(&root),
            }
        })
    }

    /// The record of steps from golden states.
    pub(super) fn steps(self, bundle: &Bundle, validation: &Validation) -> BenchmarkSuiteRun {
        let id = BenchmarkId::new(SUITE, plain(&validation.recipe));
        let tags = tags(&validation.run);
        let mut metrics = Vec::new();
        let mut took = |name: &str, of: fn(&Timing) -> f64| {
            let samples = validation.timing.iter().map(|timing| of(timing) * 1e3).collect();
            metrics.extend(time(&id, name, &tags, samples));
        };
        took("step_time", |timing| timing.seconds);
        took("gradients_time", |timing| timing.gradients_seconds);
        took("update_time", |timing| timing.update_seconds);
        let mut checks = Vec::new();
        for kind in Kind::ALL.into_iter().filter(|kind| kind.is_judged()) {
            let judged = || validation.comparisons.iter().filter(move |each| each.kind == kind);
            let (all, held) = (judged().count(), judged().filter(|each| each.passed()).count());
            if all == 0 {
                continue;
            }
            let share = judged().map(Judged::share).fold(0.0, f64::max);
            let used = page::used(share);
            let detail = format!("{held} of {all} tensors within tolerance, {used} of it used");
            checks.push(Check::new(kind.name(), held == all, detail));
            if share.is_finite() {
                let mut tags = tags.clone();
                tags.insert("compared".to_owned(), kind.name().to_owned());
                metrics.push(supporting(&id, "tolerance_used", &tags, 100.0 * share));
            }
        }
        let (outcome, reason) = match (validation.judged(), validation.mismatches().next()) {
            (0, _) => (Outcome::Skipped, Some("nothing was judged".to_owned())),
            (_, None) => (Outcome::Passed, None),
            (_, Some(first)) => {
                let headline = page::headline(validation);
                (Outcome::Failed, Some(format!("{headline}; first: {}", page::located(first))))
            }
        };
        let described = "steps of a golden bundle, each from its golden state, once each";
        self.finish(bundle, id, described, Ended { metrics, checks, outcome, reason })
    }

    /// The record of free runs.
    pub(super) fn free_run(self, bundle: &Bundle, found: &FreeRun) -> BenchmarkSuiteRun {
        let id = BenchmarkId::new(SUITE, format!("{}-free-run", plain(&found.recipe)));
        let tags = tags(&found.run);
        let each = found.curves.iter().filter(|curve| !curve.loss.is_empty());
        let samples = each.map(|curve| curve.seconds * 1e3 / curve.loss.len() as f64).collect();
        let mut metrics: Vec<_> = time(&id, "step_time", &tags, samples).into_iter().collect();
        for (name, share) in
            [("loss_difference", found.largest_share), ("final_loss_difference", found.final_share)]
        {
            if share.is_finite() {
                metrics.push(supporting(&id, name, &tags, 100.0 * share));
            }
        }
        let (headline, summary) = (free_run::headline(found), free_run::summary(found));
        let curves = found.curves_match();
        let mut checks = vec![Check::new("loss curves", curves, summary)];
        for (line, holds) in free_run::beside(found) {
            let name = line.split(':').next().unwrap_or_default().to_owned();
            checks.push(Check::new(name, holds, line));
        }
        for metric in found.metrics.iter().filter(|metric| metric.own.is_finite()) {
            metrics.push(supporting(&id, &metric.name, &tags, metric.own));
        }
        let (outcome, reason) = match found.verdict {
            FreeVerdict::Match => (Outcome::Passed, None),
            FreeVerdict::Mismatch | FreeVerdict::GoldenMissesTarget => {
                (Outcome::Failed, Some(headline))
            }
            FreeVerdict::Inconclusive => (Outcome::Skipped, Some(headline)),
        };
        let described = "training from every golden start; each sample is the mean step of a run";
        self.finish(bundle, id, described, Ended { metrics, checks, outcome, reason })
    }

    fn finish(
        self,
        bundle: &Bundle,
        id: BenchmarkId,
        described: &str,
        ended: Ended,
    ) -> BenchmarkSuiteRun {
        let components = vec![BenchmarkComponent::Cpu];
        let spec = BenchmarkSpec {
            id,
            components: components.clone(),
            kind: BenchmarkKind::Application,
            description: Some(described.to_owned()),
            default_duration_seconds: None,
            external_tool: None,
            params: Some(params(bundle)),
            parameters: Vec::new(),
            check: Some("every tensor or curve by what plain PyTorch computed".to_owned()),
            ceiling: None,
            extra: Map::new(),
        };
        let mut result = BenchmarkRunResult::begun(spec, Some(self.machine));
        let verified = Some(ended.outcome == Outcome::Passed);
        result.start_time = self.start;
        result.metrics =
            ended.metrics.into_iter().map(|each| BenchmarkMetric { verified, ..each }).collect();
        result.warnings = result.metrics.iter().flat_map(BenchmarkMetric::notices).collect();
        result.checks = ended.checks;
        result.end(ended.outcome, ended.reason);
        result.happened_meanwhile(self.probe.end());
        let mut metadata = self.labels;
        metadata.insert("warpt_version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        metadata.insert("golden".to_owned(), bundle.digest().to_owned());
        BenchmarkSuiteRun {
            schema_version: SCHEMA_VERSION,
            suite: SUITE.to_owned(),
            components,
            end_time: Some(result.end_time),
            benchmarks: vec![result],
            metadata: Some(metadata),
            run_id: Some(random_id()),
            state: RunState::Complete,
            start_time: Some(self.start),
            preflight: Some(self.preflight),
            extra: Map::new(),
        }
    }
}

/// What a validation leaves in its record.
struct Ended {
    metrics: Vec<BenchmarkMetric>,
    checks: Vec<Check>,
    outcome: Outcome,
    reason: Option<String>,
}

/// Writes the record where that was asked for, and adds it to the history.
pub(super) fn keep(
    run: &BenchmarkSuiteRun,
    arguments: &RecordArguments,
    config: &Config,
    output: &mut Output,
) -> Result<()> {
    let name = run.benchmarks.first().map_or("", |result| &result.spec.id.name);
    if let Some(path) = arguments.export.path(SUITE, name) {
        export::write(&path, run)?;
        output.note(&format!("record: {}", path.display()));
    }
    if for_history(arguments, config) {
        history::keep(run, config, output);
    }
    Ok(())
}

/// What tells a run from others of the same bundle.
fn tags(run: &Run) -> BTreeMap<String, String> {
    let mut tags = BTreeMap::from([
        ("tier".to_owned(), run.tier.clone()),
        ("precision".to_owned(), run.precision.clone()),
    ]);
    tags.extend(run.threads.map(|threads| ("threads".to_owned(), threads.to_string())));
    tags
}

/// What tells the work of a bundle from that of others: a bundle made again in the same way is the same work.
fn params(bundle: &Bundle) -> BTreeMap<String, ParamValue> {
    let manifest = bundle.manifest();
    let text = |text: &str| ParamValue::Text(text.to_owned());
    let number = |number: u64| ParamValue::Int(i64::try_from(number).unwrap_or(i64::MAX));
    let mut params: BTreeMap<String, ParamValue> =
        manifest.model.options.iter().map(|(key, value)| (key.clone(), param(value))).collect();
    params.extend(manifest.model.name.as_ref().map(|name| ("model".to_owned(), text(name))));
    let configuration = &manifest.configuration;
    params.insert("batch_size".to_owned(), number(configuration.batch_size));
    params.insert("ranks".to_owned(), number(configuration.ranks));
    params.insert("dtype".to_owned(), text(&configuration.dtype));
    params.insert("optimizer".to_owned(), text(&configuration.optimizer.name));
    params
}

fn param(value: &Value) -> ParamValue {
    match value {
        Value::Bool(value) => ParamValue::Bool(*value),
        Value::String(value) => ParamValue::Text(value.clone()),
        Value::Number(value) => match (value.as_i64(), value.as_f64()) {
            (Some(value), _) => ParamValue::Int(value),
            (None, Some(value)) => ParamValue::Float(value),
            (None, None) => ParamValue::Text(value.to_string()),
        },
        other => ParamValue::Text(other.to_string()),
    }
}

fn time(
    id: &BenchmarkId,
    name: &str,
    tags: &BTreeMap<String, String>,
    milliseconds: Vec<f64>,
) -> Option<BenchmarkMetric> {
    BenchmarkMetric::of_samples(id, name, "ms", false, tags.clone(), milliseconds)
}

fn supporting(
    id: &BenchmarkId,
    name: &str,
    tags: &BTreeMap<String, String>,
    percent: f64,
) -> BenchmarkMetric {
    let metric = BenchmarkMetric::single(id, name, "%", false, tags.clone(), percent);
    BenchmarkMetric { supporting: true, ..metric }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_keep_their_types() {
        let parsed = |text: &str| param(&serde_json::from_str(text).unwrap());
        assert_eq!(parsed("4"), ParamValue::Int(4));
        assert_eq!(parsed("0.5"), ParamValue::Float(0.5));
        assert_eq!(parsed("true"), ParamValue::Bool(true));
        assert_eq!(parsed("\"float32\""), ParamValue::Text("float32".to_owned()));
        assert_eq!(parsed("[1, 2]"), ParamValue::Text("[1,2]".to_owned()));
        assert_eq!(parsed("null"), ParamValue::Text("null".to_owned()));
    }
}

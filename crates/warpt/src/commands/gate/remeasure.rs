//! Measuring again: paired with the baseline's program where there is one, otherwise repeated runs of the candidate's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use warpt_bench::paired::{Launch, LineLimits, LineProcess, PairedConfig, compare, first_reading};
use warpt_bench::record::{metric_id, read_record};
use warpt_bench::runner::{Runner, Silent, production_clock};
use warpt_bench::{BenchmarkSuiteRun, Cancel, Outcome, ParamValue, RunRequest};
use warpt_history::gate::{Remeasured, Rules, Suspect};

use crate::arguments::gate::GateArguments;
use crate::commands::list;

/// How long a `warpt` may prepare, and how long a sample may take.
const LIMITS: LineLimits =
    LineLimits { start: Duration::from_secs(180), answer: Duration::from_secs(120) };

/// How the candidate is measured again.
pub(super) struct Remeasure<'a> {
    candidate: PathBuf,
    baseline: Option<PathBuf>,
    runs: u16,
    budget: Duration,
    directory: &'a Path,
    /// Parameters of each benchmark in the baseline.
    params: BTreeMap<String, Vec<(String, String)>>,
    cancel: &'a Cancel,
}

impl<'a> Remeasure<'a> {
    pub(super) fn new(
        arguments: &'a GateArguments,
        rules: &Rules,
        before: &BenchmarkSuiteRun,
        cancel: &'a Cancel,
    ) -> Result<Self> {
        let found = |path: &PathBuf| {
            path.canonicalize()
                .with_context(|| format!("cannot find the program {}", path.display()))
        };
        let candidate = match &arguments.candidate_binary {
            Some(path) => found(path)?,
            None => std::env::current_exe().context("cannot find this program")?,
        };
        let params = before.benchmarks.iter().map(|result| {
            let used: &BTreeMap<String, ParamValue> = match &result.spec.params {
                Some(params) => params,
                None => return (result.spec.id.to_string(), Vec::new()),
            };
            let pairs = used.iter().map(|(key, value)| (key.clone(), value.to_string()));
            (result.spec.id.to_string(), pairs.filter(|(_, value)| !value.is_empty()).collect())
        });
        Ok(Self {
            candidate,
            baseline: arguments.baseline_binary.as_ref().map(found).transpose()?,
            runs: arguments.runs,
            budget: Duration::from_secs_f64(rules.remeasure_seconds),
            directory: &arguments.directory,
            params: params.collect(),
            cancel,
        })
    }

    /// The candidate's program.
    pub(super) fn candidate(&self) -> &Path {
        &self.candidate
    }

    /// One run of everything the baseline measured.
    pub(super) fn whole(&self, before: &BenchmarkSuiteRun) -> Result<BenchmarkSuiteRun> {
        let mut all: Option<BenchmarkSuiteRun> = None;
        for result in before.benchmarks.iter().filter(|one| one.outcome != Outcome::Skipped) {
            let run = self.run(&result.spec.id.to_string())?;
            match &mut all {
                Some(all) => all.benchmarks.extend(run.benchmarks),
                None => all = Some(run),
            }
        }
        all.context("the baseline ran nothing that could be run again")
    }

    /// Fresh measurements of a suspect, and of its siblings where they come along.
    pub(super) fn suspect(
        &self,
        suspect: &Suspect,
        siblings: &[&str],
    ) -> Vec<(String, Remeasured)> {
        let Some(baseline) = &self.baseline else { return self.repeated(suspect, siblings) };
        match self.paired(baseline, suspect) {
            Ok(compared) => vec![(suspect.metric.clone(), compared)],
            Err(error) => {
                vec![(suspect.metric.clone(), Remeasured::Failed(format!("{error:#}")))]
            }
        }
    }

    fn params(&self, benchmark: &str) -> &[(String, String)] {
        self.params.get(benchmark).map_or(&[], Vec::as_slice)
    }

    fn paired(&self, baseline: &Path, suspect: &Suspect) -> Result<Remeasured> {
        let case = self.case(suspect)?;
        let side = |name: &str, program: &Path| {
            let mut launch = Launch::new([program.as_os_str()]);
            let mut add = |text: &str| launch.arguments.push(text.into());
            for text in ["benchmark", "serve-samples", "--benchmark", &suspect.benchmark] {
                add(text);
            }
            for (key, value) in self.params(&suspect.benchmark) {
                add("--params");
                add(&format!("{key}={value}"));
            }
            for text in ["--case", &case, "--directory"] {
                add(text);
            }
            launch.arguments.push(self.directory.into());
            LineProcess::new(name, launch, LIMITS, self.cancel.clone())
        };
        let mut a = side("the baseline's program", baseline);
        let mut b = side("the candidate's program", &self.candidate);
        let clock = production_clock();
        let reading = first_reading(&mut a, &mut b, self.budget, &clock, self.cancel)?;
        let config = reading.plan(self.budget, &PairedConfig::short());
        let left = self.budget.saturating_sub(Duration::from_nanos(reading.spent_ns as u64));
        let compared = compare(&mut a, &mut b, &config, left, &clock, self.cancel, &mut |_| ())?;
        b.verify().context("the candidate's result")?;
        Ok(Remeasured::Paired(Box::new(compared.comparison)))
    }

    /// The label of the case whose first metric is the suspect: what a served sample is the cost of.
    fn case(&self, suspect: &Suspect) -> Result<String> {
        let request = RunRequest {
            benchmarks: vec![suspect.benchmark.clone()],
            params: self.params(&suspect.benchmark).to_vec(),
            working_directory: self.directory.to_owned(),
            ..RunRequest::default()
        };
        let item = warpt_suites::registry().select(&request)?.remove(0);
        let clock = production_clock();
        let runner = Runner {
            clock: &clock,
            machine: Arc::new(list::collect(&[], false)),
            cancel: self.cancel.clone(),
            observer: &mut Silent,
            isolation: None,
        };
        let cases = item.benchmark.prepare(&runner.context(&item, &request))?;
        let leads = |metrics: Vec<warpt_bench::MetricSpec>| {
            metrics.first().is_some_and(|metric| {
                metric_id(&item.spec.id, metric.name, &metric.tags) == suspect.metric
            })
        };
        match cases.iter().find(|case| leads(case.metrics())) {
            Some(case) => Ok(case.label()),
            None => bail!(
                "no case leads with this metric, so it cannot be paired; leave --baseline-binary out to repeat runs"
            ),
        }
    }

    fn repeated(&self, suspect: &Suspect, siblings: &[&str]) -> Vec<(String, Remeasured)> {
        let mut values: BTreeMap<&str, Vec<f64>> =
            siblings.iter().map(|metric| (*metric, Vec::new())).collect();
        let mut failure = None;
        for _ in 0..self.runs {
            match self.run(&suspect.benchmark) {
                Ok(run) => take(&run, &mut values),
                Err(error) => {
                    failure = Some(format!("{error:#}"));
                    break;
                }
            }
        }
        let measured = |(metric, values): (&str, Vec<f64>)| {
            let again = match &failure {
                Some(reason) => Remeasured::Failed(reason.clone()),
                None => Remeasured::Repeated(values),
            };
            (metric.to_owned(), again)
        };
        values.into_iter().map(measured).collect()
    }

    /// One run of one benchmark in a process of its own.
    fn run(&self, benchmark: &str) -> Result<BenchmarkSuiteRun> {
        let scratch = tempfile::tempdir().context("cannot create a scratch directory")?;
        let record = scratch.path().join("record.json");
        let mut command = Command::new(&self.candidate);
        command.args(["benchmark", "run", "--benchmark", benchmark]);
        for (key, value) in self.params(benchmark) {
            command.arg("--params").arg(format!("{key}={value}"));
        }
        command.arg("--directory").arg(self.directory);
        command.arg("--export-file").arg(&record);
        let output = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .output()
            .with_context(|| format!("cannot start {}", self.candidate.display()))?;
        if self.cancel.is_cancelled() {
            bail!("interrupted");
        }
        if !record.exists() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{benchmark}: {}", said.lines().last().unwrap_or("it wrote no record"));
        }
        Ok(read_record(&record)?)
    }
}

/// Adds the values of a run to those wanted.
fn take(run: &BenchmarkSuiteRun, values: &mut BTreeMap<&str, Vec<f64>>) {
    for metric in run.benchmarks.iter().flat_map(|result| &result.metrics) {
        if let Some(values) = metric.id.as_deref().and_then(|id| values.get_mut(id)) {
            values.push(metric.value);
        }
    }
}

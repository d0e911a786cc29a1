//! Carries a selection out: for each benchmark prepare, warm up until steady, sample until precise enough, verify,
//! summarize, append to the record at once. Nothing is kept only in memory longer than one benchmark.

mod measure;
mod progress;
mod summarize;

use std::sync::Arc;

use jiff::Timestamp;
use warpt_machine::conditions::ConditionsProbe;
use warpt_machine::inventory::Machine;
use warpt_machine::source::SystemRoot;

pub use measure::{Series, Settings, calibrate, measure};
pub use progress::{Event, Observer, Phase, Silent};

use crate::benchmark::{Case, CaseError, Unready};
use crate::clock::{Clock, MonotonicClock};
use crate::context::{Cancel, Context};
use crate::error::BenchError;
use crate::isolate::{ChildRequest, Isolation};
use crate::record::{
    BenchmarkMetric, BenchmarkRunResult, BenchmarkSuiteRun, Check, Notice, Outcome, RecordFile,
    RunState,
};
use crate::registry::Selected;
use crate::request::RunRequest;
use crate::sampler::Overhead;

/// The sampling time of a benchmark that states none.
const DEFAULT_DURATION_SECONDS: f64 = 5.0;

/// Runs benchmarks one after another: two at once would measure each other.
pub struct Runner<'run> {
    /// What time it is.
    pub clock: &'run dyn Clock,
    /// The machine, attached to every result.
    pub machine: Arc<Machine>,
    /// Set by the user to stop.
    pub cancel: Cancel,
    /// Told what happens.
    pub observer: &'run mut dyn Observer,
    /// How to start a child, when the request asks for isolation.
    pub isolation: Option<Isolation>,
}

/// How one benchmark ended; an environment error also ends the run.
pub struct Finished {
    /// The result.
    pub result: BenchmarkRunResult,
    /// The cause lies outside the benchmark: a full disk, a vanished peer.
    pub environment_error: bool,
}

/// How a whole run ended.
pub struct RunEnd {
    /// The results.
    pub run: BenchmarkSuiteRun,
    /// Something outside failed; the command ends with exit 2.
    pub environment_error: bool,
}

impl Runner<'_> {
    /// Runs everything selected, appending each result to `record` as soon as it is there. `annotate` may add to a
    /// result (a monitor's timeline) before it is kept.
    pub fn run(
        &mut self,
        selected: Vec<Selected>,
        request: &RunRequest,
        mut run: BenchmarkSuiteRun,
        mut record: Option<&mut RecordFile>,
        annotate: &mut dyn FnMut(&mut BenchmarkRunResult),
    ) -> Result<RunEnd, BenchError> {
        let total = selected.len();
        let mut environment_error = false;
        for (index, item) in selected.into_iter().enumerate() {
            if self.cancel.is_cancelled() {
                break;
            }
            let id = item.spec.id.clone();
            self.observer.event(&Event::BenchmarkStarted { index, total, id: &id });
            let mut finished = match (request.isolate, self.isolation.clone()) {
                (true, Some(isolation)) => self.run_isolated(&isolation, &item, request),
                _ => self.run_benchmark(&item, request),
            };
            annotate(&mut finished.result);
            if self.cancel.is_cancelled() && finished.result.outcome == Outcome::Failed {
                // A benchmark that was cut off is not a result.
                break;
            }
            environment_error |= finished.environment_error;
            if let Some(record) = record.as_deref_mut() {
                record.append(&finished.result)?;
            }
            self.observer.event(&Event::BenchmarkFinished { result: &finished.result });
            run.end_time = Some(finished.result.end_time);
            run.benchmarks.push(finished.result);
        }
        run.state =
            if self.cancel.is_cancelled() { RunState::Interrupted } else { RunState::Complete };
        if let Some(record) = record {
            record.finish(run.state)?;
        }
        Ok(RunEnd { run, environment_error })
    }

    /// Runs one benchmark in this process.
    pub fn run_benchmark(&mut self, item: &Selected, request: &RunRequest) -> Finished {
        let mut result =
            BenchmarkRunResult::begun(item.spec.clone(), Some(Machine::clone(&self.machine)));
        let context = self.context(item, request);
        let probe = ConditionsProbe::begin(&SystemRoot::live());
        let mut environment_error = false;
        match item.benchmark.prepare(&context) {
            Err(Unready::Skipped(reason)) => result.end(Outcome::Skipped, Some(reason)),
            Err(Unready::Failed(reason)) => {
                environment_error = true;
                result.end(Outcome::Failed, Some(reason));
            }
            Ok(cases) => match self.run_cases(cases, request, &context, &mut result) {
                Ok(()) => {
                    item.benchmark.conclude(&context, &mut result.metrics);
                    result.warnings.extend(summarize::limit_warnings(&result.metrics));
                    judge(&mut result);
                }
                Err(error) => {
                    environment_error = matches!(error, CaseError::Environment(_));
                    result.end(Outcome::Failed, Some(error.to_string()));
                }
            },
        }
        result.happened_meanwhile(probe.end());
        Finished { result, environment_error }
    }

    fn run_isolated(
        &mut self,
        isolation: &Isolation,
        item: &Selected,
        request: &RunRequest,
    ) -> Finished {
        let child = ChildRequest {
            id: item.spec.id.clone(),
            request: request.clone(),
            machine: Machine::clone(&self.machine),
        };
        match isolation.run(&child, &self.cancel, self.observer) {
            Ok(finished) => finished,
            Err(error) => {
                let mut result = BenchmarkRunResult::begun(
                    item.spec.clone(),
                    Some(Machine::clone(&self.machine)),
                );
                result.end(Outcome::Failed, Some(error.to_string()));
                result.end_time = Timestamp::now();
                Finished { result, environment_error: false }
            }
        }
    }

    /// What preparation of a benchmark sees under a request.
    pub fn context(&self, item: &Selected, request: &RunRequest) -> Context {
        let mut cpus = warpt_machine::topology::usable_cpus();
        if let Some(threads) = request.threads {
            cpus.truncate(threads.max(1));
        }
        Context {
            params: item.params.clone(),
            cpus,
            machine: Arc::clone(&self.machine),
            working_directory: request.working_directory.clone(),
            memory_limit_bytes: memory_limit(&self.machine),
            duration_seconds: duration_seconds(item, request),
            cancel: self.cancel.clone(),
        }
    }

    fn run_cases(
        &mut self,
        cases: Vec<Box<dyn Case>>,
        request: &RunRequest,
        context: &Context,
        result: &mut BenchmarkRunResult,
    ) -> Result<(), CaseError> {
        let overhead = Overhead::measure(self.clock);
        let count = cases.len().max(1);
        let case_ns = (context.duration_seconds / count as f64 * 1e9) as u64;
        for (index, mut case) in cases.into_iter().enumerate() {
            let label = case.label();
            let settings = Settings {
                sampling_ns: case_ns,
                burnin_ns: (request.burnin_seconds * 1e9) as u64,
                target_precision: request.target_precision,
            };
            let observer = &mut *self.observer;
            let mut report = |phase: Phase, fraction: f64| {
                observer.event(&Event::Progress { label: &label, index, count, phase, fraction });
            };
            match measure(case.as_mut(), &settings, self.clock, overhead, &self.cancel, &mut report)
            {
                Ok(series) => summarize::keep(case.as_mut(), series, result),
                Err(CaseError::Skipped(reason)) => result.warnings.push(Notice {
                    code: "case-skipped".into(),
                    message: format!("{label}: skipped: {reason}"),
                    metric: None,
                }),
                Err(error) => return Err(prefix(&label, error)),
            }
        }
        Ok(())
    }
}

/// The sampling time of a benchmark under a request.
pub fn duration_seconds(item: &Selected, request: &RunRequest) -> f64 {
    let stated = item.spec.default_duration_seconds.map_or(DEFAULT_DURATION_SECONDS, |s| s as f64);
    request.duration_seconds.unwrap_or(stated)
}

/// Three quarters of what is free, within the tightest control-group limit: a benchmark must not push the host into
/// swap nor itself over the limit.
fn memory_limit(machine: &Machine) -> u64 {
    let available = machine.memory.as_ref().and_then(|memory| memory.available_bytes);
    let limit = machine.limits.as_ref().and_then(|limits| limits.memory_limit_bytes);
    let free = available.unwrap_or(1 << 30);
    limit.map_or(free, |limit| free.min(limit)) / 4 * 3
}

/// Passed when something was measured and every check held.
fn judge(result: &mut BenchmarkRunResult) {
    let broken: Vec<&Check> = result.checks.iter().filter(|check| !check.passed).collect();
    if let Some(first) = broken.first() {
        let reason = format!("check failed: {}: {}", first.name, first.detail);
        result.end(Outcome::Failed, Some(reason));
    } else if result.metrics.iter().all(|metric: &BenchmarkMetric| metric.summary.is_none()) {
        let reasons: Vec<&str> = result.warnings.iter().map(|w| w.message.as_str()).collect();
        let reason = format!("no case could run here: {}", reasons.join("; "));
        result.end(Outcome::Skipped, Some(reason));
    } else {
        result.end(Outcome::Passed, None);
    }
}

fn prefix(label: &str, error: CaseError) -> CaseError {
    match error {
        CaseError::Skipped(reason) => CaseError::Skipped(format!("{label}: {reason}")),
        CaseError::Failed(reason) => CaseError::Failed(format!("{label}: {reason}")),
        CaseError::Environment(reason) => CaseError::Environment(format!("{label}: {reason}")),
    }
}

/// The clock of production runs.
pub fn production_clock() -> MonotonicClock {
    MonotonicClock::default()
}

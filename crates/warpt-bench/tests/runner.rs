//! The runner on a clock that only moves when a body says so: every decision is exact and repeatable.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use warpt_bench::record::{RecordFile, RunState, read_record};
use warpt_bench::registry::{Registry, Selected};
use warpt_bench::runner::{Settings, Silent, measure};
use warpt_bench::sampler::Overhead;
use warpt_bench::*;
use warpt_machine::inventory::Machine;

struct ManualClock(Rc<Cell<u64>>);

impl Clock for ManualClock {
    fn now_ns(&self) -> u64 {
        self.0.get()
    }
}

/// A body whose cost per iteration follows a script; the last entry repeats.
struct Scripted {
    clock: Rc<Cell<u64>>,
    costs_ns: Vec<u64>,
    calls: usize,
}

impl Scripted {
    fn new(costs_ns: &[u64]) -> (Self, ManualClock) {
        let clock = Rc::new(Cell::new(0));
        let case = Self { clock: Rc::clone(&clock), costs_ns: costs_ns.to_vec(), calls: 0 };
        (case, ManualClock(clock))
    }
}

impl Case for Scripted {
    fn label(&self) -> String {
        "scripted".into()
    }
    fn metrics(&self) -> Vec<MetricSpec> {
        vec![MetricSpec::time("time", "ns", 1e9), MetricSpec::rate("rate", "op/s", 1.0)]
    }
    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        let cost = self.costs_ns[self.calls.min(self.costs_ns.len() - 1)];
        self.calls += 1;
        let clock = &self.clock;
        sampler.time(|| clock.set(clock.get() + cost));
        Ok(())
    }
    fn verify(&mut self) -> Vec<Check> {
        vec![Check::new("ran", self.calls > 0, format!("{} calls", self.calls))]
    }
}

fn settings(sampling_ns: u64) -> Settings {
    Settings { sampling_ns, burnin_ns: 0, target_precision: 0.01 }
}

#[test]
fn a_constant_body_is_batched_warmed_up_and_stopped_early() {
    let (mut case, clock) = Scripted::new(&[1_000]);
    let cancel = Cancel::default();
    let series = measure(
        &mut case,
        &settings(60_000_000_000),
        &clock,
        Overhead::default(),
        &cancel,
        &mut |_, _| {},
    )
    .unwrap();
    assert!(series.steady);
    assert!(series.iterations >= 5_000, "{}", series.iterations);
    let samples = &series.metrics[0].1;
    assert!(samples.iter().all(|sample| (*sample - 1_000.0).abs() < 1e-6));
    assert!(series.metrics[1].1.iter().all(|rate| (*rate - 1e6).abs() < 1e-3));
    assert!(samples.len() < 100, "stopped once the interval was narrow: {}", samples.len());
}

#[test]
fn the_time_limit_ends_a_noisy_body_and_burn_in_is_a_floor() {
    let mut costs = Vec::new();
    for index in 0..10_000_u64 {
        costs.push(10_000_000 + index * 7_919 % 9_000_000);
    }
    let (mut case, clock) = Scripted::new(&costs);
    let cancel = Cancel::default();
    let limits = Settings { burnin_ns: 3_000_000_000, ..settings(1_000_000_000) };
    let series =
        measure(&mut case, &limits, &clock, Overhead::default(), &cancel, &mut |_, _| {}).unwrap();
    assert!(series.warm_up_samples >= 200, "{}", series.warm_up_samples);
    let sampled: f64 = series.metrics[0].1.iter().sum();
    assert!((1e9..1.1e9).contains(&sampled), "{sampled}");
}

#[test]
fn a_long_body_still_gets_its_minimum_of_samples() {
    let (mut case, clock) = Scripted::new(&[2_000_000_000]);
    let cancel = Cancel::default();
    let series = measure(
        &mut case,
        &settings(1_000_000),
        &clock,
        Overhead::default(),
        &cancel,
        &mut |_, _| {},
    )
    .unwrap();
    assert_eq!((series.iterations, series.metrics[0].1.len()), (1, 10));
}

#[test]
fn cancelling_stops_at_the_next_sample() {
    let (mut case, clock) = Scripted::new(&[1_000]);
    let cancel = Cancel::default();
    cancel.cancel();
    let end = measure(
        &mut case,
        &settings(1_000_000),
        &clock,
        Overhead::default(),
        &cancel,
        &mut |_, _| {},
    );
    assert!(end.is_err());
}

/// What a fake benchmark does.
#[derive(Clone, Copy)]
enum Behaviour {
    Passes,
    FailsItsCheck,
    Skips,
    LosesItsPeer,
}

struct Fake(&'static str, Behaviour);

struct FakeCase(Behaviour);

impl Benchmark for Fake {
    fn spec(&self) -> BenchmarkSpec {
        serde_json::from_value(serde_json::json!({
            "id": {"suite": "fake", "name": self.0}, "components": ["cpu"], "kind": "synthetic",
            "default_duration_seconds": 1,
        }))
        .unwrap()
    }
    fn prepare(&self, _context: &Context) -> Result<Vec<Box<dyn Case>>, Unready> {
        match self.1 {
            Behaviour::Skips => Err(Unready::Skipped("no such hardware".into())),
            behaviour => Ok(vec![Box::new(FakeCase(behaviour))]),
        }
    }
}

impl Case for FakeCase {
    fn label(&self) -> String {
        "case".into()
    }
    fn metrics(&self) -> Vec<MetricSpec> {
        vec![MetricSpec::observed("speed", "op/s", true).tag("threads", 1)]
    }
    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        if matches!(self.0, Behaviour::LosesItsPeer) {
            return Err(CaseError::Environment("the peer went away".into()));
        }
        sampler.observe("speed", 42.0);
        Ok(())
    }
    fn verify(&mut self) -> Vec<Check> {
        vec![Check::new("sum", !matches!(self.0, Behaviour::FailsItsCheck), "expected 1, found 2")]
    }
    fn sample_ns(&self) -> u64 {
        1
    }
}

struct FakeSuite;

impl Suite for FakeSuite {
    fn name(&self) -> &'static str {
        "fake"
    }
    fn description(&self) -> &'static str {
        "for tests"
    }
    fn benchmarks(&self) -> Vec<Box<dyn Benchmark>> {
        vec![
            Box::new(Fake("passes", Behaviour::Passes)),
            Box::new(Fake("fails", Behaviour::FailsItsCheck)),
            Box::new(Fake("skips", Behaviour::Skips)),
            Box::new(Fake("loses", Behaviour::LosesItsPeer)),
        ]
    }
}

fn registry() -> Registry {
    Registry::new(
        vec![Box::new(FakeSuite)],
        vec![(BenchmarkComponent::Cpu, vec![BenchmarkId::new("fake", "passes")])],
    )
}

fn select(request: &RunRequest) -> Result<Vec<Selected>, BenchError> {
    registry().select(request)
}

fn empty_run() -> BenchmarkSuiteRun {
    serde_json::from_value(serde_json::json!({"suite": "fake", "components": [], "benchmarks": []}))
        .unwrap()
}

#[test]
fn every_ending_is_recorded_with_its_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("record.json");
    let request = RunRequest { suite: Some("fake".into()), ..RunRequest::default() };
    let mut record = RecordFile::create(&path, empty_run()).unwrap();
    let end = Runner {
        clock: &MonotonicClock::default(),
        machine: Arc::new(Machine::default()),
        cancel: Cancel::default(),
        observer: &mut Silent,
        isolation: None,
    }
    .run(select(&request).unwrap(), &request, empty_run(), Some(&mut record), &mut |_| {})
    .unwrap();
    assert!(end.environment_error);
    let kept = read_record(&path).unwrap();
    assert_eq!(kept.state, RunState::Complete);
    assert_eq!(kept.benchmarks, end.run.benchmarks);
    let [passes, fails, skips, loses] = kept.benchmarks.as_slice() else { panic!("four results") };
    assert!(passes.success && passes.outcome == Outcome::Passed);
    let metric = &passes.metrics[0];
    assert_eq!(metric.id.as_deref(), Some("fake/passes/speed{threads=1}"));
    assert_eq!((metric.value, metric.verified), (42.0, Some(true)));
    assert!(!fails.success && fails.outcome == Outcome::Failed);
    assert_eq!(fails.error_message.as_deref(), Some("check failed: sum: expected 1, found 2"));
    assert!(!skips.success && skips.outcome == Outcome::Skipped);
    assert_eq!(skips.error_message.as_deref(), Some("no such hardware"));
    assert_eq!(loses.error_message.as_deref(), Some("case: the peer went away"));
}

#[test]
fn selection_knows_suites_components_and_misspellings() {
    let by = |suite: Option<&str>, benchmark: &[&str], component: &[BenchmarkComponent]| {
        select(&RunRequest {
            suite: suite.map(Into::into),
            benchmarks: benchmark.iter().map(|name| (*name).to_owned()).collect(),
            components: component.to_vec(),
            ..RunRequest::default()
        })
        .map(|selected| selected.into_iter().map(|item| item.spec.id.name).collect::<Vec<_>>())
        .map_err(|error| error.to_string())
    };
    assert_eq!(by(Some("fake"), &[], &[]).unwrap().len(), 4);
    assert_eq!(by(None, &[], &[BenchmarkComponent::Cpu]).unwrap(), ["passes"]);
    assert_eq!(by(None, &["fake/skips", "skips"], &[]).unwrap(), ["skips"]);
    assert!(by(Some("fale"), &[], &[]).unwrap_err().contains("did you mean fake"));
    assert!(by(Some("fake"), &["pases"], &[]).unwrap_err().contains("did you mean passes"));
    assert!(
        by(Some("fake"), &[], &[BenchmarkComponent::Gpu]).unwrap_err().contains("nothing to run")
    );
    let request = RunRequest {
        suite: Some("fake".into()),
        params: vec![("nothing".into(), "1".into())],
        ..RunRequest::default()
    };
    assert!(select(&request).is_err_and(|error| error.to_string().contains("unknown parameter")));
}

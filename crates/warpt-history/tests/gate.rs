//! The gate over whole records: what passes, what is suspicious, what measuring again decides, and what is never a pass.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use jiff::civil::{Date, date};
use serde_json::json;
use warpt_bench::BenchmarkSuiteRun;
use warpt_bench::record::parse_record;
use warpt_history::gate::{
    Baseline, Gate, GateReport, MetricNoise, NoNoiseFloor, NoiseFloor, Outcome, Remeasured, Rules,
    starter,
};
use warpt_stats::paired::{Observations, PairedConfig, Side, judge};
use warpt_stats::random::Random;
use warpt_stats::summary::Summary;

const TODAY: Date = date(2026, 5, 1);

/// A record of one benchmark `s/b` with a time and a rate, each with noise of the given share.
fn record(time: f64, rate: f64, noise: f64) -> BenchmarkSuiteRun {
    let mut random = Random::new(3);
    let mut metric = |name: &str, value: f64, unit: &str, higher: bool| {
        let samples: Vec<f64> = (0..50).map(|_| value * (1.0 + noise * random.normal())).collect();
        json!({
            "name": name, "value": value, "unit": unit, "higher_is_better": higher,
            "tags": {"n": "1"}, "id": format!("s/b/{name}{{n=1}}"), "verified": true,
            "summary": Summary::of(&samples),
        })
    };
    let metrics = [metric("time", time, "ns", false), metric("rate", rate, "GB/s", true)];
    run(&json!([{
        "spec": {"id": {"suite": "s", "name": "b"}, "components": ["cpu"], "kind": "synthetic"},
        "metrics": metrics, "success": true, "outcome": "passed",
        "start_time": "2026-04-30T10:00:00Z", "end_time": "2026-04-30T10:00:01Z",
    }]))
}

fn run(benchmarks: &serde_json::Value) -> BenchmarkSuiteRun {
    let text = json!({"suite": "s", "components": ["cpu"], "benchmarks": benchmarks}).to_string();
    parse_record(text.as_bytes()).unwrap()
}

fn rules(extra: &str) -> Rules {
    Rules::parse(&format!("version = 1\n[[rule]]\nbenchmark = \"s/*\"\nrelative = 0.05\n{extra}"))
        .unwrap()
}

fn judged(
    rules: &Rules,
    before: &BenchmarkSuiteRun,
    after: &BenchmarkSuiteRun,
    noise: &dyn NoiseFloor,
    again: Option<Remeasured>,
) -> GateReport {
    let baseline = Baseline::from_record("before.json", before);
    let mut gate = Gate::open(rules, &baseline, ("after.json", after), noise, TODAY);
    if let Some(again) = again {
        let suspects: Vec<String> = gate.suspects().map(|one| one.metric.clone()).collect();
        for metric in suspects {
            gate.remeasured(&metric, again.clone());
        }
    }
    gate.finish("warpt-gate.toml")
}

/// A paired comparison whose candidate costs `factor` times the baseline.
fn paired(factor: f64, noise: f64) -> Remeasured {
    let mut random = Random::new(11);
    let config = PairedConfig::short();
    let mut observations = Observations::new();
    for restart in 0..config.restarts {
        for block in 0..config.blocks_per_restart {
            for (side, level) in [(Side::A, 1.0), (Side::B, factor)] {
                let costs: Vec<f64> = (0..config.samples_per_segment)
                    .map(|_| level * (1.0 + noise * random.normal().abs()))
                    .collect();
                observations.push(restart, block, side, &costs);
            }
        }
    }
    Remeasured::Paired(Box::new(judge(&observations, &config, 1)))
}

fn outcome(report: &GateReport, metric: &str) -> Outcome {
    let of = |finding: &&warpt_history::gate::Finding| finding.subject.contains(metric);
    report.findings.iter().find(of).unwrap_or_else(|| panic!("{metric}: {report:?}")).outcome
}

#[test]
fn equal_records_pass_and_say_what_they_could_see() {
    let report = judged(
        &rules(""),
        &record(100.0, 10.0, 0.01),
        &record(100.5, 10.0, 0.01),
        &NoNoiseFloor,
        None,
    );
    assert_eq!(
        (report.verdict, report.guarded, report.unguarded),
        (Outcome::Pass, 2, 0),
        "{report:?}"
    );
    assert!(report.findings.iter().all(|one| one.minimum_detectable_effect.unwrap() < 0.05));
    assert!(report.notes[0].contains("only the noise within a run"), "{:?}", report.notes);
}

#[test]
fn a_suspicion_is_no_regression_until_it_is_measured_again() {
    let (before, after) = (record(100.0, 10.0, 0.01), record(112.0, 10.0, 0.01));
    let (rules, noise) = (rules(""), NoNoiseFloor);
    let report = judged(&rules, &before, &after, &noise, None);
    assert_eq!(report.verdict, Outcome::Inconclusive);
    assert!(report.findings[0].reasons[0].contains("not measured again"), "{report:?}");

    let report = judged(&rules, &before, &after, &noise, Some(paired(1.12, 0.01)));
    assert_eq!(
        (report.verdict, outcome(&report, "time")),
        (Outcome::Regression, Outcome::Regression)
    );
    assert_eq!(outcome(&report, "rate"), Outcome::Pass);
    assert!((report.findings[0].remeasured.unwrap() - 0.12).abs() < 0.01, "{report:?}");

    let report = judged(&rules, &before, &after, &noise, Some(paired(1.0, 0.01)));
    assert_eq!(report.verdict, Outcome::Pass, "{report:?}");
    let report =
        judged(&rules, &before, &after, &noise, Some(Remeasured::Failed("no such file".into())));
    assert_eq!(report.verdict, Outcome::Inconclusive);
}

#[test]
fn repeated_runs_confirm_what_persists_only() {
    let (before, after) = (record(100.0, 10.0, 0.01), record(120.0, 10.0, 0.01));
    let verdict = |values: &[f64]| {
        let again = Remeasured::Repeated(values.to_vec());
        judged(&rules(""), &before, &after, &NoNoiseFloor, Some(again)).verdict
    };
    assert_eq!(verdict(&[119.0, 121.0, 120.0, 120.5, 119.5]), Outcome::Regression);
    assert_eq!(verdict(&[100.1, 100.4, 99.8, 100.0, 100.2]), Outcome::Pass);
    assert_eq!(verdict(&[99.0, 140.0, 101.0, 120.0, 118.0]), Outcome::Inconclusive);
    assert_eq!(verdict(&[120.0, 120.0]), Outcome::Inconclusive);
    assert_eq!(verdict(&[]), Outcome::Inconclusive);
}

#[test]
fn what_cannot_be_seen_is_not_a_pass() {
    let noisy = record(100.0, 10.0, 0.4);
    let report = judged(&rules(""), &noisy, &noisy, &NoNoiseFloor, None);
    assert_eq!(report.verdict, Outcome::Inconclusive);
    assert!(report.findings[0].reasons[0].contains("cannot see what it guards"), "{report:?}");

    let quiet = record(100.0, 10.0, 0.01);
    let floor =
        MetricNoise { noise_floor_relative: 0.2, mde_relative: None, flagged: 0, repeats: 20 };
    let known = BTreeMap::from([("s/b/time{n=1}".to_owned(), floor)]);
    let report = judged(&rules(""), &quiet, &quiet, &known, None);
    assert_eq!(
        (outcome(&report, "time"), outcome(&report, "rate")),
        (Outcome::Inconclusive, Outcome::Pass)
    );

    let nothing = judged(&rules(""), &quiet, &run(&json!([])), &NoNoiseFloor, None);
    assert_eq!((nothing.verdict, nothing.guarded), (Outcome::Inconclusive, 0));
}

#[test]
fn a_rate_that_falls_is_worse_and_one_that_rises_is_not() {
    let again = || Some(paired(1.2, 0.01));
    let before = record(100.0, 10.0, 0.01);
    let report = judged(&rules(""), &before, &record(100.0, 8.0, 0.01), &NoNoiseFloor, again());
    assert_eq!(outcome(&report, "rate"), Outcome::Regression);
    assert!((report.findings[0].worsening.unwrap() - 0.25).abs() < 1e-9);
    let report = judged(&rules(""), &before, &record(80.0, 12.0, 0.01), &NoNoiseFloor, again());
    assert_eq!(report.verdict, Outcome::Pass);
}

#[test]
fn exceptions_hold_until_their_day_and_fail_after_it() {
    let exception = |day: &str, more: &str| {
        rules(&format!(
            "[[exception]]\nbenchmark = \"s/b\"\nmetric = \"time\"\nexpires = {day}\nreason = \"new allocator\"\n{more}"
        ))
    };
    let (before, after) = (record(100.0, 10.0, 0.01), record(112.0, 10.0, 0.01));
    let report = judged(&exception("2026-05-01", ""), &before, &after, &NoNoiseFloor, None);
    assert_eq!((report.verdict, outcome(&report, "time")), (Outcome::Pass, Outcome::Excepted));
    assert!(report.findings[0].reasons[0].contains("new allocator"));
    let narrow = exception("2026-05-01", "relative = 0.08");
    let report = judged(&narrow, &before, &after, &NoNoiseFloor, Some(paired(1.12, 0.01)));
    assert_eq!(report.verdict, Outcome::Regression);
    // Within the exception's own limit when measured again: allowed.
    let report = judged(&narrow, &before, &after, &NoNoiseFloor, Some(paired(1.07, 0.005)));
    assert_eq!(outcome(&report, "time"), Outcome::Excepted, "{report:?}");
    let report = judged(&exception("2026-04-30", ""), &before, &before, &NoNoiseFloor, None);
    assert_eq!((report.verdict, report.count(Outcome::ExpiredException)), (Outcome::Regression, 1));
}

#[test]
fn broken_and_vanished_benchmarks_and_misspelt_rules_are_named() {
    let before = record(100.0, 10.0, 0.01);
    let failed = run(&json!([{
        "spec": {"id": {"suite": "s", "name": "b"}, "components": ["cpu"], "kind": "synthetic"},
        "metrics": [], "success": false, "outcome": "failed", "error_message": "wrong sum",
        "start_time": "2026-04-30T10:00:00Z", "end_time": "2026-04-30T10:00:01Z",
    }]));
    let report = judged(&rules(""), &before, &failed, &NoNoiseFloor, None);
    assert_eq!((report.verdict, report.count(Outcome::Broken)), (Outcome::Regression, 1));
    let misspelt = rules("[[rule]]\nbenchmark = \"s/bb\"\nrelative = 0.1");
    let report = judged(&misspelt, &before, &before, &NoNoiseFloor, None);
    assert_eq!(report.verdict, Outcome::Inconclusive);
    assert!(report.findings[0].reasons[0].contains("did you mean s/b"), "{report:?}");
}

#[test]
fn absolute_limits_know_their_unit() {
    let absolute = |unit: &str| {
        Rules::parse(&format!(
            "version = 1\n[[rule]]\nbenchmark = \"*\"\nmetric = \"time\"\nabsolute = 8.0\nunit = \"{unit}\""
        ))
        .unwrap()
    };
    let before = record(100.0, 10.0, 0.01);
    let report = judged(&absolute("ns"), &before, &record(107.0, 1.0, 0.01), &NoNoiseFloor, None);
    assert_eq!((report.verdict, report.unguarded), (Outcome::Pass, 1), "{report:?}");
    let report = judged(
        &absolute("ns"),
        &before,
        &record(109.0, 1.0, 0.01),
        &NoNoiseFloor,
        Some(paired(1.09, 0.01)),
    );
    assert_eq!(report.verdict, Outcome::Regression);
    let report = judged(&absolute("us"), &before, &before, &NoNoiseFloor, None);
    assert_eq!(report.verdict, Outcome::Inconclusive);
}

#[test]
fn history_gives_its_own_spread() {
    let series = BTreeMap::from([
        ("s/b/time{n=1}".to_owned(), vec![100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8]),
        ("s/b/rate{n=1}".to_owned(), vec![10.0; 7]),
    ]);
    let baseline = Baseline::from_series("the last 7 runs", &series);
    let (rules, after) = (rules(""), record(101.0, 10.0, 0.01));
    let gate = Gate::open(&rules, &baseline, ("after", &after), &NoNoiseFloor, TODAY);
    assert_eq!(gate.suspects().count(), 0);
    let report = gate.finish("rules");
    assert_eq!(report.verdict, Outcome::Pass, "{report:?}");
    assert!(report.notes.is_empty());
}

#[test]
fn the_starter_file_is_a_rules_file_that_passes_its_own_record() {
    let before = record(100.0, 10.0, 0.01);
    let rules = Rules::parse(&starter(&before)).unwrap();
    assert_eq!(rules.rules.len(), 2);
    assert_eq!(judged(&rules, &before, &before, &NoNoiseFloor, None).verdict, Outcome::Pass);
    let noisy = record(100.0, 10.0, 0.3);
    assert!(Rules::parse(&starter(&noisy)).is_ok());
}

//! Two records made by hand: what is aligned, what is called, what is refused.

use std::collections::BTreeMap;

use proptest::prelude::*;
use warpt_bench::params::ParamValue;
use warpt_bench::record::{
    BenchmarkMetric, BenchmarkRunResult, BenchmarkSuiteRun, Outcome, SampleData, parse_record,
};
use warpt_stats::Summary;
use warpt_stats::random::Random;

use super::*;

fn samples(median: f64, noise: f64, count: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..count).map(|_| median * (1.0 + noise * random.normal())).collect()
}

fn metric(name: &str, values: &[f64], higher_is_better: bool) -> BenchmarkMetric {
    let text = format!(
        r#"{{"name": "{name}", "value": 1.0, "unit": "u", "higher_is_better": {higher_is_better}, "verified": true}}"#
    );
    let mut metric: BenchmarkMetric = serde_json::from_str(&text).unwrap();
    metric.summary = Summary::of(values);
    metric.value = metric.summary.as_ref().map_or(f64::NAN, |summary| summary.median);
    metric.samples = Some(SampleData::Inline { values: values.to_vec() });
    metric
}

fn result(name: &str, metrics: Vec<BenchmarkMetric>) -> BenchmarkRunResult {
    let text = format!(
        r#"{{"spec": {{"id": {{"suite": "s", "name": "{name}"}}, "components": ["cpu"], "kind": "synthetic"}},
            "metrics": [], "success": true,
            "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:01Z"}}"#
    );
    let mut result: BenchmarkRunResult = serde_json::from_str(&text).unwrap();
    result.metrics = metrics;
    result
}

fn run(benchmarks: Vec<BenchmarkRunResult>) -> BenchmarkSuiteRun {
    let text = br#"{"suite": "s", "components": ["cpu"], "benchmarks": []}"#;
    let mut run = parse_record(text).unwrap();
    run.benchmarks = benchmarks;
    run
}

fn one(a: BenchmarkRunResult, b: BenchmarkRunResult) -> RecordComparison {
    compare(("a", &run(vec![a])), ("b", &run(vec![b])), &CompareOptions::default()).unwrap()
}

#[test]
fn direction_and_size_decide_the_verdict() {
    let base = samples(100.0, 0.002, 60, 1);
    let more = samples(120.0, 0.002, 60, 2);
    let near = samples(100.3, 0.002, 60, 3);
    let slightly = samples(106.0, 0.02, 12, 4);
    let noisy = samples(108.0, 0.3, 12, 5);
    for (values, higher, expected) in [
        (&more, true, Verdict::Better),
        (&more, false, Verdict::Worse),
        (&near, true, Verdict::Same),
        (&slightly, true, Verdict::Inconclusive),
        (&noisy, true, Verdict::Inconclusive),
    ] {
        let of = |values: &[f64]| result("x", vec![metric("m", values, higher)]);
        let comparison = one(of(&base), of(values));
        let change = &comparison.changes[0];
        assert_eq!(change.verdict, expected, "{change:?}");
        assert_eq!(change.ratio > 1.0, higher, "{change:?}");
        assert!(change.low.unwrap() <= change.ratio && change.ratio <= change.high.unwrap());
        let (low, high) = change.relative_interval().unwrap();
        assert!(low <= change.relative() && change.relative() <= high, "{change:?}");
        assert_eq!(comparison.verdict(), expected);
    }
}

#[test]
fn a_single_value_has_no_verdict_and_a_measured_floor_raises_the_bar() {
    let of = |values: &[f64]| result("x", vec![metric("m", values, true)]);
    let single = one(of(&[100.0]), of(&[200.0]));
    assert_eq!(single.changes[0].verdict, Verdict::Inconclusive);
    assert_eq!((single.changes[0].low, single.changes[0].threshold), (None, None));
    let options = CompareOptions {
        noise: NoiseFloors::new([("s/x/m".to_owned(), 0.5)]),
        ..CompareOptions::default()
    };
    let (a, b) = (samples(100.0, 0.002, 60, 1), samples(120.0, 0.002, 60, 2));
    let (a, b) = (run(vec![of(&a)]), run(vec![of(&b)]));
    let comparison = compare(("a", &a), ("b", &b), &options).unwrap();
    assert_eq!(comparison.changes[0].verdict, Verdict::Same);
    assert!(comparison.changes[0].reasons.iter().any(|reason| reason.contains("measured noise")));
}

#[test]
fn separate_runs_of_the_same_noise_are_not_told_apart() {
    // Each run has luck of its own, 1.5% here, which its own interval cannot know.
    let mut random = Random::new(7);
    let flagged = (0..400)
        .filter(|&trial| {
            let mut side = |seed| {
                let luck = 100.0 * (1.0 + 0.015 * random.normal());
                result("x", vec![metric("m", &samples(luck, 0.01, 30, seed), true)])
            };
            let comparison = one(side(trial * 2), side(trial * 2 + 1));
            comparison.changes[0].verdict.is_difference()
        })
        .count();
    assert!(flagged <= 8, "{flagged} of 400");
}

#[test]
fn what_cannot_be_compared_is_refused_with_its_reason() {
    let good = samples(100.0, 0.01, 20, 1);
    let plain = || result("x", vec![metric("m", &good, true)]);
    let change = |edit: &dyn Fn(&mut BenchmarkRunResult)| {
        let mut other = plain();
        edit(&mut other);
        let comparison = one(plain(), other);
        assert!(comparison.changes.is_empty());
        assert_ne!(comparison.verdict(), Verdict::Same);
        comparison.refusals[0].clone()
    };
    let unit = change(&|other| other.metrics[0].unit = "ms".into());
    assert_eq!((unit.kind, unit.reason.as_str()), (RefusalKind::Unit, "u in A and ms in B"));
    assert_eq!(change(&|o| o.metrics[0].higher_is_better = false).kind, RefusalKind::Direction);
    assert_eq!(change(&|o| o.metrics[0].verified = None).kind, RefusalKind::Unverified);
    assert_eq!(change(&|o| o.metrics[0].value = 0.0).kind, RefusalKind::Value);
    assert_eq!(change(&|o| o.metrics[0].value = f64::NAN).kind, RefusalKind::Value);
    assert_eq!(change(&|o| o.metrics[0].name = "other".into()).kind, RefusalKind::Missing);
    let failed = change(&|other| {
        (other.success, other.outcome) = (false, Outcome::Failed);
        other.error_message = Some("wrong sum".into());
    });
    assert_eq!(failed.kind, RefusalKind::Broken);
    assert!(failed.reason.ends_with("failed in B: wrong sum"));
    let skipped = change(&|o| (o.success, o.outcome) = (false, Outcome::Skipped));
    assert_eq!(skipped.kind, RefusalKind::Outcome);
    let parameters = change(&|other| {
        other.spec.params = Some(BTreeMap::from([("size".to_owned(), ParamValue::Int(5))]));
    });
    assert_eq!(parameters.kind, RefusalKind::Parameters);
    assert_eq!(parameters.reason, "other parameters: size is not stated in A and 5 in B");
    let twice = compare(
        ("a", &run(vec![plain(), plain()])),
        ("b", &run(vec![plain()])),
        &CompareOptions::default(),
    )
    .unwrap();
    assert!(twice.refusals.iter().all(|refusal| refusal.kind == RefusalKind::Ambiguous));
    let mut newer = run(vec![plain()]);
    newer.schema_version = 0;
    let options = CompareOptions::default();
    assert!(compare(("a", &newer), ("b", &run(vec![plain()])), &options).is_err());
}

#[test]
fn a_passed_benchmark_that_fails_makes_the_whole_worse() {
    let good = samples(100.0, 0.001, 40, 1);
    let of = |name: &str| result(name, vec![metric("m", &good, true)]);
    let mut broken = of("y");
    (broken.success, broken.outcome) = (false, Outcome::Failed);
    let (a, b) = (run(vec![of("x"), of("y")]), run(vec![of("x"), broken]));
    let comparison = compare(("a", &a), ("b", &b), &CompareOptions::default()).unwrap();
    assert_eq!((comparison.counts.same, comparison.counts.broken), (1, 1));
    assert_eq!(comparison.verdict(), Verdict::Worse);
}

#[test]
fn differences_stand_beside_the_changes_they_could_explain() {
    let machine = |kernel: &str, scheduler: &str| {
        let text = format!(
            r#"{{"software": {{"kernel": {{"release": "{kernel}"}}, "blas": [{{"name": "OpenBLAS", "version": "0.3", "path": "/x"}}]}},
                "storage": {{"devices": [{{"scheduler": "{scheduler}"}}]}},
                "memory": {{"total_bytes": 1000}}, "cpu": {{"clocks": {{"governor": "powersave"}}}}}}"#
        );
        Some(serde_json::from_str(&text).unwrap())
    };
    let conditions = |steal: f64| {
        Some(
            serde_json::from_value(
                serde_json::json!({"wall_seconds": 1.0, "steal_percent": steal}),
            )
            .unwrap(),
        )
    };
    let mut a = result("x", vec![metric("m", &samples(100.0, 0.002, 60, 1), true)]);
    let mut b = result("x", vec![metric("m", &samples(50.0, 0.002, 60, 2), true)]);
    (a.system, b.system) = (machine("6.1", "none"), machine("6.5", "mq-deadline"));
    (a.conditions, b.conditions) = (conditions(0.0), conditions(12.0));
    let comparison = one(a, b);
    let names: Vec<&str> = comparison.differences.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["disk scheduler", "kernel"]);
    // The disk's scheduler does not make a processor slower.
    assert_eq!(
        comparison.changes[0].explanations,
        ["kernel: 6.1 -> 6.5", "stolen CPU time: 0.0% -> 12.0%"]
    );
}

#[test]
fn a_score_is_the_geometric_mean_and_refuses_missing_members() {
    let of = |name: &str, median: f64, seed| {
        result(name, vec![metric("m", &samples(median, 0.001, 40, seed), true)])
    };
    let a = run(vec![of("x", 100.0, 1), of("y", 100.0, 2)]);
    let b = run(vec![of("x", 200.0, 3), of("y", 800.0, 4)]);
    let mut options =
        CompareOptions { score: Some("overall".to_owned()), ..CompareOptions::default() };
    let score = compare(("base", &a), ("b", &b), &options).unwrap().score.unwrap();
    assert!((score.value.unwrap() - 4.0).abs() < 0.01, "{score:?}");
    assert!(score.low.unwrap() < 4.0 && score.high.unwrap() > 4.0);
    assert_eq!((score.baseline.as_str(), score.members.len()), ("base", 2));
    let fewer = run(vec![of("x", 200.0, 3)]);
    let comparison = compare(("base", &a), ("b", &fewer), &options).unwrap();
    let refused = comparison.score.clone().unwrap();
    assert!(refused.value.is_none() && refused.refusal.unwrap().starts_with("1 member is missing"));
    assert_eq!(comparison.verdict(), Verdict::Inconclusive);
    options.score_allow_missing = true;
    let score = compare(("base", &a), ("b", &fewer), &options).unwrap().score.unwrap();
    assert!((score.value.unwrap() - 2.0).abs() < 0.01);
    assert_eq!(score.missing.len(), 1);
}

proptest! {
    #[test]
    fn swapping_the_sides_turns_the_verdict_around(
        a in prop::collection::vec(1.0f64..100.0, 1..20),
        b in prop::collection::vec(1.0f64..100.0, 1..20),
        higher in any::<bool>(),
    ) {
        let of = |values: &[f64]| result("x", vec![metric("m", values, higher)]);
        let forth = one(of(&a), of(&b)).changes.remove(0);
        let back = one(of(&b), of(&a)).changes.remove(0);
        let turned = match forth.verdict {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            other => other,
        };
        prop_assert_eq!(back.verdict, turned);
        prop_assert!((forth.ratio * back.ratio - 1.0).abs() < 1e-9);
    }

    #[test]
    fn any_numbers_are_compared_without_panic_and_nothing_is_lost(
        value in any::<f64>(), low in any::<f64>(), high in any::<f64>(), confidence in any::<f64>(),
        effective in any::<f64>(),
    ) {
        let base = samples(100.0, 0.01, 20, 1);
        let mut odd = metric("m", &base, true);
        odd.value = value;
        let summary = odd.summary.as_mut().unwrap();
        (summary.interval.low, summary.interval.high) = (low, high);
        (summary.interval.confidence, summary.effective_count) = (confidence, effective);
        let comparison =
            one(result("x", vec![metric("m", &base, true)]), result("x", vec![odd]));
        prop_assert_eq!(comparison.changes.len() + comparison.refusals.len(), 1);
        prop_assert!(serde_json::to_string(&comparison).is_ok());
    }
}

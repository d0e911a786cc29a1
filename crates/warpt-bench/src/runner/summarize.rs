//! From samples to what is kept: summaries, warnings, checks, identifiers.

use warpt_machine::conditions::Conditions;
use warpt_stats::summary::Summary;
use warpt_stats::warning;

use super::measure::Series;
use crate::benchmark::Case;
use crate::record::{BenchmarkMetric, BenchmarkRunResult, Notice, SampleData};

/// Steal above this share of the time is worth saying.
const STEAL_PERCENT: f64 = 1.0;
/// Other programs using more than this share of the machine are worth saying.
const OTHERS_BUSY_PERCENT: f64 = 10.0;

/// A value may pass its measured limit by the noise of both, not by more.
const ABOVE_LIMIT: f64 = 1.05;

/// Verifies a measured case and adds its metrics, checks and warnings to the result.
pub(super) fn keep(case: &mut dyn Case, series: Series, result: &mut BenchmarkRunResult) {
    let checks = case.verify();
    let verified =
        if checks.is_empty() { None } else { Some(checks.iter().all(|check| check.passed)) };
    let first = result.metrics.len();
    let label = case.label();
    if !series.steady {
        result.warnings.push(Notice {
            code: "not-steady".into(),
            message: format!(
                "{label}: no steady state within the warm-up time; try --burnin-seconds"
            ),
            metric: None,
        });
    }
    for (spec, samples) in series.metrics {
        let id = spec.id(&result.spec.id);
        let Some(summary) = Summary::of(&samples) else {
            result.warnings.push(Notice {
                code: "no-valid-samples".into(),
                message: format!("{label}: {} has no finite samples", spec.name),
                metric: Some(id),
            });
            continue;
        };
        for warning in warning::warnings(&samples, &summary) {
            result.warnings.push(Notice {
                code: warning.code().into(),
                message: format!("{label}: {}: {}", spec.name, warning.message()),
                metric: Some(id.clone()),
            });
        }
        result.metrics.push(BenchmarkMetric {
            name: spec.name.into(),
            value: summary.median,
            unit: spec.unit.into(),
            higher_is_better: spec.higher_is_better,
            tags: Some(spec.tags).filter(|tags| !tags.is_empty()),
            id: Some(id),
            summary: Some(summary),
            samples: Some(SampleData::Inline { values: samples }),
            ceiling: None,
            verified,
            supporting: spec.supporting,
            extra: serde_json::Map::new(),
        });
    }
    case.annotate(&mut result.metrics[first..]);
    result.checks.extend(checks);
}

/// Values beyond the limit they are stated against: the limit was itself measured under worse conditions.
pub(super) fn limit_warnings(metrics: &[BenchmarkMetric]) -> Vec<Notice> {
    let beyond = |metric: &&BenchmarkMetric| {
        metric.ceiling.as_ref().is_some_and(|ceiling| ceiling.fraction > ABOVE_LIMIT)
    };
    let notice = |metric: &BenchmarkMetric| Notice {
        code: "above-limit".into(),
        message: format!(
            "{}: above its stated limit, so the limit was measured under worse conditions than the value",
            metric.name
        ),
        metric: metric.id.clone(),
    };
    metrics.iter().filter(beyond).map(notice).collect()
}

/// What happened on the machine that a reader of the numbers should know.
pub(super) fn condition_warnings(conditions: &Conditions) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut say = |code: &str, message: String| {
        notices.push(Notice { code: code.into(), message, metric: None });
    };
    if let Some(steal) = conditions.steal_percent.filter(|steal| *steal > STEAL_PERCENT) {
        say(
            "steal",
            format!("the hypervisor took {steal:.1}% of the CPU time during the measurement"),
        );
    }
    if let Some(busy) = conditions.other_busy_percent.filter(|busy| *busy > OTHERS_BUSY_PERCENT) {
        say(
            "others-busy",
            format!("other programs used {busy:.0}% of the machine during the measurement"),
        );
    }
    if let Some(throttled) = conditions.throttled_seconds.filter(|seconds| *seconds > 0.0) {
        say(
            "throttled",
            format!("the control group's CPU quota stopped this process for {throttled:.2} s"),
        );
    }
    notices
}

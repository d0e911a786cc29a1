//! From samples to what is kept: summaries, warnings, checks, identifiers.

use super::measure::Series;
use crate::benchmark::Case;
use crate::record::{BenchmarkMetric, BenchmarkRunResult, Notice};

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
        let (unit, up) = (spec.unit, spec.higher_is_better);
        let of =
            BenchmarkMetric::of_samples(&result.spec.id, spec.name, unit, up, spec.tags, samples);
        let Some(metric) = of else {
            result.warnings.push(Notice {
                code: "no-valid-samples".into(),
                message: format!("{label}: {} has no finite samples", spec.name),
                metric: Some(id),
            });
            continue;
        };
        result.warnings.extend(
            metric
                .notices()
                .map(|notice| Notice { message: format!("{label}: {}", notice.message), ..notice }),
        );
        result.metrics.push(BenchmarkMetric { verified, supporting: spec.supporting, ..metric });
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

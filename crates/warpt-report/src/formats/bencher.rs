//! Bencher metric format: an object from benchmark to measure to value with its bounds. A benchmark here is the metric's
//! identifier without the metric's name, the measure is that name with its unit.

use serde_json::{Map, Value, json};

use super::{file, number};
use crate::report::{Report, UniqueNames};
use crate::text::inert;

/// Bencher's own limits, with room for a number that makes a repeated name unique.
const MAX_BENCHMARK_CHARS: usize = 1000;
const MAX_MEASURE_CHARS: usize = 64;

pub(super) fn render(report: &Report) -> String {
    let mut benchmarks: Map<String, Value> = Map::new();
    let mut names = UniqueNames::default();
    for (named, result, metric) in report.metrics() {
        if !metric.value.is_finite() {
            continue;
        }
        let tags: Vec<String> =
            metric.tags.iter().flatten().map(|(key, value)| format!("{key}={value}")).collect();
        let tags = if tags.is_empty() { String::new() } else { format!("{{{}}}", tags.join(",")) };
        let prefix = report.prefix(named);
        let benchmark = inert(&format!("{prefix}{}{tags}", result.spec.id), MAX_BENCHMARK_CHARS);
        let measure = inert(&format!("{} ({})", metric.name, metric.unit), MAX_MEASURE_CHARS);
        let mut value = json!({ "value": metric.value });
        if let Some(summary) = &metric.summary {
            let (low, high) = (summary.interval.low, summary.interval.high);
            if low.is_finite() && high.is_finite() {
                value["lower_value"] = number(low);
                value["upper_value"] = number(high);
            }
        }
        // The same measure twice in one benchmark would overwrite the first.
        let key = names.take(&format!("{benchmark}\u{0}{measure}"));
        let number = key.rsplit_once('\u{0}').map_or("", |(_, taken)| &taken[measure.len()..]);
        let benchmark =
            benchmarks.entry(format!("{benchmark}{number}")).or_insert_with(|| json!({}));
        benchmark[measure] = value;
    }
    file(&Value::Object(benchmarks))
}

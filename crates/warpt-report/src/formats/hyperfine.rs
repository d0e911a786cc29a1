//! hyperfine's JSON, for its scripts: a result per metric with its times in seconds. Metrics that are no times are written
//! as described in [`super::cost`]. `user` and `system` are null: nobody measured them per sample.

use serde_json::{Map, Value, json};
use warpt_stats::Summary;

use super::cost::Cost;
use super::{file, number};
use crate::report::{Report, UniqueNames, identifier, samples};
use crate::text::inert;

pub(super) fn render(report: &Report) -> String {
    let mut names = UniqueNames::default();
    let mut results = Vec::new();
    for (named, result, metric) in report.metrics() {
        if metric.supporting || !result.success {
            continue;
        }
        let Some(cost) = Cost::of(metric) else { continue };
        let kept = samples(metric);
        let values = if kept.is_empty() { std::slice::from_ref(&metric.value) } else { kept };
        let times: Vec<f64> = values.iter().filter_map(|value| cost.seconds(*value)).collect();
        let Some(summary) = Summary::of(&times) else { continue };
        let name = format!("{}{}", report.prefix(named), identifier(result, metric));
        let parameters: Map<String, Value> = metric
            .tags
            .iter()
            .flatten()
            .map(|(key, value)| (inert(key, 100), Value::from(inert(value, 200))))
            .collect();
        results.push(json!({
            "command": names.take(&name),
            "mean": number(summary.mean),
            "stddev": if times.len() > 1 { number(summary.standard_deviation) } else { Value::Null },
            "median": number(summary.median),
            "user": Value::Null,
            "system": Value::Null,
            "min": number(summary.minimum),
            "max": number(summary.maximum),
            "times": times,
            "exit_codes": vec![0; times.len()],
            "parameters": parameters,
            "unit": inert(&cost.describe(&metric.unit), 100),
        }));
    }
    file(&json!({ "results": results }))
}

//! What github-action-benchmark reads as a custom benchmark: a list of name, unit, value, range and extra. The action
//! knows one direction per file, so there are two files; each holds the metrics of its direction.

use serde_json::{Value, json};

use super::file;
use crate::number::percent;
use crate::report::{Report, UniqueNames, identifier};
use crate::text::inert;

pub(super) fn smaller_is_better(report: &Report) -> String {
    render(report, false)
}

pub(super) fn bigger_is_better(report: &Report) -> String {
    render(report, true)
}

fn render(report: &Report, higher_is_better: bool) -> String {
    let mut names = UniqueNames::default();
    let mut entries = Vec::new();
    for (named, result, metric) in report.metrics() {
        let wanted = metric.higher_is_better == higher_is_better && !metric.supporting;
        if !wanted || !metric.value.is_finite() {
            continue;
        }
        let name = format!("{}{}", report.prefix(named), identifier(result, metric));
        let mut entry = json!({
            "name": names.take(&name),
            "unit": inert(&metric.unit, 40),
            "value": metric.value,
        });
        if let Some(summary) = &metric.summary {
            if summary.relative_half_width.is_finite() {
                entry["range"] = format!("± {}", percent(summary.relative_half_width)).into();
            }
            let verified = if metric.verified == Some(true) { "verified" } else { "unverified" };
            let extra = format!(
                "{} samples\nsmallest detectable change: {}\n{verified}",
                summary.count,
                percent(summary.minimum_detectable_effect)
            );
            entry["extra"] = extra.into();
        }
        entries.push(entry);
    }
    file(&Value::Array(entries))
}

//! Every benchmark of the last run as a row that opens: its metrics with their distributions, checks, warnings and what
//! happened meanwhile. A filter stands above the rows; few benchmarks are open from the start.

use warpt_bench::record::{BenchmarkMetric, BenchmarkRunResult, Outcome};
use warpt_machine::conditions::Conditions;

use super::distribution;
use super::markup::{cell, escape, escape_within, table};
use crate::number::{percent, significant};
use crate::report::Report;
use crate::result::label;

/// Up to so many are open.
const OPEN: usize = 3;
/// Warnings shown per benchmark; the record has them all.
const MAX_NOTES: usize = 12;

pub(super) fn render(report: &Report) -> String {
    let Some(last) = report.runs.last() else { return String::new() };
    let results = &last.run.benchmarks;
    if results.is_empty() {
        return String::new();
    }
    let open = results.len() <= OPEN;
    let mut body = String::from(
        "<div class=\"tools\" id=\"tools\" hidden><input id=\"filter\" type=\"search\" \
         placeholder=\"Filter: words of a name, tag, unit or outcome\" aria-label=\"Filter benchmarks\">\
         <span class=\"soft small\" id=\"count\"></span><button id=\"open\" type=\"button\">Open</button>\
         <button id=\"close\" type=\"button\">Close</button></div>\n",
    );
    for result in results {
        body.push_str(&benchmark(result, open));
    }
    body
}

fn benchmark(result: &BenchmarkRunResult, open: bool) -> String {
    let outcome = match result.outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::Skipped => "skipped",
    };
    let results: Vec<&BenchmarkMetric> =
        result.metrics.iter().filter(|metric| !metric.supporting).collect();
    let first = results.first().filter(|_| result.outcome == Outcome::Passed);
    let headline = first.map_or_else(
        || format!("<span class=\"{}\">{outcome}</span>", class(result.outcome)),
        |metric| value(metric),
    );
    let picture = first.map(|metric| distribution::small(metric)).unwrap_or_default();
    let picture = if picture.is_empty() { "<span></span>".to_owned() } else { picture };
    let open = if open { " open" } else { "" };
    let mut page = format!(
        "<details class=\"bench\"{open}><summary><span class=\"dot {outcome}\" title=\"{outcome}\"></span>\
         <span class=\"name\"><code>{}</code></span><span class=\"headline\">{headline}</span>{picture}</summary>\
         <div class=\"inside\">",
        escape_within(&result.spec.id.to_string(), 160)
    );
    if let Some(description) = &result.spec.description {
        page.push_str(&format!("<p class=\"soft\">{}</p>", escape(description)));
    }
    if result.outcome != Outcome::Passed {
        let reason = result.error_message.as_deref().unwrap_or("no reason given");
        page.push_str(&format!(
            "<p class=\"{}\">{outcome}: {}</p>",
            class(result.outcome),
            escape_within(reason, 1500)
        ));
    }
    if !results.is_empty() {
        page.push_str(&metrics(&results));
    }
    let supporting: Vec<&BenchmarkMetric> =
        result.metrics.iter().filter(|metric| metric.supporting).collect();
    if !supporting.is_empty() {
        let listed: Vec<String> =
            supporting.iter().map(|m| format!("{} {}", escape(&label(m)), value(m))).collect();
        page.push_str(&format!("<p class=\"small soft\">Also: {}</p>", listed.join("; ")));
    }
    page.push_str(&remarks(result));
    page.push_str("</div></details>\n");
    page
}

fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "good",
        Outcome::Failed => "bad",
        Outcome::Skipped => "warn",
    }
}

fn value(metric: &BenchmarkMetric) -> String {
    let width = metric.summary.as_ref().map(|summary| summary.relative_half_width);
    let width = width.filter(|width| width.is_finite()).map_or_else(String::new, |width| {
        format!(" <span class=\"soft\">± {}</span>", percent(width))
    });
    format!("{} {}{width}", significant(metric.value), escape_within(&metric.unit, 24))
}

fn metrics(metrics: &[&BenchmarkMetric]) -> String {
    let row = |metric: &&BenchmarkMetric| {
        let summary = metric.summary.as_ref();
        let unverified = if metric.verified == Some(true) {
            ""
        } else {
            " <span class=\"warn small\">unverified</span>"
        };
        let arrow = if metric.higher_is_better { "↑" } else { "↓" };
        let share = |value: Option<f64>| {
            value.filter(|value| value.is_finite()).map_or_else(String::new, percent)
        };
        let reached = metric.ceiling.as_ref().map_or_else(String::new, |ceiling| {
            format!(
                "<span title=\"{}\">{}</span>",
                escape_within(&ceiling.source, 200),
                percent(ceiling.fraction)
            )
        });
        format!(
            "<tr>{}{}{}{}{}{}{}</tr>\n",
            cell("metric", "wide", &format!("{}{unverified}", escape_within(&label(metric), 300))),
            cell(
                "median",
                "n",
                &format!(
                    "{} {} {arrow}",
                    significant(metric.value),
                    escape_within(&metric.unit, 24)
                )
            ),
            cell("± 95%", "n", &share(summary.map(|summary| summary.relative_half_width))),
            cell("detects", "n", &share(summary.map(|summary| summary.minimum_detectable_effect))),
            cell("of limit", "n", &reached),
            cell("samples", "n", &summary.map(|s| s.count.to_string()).unwrap_or_default()),
            cell("", "wide", &distribution::full(metric)),
        )
    };
    let rows: String = metrics.iter().map(row).collect();
    let columns = [
        ("metric", ""),
        ("median", "n"),
        ("± 95%", "n"),
        ("detects", "n"),
        ("of limit", "n"),
        ("samples", "n"),
        ("distribution, and in order of time", ""),
    ];
    table(&columns, &rows)
}

fn remarks(result: &BenchmarkRunResult) -> String {
    let mut remarks = String::new();
    let failed = result.checks.iter().filter(|check| !check.passed);
    for check in failed {
        remarks.push_str(&format!(
            "<p class=\"bad\">check failed: {}: {}</p>",
            escape(&check.name),
            escape(&check.detail)
        ));
    }
    let mut items: Vec<String> = result
        .warnings
        .iter()
        .map(|warning| format!("<li class=\"warn\">{}</li>", escape(&warning.message)))
        .collect();
    let more = items.len().saturating_sub(MAX_NOTES);
    items.truncate(MAX_NOTES);
    if more > 0 {
        items.push(format!("<li class=\"soft\">and {more} more in the record</li>"));
    }
    if !items.is_empty() {
        remarks.push_str(&format!("<ul class=\"small\">{}</ul>", items.concat()));
    }
    let mut facts: Vec<String> = Vec::new();
    match result.checks.len() {
        0 => facts.push("no checks".to_owned()),
        count => {
            let held = result.checks.iter().filter(|check| check.passed).count();
            facts.push(format!("{held} of {count} checks held"));
        }
    }
    let params = result.spec.params.iter().flatten();
    let params: Vec<String> =
        params.map(|(key, value)| escape_within(&format!("{key}={value}"), 120)).collect();
    if !params.is_empty() {
        facts.push(format!("parameters <code>{}</code>", params.join(" ")));
    }
    facts.extend(result.conditions.as_ref().map(conditions).filter(|text| !text.is_empty()));
    remarks.push_str(&format!("<p class=\"small soft\">{}</p>", facts.join(" · ")));
    remarks
}

fn conditions(conditions: &Conditions) -> String {
    let mut parts = Vec::new();
    let mut say = |name: &str, value: Option<f64>, unit: &str| {
        if let Some(value) = value {
            parts.push(format!("{name} {value:.1}{unit}"));
        }
    };
    say("stolen", conditions.steal_percent, "%");
    say("others used", conditions.other_busy_percent, "%");
    say("load", conditions.load_1m, "");
    say("throttled", conditions.throttled_seconds.filter(|seconds| *seconds > 0.0), " s");
    parts.join(", ")
}

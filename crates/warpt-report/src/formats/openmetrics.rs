//! OpenMetrics text, as Prometheus' textfile collector and other readers take it: gauges by metric with tags as labels,
//! and whether each benchmark passed.

use std::collections::BTreeSet;
use std::fmt::Write;

use warpt_bench::record::{BenchmarkMetric, BenchmarkRunResult, Outcome};

use crate::report::{NamedRun, Report};
use crate::text::inert;

pub(super) fn render(report: &Report) -> String {
    let mut text = String::new();
    let mut families = [
        Family::new("warpt_metric", "The value of a metric, in the unit of its label."),
        Family::new("warpt_metric_interval_low", "Lower end of the value's interval."),
        Family::new("warpt_metric_interval_high", "Upper end of the value's interval."),
        Family::new(
            "warpt_metric_detectable_ratio",
            "The smallest relative change such a measurement would show.",
        ),
        Family::new("warpt_metric_ceiling_ratio", "How much of its ceiling the value reaches."),
    ];
    for (named, result, metric) in report.metrics() {
        let labels = labels(report, named, result, Some(metric));
        let summary = metric.summary.as_ref();
        let values = [
            Some(metric.value),
            summary.map(|summary| summary.interval.low),
            summary.map(|summary| summary.interval.high),
            summary.map(|summary| summary.minimum_detectable_effect),
            metric.ceiling.as_ref().map(|ceiling| ceiling.fraction),
        ];
        for (family, value) in families.iter_mut().zip(values) {
            family.add(&labels, value);
        }
    }
    let mut passed =
        Family::new("warpt_benchmark_passed", "1 when it ran and every check held, else 0.");
    let mut skipped = Family::new("warpt_benchmark_skipped", "1 when it could not run here.");
    for named in &report.runs {
        for result in &named.run.benchmarks {
            let labels = labels(report, named, result, None);
            passed.add(&labels, Some(f64::from(u8::from(result.success))));
            let is_skipped = result.outcome == Outcome::Skipped;
            skipped.add(&labels, Some(f64::from(u8::from(is_skipped))));
        }
    }
    for family in families.into_iter().chain([passed, skipped]) {
        family.write(&mut text);
    }
    text.push_str("# EOF\n");
    text
}

/// A gauge and its samples; each set of labels occurs once.
struct Family {
    name: &'static str,
    help: &'static str,
    seen: BTreeSet<String>,
    lines: String,
}

impl Family {
    fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help, seen: BTreeSet::new(), lines: String::new() }
    }

    fn add(&mut self, labels: &str, value: Option<f64>) {
        let Some(value) = value else { return };
        if !self.seen.insert(labels.to_owned()) {
            return;
        }
        let value = match value {
            value if value.is_nan() => "NaN".to_owned(),
            value if value.is_infinite() => if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
            value => format!("{value:e}"),
        };
        writeln!(self.lines, "{}{{{labels}}} {value}", self.name).expect("text grows");
    }

    fn write(self, text: &mut String) {
        if !self.lines.is_empty() {
            writeln!(text, "# HELP {} {}", self.name, self.help).expect("text grows");
            writeln!(text, "# TYPE {} gauge", self.name).expect("text grows");
            text.push_str(&self.lines);
        }
    }
}

fn labels(
    report: &Report,
    named: &NamedRun,
    result: &BenchmarkRunResult,
    metric: Option<&BenchmarkMetric>,
) -> String {
    let mut labels = vec![
        ("suite".to_owned(), result.spec.id.suite.clone()),
        ("benchmark".to_owned(), result.spec.id.name.clone()),
    ];
    if report.runs.len() > 1 {
        labels.push(("run".to_owned(), named.name.clone()));
    }
    if let Some(metric) = metric {
        labels.push(("metric".to_owned(), metric.name.clone()));
        labels.push(("unit".to_owned(), metric.unit.clone()));
        let better = if metric.higher_is_better { "higher" } else { "lower" };
        labels.push(("better".to_owned(), better.to_owned()));
        for (key, value) in metric.tags.iter().flatten() {
            let mut name = format!("tag_{}", sanitized(key));
            while labels.iter().any(|(taken, _)| *taken == name) {
                name.push('_');
            }
            labels.push((name, value.clone()));
        }
    }
    let show = |(name, value): &(String, String)| format!("{name}=\"{}\"", escaped(value));
    labels.iter().map(show).collect::<Vec<_>>().join(",")
}

/// A key as the name of a label: letters, digits and underscores.
fn sanitized(key: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    inert(key, 60).chars().map(plain).collect()
}

fn escaped(value: &str) -> String {
    // Backslash first, or it would escape the others' escapes. Line breaks are already replaced.
    inert(value, 300).replace('\\', "\\\\").replace('"', "\\\"")
}

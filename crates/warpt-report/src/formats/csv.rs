//! Comma-separated values for spreadsheets, by RFC 4180: one line per metric, and one per benchmark that has none. A text
//! that a spreadsheet would take for a formula gets an apostrophe in front, as the spreadsheets themselves do.

use warpt_bench::record::{BenchmarkMetric, BenchmarkRunResult, Outcome};

use crate::report::{NamedRun, Report, identifier};
use crate::text::inert;

const HEADER: [&str; 29] = [
    "run",
    "run_id",
    "start_time",
    "suite",
    "benchmark",
    "outcome",
    "reason",
    "metric",
    "tags",
    "id",
    "value",
    "unit",
    "higher_is_better",
    "verified",
    "supporting",
    "count",
    "median",
    "interval_low",
    "interval_high",
    "confidence",
    "minimum",
    "maximum",
    "mean",
    "standard_deviation",
    "mad",
    "p95",
    "p99",
    "minimum_detectable_effect",
    "ceiling_fraction",
];

pub(super) fn render(report: &Report) -> String {
    let mut file = line(&HEADER.map(str::to_owned));
    for named in &report.runs {
        for result in &named.run.benchmarks {
            if result.metrics.is_empty() {
                file.push_str(&line(&cells(named, result, None)));
            }
            for metric in &result.metrics {
                file.push_str(&line(&cells(named, result, Some(metric))));
            }
        }
    }
    file
}

fn cells(
    named: &NamedRun,
    result: &BenchmarkRunResult,
    metric: Option<&BenchmarkMetric>,
) -> [String; 29] {
    let summary = metric.and_then(|metric| metric.summary.as_ref());
    let of_metric =
        |read: &dyn Fn(&BenchmarkMetric) -> String| metric.map(read).unwrap_or_default();
    let of_summary =
        |read: fn(&warpt_stats::Summary) -> f64| summary.map(read).map(number).unwrap_or_default();
    let tags = |metric: &BenchmarkMetric| {
        let pairs = metric.tags.iter().flatten().map(|(key, value)| format!("{key}={value}"));
        pairs.collect::<Vec<_>>().join(",")
    };
    let outcome = match result.outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::Skipped => "skipped",
    };
    [
        text(&named.name),
        text(named.run.run_id.as_deref().unwrap_or_default()),
        result.start_time.to_string(),
        text(&result.spec.id.suite),
        text(&result.spec.id.name),
        outcome.to_owned(),
        text(result.error_message.as_deref().unwrap_or_default()),
        of_metric(&|metric| text(&metric.name)),
        of_metric(&|metric| text(&tags(metric))),
        of_metric(&|metric| text(&identifier(result, metric))),
        of_metric(&|metric| number(metric.value)),
        of_metric(&|metric| text(&metric.unit)),
        of_metric(&|metric| metric.higher_is_better.to_string()),
        of_metric(&|metric| metric.verified.map(|v| v.to_string()).unwrap_or_default()),
        of_metric(&|metric| metric.supporting.to_string()),
        summary.map(|summary| summary.count.to_string()).unwrap_or_default(),
        of_summary(|summary| summary.median),
        of_summary(|summary| summary.interval.low),
        of_summary(|summary| summary.interval.high),
        of_summary(|summary| summary.interval.confidence),
        of_summary(|summary| summary.minimum),
        of_summary(|summary| summary.maximum),
        of_summary(|summary| summary.mean),
        of_summary(|summary| summary.standard_deviation),
        of_summary(|summary| summary.mad),
        of_summary(|summary| summary.p95),
        of_summary(|summary| summary.p99),
        of_summary(|summary| summary.minimum_detectable_effect),
        of_metric(&|metric| {
            metric.ceiling.as_ref().map(|ceiling| number(ceiling.fraction)).unwrap_or_default()
        }),
    ]
}

fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// Text that no spreadsheet evaluates. Spaces and quotes do not hide a formula's first character from all of them.
fn text(value: &str) -> String {
    let inert = inert(value, 500);
    let first = inert.trim_start_matches([' ', '"', '\'', '\u{fffd}', '\u{a0}']).chars().next();
    let formula = ['=', '+', '-', '@', '|', '%', '＝', '＋', '－', '＠'];
    if first.is_some_and(|first| formula.contains(&first)) { format!("'{inert}") } else { inert }
}

fn line(cells: &[String]) -> String {
    let quoted = |cell: &String| {
        if cell.contains([',', '"', ' ', ';', '\'']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.clone()
        }
    };
    let mut line = cells.iter().map(quoted).collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_text_and_quotes_stay_whole() {
        assert_eq!(text("=HYPERLINK(\"x\")"), "'=HYPERLINK(\"x\")");
        assert_eq!(text("  @SUM(1)"), "'  @SUM(1)");
        assert_eq!(text("\t-2+3"), "'\u{fffd}-2+3");
        assert_eq!(text("a-b"), "a-b");
        assert_eq!(line(&["a\"b".into(), "c,d".into(), "e".into()]), "\"a\"\"b\",\"c,d\",e\n");
    }
}

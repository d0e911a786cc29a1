//! MLPerf logging lines (`:::MLLOG` and a JSON object): the start and end of each run, and each metric as tracked
//! statistics at the moment its benchmark ended. They are this project's measurements, not an MLPerf submission, and
//! the namespace says so.

use std::fmt::Write;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use warpt_bench::record::Outcome;

use super::number;
use crate::report::{NamedRun, Report, identifier, start};
use crate::text::inert;

/// What a line without a better moment carries.
const NAMESPACE: &str = "warpt";

pub(super) fn render(report: &Report) -> String {
    let mut text = String::new();
    for named in &report.runs {
        run(&mut text, named);
    }
    text
}

fn run(text: &mut String, named: &NamedRun) {
    let run = &named.run;
    let begin = start(run).unwrap_or(Timestamp::UNIX_EPOCH);
    let end = run.end_time.or_else(|| run.benchmarks.last().map(|result| result.end_time));
    line(
        text,
        begin,
        "POINT_IN_TIME",
        "submission_benchmark",
        &inert(&run.suite, 200).into(),
        json!({}),
    );
    let name = json!({ "run": inert(&named.name, 200), "run_id": run.run_id.as_deref().map(|id| inert(id, 100)) });
    line(text, begin, "INTERVAL_START", "run_start", &Value::Null, name);
    for result in &run.benchmarks {
        for metric in &result.metrics {
            let mut value = Map::new();
            value.insert(identifier(result, metric), number(metric.value));
            let metadata = json!({
                "benchmark": inert(&result.spec.id.to_string(), 300),
                "unit": inert(&metric.unit, 40),
                "higher_is_better": metric.higher_is_better,
                "verified": metric.verified,
                "samples": metric.summary.as_ref().map(|summary| summary.count),
            });
            line(text, result.end_time, "POINT_IN_TIME", "tracked_stats", &value.into(), metadata);
        }
        if result.outcome != Outcome::Passed {
            let reason = inert(result.error_message.as_deref().unwrap_or("no reason given"), 1000);
            let state = if result.outcome == Outcome::Skipped { "skipped" } else { "failed" };
            let metadata =
                json!({ "benchmark": inert(&result.spec.id.to_string(), 300), "state": state });
            line(
                text,
                result.end_time,
                "POINT_IN_TIME",
                "benchmark_not_run",
                &reason.into(),
                metadata,
            );
        }
    }
    let status = if run.count(Outcome::Failed) == 0 { "success" } else { "aborted" };
    let end = end.unwrap_or(begin);
    line(text, end, "INTERVAL_END", "run_stop", &Value::Null, json!({ "status": status }));
}

fn line(text: &mut String, time: Timestamp, kind: &str, key: &str, value: &Value, metadata: Value) {
    // Readers expect a place in a source file in every line's metadata.
    let mut full = Map::new();
    full.insert("file".into(), "warpt".into());
    full.insert("lineno".into(), 0.into());
    if let Value::Object(fields) = metadata {
        full.extend(fields);
    }
    let object = json!({
        "namespace": NAMESPACE,
        "time_ms": time.as_millisecond(),
        "event_type": kind,
        "key": key,
        "value": value,
        "metadata": full,
    });
    writeln!(text, ":::MLLOG {}", ascii(&object.to_string())).expect("text grows");
}

/// JSON in ASCII, because readers take the file for Latin-1; and without the token inside, because they cut a line at its
/// last one. JSON itself never holds two colons in a row, so those are inside a text.
fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.replace("::", "\\u003a\\u003a").chars() {
        if c.is_ascii() {
            text.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                write!(text, "\\u{unit:04x}").expect("text grows");
            }
        }
    }
    text
}

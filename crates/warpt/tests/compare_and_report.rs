//! `warpt benchmark compare` and `warpt report` as a user meets them: exit codes, files, standard output.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

use warpt_bench::record::{BenchmarkSuiteRun, SampleData, parse_record, to_json};
use warpt_stats::Summary;

fn warpt(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpt"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn record(level: f64, unit: &str) -> BenchmarkSuiteRun {
    let values: Vec<f64> =
        (0..50).map(|index| level * (1.0 + f64::from(index % 7) * 0.0005)).collect();
    let text = serde_json::json!({
        "suite": "s", "components": ["cpu"], "run_id": format!("{level}"), "state": "complete",
        "benchmarks": [{
            "spec": { "id": { "suite": "s", "name": "x" }, "components": ["cpu"], "kind": "synthetic" },
            "metrics": [{ "name": "time", "value": level, "unit": unit, "higher_is_better": false,
                "verified": true, "samples": { "values": values } }],
            "success": true, "outcome": "passed",
            "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:02Z",
        }],
    });
    let mut run = parse_record(text.to_string().as_bytes()).unwrap();
    let metric = &mut run.benchmarks[0].metrics[0];
    let Some(SampleData::Inline { values }) = &metric.samples else { panic!("samples") };
    metric.summary = Summary::of(values);
    run
}

fn write(directory: &Path, name: &str, run: &BenchmarkSuiteRun) {
    std::fs::write(directory.join(name), to_json(run)).unwrap();
}

#[test]
fn exit_codes_say_what_the_comparison_found() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    write(at, "a.json", &record(10.0, "ms"));
    write(at, "same.json", &record(10.02, "ms"));
    write(at, "slower.json", &record(13.0, "ms"));
    write(at, "other.json", &record(10.0, "s"));
    for (other, code) in [("same.json", 0), ("slower.json", 1), ("none.json", 2), ("other.json", 3)]
    {
        let run = warpt(at, &["benchmark", "compare", "a.json", other]);
        assert_eq!(run.status.code(), Some(code), "{other}: {}", out(&run));
    }
    assert_eq!(
        warpt(at, &["benchmark", "compare", "slower.json", "a.json"]).status.code(),
        Some(0)
    );
    let page =
        out(&warpt(at, &["benchmark", "compare", "a.json", "slower.json", "--score", "all"]));
    assert!(
        page.contains("worse") && page.contains("warpt ab") && page.contains("score all: 0.769"),
        "{page}"
    );
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    let json = warpt(
        at,
        &["benchmark", "compare", "a.json", "slower.json", "--json", "--export-file", "c.json"],
    );
    let value: serde_json::Value = serde_json::from_str(&out(&json)).unwrap();
    assert_eq!(value["changes"][0]["verdict"], "worse");
    assert_eq!(value["counts"]["worse"], 1);
    assert!(at.join("c.json").is_file());
    let tolerant = warpt(at, &["benchmark", "compare", "a.json", "slower.json", "--floor", "0.5"]);
    assert_eq!(tolerant.status.code(), Some(3), "{}", out(&tolerant));
}

#[test]
fn every_format_is_written_to_a_file_or_to_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    write(at, "a.json", &record(10.0, "ms"));
    write(at, "b.json", &record(13.0, "ms"));
    for format in warpt_report::formats::FORMATS {
        let to_file = warpt(
            at,
            &["report", "b.json", "--baseline", "a.json", "--format", format.name, "-o", "r"],
        );
        assert!(to_file.status.success() && to_file.stdout.is_empty(), "{}", format.name);
        let text = std::fs::read_to_string(at.join("r")).unwrap();
        assert!(!text.is_empty(), "{}", format.name);
        if format.name != "html" {
            let shown =
                warpt(at, &["report", "b.json", "--baseline", "a.json", "--format", format.name]);
            assert_eq!(out(&shown), text, "{}", format.name);
        }
    }
    let page = warpt(at, &["report", "a.json", "b.json"]);
    assert!(page.status.success());
    let names: Vec<String> = std::fs::read_dir(at)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("warpt_report_s_") && name.ends_with(".html"))
        .collect();
    assert_eq!(names.len(), 1);
    let text = std::fs::read_to_string(at.join(&names[0])).unwrap();
    assert!(text.contains("id=\"history\"") && text.contains("</html>"));
    assert_eq!(warpt(at, &["report", "none.json"]).status.code(), Some(2));
}

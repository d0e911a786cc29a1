//! Text from records stays inert in every output: markup, terminal escapes, formulas, control characters, direction
//! overrides and names of ten thousand characters, in every field that holds text.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};
use warpt_bench::record::{BenchmarkSuiteRun, parse_record};
use warpt_history::compare::{CompareOptions, compare};
use warpt_report::formats::FORMATS;
use warpt_report::report::{NamedRun, Report, Series, SeriesChange, SeriesPoint};
use warpt_report::text::is_invisible;

const HOSTILE: [&str; 15] = [
    ":::MLLOG {\"key\": \"run_stop\"} ::::MLLOG ",
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'--></style><svg onload=alert(1)>",
    "]]></failure><testcase name=\"x\"/>",
    "\x1b[2J\x1b]0;title\x07\x1b[31mred",
    "=HYPERLINK(\"http://x\",\"y\")",
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1+1)",
    "a\u{202e}gpj.exe\u{2066}\u{200b}\u{feff}",
    "line\nbreak\r\n# EOF\nfake_metric 1\ttab\0null",
    "`| @user #1 [x](javascript:alert(1)) ![y](z) <details> `` \\",
    "{{{}}}$(reboot)%s%n\\\\\"\\",
    "\u{85}\u{2028}\u{2029}\u{fffe}\u{ffff}\u{e0001}",
];

/// A record whose every text is `text`.
fn record(text: &str, value: f64) -> BenchmarkSuiteRun {
    let samples: Vec<f64> =
        (0..20).map(|index| value * (1.0 + f64::from(index % 5) * 0.001)).collect();
    let metric = |name: &str, unit: &str, higher: bool| {
        json!({
            "name": name, "value": value, "unit": unit, "higher_is_better": higher, "verified": true,
            "tags": { text: text, "k": text }, "samples": { "values": samples },
            "ceiling": { "value": value * 2.0, "fraction": 0.5, "source": text },
        })
    };
    let spec = |name: &str| {
        json!({
            "id": { "suite": text, "name": name }, "components": ["cpu"], "kind": "synthetic",
            "description": text, "params": { "p": text }, "check": text, "ceiling": text, "external_tool": text,
        })
    };
    let result = |name: &str, outcome: &str, metrics: Vec<Value>| {
        json!({
            "spec": spec(name), "metrics": metrics, "success": outcome == "passed", "outcome": outcome,
            "error_message": text,
            "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:02Z",
            "checks": [{ "name": text, "passed": false, "detail": text }],
            "warnings": [{ "code": text, "message": text }],
            "system": {
                "host": { "hostname": text, "product": text }, "cpu": { "model": text, "microcode": text },
                "memory": { "transparent_huge_pages": text },
                "software": { "kernel": { "release": format!("{text}{value}") }, "blas": [{ "name": text, "version": text }] },
                "storage": { "devices": [{ "scheduler": text, "model": text }] },
                "limits": { "cgroup_path": text }
            },
        })
    };
    let run = json!({
        "suite": text, "components": ["cpu"], "run_id": format!("{text}{value}"),
        "metadata": { text: text, "warpt_version": format!("{text}{value}") },
        "start_time": "2026-01-01T00:00:00Z", "end_time": "2026-01-01T00:00:09Z",
        "preflight": { "findings": [{ "code": text, "severity": "warning", "message": text, "advice": text }] },
        "benchmarks": [
            result(text, "passed", vec![
                metric(text, "ms", false), metric(&format!("{text}2"), text, true), metric("rate", "GB/s", true),
                metric(text, "ms", false),
            ]),
            result(&format!("{text}f"), "failed", vec![]),
            result(&format!("{text}s"), "skipped", vec![]),
            result("mem_bandwidth", "passed", vec![json!({
                "name": "bandwidth", "value": value, "unit": text, "higher_is_better": true,
                "tags": { "threads": "2", "kernel": text } })]),
            result("cpu_flops", "passed", vec![json!({
                "name": "gflops", "value": value, "unit": "GFLOP/s", "higher_is_better": true,
                "tags": { "threads": "2", "kernel": "registers", "dtype": text, "isa": text } })]),
        ],
    });
    let mut run = parse_record(run.to_string().as_bytes()).unwrap();
    for result in &mut run.benchmarks {
        for metric in &mut result.metrics {
            if let Some(warpt_bench::record::SampleData::Inline { values }) = &metric.samples {
                metric.summary = warpt_stats::Summary::of(values);
            }
        }
    }
    run
}

fn report(text: &str) -> Report {
    let (a, b) = (record(text, 100.0), record(text, 50.0));
    let options = CompareOptions {
        score: Some(text.to_owned()),
        score_allow_missing: true,
        ..CompareOptions::default()
    };
    let comparison = compare((text, &a), (text, &b), &options).unwrap();
    let named = |run: BenchmarkSuiteRun| NamedRun { name: text.to_owned(), run };
    let mut report = Report::of_runs(text, vec![named(a), named(b)]);
    report.comparison = Some(comparison);
    let point = |value| SeriesPoint {
        time: "2026-01-01T00:00:00Z".parse().unwrap(),
        value,
        interval: Some((value - 1.0, value + 1.0)),
        label: text.to_owned(),
    };
    report.history.push(Series {
        metric: text.to_owned(),
        unit: text.to_owned(),
        higher_is_better: true,
        points: vec![point(1.0), point(2.0), point(3.0)],
        change_points: vec![SeriesChange { index: 1, before: 1.0, after: 2.5 }],
    });
    report
}

/// No character acts, and no long text came through whole.
fn assert_calm(name: &str, output: &str) {
    let acting = output.chars().find(|c| *c != '\n' && is_invisible(*c));
    assert!(acting.is_none(), "{name}: {acting:?} in {}", around(output, acting));
    let longest = output.split(|c: char| c != 'x').map(str::len).max().unwrap_or(0);
    assert!(longest < 3000, "{name}: a text of {longest} characters");
}

fn around(output: &str, c: Option<char>) -> String {
    let at = c.and_then(|c| output.find(c)).unwrap_or(0);
    output[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect()
}

const TAGS: [&str; 44] = [
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "h1",
    "h2",
    "button",
    "nav",
    "a",
    "main",
    "section",
    "div",
    "b",
    "span",
    "ul",
    "li",
    "p",
    "details",
    "summary",
    "input",
    "code",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "svg",
    "path",
    "rect",
    "line",
    "circle",
    "text",
    "i",
    "footer",
    "script",
    "testsuites",
    "testsuite",
    "testcase",
    "failure",
    "skipped",
];
const MORE_TAGS: [&str; 4] = ["properties", "property", "system-out", "system-err"];

/// Every `<` begins a tag of ours whose attributes are quoted and handle no events.
fn assert_only_our_markup(name: &str, output: &str) {
    let mut rest = output;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if rest.starts_with("!DOCTYPE") || rest.starts_with("?xml") {
            continue;
        }
        let tag = rest.trim_start_matches('/');
        let end = tag.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(tag.len());
        let tag_name = &tag[..end];
        assert!(
            TAGS.contains(&tag_name) || MORE_TAGS.contains(&tag_name),
            "{name}: <{tag_name} ... {}",
            tag.chars().take(80).collect::<String>()
        );
        // Attributes: skip quoted values, collect what stands outside of them.
        let mut outside = String::new();
        let mut quoted = false;
        for c in tag[end..].chars() {
            match c {
                '"' => quoted = !quoted,
                '>' if !quoted => break,
                c if !quoted => outside.push(c),
                _ => assert!(c != '<', "{name}: < in an attribute"),
            }
        }
        for word in outside.split_whitespace() {
            assert!(!word.starts_with("on"), "{name}: {word} in <{tag_name}");
        }
        if tag_name == "style" || tag_name == "script" {
            let close = format!("</{tag_name}>");
            if let Some(at) = rest.find(&close).filter(|_| !rest.starts_with('/')) {
                rest = &rest[at..];
            }
        }
    }
}

fn assert_json(name: &str, output: &str) {
    fn walk(name: &str, value: &Value) {
        match value {
            Value::String(text) => {
                let acting = text.chars().find(|c| is_invisible(*c) && *c != '\n');
                assert!(acting.is_none(), "{name}: {acting:?}");
            }
            Value::Array(items) => items.iter().for_each(|item| walk(name, item)),
            Value::Object(fields) => {
                for (key, value) in fields {
                    assert!(!key.chars().any(is_invisible), "{name}: {key:?}");
                    walk(name, value);
                }
            }
            _ => {}
        }
    }
    walk(name, &serde_json::from_str(output).unwrap_or_else(|e| panic!("{name}: {e}")));
}

fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cells.last_mut().unwrap().push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cells.last_mut().unwrap().push(c),
        }
    }
    assert!(!quoted, "an open quote in {line}");
    cells
}

fn check_all(text: &str) {
    let report = report(text);
    for format in FORMATS {
        let output = (format.render)(&report);
        assert_calm(format.name, &output);
        match (format.name, format.extension) {
            ("html", _) => {
                assert_only_our_markup("html", &output);
                assert_eq!(output.matches("<script").count(), 1);
                assert_eq!(output.matches("</script").count(), 1);
                assert!(output.contains("default-src 'none'"));
                assert!(output.split("href=\"").skip(1).all(|rest| rest.starts_with('#')));
                assert!(!output.contains("src=\""));
            }
            ("junit", _) => assert_only_our_markup("junit", &output),
            (_, "json") => assert_json(format.name, &output),
            ("mllog", _) => {
                assert!(output.is_ascii());
                for line in output.lines() {
                    assert_eq!(line.matches(":::MLLOG").count(), 1);
                    assert_json("mllog", line.strip_prefix(":::MLLOG ").unwrap());
                }
            }
            ("csv", _) => {
                for line in output.lines() {
                    let cells = cells(line);
                    assert_eq!(cells.len(), 29, "{line}");
                    for cell in cells.iter().filter(|cell| cell.parse::<f64>().is_err()) {
                        assert!(!cell.trim_start().starts_with(['=', '+', '-', '@']), "{cell}");
                    }
                }
            }
            ("openmetrics", _) => {
                assert!(output.ends_with("# EOF\n"));
                assert_eq!(output.matches("# EOF").count() - in_labels(&output, "# EOF"), 1);
                for line in output.lines() {
                    let ours = ["warpt_", "# HELP warpt_", "# TYPE warpt_", "# EOF"];
                    assert!(ours.iter().any(|start| line.starts_with(start)), "{line}");
                }
            }
            ("markdown", _) => assert_markdown(&output),
            (name, _) => panic!("{name} has no check"),
        }
    }
    check_terminal(text, &report);
}

fn in_labels(output: &str, what: &str) -> usize {
    output
        .lines()
        .filter(|line| line.starts_with("warpt_"))
        .map(|line| line.matches(what).count())
        .sum()
}

fn assert_markdown(output: &str) {
    assert!(output.chars().count() < 65_536);
    for line in output.lines() {
        // Code spans are inert: what is left must be ours.
        let outside: String = line.split('`').step_by(2).collect();
        assert_eq!(line.matches('`').count() % 2, 0, "{line}");
        let plain = ["<details><summary>", "</summary>", "</details>"]
            .iter()
            .fold(outside, |text, ours| text.replace(ours, ""));
        assert!(!plain.contains(['<', '@']), "{line}");
        assert!(!plain.replace("\\]", "").replace("\\[", "").contains("]("), "{line}");
        assert!(!plain.contains("://"), "{line}");
        if line.starts_with('|') {
            let pipes = line.matches('|').count();
            assert!([4, 6, 7].contains(&pipes), "{pipes} in {line}");
        }
    }
}

fn check_terminal(text: &str, report: &Report) {
    let run = &report.runs[0].run;
    let mut pages: Vec<String> =
        run.benchmarks.iter().map(|result| warpt_report::result::benchmark(result, 80)).collect();
    pages.push(warpt_report::result::summary(run));
    pages.push(warpt_report::result::preflight(run.preflight.as_ref().unwrap(), 80));
    let specs: Vec<_> = run.benchmarks.iter().map(|result| result.spec.clone()).collect();
    pages.push(warpt_report::listing::suite(text, text, &specs, 80));
    pages.extend(specs.iter().map(|spec| warpt_report::listing::describe(spec, 80)));
    let comparison = report.comparison.as_ref().unwrap();
    pages.push(warpt_report::compare::page(comparison, 80, true));
    pages.push(warpt_report::compare::page(comparison, 80, false));
    let machine = run.benchmarks[0].system.as_ref().unwrap();
    pages.push(warpt_report::inventory::page(machine, 80));
    for page in pages {
        // Our own styles are colour codes; anything else after an escape came from the record.
        let mut parts = page.split('\x1b');
        let mut plain = parts.next().unwrap().to_owned();
        for part in parts {
            let end = part.find('m').unwrap_or_else(|| panic!("{part:?}"));
            let code = part[..end].strip_prefix('[').unwrap_or_else(|| panic!("{part:?}"));
            assert!(code.chars().all(|c| c.is_ascii_digit() || c == ';'), "{part:?}");
            plain.push_str(&part[end + 1..]);
        }
        assert_calm("terminal", &plain);
    }
}

#[test]
fn known_tricks_stay_text_in_every_output() {
    for text in HOSTILE {
        check_all(text);
    }
}

#[test]
fn names_of_ten_thousand_characters_are_cut() {
    check_all(&"x".repeat(10_000));
    check_all(&format!("{}{}", HOSTILE.concat(), "x".repeat(10_000)));
    check_all("");
}

#[test]
fn numbers_that_are_none_are_never_written_as_numbers() {
    let mut report = report("plain");
    for value in [f64::NAN, f64::INFINITY, 0.0, -1.0, f64::MIN_POSITIVE, f64::MAX] {
        for named in &mut report.runs {
            for metric in named.run.benchmarks.iter_mut().flat_map(|result| &mut result.metrics) {
                metric.value = value;
                metric.samples = Some(warpt_bench::record::SampleData::Inline {
                    values: vec![value, 1.0, value],
                });
            }
        }
        for format in FORMATS {
            let output = (format.render)(&report);
            if format.extension == "json" {
                assert_json(format.name, &output);
            }
            if format.name == "html" {
                assert!(!output.contains("\"NaN") && !output.contains(" NaN "), "NaN in a drawing");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_text_stays_text_in_every_output(
        parts in prop::collection::vec(
            prop_oneof![
                prop::sample::select(HOSTILE.to_vec()).prop_map(str::to_owned),
                any::<String>(),
                "[=+@<>&\"'`|\\\\{}\\[\\]-]{1,6}",
                any::<char>().prop_map(String::from),
                (1usize..2000).prop_map(|count| "x".repeat(count)),
            ],
            1..6,
        )
    ) {
        check_all(&parts.concat());
    }
}

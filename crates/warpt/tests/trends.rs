//! What history is good for, as a user meets it: where a metric changed, a gate against the last runs, a comparison with
//! the noise between runs, and a page with the series in it.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn warpt(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpt"))
        .args(arguments)
        .current_dir(directory)
        .env("XDG_DATA_HOME", directory.join("data"))
        .env("XDG_STATE_HOME", directory.join("state"))
        .env_remove("WARPT_HISTORY")
        .env_remove("WARPT_HISTORY_DIRECTORY")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// A real record, and copies of it on later days in which everything costs `factor(day)` as much.
fn records(directory: &Path, days: u32, factor: impl Fn(u32) -> f64) {
    let run = ["benchmark", "run", "--benchmark", "process_spawn", "--duration", "0.1"];
    let run =
        warpt(directory, &[&run[..], &["--no-history", "--export-file", "one.json"]].concat());
    assert!(run.status.success(), "{}", said(&run));
    let text = std::fs::read_to_string(directory.join("one.json")).unwrap();
    std::fs::create_dir(directory.join("runs")).unwrap();
    for day in 0..days {
        let mut record: Value = serde_json::from_str(&text).unwrap();
        let age = jiff::SignedDuration::from_hours(24 * i64::from(days - day));
        let time = (jiff::Timestamp::now() - age).to_string();
        record["run_id"] = json!(format!("run-of-day-{day:04}"));
        record["start_time"] = json!(time);
        for result in record["benchmarks"].as_array_mut().unwrap() {
            result["start_time"] = json!(time);
            for metric in result["metrics"].as_array_mut().unwrap() {
                let better = metric["higher_is_better"].as_bool().unwrap();
                let share = if better { 1.0 / factor(day) } else { factor(day) };
                let value = metric["value"].as_f64().unwrap();
                metric["value"] = json!(value * share);
            }
        }
        let name = format!("runs/{day:04}.json");
        std::fs::write(directory.join(name), record.to_string()).unwrap();
    }
}

fn wobble(day: u32) -> f64 {
    1.0 + 0.004 * (f64::from(day * 7 % 5) - 2.0)
}

#[test]
fn a_step_in_history_is_found_drawn_and_left_behind_by_the_gate() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    records(directory, 24, |day| wobble(day) * if day < 12 { 1.0 } else { 1.3 });
    let imported = warpt(directory, &["history", "import", "runs"]);
    assert!(imported.status.success(), "{}", said(&imported));

    let found = warpt(directory, &["history", "points", "--json"]);
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    let changes = found.as_array().unwrap();
    assert!(!changes.is_empty());
    for change in changes {
        assert_eq!(change["run"], "run-of-day-0012", "{change}");
        assert_eq!(change["better"], false, "{change}");
    }
    let table = said(&warpt(directory, &["history", "points", "--worse"]));
    assert!(table.contains("worse") && table.contains("series with"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");

    let page = ["report", "runs/0023.json", "--history", "--output", "page.html"];
    let page = warpt(directory, &page);
    assert!(page.status.success(), "{}", said(&page));
    let text = std::fs::read_to_string(directory.join("page.html")).unwrap();
    assert!(text.contains("change"), "the page names the change");

    let rules = warpt(directory, &["gate", "init", "runs/0023.json"]);
    assert!(rules.status.success(), "{}", said(&rules));
    let gate = ["gate", "--history", "--candidate", "runs/0023.json", "--no-remeasure", "--json"];
    let gate = warpt(directory, &gate);
    let report: Value = serde_json::from_slice(&gate.stdout).unwrap();
    assert_eq!(report["baseline"], "the history of 30 days");
    for finding in report["findings"].as_array().unwrap() {
        let worsening = finding["worsening"].as_f64().unwrap_or(0.0);
        assert!(worsening.abs() < 0.05, "held against the new level: {finding}");
    }
}

#[test]
fn the_noise_between_runs_replaces_the_floor() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    records(directory, 12, wobble);
    assert!(warpt(directory, &["history", "import", "runs"]).status.success());
    let compare = ["benchmark", "compare", "runs/0000.json", "runs/0011.json", "--unverified"];
    let plain = said(&warpt(directory, &[&compare[..], &["--all"]].concat()));
    let known = said(&warpt(directory, &[&compare[..], &["--history", "--all"]].concat()));
    assert!(!plain.contains("history:"), "{plain}");
    assert!(known.contains("the noise between runs is known of"), "{known}");
}

#[test]
fn an_empty_history_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    records(directory, 1, |_| 1.0);
    assert!(warpt(directory, &["gate", "init", "runs/0000.json"]).status.success());
    let gate = warpt(directory, &["gate", "--history", "--candidate", "runs/0000.json"]);
    assert_eq!(gate.status.code(), Some(2));
    assert!(said(&gate).contains("--baseline"), "{}", said(&gate));
    let points = warpt(directory, &["history", "points"]);
    assert!(said(&points).starts_with("no changes"), "{}", said(&points));
}

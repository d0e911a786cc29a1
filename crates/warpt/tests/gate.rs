//! `warpt gate` as a user meets it: a starter file, the exit codes, the JSON. Records are edited copies of a committed one,
//! so no verdict depends on how busy this machine is.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

const RECORD: &str = include_str!("../../warpt-bench/tests/records/v1-micro-run.json");

fn gate(directory: &Path, arguments: &[&str]) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_warpt"))
        .arg("gate")
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

/// The committed record with the times of `thread_sync` so many times as long.
fn slowed(factor: f64) -> String {
    let mut record: serde_json::Value = serde_json::from_str(RECORD).unwrap();
    for result in record["benchmarks"].as_array_mut().unwrap() {
        for metric in result["metrics"].as_array_mut().unwrap() {
            if metric["name"] == "lock_time" {
                metric["value"] = (metric["value"].as_f64().unwrap() * factor).into();
            }
        }
    }
    record.to_string()
}

const RULES: &str = "version = 1\n[[rule]]\nbenchmark = \"micro/thread_sync\"\nmetric = \"lock_time\"\nrelative = 3.0\n";
const JUDGE: [&str; 5] =
    ["--baseline", "before.json", "--candidate", "after.json", "--no-remeasure"];

#[test]
fn exit_codes_and_pages() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let write = |name: &str, text: &str| std::fs::write(here.join(name), text).unwrap();
    write("before.json", RECORD);
    write("after.json", RECORD);

    let (missing, _) = gate(here, &JUDGE);
    assert_eq!(missing.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("warpt gate init"));

    write("warpt-gate.toml", RULES);
    let (equal, page) = gate(here, &JUDGE);
    assert_eq!(equal.status.code(), Some(0), "{page}");
    assert!(page.contains("pass") && page.lines().all(|line| line.chars().count() <= 80), "{page}");

    write("after.json", &slowed(8.0));
    let (slow, page) = gate(here, &JUDGE);
    assert_eq!(slow.status.code(), Some(3), "{page}");
    assert!(page.contains("not measured again"), "{page}");
    let (_, json) = gate(here, &[&JUDGE[..], &["--json", "--export-file", "gate.json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["verdict"], "inconclusive");
    assert!(here.join("gate.json").exists());

    // Measured again with a program that is not there to be asked: never a regression.
    let (again, page) = gate(
        here,
        &[
            "--baseline",
            "before.json",
            "--candidate",
            "after.json",
            "--candidate-binary",
            "/bin/false",
        ],
    );
    assert_eq!(again.status.code(), Some(3), "{page}");
    assert!(page.contains("could not be measured again"), "{page}");

    let expired = "[[exception]]\nbenchmark = \"x\"\nexpires = 2020-01-01\nreason = \"old\"\n";
    write("after.json", RECORD);
    write("warpt-gate.toml", &format!("{RULES}{expired}"));
    let (failed, page) = gate(here, &JUDGE);
    assert_eq!(failed.status.code(), Some(1), "{page}");

    write("warpt-gate.toml", "version = 1\n[[rule]]\nbenchmrk = \"*\"\n");
    let (misspelt, _) = gate(here, &JUDGE);
    assert_eq!(misspelt.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&misspelt.stderr).contains("did you mean benchmark"));
}

#[test]
fn a_starter_file_is_written_once_and_can_be_used() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("before.json"), RECORD).unwrap();
    std::fs::write(here.join("after.json"), RECORD).unwrap();
    assert!(gate(here, &["init", "before.json"]).0.status.success());
    assert_eq!(gate(here, &["init", "before.json"]).0.status.code(), Some(2));
    let (output, page) = gate(here, &JUDGE);
    assert_ne!(output.status.code(), Some(2), "{page}");
}

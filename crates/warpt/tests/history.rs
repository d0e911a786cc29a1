//! The history as a user meets it: a run is added, listed, queried, exported and pruned.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

fn warpt(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpt"))
        .args(arguments)
        .current_dir(directory)
        .env("XDG_DATA_HOME", directory.join("data"))
        .env_remove("WARPT_HISTORY")
        .env_remove("WARPT_HISTORY_DIRECTORY")
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(&out(output)).unwrap()
}

const QUICK: [&str; 7] =
    ["benchmark", "run", "--benchmark", "thread_sync", "--duration", "0.05", "--no-export"];

#[test]
fn a_run_is_added_and_can_be_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    out(&warpt(directory, &[&QUICK[..], &["--no-history"]].concat()));
    assert!(!directory.join("data").exists(), "--no-history leaves nothing");
    let run = warpt(directory, &QUICK);
    assert!(String::from_utf8_lossy(&run.stderr).contains("history: run "), "{run:?}");
    out(&run);
    for compacted in [false, true] {
        if compacted {
            assert!(out(&warpt(directory, &["history", "compact"])).starts_with("1 runs with "));
        }
        let runs = json(&warpt(directory, &["history", "list", "--json"]));
        let run = &runs[0];
        assert_eq!(run["passed"], 1);
        let id = run["run"].as_str().unwrap();
        let table = out(&warpt(directory, &["history", "list"]));
        assert!(table.contains(&id[..12]), "{table}");
        let shown = out(&warpt(directory, &["history", "show", &id[..8]]));
        assert!(shown.contains("micro/thread_sync"), "{shown}");
        let machine = run["machine"].as_str().unwrap();
        let points = json(&warpt(directory, &["history", "query", "machine", machine, "--json"]));
        let metric = points[0]["metric"].as_str().unwrap();
        assert!(metric.starts_with("micro/thread_sync/"), "{metric}");
        let series = ["history", "query", "series", "--metric", metric];
        let csv = out(&warpt(directory, &[&series[..], &["--csv"]].concat()));
        assert_eq!(csv.lines().count(), 2, "{csv}");
        let table = out(&warpt(directory, &series));
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        let fleet =
            json(&warpt(directory, &["history", "query", "fleet", "--metric", metric, "--json"]));
        assert_eq!(
            (fleet[0]["machines"].as_u64(), fleet[0]["p50"].clone()),
            (Some(1), points[0]["value"].clone())
        );
        assert!(
            out(&warpt(directory, &["history", "query", "recent"]))
                .starts_with("no metric has numbers")
        );
        let checked = json(&warpt(directory, &["history", "check", "--json"]));
        assert_eq!(
            (checked["runs"].as_u64(), checked["problems"].as_array().map(Vec::len)),
            (Some(1), Some(0))
        );
    }
    let lines = out(&warpt(directory, &["history", "export", "--format", "jsonl", "--out", "-"]));
    assert!(lines.lines().count() > 0);
    let plan = out(&warpt(directory, &["history", "prune", "--records-keep", "0"]));
    assert!(plan.starts_with("would remove 1 records"), "{plan}");
    out(&warpt(directory, &["history", "prune", "--records-keep", "0", "--yes"]));
    let run = json(&warpt(directory, &["history", "list", "--json"]));
    let gone = warpt(directory, &["history", "show", run[0]["run"].as_str().unwrap()]);
    assert!(String::from_utf8_lossy(&gone.stderr).contains("was pruned"), "{gone:?}");
}

#[test]
fn mistakes_are_explained() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["history", "list", "--since", "soon"][..], "expected a day"),
        (&["history", "show", "nothing"], "no run \"nothing\""),
        (&["history", "prune"], "required"),
        (&["history", "import", "nowhere.json"], "cannot read"),
        (&["history", "export", "--format", "parquet", "--out", "-"], "goes to a file"),
    ] {
        let output = warpt(directory.path(), arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

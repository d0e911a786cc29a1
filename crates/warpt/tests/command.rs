//! The command as a user meets it: output, errors, exit codes, files.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

use warpt_bench::record::{Outcome, RunState, read_record};

fn warpt(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_warpt"))
        .args(arguments)
        .current_dir(directory)
        .env_remove("NO_COLOR")
        .env("WARPT_HISTORY", "false")
        .output()
        .unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A run that takes well under a second.
const QUICK: [&str; 6] = ["benchmark", "run", "--benchmark", "thread_sync", "--duration", "0.05"];

#[test]
fn the_inventory_is_a_page_in_80_columns_json_and_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let page = warpt(directory.path(), &["list"]);
    assert!(page.status.success());
    let text = out(&page);
    for title in ["CPU", "Memory", "Storage", "Network", "GPU", "Limits", "Software"] {
        assert!(text.lines().any(|line| line == title), "{title} in\n{text}");
    }
    assert!(!text.contains('\x1b'), "no colours in a pipe");
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:?}");

    let json = warpt(directory.path(), &["list", "--component", "cpu,ram", "--json", "--export"]);
    let machine: serde_json::Value = serde_json::from_str(&out(&json)).unwrap();
    assert!(machine["cpu"].is_object() && machine["memory"].is_object());
    assert!(machine["network"].is_null());
    let name = std::fs::read_dir(directory.path()).unwrap().next().unwrap().unwrap().file_name();
    assert!(name.to_string_lossy().starts_with("warpt_list_cpu-ram_"), "{name:?}");
}

#[test]
fn a_run_leaves_a_record_under_the_default_name() {
    let directory = tempfile::tempdir().unwrap();
    let run = warpt(directory.path(), &QUICK);
    assert!(run.status.success(), "{}{}", out(&run), err(&run));
    assert!(out(&run).contains("micro/thread_sync"));
    assert!(out(&run).contains("1 passed"));
    assert!(out(&run).lines().all(|line| line.chars().count() <= 80), "{}", out(&run));
    let files: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|f| f.unwrap().path()).collect();
    let [path] = files.as_slice() else { panic!("one file: {files:?}") };
    let name = path.file_name().unwrap().to_string_lossy();
    assert!(name.starts_with("warpt_benchmark_thread_sync_20"), "{name}");
    let record = read_record(path).unwrap();
    assert_eq!((record.state, record.count(Outcome::Passed)), (RunState::Complete, 1));
    assert!(record.benchmarks[0].system.as_ref().unwrap().cpu.is_some(), "carries the machine");
}

#[test]
fn a_child_process_gives_the_same_form_of_result() {
    let directory = tempfile::tempdir().unwrap();
    let run =
        warpt(directory.path(), &[&QUICK[..], &["--isolate", "--json", "--no-export"]].concat());
    assert!(run.status.success(), "{}{}", out(&run), err(&run));
    let record: serde_json::Value = serde_json::from_str(&out(&run)).unwrap();
    assert_eq!(record["benchmarks"][0]["outcome"], "passed");
    assert_eq!(record["metadata"]["isolated"], "true");
    assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none(), "no file was asked for");
}

#[test]
fn missing_hardware_is_skipped_with_its_reason() {
    let directory = tempfile::tempdir().unwrap();
    let run = warpt(
        directory.path(),
        &["benchmark", "run", "--component", "gpu", "--json", "--no-export"],
    );
    let record: serde_json::Value = serde_json::from_str(&out(&run)).unwrap();
    let result = &record["benchmarks"][0];
    if result["outcome"] == "skipped" {
        assert_eq!(run.status.code(), Some(3), "nothing ran");
        assert_eq!(result["success"], false);
        assert!(result["error_message"].as_str().unwrap().len() > 10);
    }
}

#[test]
fn mistakes_answer_with_the_nearest_names_and_exit_2() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, expected) in [
        (&["benchmark", "run", "--suite", "mirco"][..], "did you mean micro"),
        (&["benchmark", "run", "--benchmark", "cpu_flop"], "did you mean cpu_flops"),
        (&["benchmark", "run", "--component", "cpi"], "did you mean cpu"),
        (
            &["benchmark", "run", "--benchmark", "disk_io", "--params", "blocksize=1"],
            "unknown parameter",
        ),
        (
            &["benchmark", "run", "--benchmark", "disk_io", "--params", "nonsense"],
            "expected KEY=VALUE",
        ),
        (&["benchmark", "run", "--duration", "soon"], "expected a number"),
        (&["benchmark", "describe", "mem_bandwith"], "did you mean mem_bandwidth"),
        (&["--config", "none.toml", "config", "show"], "none.toml"),
        (&["bencmark"], "benchmark"),
    ] {
        let answer = warpt(directory.path(), arguments);
        assert_eq!(answer.status.code(), Some(2), "{arguments:?}");
        assert!(err(&answer).contains(expected), "{arguments:?}: {}", err(&answer));
    }
}

#[test]
fn a_place_that_cannot_be_written_ends_before_anything_runs() {
    let directory = tempfile::tempdir().unwrap();
    let run =
        warpt(directory.path(), &[&QUICK[..], &["--export-file", "/proc/nowhere/x.json"]].concat());
    assert_eq!(run.status.code(), Some(2));
    assert!(err(&run).contains("cannot write /proc/nowhere/x.json"), "{}", err(&run));
    assert!(out(&run).is_empty());
}

#[test]
fn a_full_disk_is_said_in_words() {
    // Every write to /dev/full fails with "no space left"; a link makes it the place of the partial file.
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", directory.path().join(".full.json.partial")).unwrap();
    let run = warpt(directory.path(), &[&QUICK[..], &["--export-file", "full.json"]].concat());
    assert_eq!(run.status.code(), Some(2));
    assert!(err(&run).contains("No space left on device"), "{}", err(&run));
    assert!(err(&run).contains("free some space"), "{}", err(&run));
}

#[test]
fn configuration_shows_where_values_come_from() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("warpt.toml"),
        "duration = 2\n[params.disk_io]\nfile_bytes = 1\n",
    )
    .unwrap();
    let shown = Command::new(env!("CARGO_BIN_EXE_warpt"))
        .args(["config", "show", "--json"])
        .current_dir(directory.path())
        .env("WARPT_THREADS", "1")
        .output()
        .unwrap();
    let config: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(config["settings"]["duration"]["value"], "2");
    assert!(config["settings"]["duration"]["origin"].as_str().unwrap().contains("warpt.toml"));
    assert_eq!(config["settings"]["threads"]["origin"], "environment WARPT_THREADS");
}

#[test]
fn dry_run_runs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let dry = warpt(directory.path(), &["benchmark", "run", "--suite", "micro", "--dry-run"]);
    assert!(dry.status.success());
    assert!(out(&dry).contains("would run micro/mem_bandwidth"));
    assert!(std::fs::read_dir(directory.path()).unwrap().next().is_none());
}

#[test]
fn completions_and_man_pages_are_made_from_the_arguments() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = warpt(directory.path(), &["completions", shell]);
        assert!(script.status.success() && out(&script).contains("burnin-seconds"), "{shell}");
    }
    assert!(warpt(directory.path(), &["man", "--out", "man"]).status.success());
    assert!(directory.path().join("man/warpt-benchmark-run.1").exists());
}

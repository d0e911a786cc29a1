//! `warpt ab` and `warpt benchmark null` as a user meets them. Differences here are severalfold and budgets small, so
//! that a busy machine changes nothing.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use warpt_bench::paired::{PairedRecord, Verdict};

fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpt"));
    command.args(arguments).current_dir(directory).env("XDG_STATE_HOME", directory);
    command
}

fn warpt(directory: &Path, arguments: &[&str]) -> Output {
    command(directory, arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_slower_command_is_worse_and_the_other_way_round_better() {
    let directory = tempfile::tempdir().unwrap();
    let (fast, slow) = ("sleep 0.001", "sleep 0.03");
    let arguments = ["ab", "--a", fast, "--b", slow, "--budget", "20", "--export-file", "ab.json"];
    let run = warpt(directory.path(), &arguments);
    assert_eq!(run.status.code(), Some(1), "{}{}", out(&run), err(&run));
    assert!(out(&run).contains("worse: B costs"), "{}", out(&run));
    assert!(out(&run).lines().all(|line| line.chars().count() <= 80), "{}", out(&run));
    let text = std::fs::read(directory.path().join("ab.json")).unwrap();
    let record: PairedRecord = serde_json::from_slice(&text).unwrap();
    assert_eq!(record.comparison.verdict, Verdict::Worse);
    assert_eq!(record.b.command, ["sleep", "0.03"]);
    assert!(record.system.is_some() && !record.observations.is_empty());

    let run =
        warpt(directory.path(), &["ab", "--a", slow, "--b", fast, "--budget", "20", "--json"]);
    assert_eq!(run.status.code(), Some(0), "{}", err(&run));
    let record: PairedRecord = serde_json::from_str(&out(&run)).unwrap();
    assert_eq!(record.comparison.verdict, Verdict::Better);
}

#[test]
fn no_shell_unless_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let line = "true ; touch was-a-shell";
    let base = ["ab", "--a", line, "--b", line, "--budget", "0.1", "--floor", "1000"];
    let run = warpt(directory.path(), &base);
    assert_ne!(run.status.code(), Some(2), "{}", err(&run));
    assert!(!directory.path().join("was-a-shell").exists());
    warpt(directory.path(), &[&base[..], &["--shell"]].concat());
    assert!(directory.path().join("was-a-shell").exists());
}

#[test]
fn output_is_discarded_unless_shown() {
    let directory = tempfile::tempdir().unwrap();
    let base = ["ab", "--a", "echo spoken", "--b", "echo spoken", "--budget", "0.1"];
    let run = warpt(directory.path(), &base);
    let lines = |text: &str| text.lines().filter(|line| *line == "spoken").count();
    assert_eq!((lines(&out(&run)), lines(&err(&run))), (0, 0));
    let run = warpt(directory.path(), &[&base[..], &["--show-output"]].concat());
    assert_eq!(lines(&out(&run)), 0, "results stay apart");
    assert!(lines(&err(&run)) > 1);
}

#[test]
fn a_failing_command_ends_it_with_its_last_words() {
    let directory = tempfile::tempdir().unwrap();
    let fails = "sh -c 'echo out of cheese >&2; exit 4'";
    let run = warpt(directory.path(), &["ab", "--a", "true", "--b", fails]);
    assert_eq!(run.status.code(), Some(2));
    assert!(err(&run).contains("out of cheese") && err(&run).contains('4'), "{}", err(&run));
    let run = warpt(directory.path(), &["ab", "--a", "/no/such/program", "--b", "true"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(err(&run).contains("could not be started"), "{}", err(&run));
}

#[test]
fn wrong_arguments_are_explained() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [
        &["ab"][..],
        &["ab", "--a", "true"],
        &["ab", "--a", "true", "--b", "'open"],
        &["ab", "--a", "true", "--b", ""],
        &["ab", "--a", "true", "--b", "true", "--benchmark", "cpu_flops"],
        &["ab", "--a", "true", "--b", "true", "--budget", "-1"],
        &["ab", "--a", "true", "--b", "true", "--floor", "x"],
        &["ab", "--benchmark", "cpu_flop"],
        &["ab", "--benchmark", "cpu_flops", "--a-binary", "/no/such/warpt"],
        &["benchmark", "null"],
    ] {
        let run = warpt(directory.path(), arguments);
        assert_eq!(run.status.code(), Some(2), "{arguments:?}: {}", err(&run));
        assert!(!err(&run).trim().is_empty());
    }
    let run = warpt(directory.path(), &["ab", "--benchmark", "cpu_flops"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(err(&run).contains("--case") && err(&run).contains("f32"), "{}", err(&run));
}

#[test]
fn one_benchmark_with_two_parameter_sets() {
    let directory = tempfile::tempdir().unwrap();
    let labels = Command::new(env!("CARGO_BIN_EXE_warpt"))
        .args(["benchmark", "serve-samples", "--benchmark", "thread_sync"])
        .output()
        .unwrap();
    let label = out(&labels).lines().next().unwrap().to_owned();
    let run = warpt(
        directory.path(),
        &["ab", "--benchmark", "thread_sync", "--case", &label, "--budget", "1", "--json"],
    );
    assert_ne!(run.status.code(), Some(2), "{}", err(&run));
    let record: PairedRecord = serde_json::from_str(&out(&run)).unwrap();
    assert_eq!(record.verified, Some(true));
    assert_eq!(record.a.case.as_deref(), Some(label.as_str()));
}

#[test]
fn a_machine_against_itself_leaves_a_file_for_the_gate() {
    let directory = tempfile::tempdir().unwrap();
    let arguments =
        ["benchmark", "null", "--benchmark", "thread_sync", "--repeats", "2", "--budget", "0.3"];
    let run = warpt(directory.path(), &arguments);
    assert!(matches!(run.status.code(), Some(0 | 1)), "{}", err(&run));
    assert!(out(&run).lines().all(|line| line.chars().count() <= 80), "{}", out(&run));
    let state = directory.path().join("warpforge");
    let [path] =
        &std::fs::read_dir(state).unwrap().map(|f| f.unwrap().path()).collect::<Vec<_>>()[..]
    else {
        panic!("one file")
    };
    let file = warpt_history::null::NullFile::read(path).unwrap().unwrap();
    let (name, metric) = file.metrics.iter().next().unwrap();
    assert!(name.starts_with("micro/thread_sync/"), "{name}");
    assert_eq!((metric.repeats, metric.ratios.len()), (2, 2));
}

#[test]
fn an_interrupt_leaves_no_child_behind() {
    let directory = tempfile::tempdir().unwrap();
    // A duration that no other process of this machine uses.
    let nap = format!("600.{}", std::process::id());
    let line = format!("sleep {nap}");
    let mut child = command(directory.path(), &["ab", "--a", &line, "--b", &line])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let limit = Instant::now() + Duration::from_secs(60);
    while !is_running(&nap) && Instant::now() < limit {
        std::thread::sleep(Duration::from_millis(5));
    }
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!is_running(&nap));
}

/// Whether a `sleep` with this argument runs.
fn is_running(nap: &str) -> bool {
    let wanted = format!("sleep\0{nap}\0");
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == wanted.as_bytes())
    })
}

//! Other tools on the same kernel in the same time, each used as its own documentation says, each judged by its own rule.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::experiments::{COMMAND_LENGTH, SERVED_LENGTH};
use super::ours::lengthened;
use super::programs::Programs;
use super::state::Outcome;
use crate::install::run;

/// The p value below which the tools' scripts speak of a difference.
const ALPHA: f64 = 0.05;

/// hyperfine without a shell, three warm-up runs each, as many runs as fit; Welch's t test as in its script.
pub(super) fn hyperfine(
    slowdown: f64,
    limit_seconds: f64,
    programs: &Programs,
) -> anyhow::Result<Outcome> {
    let program = programs.hyperfine()?;
    let begin = Instant::now();
    run(Command::new(&programs.kernel).args(["run", &COMMAND_LENGTH.to_string()]))?;
    let once = begin.elapsed().as_secs_f64();
    let runs = ((limit_seconds / once - 7.0) / 2.0).clamp(5.0, 2000.0) as u32;
    let export = programs.directory.join("hyperfine.json");
    let begin = Instant::now();
    let line = |length: u64| format!("{} run {length}", programs.kernel.display());
    run(Command::new(program)
        .args(["--shell=none", "--warmup", "3", "--runs", &runs.to_string(), "--export-json"])
        .arg(&export)
        .arg(line(COMMAND_LENGTH))
        .arg(line(lengthened(COMMAND_LENGTH, slowdown))))?;
    let seconds = begin.elapsed().as_secs_f64();
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&export)?)?;
    let times = |index: usize| numbers(written.pointer(&format!("/results/{index}/times")));
    tested(programs, "welch", &times(0)?, &times(1)?, seconds)
}

/// criterion: a baseline saved now, then a run against it, half of the time each; its own verdict.
pub(super) fn criterion(
    slowdown: f64,
    limit_seconds: f64,
    programs: &Programs,
) -> anyhow::Result<Outcome> {
    let program = programs.criterion()?;
    let home = programs.directory.join("criterion-home");
    if home.exists() {
        std::fs::remove_dir_all(&home)?;
    }
    // Of each half a tenth warms up, and the analysis takes most of a second.
    let measurement = (0.9 * (limit_seconds / 2.0 - 0.7)).max(0.5);
    let warm_up = (0.1 * (limit_seconds / 2.0 - 0.7)).max(0.1);
    let half = |length: u64, baseline: [&str; 2]| {
        run(Command::new(program)
            .args(["--bench", "--noplot"])
            .args(["--measurement-time", &measurement.to_string()])
            .args(["--warm-up-time", &warm_up.to_string()])
            .args(baseline)
            .env("CHAIN_LENGTH", length.to_string())
            .env("CRITERION_HOME", &home)
            .current_dir(&programs.directory))
    };
    let begin = Instant::now();
    half(SERVED_LENGTH, ["--save-baseline", "before"])?;
    let said = half(lengthened(SERVED_LENGTH, slowdown), ["--baseline", "before"])?;
    let seconds = begin.elapsed().as_secs_f64();
    let path = home.join("chain").join("change").join("estimates.json");
    let change: Value = serde_json::from_str(
        &std::fs::read_to_string(&path).with_context(|| path.display().to_string())?,
    )?;
    let number = |pointer: &str| {
        change.pointer(pointer).and_then(Value::as_f64).context("estimates.json has another form")
    };
    let (mean, error) = (number("/mean/point_estimate")?, number("/mean/standard_error")?);
    let flagged =
        said.contains("Performance has regressed") || said.contains("Performance has improved");
    Ok(Outcome {
        verdict: verdict(flagged),
        flagged,
        slower: mean > 0.0,
        score: Some((mean / error).abs()),
        ratio: Some(1.0 / (1.0 + mean)),
        detectable: None,
        seconds,
    })
}

/// Google Benchmark: 20 repetitions of each, randomly interleaved; the U test of its compare.py on real time.
pub(super) fn google_benchmark(
    slowdown: f64,
    limit_seconds: f64,
    programs: &Programs,
) -> anyhow::Result<Outcome> {
    const REPETITIONS: u32 = 20;
    let program = programs.google()?;
    // It finds its iteration counts first, which takes about a third of the time.
    let minimum = 0.7 * limit_seconds / f64::from(2 * REPETITIONS);
    let begin = Instant::now();
    let said = run(Command::new(program)
        .args(["--benchmark_format=json", "--benchmark_enable_random_interleaving=true"])
        .arg(format!("--benchmark_repetitions={REPETITIONS}"))
        .arg(format!("--benchmark_min_time={minimum}"))
        .env("CHAIN_A", SERVED_LENGTH.to_string())
        .env("CHAIN_B", lengthened(SERVED_LENGTH, slowdown).to_string()))?;
    let seconds = begin.elapsed().as_secs_f64();
    let written: Value = serde_json::from_str(&said).context("no JSON")?;
    let runs = written.get("benchmarks").and_then(Value::as_array).context("no benchmarks")?;
    let times = |name: &str| -> Vec<f64> {
        let is_run = |run: &&Value| {
            run.get("run_type").and_then(Value::as_str) == Some("iteration")
                && run.get("run_name").and_then(Value::as_str) == Some(name)
        };
        let time = |run: &Value| run.get("real_time").and_then(Value::as_f64);
        runs.iter().filter(is_run).filter_map(time).collect()
    };
    tested(programs, "u", &times("walk/a"), &times("walk/b"), seconds)
}

fn tested(
    programs: &Programs,
    test: &str,
    a: &[f64],
    b: &[f64],
    seconds: f64,
) -> anyhow::Result<Outcome> {
    ensure!(a.len() >= 5 && b.len() >= 5, "only {} and {} times", a.len(), b.len());
    let judged = programs.judge(test, a, b)?;
    let flagged = judged.p < ALPHA;
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    Ok(Outcome {
        verdict: verdict(flagged),
        flagged,
        slower: judged.slower,
        score: Some(judged.score),
        ratio: Some(mean(a) / mean(b)),
        detectable: None,
        seconds,
    })
}

fn verdict(flagged: bool) -> String {
    if flagged { "different" } else { "not different" }.to_owned()
}

fn numbers(list: Option<&Value>) -> anyhow::Result<Vec<f64>> {
    let list = list.and_then(Value::as_array).context("a list of times is missing")?;
    Ok(list.iter().filter_map(Value::as_f64).collect())
}

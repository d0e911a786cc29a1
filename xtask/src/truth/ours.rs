//! Our side of a trial: the real command on two runs of the kernel, or the paired driver on two processes that serve
//! samples of it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use warpt_bench::MonotonicClock;
use warpt_bench::paired::{
    Comparison, Launch, LineLimits, LineProcess, PairedConfig, PairedRecord, Verdict, compare,
    first_reading,
};

use super::experiments::{COMMAND_LENGTH, SERVED_LENGTH};
use super::programs::Programs;
use super::state::Outcome;

/// The share of the limit given to the command; the rest is for starting and judging.
const BUDGET_SHARE: f64 = 0.95;

/// So many steps more.
pub(super) fn lengthened(length: u64, slowdown: f64) -> u64 {
    (length as f64 * (1.0 + slowdown)).round() as u64
}

/// `warpt ab` on two commands.
pub(super) fn commands(
    slowdown: f64,
    limit_seconds: f64,
    seed: u64,
    programs: &Programs,
) -> anyhow::Result<Outcome> {
    let kernel = programs.kernel.display();
    let line = |length: u64| format!("'{kernel}' run {length}");
    let output = Command::new(&programs.warpt)
        .args(["ab", "--json", "--a", &line(COMMAND_LENGTH)])
        .args(["--b", &line(lengthened(COMMAND_LENGTH, slowdown))])
        .args(["--budget", &(BUDGET_SHARE * limit_seconds).to_string()])
        .args(["--seed", &seed.to_string()])
        .stdin(Stdio::null())
        .output()
        .context("cannot start warpt")?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(matches!(output.status.code(), Some(0 | 1 | 3)), "warpt ab: {}: {said}", output.status);
    let record: PairedRecord =
        serde_json::from_slice(&output.stdout).context("warpt ab --json printed no record")?;
    Ok(outcome(&record.comparison, record.elapsed_seconds()))
}

/// The paired driver on two processes that stay, as benchmarks of `warpt` are compared.
pub(super) fn served(
    slowdown: f64,
    limit_seconds: f64,
    seed: u64,
    programs: &Programs,
) -> anyhow::Result<Outcome> {
    let begin = Instant::now();
    let cancel = &programs.cancel;
    let side = |name: &str, length: u64| {
        let program = programs.kernel.as_os_str().to_owned();
        let launch = Launch::new([program, "serve".into(), length.to_string().into()]);
        LineProcess::new(name, launch, LineLimits::default(), cancel.clone())
    };
    let (mut a, mut b) = (side("a", SERVED_LENGTH), side("b", lengthened(SERVED_LENGTH, slowdown)));
    let budget = Duration::from_secs_f64(BUDGET_SHARE * limit_seconds);
    let clock = MonotonicClock::default();
    let reading = first_reading(&mut a, &mut b, budget, &clock, cancel)?;
    let config = reading.plan(budget, &PairedConfig { seed, ..PairedConfig::short() });
    let left = budget.saturating_sub(begin.elapsed()).saturating_sub(reading.block(&config));
    let compared = compare(&mut a, &mut b, &config, left, &clock, cancel, &mut |_| ())?;
    Ok(outcome(&compared.comparison, begin.elapsed().as_secs_f64()))
}

fn outcome(found: &Comparison, seconds: f64) -> Outcome {
    Outcome {
        verdict: found.verdict.to_string(),
        flagged: found.verdict.is_difference(),
        slower: found.verdict == Verdict::Worse,
        score: None,
        ratio: Some(found.ratio).filter(|ratio| ratio.is_finite()),
        detectable: Some(found.minimum_detectable_effect).filter(|effect| effect.is_finite()),
        seconds,
    }
}

//! A suite run killed at a random moment, many times over: whatever it left behind must parse and hold every
//! benchmark it had finished.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use warpt_bench::record::read_record;

use crate::{Verdict, interrupt};

/// Short benchmarks, so that a kill falls between and into many writes of the record.
const BENCHMARKS: [&str; 4] = ["gpu_flops", "thread_sync", "gpu_bandwidth", "process_spawn"];

/// Kills `count` runs and looks at what each left.
pub(super) fn kills(count: u32, seed: u64) -> Result<Verdict> {
    let cancel = interrupt::install()?;
    let warpt = crate::peers::ours::build()?;
    let directory = tempfile::tempdir()?;
    let mut random = warpt_stats::random::Random::new(seed);
    let (mut with_results, mut finished_in_all, mut broken) = (0, 0, 0);
    for number in 0..count {
        if cancel.is_cancelled() {
            bail!("interrupted");
        }
        let path = directory.path().join(format!("{number}.json"));
        let delay = Duration::from_micros((random.uniform() * 900_000.0) as u64);
        match one(&warpt, &path, delay) {
            Ok(finished) => {
                with_results += u32::from(finished > 0);
                finished_in_all += finished;
            }
            Err(error) => {
                broken += 1;
                println!("kill {number} after {delay:?}: {error:#}");
            }
        }
    }
    println!(
        "{count} kills: {broken} broken records; {with_results} held results, {finished_in_all} finished benchmarks in all, none lost"
    );
    Ok(Verdict::clean_if(broken == 0))
}

/// One run, killed after `delay`; how many finished benchmarks its record holds.
fn one(warpt: &Path, record: &Path, delay: Duration) -> Result<usize> {
    let mut command = Command::new(warpt);
    command.args(["benchmark", "run", "--duration", "0.05", "--export-file"]).arg(record);
    command.env("WARPT_HISTORY", "false");
    for benchmark in BENCHMARKS {
        command.args(["--benchmark", benchmark]);
    }
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    // A benchmark's table is printed after its result is in the record: what was announced must be there.
    let announced = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&announced);
    let output = BufReader::new(child.stdout.take().context("standard output was piped")?);
    let reader = std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if line.starts_with("micro/") {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    std::thread::sleep(delay);
    child.kill()?;
    child.wait()?;
    let _ = reader.join();
    let announced = announced.load(Ordering::SeqCst);
    if !record.exists() {
        ensure!(announced == 0, "{announced} benchmarks were announced and there is no record");
        return Ok(0);
    }
    let run = read_record(record)?;
    ensure!(
        run.benchmarks.len() >= announced,
        "{announced} benchmarks were announced, the record holds {}",
        run.benchmarks.len()
    );
    Ok(run.benchmarks.len())
}

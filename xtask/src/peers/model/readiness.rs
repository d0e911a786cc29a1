//! `--ready`: how soon ours is ready to run after it was given the text, and how much memory it takes at most.
//!
//! Memory is what is anonymous in the process, looked at every millisecond from its start to the end of its first run; mapped
//! weights are the file's. It is held against what the plan cannot do without: packed weights and the largest set of values
//! that live at once.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

use super::rows::Wanted;
use super::session::{Prepared, Session};
use super::settings;
use super::sides::{Engine, launch, reason};
use super::workloads::{Case, Workload};
use crate::measurement::{Goal, Measured, Row};

/// Milliseconds a model may take to be ready.
const READY_MILLISECONDS: f64 = 1000.0;
const STARTS: usize = 5;

/// The two rows of a case.
pub(super) fn rows(
    session: &Session,
    workload: &Workload,
    case: &Case,
    wanted: &Wanted<'_>,
) -> Vec<Row> {
    let name = workload.case_name(case);
    let (ready, memory) = (format!("{name}_ready"), format!("{name}_memory"));
    // At most 1.25 times what cannot be done without.
    let goals = [(ready, Goal::Minimum(1.0)), (memory, Goal::Minimum(0.8))];
    let measured: anyhow::Result<Vec<Start>> = session
        .prepare(workload, case)
        .and_then(|prepared| (0..STARTS).map(|_| start(session, &prepared)).collect());
    let rows = goals.iter().enumerate().map(|(at, (name, goal))| match &measured {
        Ok(starts) => {
            Row::new(name, *goal, if at == 0 { readiness(starts) } else { memory_of(starts) })
        }
        Err(error) => Row::unmeasured(name, *goal, reason(&format!("{error:#}"))),
    });
    rows.filter(|row| wanted.wants(&row.name) || wanted.wants(&name)).collect()
}

/// What one start showed.
#[derive(Debug, Clone, PartialEq)]
struct Start {
    ready_milliseconds: f64,
    /// The most that was anonymous.
    peak_bytes: f64,
    /// Packed weights and the largest live set.
    least_bytes: f64,
    about: Value,
}

fn readiness(starts: &[Start]) -> Measured {
    let mut times: Vec<f64> = starts.iter().map(|start| start.ready_milliseconds).collect();
    times.sort_by(f64::total_cmp);
    let of = |time: f64| READY_MILLISECONDS / time;
    Measured {
        ours: times[times.len() / 2],
        peer: READY_MILLISECONDS,
        unit: "ms",
        ratio: of(times[times.len() / 2]),
        low: of(times[times.len() - 1]),
        high: of(times[0]),
        notes: vec![format!("{} starts; reading weights is not in it", starts.len())],
    }
}

fn memory_of(starts: &[Start]) -> Measured {
    let mut starts = starts.to_vec();
    starts.sort_by(|a, b| a.peak_bytes.total_cmp(&b.peak_bytes));
    let of = |start: &Start| start.least_bytes / start.peak_bytes;
    let (least, most) = (&starts[0], &starts[starts.len() - 1]);
    Measured {
        ours: most.peak_bytes / 1e6,
        peer: most.least_bytes / 1e6,
        unit: "MB",
        ratio: of(most),
        low: of(most),
        high: of(least),
        notes: vec![format!("the largest of {} starts; ours said: {}", starts.len(), most.about)],
    }
}

fn start(session: &Session, prepared: &Prepared<'_>) -> anyhow::Result<Start> {
    let settings =
        settings::of(Engine::Ours, prepared.workload, prepared.case.precision, &session.cpus);
    let setting = settings.last().context("ours has at least one setting")?;
    let launch = launch(session, Engine::Ours, setting, prepared)?;
    let (program, arguments) = launch.arguments.split_first().context("nothing to start")?;
    let mut child = Command::new(program)
        .args(arguments)
        .envs(launch.environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start ours")?;
    let watched = watch(&mut child);
    // It may be in the middle of anything when something failed.
    let _ = child.kill();
    child.wait()?;
    let (about, peak_bytes) = watched?;
    let number = |name: &str| about[name].as_f64().with_context(|| format!("ours said no {name}"));
    Ok(Start {
        ready_milliseconds: number("ready_milliseconds")?,
        least_bytes: number("kept_bytes")? + number("live_bytes")?,
        peak_bytes,
        about,
    })
}

/// Runs it once and watches its memory.
fn watch(child: &mut Child) -> anyhow::Result<(Value, f64)> {
    let status = format!("/proc/{}/status", child.id());
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        bail!("ours has no pipes");
    };
    let mut lines = BufReader::new(output).lines();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut most = 0.0_f64;
            while !ended.load(Ordering::Relaxed) {
                most = most.max(anonymous_bytes(&status).unwrap_or(0.0));
                std::thread::sleep(Duration::from_millis(1));
            }
            most
        });
        let mut talk = || -> anyhow::Result<Value> {
            let mut next = || -> anyhow::Result<String> {
                lines.next().context("ours ended early")?.context("cannot read what ours said")
            };
            let ready = next()?;
            let about = ready.strip_prefix("ready ").context("ours is not ready")?;
            let about = serde_json::from_str(about)?;
            writeln!(input, "run")?;
            let answer = next()?;
            answer.trim().parse::<u64>().with_context(|| format!("ours answered {answer:?}"))?;
            Ok(about)
        };
        let about = talk();
        ended.store(true, Ordering::Relaxed);
        let peak = watcher.join().unwrap_or(0.0);
        Ok((about?, peak))
    })
}

fn anonymous_bytes(status: &str) -> Option<f64> {
    let text = std::fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_start_and_the_largest_memory_count() {
        let start = |ready: f64, peak: f64| Start {
            ready_milliseconds: ready,
            peak_bytes: peak,
            least_bytes: 1e9,
            about: Value::Null,
        };
        let starts = [start(400.0, 1.1e9), start(900.0, 1.25e9), start(500.0, 1.0e9)];
        let ready = readiness(&starts);
        assert_eq!((ready.ours, ready.ratio), (500.0, 2.0));
        let memory = memory_of(&starts);
        assert_eq!((memory.ours, memory.ratio, memory.high), (1250.0, 0.8, 1.0));
    }

    #[test]
    fn this_process_has_memory() {
        assert!(anonymous_bytes("/proc/self/status").unwrap() > 0.0);
    }
}

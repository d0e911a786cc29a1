//! Where the time of a run went, and how far each kernel is from what the machine can do: a table, a roofline, a trace.

pub(super) mod kinds;
mod roofline;
mod timeline;

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use warpforge_engine::reference::Value;
use warpforge_engine::{EngineError, Executable, StepReport};
use warpt_report::number::{bytes, seconds, significant};
use warpt_report::table::TextTable;
use warpt_report::text::{clean, wrap};
use warpt_suites::ceilings::Ceilings;

use self::kinds::{Bound, Kind, kinds, limit, ops};
use self::roofline::svg;
use self::timeline::chrome_trace;
use crate::arguments::run::{ProfileBy, RunArguments};
use crate::output::Output;

/// Rows that are shown.
const SHOWN: usize = 24;

/// What the kernels of the fastest of several runs took.
pub(super) struct Profile {
    steps: Vec<StepReport>,
    ceilings: Ceilings,
    /// Where the ceilings come from.
    origin: String,
    compile_seconds: f64,
    /// How many runs the fastest was chosen from.
    runs: usize,
    /// The plan's name.
    plan: String,
}

impl Profile {
    /// Runs a few times more: the first run also brought memory and code into place. What it computed gives its memory to
    /// the next one, and is there again at the end.
    pub(super) fn measure(
        executable: &mut Executable,
        values: &[Value],
        computed: &mut Vec<Value>,
        (ceilings, origin): (Ceilings, String),
        compile_seconds: f64,
    ) -> std::result::Result<Self, EngineError> {
        const MOST: usize = 10;
        const ABOUT: Duration = Duration::from_secs(3);
        let started = Instant::now();
        let (mut steps, mut fastest, mut runs) = (Vec::new(), Duration::MAX, 0);
        while runs < MOST && (runs == 0 || started.elapsed() < ABOUT) {
            computed.clear();
            *computed = executable.run(values)?;
            runs += 1;
            let found = executable.report();
            let total = found.iter().map(|step| step.time).sum();
            if total < fastest {
                (steps, fastest) = (found, total);
            }
        }
        let plan = executable.plan_hash();
        Ok(Self { steps, ceilings, origin, compile_seconds, runs, plan })
    }

    /// Whether a kernel that computes was faster than the machine was thought to be.
    pub(super) fn beats_the_ceilings(&self) -> bool {
        const MATTERS: f64 = 1e-3;
        kinds(&self.steps).iter().any(|kind| {
            let (least, bound) = kind.limit_seconds(&self.ceilings);
            bound == Bound::Compute && kind.seconds > MATTERS && least > kind.seconds
        })
    }

    /// What it is held against.
    pub(super) fn ceilings(&self) -> &Ceilings {
        &self.ceilings
    }

    /// Holds it against other ceilings.
    pub(super) fn hold_against(&mut self, (ceilings, origin): (Ceilings, String)) {
        (self.ceilings, self.origin) = (ceilings, origin);
    }

    /// Writes the files that were asked for.
    pub(super) fn write(&self, arguments: &RunArguments, output: &mut Output) -> Result<()> {
        let write = |path: &Path, text: &str| {
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        if let Some(path) = &arguments.trace_file {
            let trace = chrome_trace(&self.steps, &self.ceilings, &self.plan);
            write(path, &trace.to_string())?;
            output.note(&format!("{} kernels written to {}", self.steps.len(), path.display()));
        }
        if let Some(path) = &arguments.roofline {
            write(path, &svg(&self.steps, &self.ceilings))?;
            output.note(&format!("roofline drawn to {}", path.display()));
        }
        Ok(())
    }

    /// A table of at most `width` columns.
    pub(super) fn page(&self, by: ProfileBy, width: usize) -> String {
        let kinds = kinds(&self.steps);
        // A sum of nothing is -0.0.
        let total = kinds.iter().fold(0.0, |sum, kind| sum + kind.seconds);
        let mut text = match by {
            ProfileBy::Kernels => self.each_kernel(width),
            ProfileBy::Ops => self.by_ops(&kinds, total, width),
        };
        for line in [self.counts(total), self.saved(), self.limits()] {
            let _ = write!(text, "\n{}", wrap(&line, width, "  ").trim_end());
        }
        let _ = writeln!(text, "\nplan {}", self.plan);
        for kind in &kinds {
            if let Some(reason) = &kind.reason {
                let _ = writeln!(text, "{}, {}x {}: {reason}", kind.backend, kind.count, kind.ops);
            }
        }
        text
    }

    fn counts(&self, total: f64) -> String {
        let ops: usize = self.steps.iter().map(|step| step.op_count).sum();
        format!(
            "{} kernels for {ops} ops in {} (the fastest of {} runs); made ready in {}",
            self.steps.len(),
            seconds(total),
            self.runs,
            seconds(self.compile_seconds)
        )
    }

    /// What fusion is good for: ops that only place elements count for nothing.
    fn saved(&self) -> String {
        let counts: Vec<usize> = self.steps.iter().map(|step| step.ops.len()).collect();
        let fused: usize = counts.iter().filter(|count| **count > 1).sum();
        let share = fused as f64 / counts.iter().sum::<usize>().max(1) as f64;
        let saved = self.steps.iter().map(|step| step.saved_bytes).sum();
        format!(
            "{:.1}% of the ops that compute share a kernel with others, which saves {} of traffic",
            100.0 * share,
            bytes(saved)
        )
    }

    fn limits(&self) -> String {
        let giga = |rate: f64| significant(rate * 1e-9);
        let parts = match self.steps.iter().any(|step| step.in_parts) {
            true => format!(" (in parts {})", giga(self.ceilings.f32_in_parts())),
            false => String::new(),
        };
        format!(
            "limits of this machine, {}: f32 {}{parts} GFLOP/s, bf16 {} GFLOP/s, memory {} GB/s",
            self.origin,
            giga(self.ceilings.f32_flops),
            giga(self.ceilings.bf16_flops),
            giga(self.ceilings.memory_bytes)
        )
    }

    fn by_ops(&self, kinds: &[Kind], total: f64, width: usize) -> String {
        let headings = ["time", "share", "count", "GFLOP/s", "GB/s", "limit", "by", "ops"];
        let mut table =
            TextTable::new(&headings).right(&[0, 1, 2, 3, 4]).whole(&[0, 1, 2, 3, 4, 5, 6]);
        for kind in kinds.iter().take(SHOWN) {
            table.row(&[
                seconds(kind.seconds),
                format!("{:.1}%", 100.0 * kind.seconds / total.max(1e-12)),
                kind.count.to_string(),
                rate(kind.flops, kind.seconds),
                rate(kind.bytes, kind.seconds),
                shown(kind.limit_seconds(&self.ceilings), kind.seconds),
                kind.backend.to_owned(),
                kind.ops.clone(),
            ]);
        }
        table.render(width)
    }

    /// A line for each kernel, and below it what it computes and where that belongs: beside the numbers there is no room.
    fn each_kernel(&self, width: usize) -> String {
        const INDENT: usize = 8;
        let headings = ["#", "time", "GFLOP/s", "GB/s", "FLOP/B", "limit", "by"];
        let mut table =
            TextTable::new(&headings).right(&[0, 1, 2, 3, 4]).whole(&[0, 1, 2, 3, 4, 5, 6]);
        for (number, step) in self.steps.iter().enumerate() {
            let taken = step.time.as_secs_f64();
            table.row(&[
                number.to_string(),
                seconds(taken),
                rate(step.cost.flops, taken),
                rate(step.cost.bytes, taken),
                significant(step.cost.flops as f64 / step.cost.bytes.max(1) as f64),
                shown(limit(step, &self.ceilings), taken),
                step.backend.to_owned(),
            ]);
        }
        let table = table.render(width);
        let mut numbers = table.lines();
        let mut lines = format!("{}\n", numbers.next().unwrap_or_default());
        for (numbers, step) in numbers.zip(&self.steps) {
            let _ = writeln!(lines, "{numbers}");
            let place = step.place.as_deref().map(|place| format!(" in {}", clean(place)));
            let text = format!("{}{}", ops(step), place.unwrap_or_default());
            for line in wrap(&text, width.saturating_sub(INDENT), "").lines() {
                let _ = writeln!(lines, "{:INDENT$}{line}", "");
            }
        }
        lines
    }
}

fn rate(amount: u64, taken: f64) -> String {
    significant(amount as f64 / taken.max(1e-9) * 1e-9)
}

/// Which share of the limit was reached, and what the limit is.
fn shown((least, bound): (f64, Bound), taken: f64) -> String {
    if least <= 0.0 {
        return "-".to_owned();
    }
    format!("{:.0}% {}", 100.0 * least / taken.max(1e-12), bound.name())
}

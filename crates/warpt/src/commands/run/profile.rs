//! Where the time of a run went, and how far each kernel is from what the machine can do: a table, a roofline, a trace.

mod kinds;
mod roofline;
mod timeline;

use std::fmt::Write as _;

use warpforge_engine::StepReport;
use warpt_report::number::{bytes, seconds, significant};
use warpt_report::table::TextTable;
use warpt_report::text::{clean, wrap};
use warpt_suites::ceilings::Ceilings;

use kinds::{Bound, Kind, computing, kinds, limit, ops};
pub(super) use roofline::svg;
pub(super) use timeline::chrome_trace;

/// Rows that are shown.
const SHOWN: usize = 24;

/// What a page is about.
pub(super) struct Profile<'a> {
    pub(super) steps: &'a [StepReport],
    pub(super) ceilings: &'a Ceilings,
    /// Where the ceilings come from.
    pub(super) origin: &'a str,
    pub(super) compile_seconds: f64,
    /// How many runs the fastest was chosen from.
    pub(super) runs: usize,
    /// The plan's name.
    pub(super) plan: &'a str,
    /// A row for each kernel, in the order of the run, instead of one for kernels of the same ops.
    pub(super) each: bool,
}

impl Profile<'_> {
    /// A table of at most `width` columns.
    pub(super) fn page(&self, width: usize) -> String {
        let kinds = kinds(self.steps);
        // A sum of nothing is -0.0.
        let total = kinds.iter().fold(0.0, |sum, kind| sum + kind.seconds);
        let mut text =
            if self.each { self.each_kernel(width) } else { self.by_ops(&kinds, total, width) };
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
        let ops: usize = self.steps.iter().map(|step| step.ops.len()).sum();
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
        let counts: Vec<usize> = self.steps.iter().map(|step| computing(step).count()).collect();
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
        format!(
            "limits of this machine, {}: f32 {} GFLOP/s, bf16 {} GFLOP/s, memory {} GB/s",
            self.origin,
            giga(self.ceilings.f32_flops),
            giga(self.ceilings.bf16_flops),
            giga(self.ceilings.memory_bytes)
        )
    }

    fn by_ops(&self, kinds: &[Kind], total: f64, width: usize) -> String {
        let headings = ["time", "share", "count", "GFLOP/s", "GB/s", "limit", "by", "ops"];
        let mut table = TextTable::new(&headings).right(&[0, 1, 2, 3, 4]);
        for kind in kinds.iter().take(SHOWN) {
            table.row(&[
                seconds(kind.seconds),
                format!("{:.1}%", 100.0 * kind.seconds / total.max(1e-12)),
                kind.count.to_string(),
                rate(kind.flops, kind.seconds),
                rate(kind.bytes, kind.seconds),
                shown(kind.limit_seconds(self.ceilings), kind.seconds),
                kind.backend.to_owned(),
                kind.ops.clone(),
            ]);
        }
        table.render(width)
    }

    fn each_kernel(&self, width: usize) -> String {
        let headings = ["#", "time", "GFLOP/s", "GB/s", "FLOP/B", "limit", "by", "ops", "place"];
        let mut table = TextTable::new(&headings).right(&[0, 1, 2, 3, 4]);
        for (number, step) in self.steps.iter().enumerate() {
            let taken = step.time.as_secs_f64();
            table.row(&[
                number.to_string(),
                seconds(taken),
                rate(step.cost.flops, taken),
                rate(step.cost.bytes, taken),
                significant(step.cost.flops as f64 / step.cost.bytes.max(1) as f64),
                shown(limit(step, self.ceilings), taken),
                step.backend.to_owned(),
                ops(step),
                clean(step.place.as_deref().unwrap_or("-")),
            ]);
        }
        table.render(width)
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

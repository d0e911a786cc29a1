//! Where the time of a run went: kernels of the same ops together, the longest first.

use std::collections::HashMap;
use std::fmt::Write as _;

use warpforge_engine::StepReport;
use warpt_report::number::{seconds, significant};
use warpt_report::table::TextTable;

/// Kinds of kernels that are shown.
const SHOWN: usize = 24;

/// Kernels of the same ops.
#[derive(Default)]
struct Kind {
    count: usize,
    seconds: f64,
    flops: u64,
    bytes: u64,
    reason: Option<String>,
}

/// A table of at most `width` columns.
pub(super) fn page(steps: &[StepReport], compile_seconds: f64, width: usize) -> String {
    let mut kinds: HashMap<(&str, String), Kind> = HashMap::new();
    for step in steps {
        let kind = kinds.entry((step.backend, ops(step))).or_default();
        kind.count += 1;
        kind.seconds += step.time.as_secs_f64();
        kind.flops += step.cost.flops;
        kind.bytes += step.cost.bytes;
        kind.reason = kind.reason.take().or_else(|| step.reason.clone());
    }
    // A sum of nothing is -0.0.
    let total = kinds.values().fold(0.0, |sum, kind| sum + kind.seconds);
    let mut sorted: Vec<_> = kinds.into_iter().collect();
    sorted.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds).then_with(|| a.0.cmp(&b.0)));
    let mut table = TextTable::new(&["time", "share", "count", "GFLOP/s", "GB/s", "by", "ops"])
        .right(&[0, 1, 2, 3, 4]);
    for ((backend, ops), kind) in sorted.iter().take(SHOWN) {
        let rate = |amount: u64| significant(amount as f64 / kind.seconds.max(1e-9) * 1e-9);
        table.row(&[
            seconds(kind.seconds),
            format!("{:.1}%", 100.0 * kind.seconds / total.max(1e-12)),
            kind.count.to_string(),
            rate(kind.flops),
            rate(kind.bytes),
            (*backend).to_owned(),
            ops.clone(),
        ]);
    }
    let mut text = table.render(width);
    let in_kernels: usize = steps.iter().map(|step| step.ops.len()).sum();
    let _ = writeln!(
        text,
        "\n{} kernels for {in_kernels} ops in {}; made ready in {}",
        steps.len(),
        seconds(total),
        seconds(compile_seconds)
    );
    for ((backend, ops), kind) in &sorted {
        if let Some(reason) = &kind.reason {
            let _ = writeln!(text, "{backend}, {}x {ops}: {reason}", kind.count);
        }
    }
    text
}

/// The ops of a kernel that compute, without the dialect, each once.
fn ops(step: &StepReport) -> String {
    let mut names: Vec<&str> = Vec::new();
    for op in &step.ops {
        let name = op.split_once('.').map_or(op.as_str(), |(_, name)| name);
        let placing = matches!(name, "constant" | "reshape" | "transpose" | "broadcast_in_dim");
        if !placing && !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return "copy".to_owned();
    }
    names.join(" ")
}

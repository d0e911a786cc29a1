//! A run as a trace that Perfetto and chrome://tracing show.

use serde_json::{Value, json};
use warpforge_engine::StepReport;
use warpt_suites::ceilings::Ceilings;

use super::kinds::{limit, ops};

/// The trace: one complete event for each kernel, in microseconds from the first. A loop is one event, with what is inside.
pub(super) fn chrome_trace(steps: &[StepReport], ceilings: &Ceilings, plan: &str) -> Value {
    let events: Vec<Value> = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| !step.inside)
        .map(|(number, step)| {
            let (least, bound) = limit(step, ceilings);
            let taken = step.span.as_secs_f64();
            json!({
                "name": ops(step),
                "cat": step.backend,
                "ph": "X",
                "ts": step.start.as_nanos() as f64 * 1e-3,
                "dur": step.span.as_nanos() as f64 * 1e-3,
                "pid": 1,
                "tid": 1,
                "args": {
                    "kernel": number,
                    "place": step.place,
                    "flops": step.cost.flops,
                    "bytes": step.cost.bytes,
                    "saved_bytes": step.saved_bytes,
                    "share_of_limit": if taken > 0.0 { least / taken } else { 0.0 },
                    "bound": bound.name(),
                    "reason": step.reason,
                },
            })
        })
        .collect();
    json!({
        "displayTimeUnit": "ms",
        "otherData": { "plan": plan, "producer": format!("warpt {}", env!("CARGO_PKG_VERSION")) },
        "traceEvents": events,
    })
}

//! Kernels of the same ops together, the longest first; and the least time a kernel can take here.

use std::collections::HashMap;

use warpforge_engine::StepReport;
use warpt_suites::ceilings::Ceilings;

/// What keeps a kernel from being faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands::run) enum Bound {
    /// Arithmetic.
    Compute,
    /// Traffic to memory.
    Memory,
}

impl Bound {
    /// For a column.
    pub(in crate::commands::run) fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
        }
    }
}

/// The least seconds a kernel can take on this machine, and by what.
pub(in crate::commands::run) fn limit(step: &StepReport, ceilings: &Ceilings) -> (f64, Bound) {
    let flops = match (step.narrow, step.in_parts) {
        (true, _) => ceilings.bf16_flops,
        (false, true) => ceilings.f32_in_parts(),
        (false, false) => ceilings.f32_flops,
    };
    let (compute, memory) = (
        step.cost.flops as f64 / flops.max(1.0),
        step.cost.bytes as f64 / ceilings.memory_bytes.max(1.0),
    );
    if compute >= memory { (compute, Bound::Compute) } else { (memory, Bound::Memory) }
}

/// Kernels of the same ops.
pub(in crate::commands::run) struct Kind<'a> {
    pub(in crate::commands::run) backend: &'static str,
    pub(in crate::commands::run) ops: String,
    pub(in crate::commands::run) count: u64,
    pub(in crate::commands::run) seconds: f64,
    pub(in crate::commands::run) flops: u64,
    pub(in crate::commands::run) bytes: u64,
    pub(in crate::commands::run) reason: Option<String>,
    pub(in crate::commands::run) steps: Vec<&'a StepReport>,
}

impl Kind<'_> {
    /// The least seconds all of them can take, and by what most of that.
    pub(in crate::commands::run) fn limit_seconds(&self, ceilings: &Ceilings) -> (f64, Bound) {
        let (mut compute, mut memory) = (0.0, 0.0);
        for step in &self.steps {
            match limit(step, ceilings) {
                (seconds, Bound::Compute) => compute += seconds,
                (seconds, Bound::Memory) => memory += seconds,
            }
        }
        (compute + memory, if compute >= memory { Bound::Compute } else { Bound::Memory })
    }
}

/// All kinds of kernels of a run.
pub(in crate::commands::run) fn kinds(steps: &[StepReport]) -> Vec<Kind<'_>> {
    let mut places: HashMap<(&str, String), usize> = HashMap::new();
    let mut kinds: Vec<Kind<'_>> = Vec::new();
    for step in steps {
        let ops = ops(step);
        let place = *places.entry((step.backend, ops.clone())).or_insert_with(|| {
            kinds.push(Kind {
                backend: step.backend,
                ops,
                count: 0,
                seconds: 0.0,
                flops: 0,
                bytes: 0,
                reason: None,
                steps: Vec::new(),
            });
            kinds.len() - 1
        });
        let kind = &mut kinds[place];
        kind.count += step.launches;
        kind.seconds += step.time.as_secs_f64();
        kind.flops += step.cost.flops;
        kind.bytes += step.cost.bytes;
        kind.reason = kind.reason.take().or_else(|| step.reason.clone());
        kind.steps.push(step);
    }
    kinds.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.ops.cmp(&b.ops)));
    kinds
}

/// The ops of a kernel, each once.
pub(in crate::commands::run) fn ops(step: &StepReport) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in &step.ops {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return "copy".to_owned();
    }
    names.join(" ")
}

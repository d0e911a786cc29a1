//! A plan for people: what is launched, from which ops of the user's model, where values lie, and a name for the whole.

use std::fmt::Write as _;
use std::time::Duration;

use sha2::{Digest, Sha256};
use warpforge_hlo::ir::{OpKind, Program};
use warpforge_tensor::DType;

use super::Executable;
use super::homes::{Home, bytes_of};
use crate::fuse::{Cluster, Work};
use crate::kernels::Cost;
use crate::loops::Isa;
use crate::observe::Observed;
use crate::pattern::places;

/// The ops a kernel was made of.
#[derive(Debug, Clone)]
pub(super) struct MadeOf {
    ops: Vec<String>,
    op_count: usize,
    place: Option<String>,
    saved_bytes: u64,
    narrow: bool,
}

impl MadeOf {
    pub(super) fn new(cluster: &Cluster, program: &Program) -> Self {
        let ops = cluster.ops();
        let function = &cluster.outlined.function;
        let returned = function.body.ops.last().map(|end| end.operands.as_slice());
        let returned = returned.unwrap_or_default();
        // What one op wrote and another read again, had they been kernels of their own.
        let saved_bytes = ops
            .iter()
            .filter(|op| computes(&op.kind))
            .flat_map(|op| &op.results)
            .filter(|result| !returned.contains(result))
            .filter_map(|result| bytes_of(function, *result).ok())
            .map(|bytes| 2 * bytes as u64)
            .sum();
        let heavy = |kind: &OpKind| matches!(kind, OpKind::DotGeneral(_) | OpKind::Convolution(_));
        let named = |op: &&warpforge_hlo::ir::Op| op.location.is_some();
        let main = ops
            .iter()
            .filter(|op| heavy(&op.kind))
            .find(named)
            .or_else(|| ops.iter().rev().filter(|op| computes(&op.kind)).find(named))
            .or_else(|| ops.iter().find(named));
        let place = main.and_then(|op| op.location).and_then(|id| program.locations.name(id));
        let narrow = match &cluster.work {
            Work::Product(product) => product.dtypes[0] != DType::F32,
            Work::Chain(chain) => chain.firsts[0].product.dtypes[0] != DType::F32,
            Work::Convolution(convolution) => convolution.dtypes[0] != DType::F32,
            _ => false,
        };
        Self {
            ops: ops
                .iter()
                .filter(|op| computes(&op.kind))
                .map(|op| op.kind.name().rsplit('.').next().unwrap_or_default().to_owned())
                .collect(),
            op_count: ops.len(),
            place: place.map(str::to_owned),
            saved_bytes,
            narrow,
        }
    }
}

impl MadeOf {
    /// The names of the ops that compute.
    pub(super) fn ops(&self) -> &[String] {
        &self.ops
    }

    /// Where the heaviest comes from.
    pub(super) fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }
}

/// Whether an op computes anything: the others are there for those that do.
fn computes(kind: &OpKind) -> bool {
    !places(kind) && !matches!(kind, OpKind::Constant(_) | OpKind::Iota { .. })
}

/// One launch, for people and reports.
#[derive(Debug, Clone)]
pub struct StepReport {
    /// What took it.
    pub backend: &'static str,
    /// The names of its ops that compute, without the dialect.
    pub ops: Vec<String>,
    /// All its ops, also those that only place elements.
    pub op_count: usize,
    /// Where its heaviest op comes from in the user's model, where the exporter kept it.
    pub place: Option<String>,
    /// What it has to do at least.
    pub cost: Cost,
    /// Whether its products are of numbers narrower than f32.
    pub narrow: bool,
    /// Whether its products are of f32 in three parts, each of bf16.
    pub in_parts: bool,
    /// Bytes that were neither written nor read because its ops are one kernel.
    pub saved_bytes: u64,
    /// Why it has no kernel of its own, where that is so.
    pub reason: Option<String>,
    /// How often it was launched in the last run: several times, or never, inside of a loop or a choice.
    pub launches: u64,
    /// Whether it stands inside of a loop or a choice, which comes before it.
    pub inside: bool,
    /// When it began in the last run, from the beginning of the first.
    pub start: Duration,
    /// How long it took in the last run, without what stands inside of it.
    pub time: Duration,
    /// How long with that.
    pub span: Duration,
    /// What was seen of it, in the observable tier.
    pub observed: Option<Observed>,
}

impl Executable {
    /// What is launched, in order; what stands inside of a loop or a choice after it.
    pub fn report(&self) -> Vec<StepReport> {
        let mut reports = Vec::with_capacity(self.steps.len());
        for (step, (start, span)) in self.steps.iter().zip(&self.times) {
            let launched = step.kernel.launched();
            let cost = step.kernel.cost();
            reports.push(StepReport {
                backend: step.kernel.backend(),
                ops: step.made_of.ops.clone(),
                op_count: step.made_of.op_count,
                place: step.made_of.place.clone(),
                cost: Cost {
                    flops: cost.flops.saturating_mul(self.runs),
                    bytes: cost.bytes.saturating_mul(self.runs),
                },
                narrow: step.made_of.narrow,
                in_parts: step.kernel.in_parts(),
                saved_bytes: step.made_of.saved_bytes.saturating_mul(self.runs),
                reason: step.reason.clone(),
                launches: self.runs,
                inside: false,
                start: *start,
                time: span.saturating_sub(launched.iter().map(|inner| inner.time).sum()),
                span: *span,
                observed: step.observed.as_deref().cloned(),
            });
            reports.extend(launched);
        }
        reports
    }

    /// What the plan is, line by line: kernels, where they read and write, the arena.
    pub fn plan_text(&self) -> String {
        let homes = |homes: &[Home]| -> String {
            let each: Vec<String> = homes
                .iter()
                .map(|home| match home {
                    Home::Input(index) => format!("input{index}"),
                    Home::Fixed(index) => format!("fixed{index}"),
                    Home::Arena(offset) => format!("arena+{offset}"),
                    Home::Result(index) => format!("result{index}"),
                })
                .collect();
            each.join(", ")
        };
        let mut text = format!(
            "plan of warpforge-engine {}, {} threads, {:?}, arena of {} bytes\n",
            env!("CARGO_PKG_VERSION"),
            self.device.pool.threads(),
            Isa::usable(),
            self.arena.bytes()
        );
        for (number, step) in self.steps.iter().enumerate() {
            let _ = writeln!(
                text,
                "{number}: {}{} ({}) -> ({}) {}",
                step.kernel.backend(),
                if step.kernel.in_parts() { " in parts" } else { "" },
                homes(&step.inputs),
                homes(&step.outputs),
                step.made_of.ops.join(" ")
            );
        }
        let _ = writeln!(text, "results: ({})", homes(&self.results));
        text
    }

    /// A name for the plan: the same program made ready by the same version for the same threads, instructions and fixed
    /// arguments has the same.
    pub fn plan_hash(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.plan_text());
        hasher.update(self.program.clone().without_places().to_string());
        let digest = hasher.finalize();
        digest.iter().take(8).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

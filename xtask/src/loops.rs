//! `cargo run --release -p xtask -- loops`: how near to the speed of memory loops run. Kernels over tensors of several times the last cache are
//! held against a triad measured in the same run, turn by turn; attention as one kernel against the same ops with every
//! score in memory, forward alone and with the way back to its operands. `--clang` holds the machine code itself against a
//! compiler's.

mod attention;
#[cfg(feature = "codegen")]
mod compiler;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use warpforge_engine::pool::{Placement, Pool, allowed_cpus};
use warpforge_engine::reference::Value;
use warpforge_engine::{Executable, Fusion, Options, interface};
use warpforge_hlo::parse_verified;
use warpt_machine::inventory::{Machine, Request, Section};
use warpt_machine::source::SystemRoot;
use warpt_stats::{median, quantile};
use warpt_suites::ceilings::Triad;
use warpt_suites::micro::caches::Caches;

use crate::Verdict;
use crate::measurement::{Goal, Measured, Row, table, write_json};

/// Options of `cargo run --release -p xtask -- loops`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only rows whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Megabytes of a tensor [default: four times the last cache, where six of them fit into half of the memory]
    #[arg(long)]
    megabytes: Option<usize>,
    /// How often each kernel runs, after one run that does not count.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Threads [default: one for each processor this process may use]
    #[arg(long)]
    threads: Option<usize>,
    /// Instead: kernels in a cache, against what LLVM makes of the same passes, by this clang, as `clang-19`.
    #[cfg(feature = "codegen")]
    #[arg(long, value_name = "PROGRAM")]
    clang: Option<String>,
    /// Also write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// How near to the triad chains of ops on elements have to come, and rows with reductions.
const CHAINS: Goal = Goal::Minimum(0.90);
const ROWS: Goal = Goal::Minimum(0.80);
/// Attention as one kernel is nowhere slower, up to what a paired comparison can tell, and faster where scores are many.
const NOT_SLOWER: Goal = Goal::Minimum(0.98);
const FASTER: Goal = Goal::Minimum(1.20);
/// Of how many runs the best counts in a round, as of the triad.
const BEST_OF: usize = 4;
/// Sequences, and from where on attention has to be faster.
const LENGTHS: [usize; 7] = [64, 128, 256, 512, 1024, 2048, 4096];
const LONG: usize = 1024;

/// Measures and prints.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    // The triad of a debug build is several times slower than memory.
    ensure!(
        !cfg!(debug_assertions),
        "a debug build measures nothing worth knowing: cargo run --release -p xtask -- loops"
    );
    let wanted = |name: &str| arguments.only.as_deref().is_none_or(|only| name.contains(only));
    let cpus = allowed_cpus();
    let threads = arguments.threads.unwrap_or(cpus.len()).clamp(1, cpus.len().max(1));
    let cpus = &cpus[..threads.min(cpus.len())];
    let pool = Arc::new(Pool::new(threads, &Placement::Pinned(cpus.to_vec()))?);
    let mut rows = Vec::new();
    #[cfg(feature = "codegen")]
    if let Some(clang) = &arguments.clang {
        for (name, _, text) in streams(compiler::TENSOR_BYTES) {
            if wanted(name) {
                eprintln!("{name}");
                rows.extend(compiler::row(name, &text, clang, arguments.rounds)?);
            }
        }
        return shown(arguments, &rows);
    }
    let bytes = arguments.megabytes.map_or_else(tensor_bytes, |megabytes| megabytes << 20);
    for (name, goal, text) in streams(bytes) {
        if wanted(name) {
            eprintln!("{name}");
            rows.push(stream(name, goal, &text, &pool, cpus, arguments.rounds)?);
        }
    }
    for length in LENGTHS {
        let goal = if length >= LONG { FASTER } else { NOT_SLOWER };
        let forward = (format!("attention_{length}"), attention::program(length));
        let back = (format!("attention_back_{length}"), attention::both_ways(length));
        for (name, text) in [forward, back] {
            if wanted(&name) {
                eprintln!("{name}");
                rows.push(chained(&name, goal, &text, &pool, arguments.rounds)?);
            }
        }
    }
    shown(arguments, &rows)
}

fn shown(arguments: &Arguments, rows: &[Row]) -> anyhow::Result<Verdict> {
    print!("{}", table(rows));
    if let Some(path) = &arguments.json {
        write_json(path, rows)?;
    }
    Ok(Verdict::clean_if(rows.iter().all(|row| row.met)))
}

/// Bytes of a tensor: four times the last cache and no less than 64 MB, where memory has room for such tensors, three of a
/// kernel and three of the triad.
fn tensor_bytes() -> usize {
    const TENSORS: u64 = 6;
    let sections = [Section::Cpu, Section::Memory];
    let machine = Machine::collect(&SystemRoot::live(), &Request::live().only(&sections));
    let memory = machine.memory.as_ref().and_then(|memory| memory.total_bytes).unwrap_or(8 << 30);
    let wanted = (4 * Caches::of(&machine).last_bytes()).max(64 << 20);
    wanted.min(memory / 2 / TENSORS) as usize
}

/// A program, made ready, and inputs for it.
struct Ready {
    executable: Executable,
    inputs: Vec<Value>,
}

impl Ready {
    fn new(text: &str, pool: &Arc<Pool>, fusion: Fusion) -> anyhow::Result<Self> {
        let program = parse_verified(text).map_err(|error| anyhow::anyhow!("{error}"))?;
        let options = Options { fusion, ..Options::default() };
        let executable = Executable::compile(&program, Arc::clone(pool), &options)?;
        let arguments = interface::arguments(executable.function());
        let mut inputs = Vec::with_capacity(arguments.len());
        for (index, argument) in arguments.iter().enumerate() {
            inputs.push(interface::repeated_value(&argument.ty, 1, index as u64)?);
        }
        Ok(Self { executable, inputs })
    }

    /// Seconds that its kernels took in one run.
    fn time(&mut self) -> anyhow::Result<f64> {
        self.executable.run(&self.inputs)?;
        Ok(self.executable.report().iter().map(|step| step.time.as_secs_f64()).sum())
    }

    fn backends(&self) -> String {
        let report = self.executable.report();
        let names: Vec<&str> = report.iter().map(|step| step.backend).collect();
        names.join(", ")
    }
}

/// A kernel's bytes a second against those of a triad.
fn stream(
    name: &str,
    goal: Goal,
    text: &str,
    pool: &Arc<Pool>,
    cpus: &[usize],
    rounds: usize,
) -> anyhow::Result<Row> {
    let mut ready = Ready::new(text, pool, Fusion::All).with_context(|| name.to_owned())?;
    ready.time()?;
    let bytes: u64 = ready.executable.report().iter().map(|step| step.cost.bytes).sum();
    // Three arrays that are together as large as what the kernel reads and writes.
    let doubles = bytes as usize / (3 * size_of::<f64>() * cpus.len());
    let mut triad = Triad::new(cpus, doubles)?;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds.max(1) {
        let limit = triad.measure()? * 1e-9;
        let mut best = f64::INFINITY;
        for _ in 0..BEST_OF {
            best = best.min(ready.time()?);
        }
        let speed = bytes as f64 * 1e-9 / best;
        ours.push(speed);
        theirs.push(limit);
        ratios.push(speed / limit);
    }
    let note = format!("{} MB by {}; the peer is the triad", bytes >> 20, ready.backends());
    Ok(Row::new(name, goal, measured(&ours, &theirs, &ratios, "GB/s", note)))
}

/// Attention as one kernel, or as one each way, against its ops one after the other.
fn chained(
    name: &str,
    goal: Goal,
    text: &str,
    pool: &Arc<Pool>,
    rounds: usize,
) -> anyhow::Result<Row> {
    let mut fused = Ready::new(text, pool, Fusion::All).with_context(|| name.to_owned())?;
    let mut apart = Ready::new(text, pool, Fusion::NoChains).with_context(|| name.to_owned())?;
    fused.time()?;
    apart.time()?;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds.max(1) {
        let (one, other) = (fused.time()? * 1e3, apart.time()? * 1e3);
        ours.push(one);
        theirs.push(other);
        ratios.push(other / one);
    }
    let note = format!("{} against {}", fused.backends(), apart.backends());
    Ok(Row::new(name, goal, measured(&ours, &theirs, &ratios, "ms", note)))
}

fn measured(
    ours: &[f64],
    theirs: &[f64],
    ratios: &[f64],
    unit: &'static str,
    note: String,
) -> Measured {
    let mut sorted = ratios.to_vec();
    sorted.sort_by(f64::total_cmp);
    Measured {
        ours: median(ours),
        peer: median(theirs),
        unit,
        ratio: median(ratios),
        low: quantile(&sorted, 0.05),
        high: quantile(&sorted, 0.95),
        notes: vec![note],
    }
}

/// Programs over tensors of so many bytes: name, goal, text.
fn streams(bytes: usize) -> Vec<(&'static str, Goal, String)> {
    const COLUMNS: usize = 1024;
    let [single, half] = [4, 2].map(|size| bytes / size / COLUMNS);
    let [wide, narrow] = [single, half].map(|rows| format!("{rows}x{COLUMNS}"));
    vec![
        ("relu_f32", CHAINS, chain(&wide, "f32", RELU)),
        ("relu_bf16", CHAINS, chain(&narrow, "bf16", RELU)),
        ("gelu_f32", CHAINS, chain(&wide, "f32", GELU)),
        ("gelu_bf16", CHAINS, chain(&narrow, "bf16", GELU)),
        ("silu_times_f32", CHAINS, chain(&wide, "f32", SILU)),
        ("softmax_f32", ROWS, rows_of(&wide, single, "f32", SOFTMAX)),
        ("layer_norm_f32", ROWS, rows_of(&wide, single, "f32", LAYER_NORM)),
        ("rms_norm_f32", ROWS, rows_of(&wide, single, "f32", RMS_NORM)),
    ]
}

/// `relu(2 x + y)`; T is the tensor's type.
const RELU: &str = "
    %two = stablehlo.constant dense<2.0> : T
    %zero = stablehlo.constant dense<0.0> : T
    %a = stablehlo.multiply %x, %two : T
    %b = stablehlo.add %a, %y : T
    %r = stablehlo.maximum %b, %zero : T";

/// GELU with the error function, of a sum.
const GELU: &str = "
    %half = stablehlo.constant dense<0.5> : T
    %one = stablehlo.constant dense<1.0> : T
    %root = stablehlo.constant dense<0.70710678> : T
    %a = stablehlo.add %x, %y : T
    %b = stablehlo.multiply %a, %root : T
    %c = chlo.erf %b : T -> T
    %d = stablehlo.add %c, %one : T
    %e = stablehlo.multiply %a, %d : T
    %r = stablehlo.multiply %e, %half : T";

/// The gate of a Llama block.
const SILU: &str = "
    %a = stablehlo.logistic %x : T
    %b = stablehlo.multiply %x, %a : T
    %r = stablehlo.multiply %b, %y : T";

fn chain(shape: &str, element: &str, body: &str) -> String {
    let ty = format!("tensor<{shape}x{element}>");
    let body = body.replace(": T", &format!(": {ty}")).replace("-> T", &format!("-> {ty}"));
    format!("func.func @main(%x: {ty}, %y: {ty}) -> {ty} {{{body}\n    return %r : {ty}\n}}\n")
}

/// Of rows: R is the type of what they reduce to, S that of one number, V that of one row.
const SOFTMAX: &str = "
    %low = stablehlo.constant dense<0xFF800000> : S
    %zero = stablehlo.constant dense<0.0> : S
    %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (T, S) -> R
    %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (R) -> T
    %s = stablehlo.subtract %x, %mb : T
    %e = stablehlo.exponential %s : T
    %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (T, S) -> R
    %tb = stablehlo.broadcast_in_dim %t, dims = [0] : (R) -> T
    %r = stablehlo.divide %e, %tb : T";

const LAYER_NORM: &str = "
    %zero = stablehlo.constant dense<0.0> : S
    %n = stablehlo.constant dense<1024.0> : R
    %eps = stablehlo.constant dense<1.0e-5> : R
    %t = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (T, S) -> R
    %m = stablehlo.divide %t, %n : R
    %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (R) -> T
    %c = stablehlo.subtract %x, %mb : T
    %q = stablehlo.multiply %c, %c : T
    %u = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (T, S) -> R
    %v = stablehlo.divide %u, %n : R
    %w = stablehlo.add %v, %eps : R
    %f = stablehlo.rsqrt %w : R
    %fb = stablehlo.broadcast_in_dim %f, dims = [0] : (R) -> T
    %o = stablehlo.multiply %c, %fb : T
    %gb = stablehlo.broadcast_in_dim %g, dims = [1] : (V) -> T
    %p = stablehlo.multiply %o, %gb : T
    %r = stablehlo.add %p, %gb : T";

const RMS_NORM: &str = "
    %zero = stablehlo.constant dense<0.0> : S
    %n = stablehlo.constant dense<1024.0> : R
    %eps = stablehlo.constant dense<1.0e-5> : R
    %q = stablehlo.multiply %x, %x : T
    %u = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (T, S) -> R
    %v = stablehlo.divide %u, %n : R
    %w = stablehlo.add %v, %eps : R
    %f = stablehlo.rsqrt %w : R
    %fb = stablehlo.broadcast_in_dim %f, dims = [0] : (R) -> T
    %o = stablehlo.multiply %x, %fb : T
    %gb = stablehlo.broadcast_in_dim %g, dims = [1] : (V) -> T
    %r = stablehlo.multiply %o, %gb : T";

fn rows_of(shape: &str, rows: usize, element: &str, body: &str) -> String {
    let types = [
        ("T", format!("tensor<{shape}x{element}>")),
        ("R", format!("tensor<{rows}x{element}>")),
        ("V", format!("tensor<1024x{element}>")),
        ("S", format!("tensor<{element}>")),
    ];
    let mut body = body.to_owned();
    for (name, ty) in &types {
        for (before, after) in [(": ", ""), ("-> ", ""), ("(", ","), ("(", ")"), (", ", ")")] {
            let found = format!("{before}{name}{after}");
            body = body.replace(&found, &format!("{before}{ty}{after}"));
        }
    }
    let (whole, one) = (&types[0].1, &types[2].1);
    format!(
        "func.func @main(%x: {whole}, %g: {one}) -> {whole} {{{body}\n    return %r : {whole}\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_ones() {
        let texts = streams(4096).into_iter().map(|(_, _, text)| text);
        for text in texts.chain([attention::program(64), attention::both_ways(64)]) {
            assert!(parse_verified(&text).is_ok(), "{text}");
        }
    }
}

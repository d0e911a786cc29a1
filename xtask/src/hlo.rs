//! `cargo xtask hlo`: how long programs take to be read and verified, and that the time grows with their size and no faster.
//! Programs of three sizes are made up; others are given as files, each with the same limit. Times are those of the build
//! that runs, so figures worth quoting come from `cargo run --release -p xtask -- hlo`; the rows of another build say so.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;

use crate::Verdict;
use crate::measurement::{Goal, Measured, Row, table, write_json};

/// Options of `cargo xtask hlo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Programs to read beside the made-up ones, such as the gradients of BERT-large.
    programs: Vec<PathBuf>,
    /// The longest a given program may take to be read and verified.
    #[arg(long, default_value_t = 40.0)]
    limit_ms: f64,
    /// How often each program is read.
    #[arg(long, default_value_t = 15)]
    repeats: usize,
    /// Also write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The sizes of the made-up programs, in ops.
const SIZES: [usize; 3] = [10_000, 30_000, 100_000];
/// How much of the smallest program's speed per op larger ones keep. A quadratic step in ten times the size would leave
/// far less; memory that no longer fits the caches leaves more.
const SPEED_KEPT: f64 = 0.6;

/// Times in milliseconds, sorted, and what was read.
struct Timed {
    total: Vec<f64>,
    parse: f64,
    verify: f64,
    ops: usize,
    bytes: usize,
}

impl Timed {
    fn median(&self) -> f64 {
        self.total[self.total.len() / 2]
    }

    fn note(&self) -> String {
        let Self { parse, verify, ops, bytes, .. } = self;
        let build =
            if cfg!(debug_assertions) { "; a debug build, not the one to quote" } else { "" };
        format!(
            "{ops} ops in {bytes} bytes; parse {parse:.2} ms, verify {verify:.2} ms (medians){build}"
        )
    }
}

/// Measures and prints.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    anyhow::ensure!(arguments.repeats > 0, "--repeats must be at least 1");
    let mut rows = made_up(arguments.repeats)?;
    for path in &arguments.programs {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let goal = Goal::Minimum(1.0);
        rows.push(match timed(&text, arguments.repeats) {
            Ok(timed) => Row::new(&name, goal, within(&timed, arguments.limit_ms)),
            Err(error) => Row::unmeasured(&name, goal, error.to_string()),
        });
    }
    print!("{}", table(&rows));
    if let Some(path) = &arguments.json {
        write_json(path, &rows)?;
    }
    Ok(Verdict::clean_if(rows.iter().all(|row| row.met)))
}

/// The time of each made-up program; those above the smallest are held against its time per op.
fn made_up(repeats: usize) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut smallest = None;
    for size in SIZES {
        let timed = timed(&synthetic(size), repeats)?;
        let per_op = timed.median() / timed.ops as f64;
        let first = *smallest.get_or_insert(per_op);
        let mut measured = within(&timed, first * timed.ops as f64);
        measured.notes.push("peer: the smallest program's time per op, times the ops".to_owned());
        rows.push(Row::new(&format!("{size}_ops"), Goal::Minimum(SPEED_KEPT), measured));
    }
    Ok(rows)
}

/// Times against a limit, above 1 where they are shorter.
fn within(timed: &Timed, limit_ms: f64) -> Measured {
    let last = timed.total.len() - 1;
    let ratio = |ms: f64| limit_ms / ms;
    Measured {
        ours: timed.median(),
        peer: limit_ms,
        unit: "ms",
        ratio: ratio(timed.median()),
        low: ratio(timed.total[last - last / 20]),
        high: ratio(timed.total[last / 20]),
        notes: vec![timed.note()],
    }
}

fn timed(text: &str, repeats: usize) -> anyhow::Result<Timed> {
    let (mut parse, mut verify, mut total) = (Vec::new(), Vec::new(), Vec::new());
    let mut ops = 0;
    for _ in 0..repeats {
        let start = Instant::now();
        let program = warpforge_hlo::parse(text)?;
        let parsed = start.elapsed().as_secs_f64() * 1e3;
        warpforge_hlo::verify(&program).map_err(|violation| violation.in_text(text))?;
        let all = start.elapsed().as_secs_f64() * 1e3;
        ops = program.op_count();
        parse.push(parsed);
        verify.push(all - parsed);
        total.push(all);
    }
    for times in [&mut parse, &mut verify, &mut total] {
        times.sort_by(f64::total_cmp);
    }
    let middle = repeats / 2;
    Ok(Timed { total, parse: parse[middle], verify: verify[middle], ops, bytes: text.len() })
}

/// A program of about so many ops, of the kinds that a model's gradients have.
fn synthetic(ops: usize) -> String {
    let matrix = "tensor<64x64xf32>";
    let mut text =
        format!("module @synthetic {{\n  func.func public @main(%arg0: {matrix}) -> {matrix} {{\n");
    text.push_str("    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>\n    %0 = stablehlo.tanh %arg0 : tensor<64x64xf32>\n");
    // Each round is eight ops, of which the last is a matrix again.
    let mut last = 0;
    for round in 0..ops.saturating_sub(3) / 8 {
        let first = 1 + round * 8;
        let [a, b, c, d, e, f, g, h] = std::array::from_fn(|index| first + index);
        let _ = write!(
            text,
            "    %{a} = stablehlo.multiply %{last}, %arg0 : {matrix}\n    \
             %{b} = stablehlo.dot_general %{a}, %{last}, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : ({matrix}, {matrix}) -> {matrix}\n    \
             %{c} = stablehlo.reduce(%{b} init: %cst) applies stablehlo.add across dimensions = [1] : ({matrix}, tensor<f32>) -> tensor<64xf32>\n    \
             %{d} = stablehlo.broadcast_in_dim %{c}, dims = [0] : (tensor<64xf32>) -> {matrix}\n    \
             %{e} = stablehlo.transpose %{b}, dims = [1, 0] : ({matrix}) -> {matrix}\n    \
             %{f} = stablehlo.compare GT, %{e}, %{d}, FLOAT : ({matrix}, {matrix}) -> tensor<64x64xi1>\n    \
             %{g} = stablehlo.select %{f}, %{e}, %{d} : tensor<64x64xi1>, {matrix}\n    \
             %{h} = stablehlo.add %{g}, %{last} : {matrix}\n"
        );
        last = h;
    }
    let _ = write!(text, "    return %{last} : {matrix}\n  }}\n}}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_programs_are_right_and_as_large_as_asked() {
        for size in [100, 1000] {
            let program = warpforge_hlo::parse_verified(&synthetic(size)).unwrap();
            // Reductions have two ops inside.
            assert!(program.op_count() >= size && program.op_count() < size * 3 / 2);
        }
    }

    #[test]
    fn a_slow_program_does_not_meet_its_limit() {
        let timed = timed(&synthetic(100), 3).unwrap();
        let goal = Goal::Minimum(1.0);
        assert!(!Row::new("slow", goal, within(&timed, 1e-9)).met);
        assert!(Row::new("quick", goal, within(&timed, 1e9)).met);
    }
}

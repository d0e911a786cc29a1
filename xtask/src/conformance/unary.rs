//! Every unary op on every input of 16 bits and on a million of 32, against values correctly rounded by MPFR.
//!
//! The distance is taken to the exact value, not to its rounding: 0.5 ULP is the best there is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use warpforge_hlo::parse_verified;
use warpforge_tensor::{DType, Shape, Tensor};

use super::compare::ulp;
use super::corpus::run_python;
use super::evaluate::{Answer, evaluate, guarded};
use super::in_parallel;
use crate::measurement::{Goal, Measured, Row, table, write_json};
use crate::python::key;
use crate::repository::root;
use crate::tier::Tier;
use crate::{Verdict, install};

/// Where the rows go.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only this op; may be given again.
    #[arg(long)]
    op: Vec<String>,
    /// Write the rows as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The ops with a float operand whose result is defined by it alone, in the order of the table.
const OPS: [&str; 39] = [
    "stablehlo.abs",
    "stablehlo.cbrt",
    "stablehlo.ceil",
    "stablehlo.cosine",
    "stablehlo.exponential",
    "stablehlo.exponential_minus_one",
    "stablehlo.floor",
    "stablehlo.is_finite",
    "stablehlo.log",
    "stablehlo.log_plus_one",
    "stablehlo.logistic",
    "stablehlo.negate",
    "stablehlo.round_nearest_afz",
    "stablehlo.round_nearest_even",
    "stablehlo.rsqrt",
    "stablehlo.sign",
    "stablehlo.sine",
    "stablehlo.sqrt",
    "stablehlo.tan",
    "stablehlo.tanh",
    "chlo.acos",
    "chlo.acosh",
    "chlo.asin",
    "chlo.asinh",
    "chlo.atan",
    "chlo.atanh",
    "chlo.bessel_i1e",
    "chlo.cosh",
    "chlo.digamma",
    "chlo.erf",
    "chlo.erf_inv",
    "chlo.erfc",
    "chlo.is_inf",
    "chlo.is_neg_inf",
    "chlo.is_pos_inf",
    "chlo.lgamma",
    "chlo.sinh",
    "chlo.square",
    "chlo.tan",
];

/// The types, and how far a result may be from the exact value.
const TYPES: [(DType, f64); 3] = [(DType::F16, 0.51), (DType::BF16, 0.51), (DType::F32, 1.0)];

/// The longest that one op may take on one type.
const LIMIT: Duration = Duration::from_secs(600);

/// Checks every op on every type.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    if let Some(unknown) = arguments.op.iter().find(|op| !OPS.contains(&op.as_str())) {
        bail!("no unary op `{unknown}`");
    }
    let chosen = |op: &&str| arguments.op.is_empty() || arguments.op.iter().any(|name| name == op);
    let ops: Vec<&str> = OPS.into_iter().filter(chosen).collect();
    let folder = references(&ops)?;
    let work: Vec<(&str, DType, f64)> =
        ops.iter().flat_map(|op| TYPES.map(|(dtype, allowed)| (*op, dtype, allowed))).collect();
    let rows = in_parallel(&work, |(op, dtype, allowed)| row(&folder, op, *dtype, *allowed));
    print!("{}", table(&rows));
    if let Some(path) = &arguments.json {
        write_json(path, &rows)?;
    }
    Ok(Verdict::clean_if(rows.iter().all(|row| row.met)))
}

/// The folder with the exact values, made if they are missing.
fn references(ops: &[&str]) -> anyhow::Result<PathBuf> {
    let source = root().join("python/conformance/unary.py");
    let text =
        std::fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
    let folder = install::cache("conformance")?.join(format!("unary-{}", key(&[&text])));
    let complete =
        |op: &&str| TYPES.iter().all(|(dtype, _)| reference(&folder, op, *dtype).is_file());
    let missing: Vec<String> =
        ops.iter().filter(|op| !complete(op)).map(|op| (*op).to_owned()).collect();
    if !missing.is_empty() {
        eprintln!(
            "  computing {} functions with MPFR into {}: once, minutes",
            missing.len(),
            folder.display()
        );
        run_python("unary", &folder, Some(&missing.iter().collect::<Vec<_>>()))?;
    }
    Ok(folder)
}

fn reference(folder: &Path, op: &str, dtype: DType) -> PathBuf {
    folder.join(format!("{op}.{dtype}"))
}

fn row(folder: &Path, op: &str, dtype: DType, allowed: f64) -> Row {
    let short = op.split_once('.').map_or(op, |(_, name)| name);
    let name = format!("{dtype} {short}");
    match worst(folder, op, dtype) {
        Ok(worst) => {
            // The largest ratio that says anything: a result without any error.
            let ratio = if worst.ulps > 0.0 { allowed / worst.ulps } else { f64::MAX };
            let measured = Measured {
                ours: worst.ulps,
                peer: allowed,
                unit: "ULP",
                ratio,
                low: ratio,
                high: ratio,
                notes: if worst.ulps > allowed { vec![worst.said()] } else { Vec::new() },
            };
            Row::new(&name, Goal::Minimum(1.0), measured)
        }
        Err(error) => Row::unmeasured(&name, Goal::Minimum(1.0), format!("{error:#}")),
    }
}

/// The result farthest from the exact value.
#[derive(Debug, Clone, Copy)]
struct Worst {
    ulps: f64,
    input: f64,
    ours: f64,
    exact: f64,
}

impl Worst {
    fn said(self) -> String {
        format!("of {:e} it is {:e}, not {:e}", self.input, self.ours, self.exact)
    }
}

fn worst(folder: &Path, op: &str, dtype: DType) -> anyhow::Result<Worst> {
    let input = inputs(folder, dtype)?;
    let exact = numbers(&reference(folder, op, dtype))?;
    ensure!(
        exact.len() == input.shape().elements(),
        "the exact values are not those of the inputs"
    );
    let text = program(op, dtype, exact.len());
    let program = parse_verified(&text)?;
    let handed = vec![input.clone()];
    let results = match guarded(LIMIT, move |cancel| {
        evaluate(Tier::Correctness, &program, "main", handed, cancel)
    }) {
        Answer::Ended(results) => results.map_err(anyhow::Error::msg)?,
        Answer::Panicked(said) => bail!("panicked: {said}"),
        Answer::Late => bail!("took more than {} s", LIMIT.as_secs()),
    };
    let result = results.first().context("there is no result")?;
    let ours: Vec<f64> = match result.floats() {
        Ok(floats) => floats,
        Err(_) => result.integers()?.into_iter().map(|flag| flag as f64).collect(),
    };
    let mut worst = Worst { ulps: 0.0, input: 0.0, ours: 0.0, exact: 0.0 };
    for ((&input, &ours), &exact) in input.floats()?.iter().zip(&ours).zip(&exact) {
        let ulps = apart(result.dtype(), ours, exact);
        if ulps > worst.ulps {
            worst = Worst { ulps, input, ours, exact };
        }
    }
    Ok(worst)
}

fn program(op: &str, dtype: DType, count: usize) -> String {
    let operand = format!("tensor<{count}x{dtype}>");
    let result = if op.contains(".is_") { format!("tensor<{count}xi1>") } else { operand.clone() };
    format!(
        "func.func @main(%x: {operand}) -> {result} {{\n  %0 = \"{op}\"(%x) : ({operand}) -> {result}\n  return %0 : {result}\n}}\n"
    )
}

fn inputs(folder: &Path, dtype: DType) -> anyhow::Result<Tensor> {
    let bytes: Arc<[u8]> = if dtype == DType::F32 {
        let path = folder.join("inputs.f32");
        std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?.into()
    } else {
        (0..=u16::MAX).flat_map(u16::to_le_bytes).collect()
    };
    let shape = Shape::new([bytes.len() / dtype.bytes()])?;
    Ok(Tensor::new(dtype, shape, bytes)?)
}

fn numbers(path: &Path) -> anyhow::Result<Vec<f64>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (chunks, _) = bytes.as_chunks::<8>();
    Ok(chunks.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect())
}

/// The distance between a result and the exact value; infinite where one of them is a number and the other is not.
fn apart(dtype: DType, ours: f64, exact: f64) -> f64 {
    if ours == exact || (ours.is_nan() && exact.is_nan()) {
        return 0.0;
    }
    let rounded =
        Tensor::from_floats(dtype, Shape::scalar(), vec![exact]).and_then(|one| one.floats());
    let right = rounded.is_ok_and(|rounded| rounded == [ours]);
    let distance = ulp(dtype, exact).map_or(f64::INFINITY, |unit| (ours - exact).abs() / unit);
    match (right, distance.is_nan()) {
        // Also where the exact value is beyond the largest number and infinity its rounding.
        (true, _) => distance.min(0.5),
        (false, true) => f64::INFINITY,
        (false, false) => distance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpforge_hlo::parse;

    #[test]
    fn distances_are_to_the_exact_value() {
        assert_eq!(apart(DType::F16, 1.0, 1.0), 0.0);
        assert_eq!(apart(DType::F16, f64::NAN, f64::NAN), 0.0);
        assert_eq!(apart(DType::F16, f64::INFINITY, 1e9), 0.5);
        assert_eq!(apart(DType::F16, 1.0, 1.0 + 2_f64.powi(-12)), 0.25);
        assert_eq!(apart(DType::F16, 1.0 + 2_f64.powi(-10), 1.0), 1.0);
        assert!(apart(DType::F16, f64::NAN, 1.0).is_infinite());
        assert!(apart(DType::F16, 1.0, f64::NAN).is_infinite());
        assert!(apart(DType::F16, 65504.0, f64::INFINITY).is_infinite());
    }

    #[test]
    fn programs_of_every_op_are_read() {
        for op in OPS {
            for (dtype, _) in TYPES {
                parse_verified(&program(op, dtype, 3))
                    .unwrap_or_else(|error| panic!("{op}: {error}"));
            }
        }
        assert!(parse("func").is_err());
    }
}

//! How close a result is to what the program computes in f64, beside how close the reference interpreter is.

use std::collections::HashMap;
use std::fmt;

use anyhow::{bail, ensure};
use warpforge_engine::EngineError;
use warpforge_engine::reference::{Observation, Observer, Value};
use warpforge_hlo::Program;
use warpforge_hlo::ir::{Function, OpKind, ValueId};
use warpforge_tensor::{DType, Tensor};

/// How many times further off than the reference interpreter a result may be.
const ALLOWED: f64 = 4.0;
/// A reference that happens to be exact counts as this far off, times the root of the terms of the longest product: what
/// rounding to f32 makes of a sum that is kept in f32, as every fast product keeps it. The reference interpreter keeps its
/// sums in f64.
const ROUNDING: f64 = f32::EPSILON as f64 / 2.0;

/// What was seen over all programs.
#[derive(Debug, Default)]
pub(super) struct Worst {
    pub(super) floats: u64,
    pub(super) others: u64,
    /// Results held against the largest number they were computed from, not against their own.
    cancelled: u64,
    ratio: f64,
    seed: u64,
    /// Sums of errors of production and reference, for the mean of their ratio.
    production: f64,
    reference: f64,
}

impl fmt::Display for Worst {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "errors against f64: at most {:.2} times what is counted for the reference interpreter (seed {}), {:.2} times over all; {ALLOWED} is allowed\n{} results are what is left of larger numbers: held against those",
            self.ratio,
            self.seed,
            self.production / self.reference.max(f64::MIN_POSITIVE),
            self.cancelled
        )
    }
}

/// The text of the same program in f64.
pub(super) fn shadow_of(text: &str) -> String {
    text.replace("f32", "f64")
}

/// Inputs in f64.
pub(super) fn widened(inputs: &[Value]) -> anyhow::Result<Vec<Value>> {
    inputs
        .iter()
        .map(|input| match input {
            Value::Tensor(tensor) if tensor.dtype() == DType::F32 => {
                let wide =
                    Tensor::from_floats(DType::F64, tensor.shape().clone(), tensor.floats()?)?;
                Ok(Value::Tensor(wide))
            }
            other => Ok(other.clone()),
        })
        .collect()
}

/// The largest number that each value was computed from, itself among them.
#[derive(Debug, Default)]
pub(super) struct Largest(HashMap<ValueId, f64>);

impl Largest {
    /// Before a run: the inputs.
    pub(super) fn new(function: &Function, inputs: &[Value]) -> Self {
        let of = function.body.arguments.iter().zip(inputs);
        Self(of.map(|(argument, input)| (*argument, largest_of(input))).collect())
    }

    /// That of each result.
    pub(super) fn of_results(&self, function: &Function) -> Vec<f64> {
        let end = function.body.ops.last().map(|end| end.operands.as_slice()).unwrap_or_default();
        end.iter().map(|value| self.0.get(value).copied().unwrap_or(0.0)).collect()
    }
}

fn largest_of(value: &Value) -> f64 {
    let Value::Tensor(tensor) = value else { return 0.0 };
    let floats = tensor.floats().unwrap_or_default();
    floats.iter().filter(|float| float.is_finite()).fold(0.0, |most, float| most.max(float.abs()))
}

impl Observer for Largest {
    fn observe(&mut self, seen: &Observation<'_>) -> Result<(), EngineError> {
        let before = seen.op.operands.iter().filter_map(|operand| self.0.get(operand));
        let before = before.fold(0.0_f64, |most, number| most.max(*number));
        for (result, value) in seen.op.results.iter().zip(seen.results) {
            // A constant counts by what comes of it.
            let own = match seen.op.kind {
                OpKind::Constant(_) => 0.0,
                _ => largest_of(value),
            };
            self.0.insert(*result, before.max(own));
        }
        Ok(())
    }
}

/// The terms of the longest sum of a product or convolution.
pub(super) fn longest_sum(program: &Program) -> usize {
    let mut longest = 1;
    for function in &program.functions {
        for op in &function.body.ops {
            let sizes = |place: usize| -> Vec<usize> {
                let ty = function.ty(op.operands[place]).tensor();
                ty.and_then(|ty| ty.shape()).map(|shape| shape.sizes().to_vec()).unwrap_or_default()
            };
            let terms = match &op.kind {
                OpKind::DotGeneral(numbers) => {
                    let sizes = sizes(0);
                    numbers.lhs_contracting.iter().map(|at| sizes[*at as usize]).product()
                }
                OpKind::Convolution(numbers) => {
                    let sizes = sizes(1);
                    let features = sizes[numbers.dimensions.kernel_output_feature as usize].max(1);
                    sizes.iter().product::<usize>() / features
                }
                _ => 1,
            };
            longest = longest.max(terms);
        }
    }
    longest
}

/// Whether a result is close enough.
pub(super) fn judge(
    seed: u64,
    (terms, largest): (usize, f64),
    found: &Value,
    reference: &Value,
    exact: &Value,
    worst: &mut Worst,
) -> anyhow::Result<()> {
    let (Value::Tensor(found), Value::Tensor(reference), Value::Tensor(exact)) =
        (found, reference, exact)
    else {
        bail!("a result that is no tensor");
    };
    ensure!(
        found.dtype() == reference.dtype() && found.shape() == reference.shape(),
        "{} [{}] for {} [{}]",
        found.dtype(),
        found.shape(),
        reference.dtype(),
        reference.shape()
    );
    if found.dtype() != DType::F32 {
        worst.others += 1;
        ensure!(found == reference, "{found:?} for {reference:?}");
        return Ok(());
    }
    worst.floats += 1;
    let (found, reference, exact) = (found.floats()?, reference.floats()?, exact.floats()?);
    let scale = exact
        .iter()
        .filter(|value| value.is_finite())
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    if scale == 0.0 && largest == 0.0 || largest > f64::from(f32::MAX) {
        return Ok(());
    }
    let scale = scale.max(f64::MIN_POSITIVE);
    let (mut ours, mut theirs) = (0.0_f64, 0.0_f64);
    for ((found, reference), exact) in found.iter().zip(&reference).zip(&exact) {
        if !exact.is_finite() || !reference.is_finite() {
            // What is no number, or too large, must be so here as well.
            let alike =
                found.is_nan() == reference.is_nan() && found.is_finite() == reference.is_finite();
            ensure!(alike, "{found} for {reference}");
            continue;
        }
        ours = ours.max((found - exact).abs() / scale);
        theirs = theirs.max((reference - exact).abs() / scale);
        ensure!(!ours.is_nan(), "{found} for {exact}");
    }
    let least = ROUNDING * (terms as f64).sqrt();
    let counted = theirs.max(least);
    let mut ratio = ours / counted;
    if ratio > ALLOWED {
        // What larger numbers left of one another has their errors.
        worst.cancelled += 1;
        ratio = ours / (least * largest / scale).max(counted);
    } else {
        worst.production += ours.max(least);
        worst.reference += counted;
    }
    if ratio > worst.ratio {
        (worst.ratio, worst.seed) = (ratio, seed);
    }
    ensure!(ratio <= ALLOWED, "{ours:.2e} off where the reference interpreter is {theirs:.2e} off");
    Ok(())
}

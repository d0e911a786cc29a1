//! `tolerances.toml`, and what it allows for a program.
//!
//! What a program may differ by is the sum of what its ops may, each in the units of the type it computes in. See the
//! file for the reasons behind the numbers.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;
use warpforge_hlo::Program;
use warpforge_tensor::{DType, Tensor};

use super::compare::{Allowed, epsilon};
use super::magnitude::{Inexact, Step, inexact_ops};

/// The committed table.
const TEXT: &str = include_str!("tolerances.toml");

/// The table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tolerances {
    rounded: Rounded,
    functions: BTreeMap<String, Units>,
    sums: BTreeMap<String, Sum>,
    groups: BTreeMap<String, Units>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rounded {
    real: Vec<String>,
    cancelling: Vec<String>,
    conversions: Vec<String>,
    complex: BTreeMap<String, f64>,
}

/// Units by type.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Units {
    f64: f64,
    f32: f64,
    small: f64,
    #[serde(default)]
    complex: f64,
    #[serde(default)]
    floor: f64,
    #[serde(default)]
    norm: bool,
}

impl Units {
    fn of(self, dtype: DType) -> f64 {
        match dtype {
            DType::F64 => self.f64,
            DType::F32 => self.f32,
            DType::C64 | DType::C128 => self.complex,
            _ => self.small,
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sum {
    per_term: f64,
    degree: i32,
}

/// What a program may differ by, relative to 1, before the type of a result is known.
#[derive(Debug, Default)]
struct Budget {
    relative: f64,
    floor: f64,
    norm: bool,
    /// The power of an input that a term of a sum can have.
    degree: i32,
    roundings: usize,
    cancels: bool,
    /// What a lone rounding would have cost.
    lone: f64,
}

impl Tolerances {
    /// Reads the committed table.
    pub(super) fn committed() -> anyhow::Result<Self> {
        toml::from_str(TEXT).context("tolerances.toml")
    }

    /// What each result of a program of a group may differ by.
    pub(super) fn allowed(
        &self,
        group: &str,
        program: &Program,
        inputs: &[Tensor],
        results: &[Tensor],
    ) -> Vec<Allowed> {
        let budget = self.budget(program);
        let largest = inputs.iter().filter_map(largest).fold(0.0, f64::max);
        let allowed = |result: &Tensor| {
            let Some(unit) = epsilon(result.dtype()) else { return Allowed::NOTHING };
            if let Some(units) = self.groups.get(group) {
                return Allowed {
                    ulps: units.of(result.dtype()),
                    floor: units.floor,
                    norm: units.norm,
                };
            }
            let reach = largest.powi(budget.degree);
            let terms = if budget.norm && reach.is_finite() { reach } else { 0.0 };
            Allowed {
                ulps: budget.relative / unit,
                floor: budget.floor.max(terms),
                norm: budget.norm,
            }
        };
        results.iter().map(allowed).collect()
    }

    fn budget(&self, program: &Program) -> Budget {
        let mut budget = Budget::default();
        for op in inexact_ops(program) {
            self.spend(&mut budget, &op);
        }
        // One rounding is the same on both sides.
        if budget.roundings == 1 && budget.relative == budget.lone {
            budget.relative = 0.0;
        } else if budget.cancels {
            budget.norm = true;
            budget.degree = budget.degree.max(1);
        }
        budget
    }

    fn spend(&self, budget: &mut Budget, op: &Inexact<'_>) {
        let Some(unit) = epsilon(op.dtype) else { return };
        let complex = op.dtype.is_complex();
        if let Some(sum) = self.sums.get(op.name) {
            match op.step {
                Step::Adds => {
                    budget.relative += sum.per_term * op.terms as f64 * unit;
                    budget.norm = true;
                    budget.degree = budget.degree.max(sum.degree);
                }
                Step::Multiplies => budget.relative += op.terms as f64 * unit,
                Step::Chooses => {}
            }
        } else if complex && let Some(units) = self.rounded.complex.get(op.name) {
            budget.relative += units * unit;
        } else if self.functions.get(op.name).is_some_and(|units| units.of(op.dtype) > 0.0) {
            let units = self.functions[op.name];
            budget.relative += units.of(op.dtype) * unit;
            budget.floor = budget.floor.max(units.floor);
            budget.norm |= units.norm;
        } else if self.rounded.real.iter().any(|name| name == op.name)
            || (op.narrows && self.rounded.conversions.iter().any(|name| name == op.name))
        {
            budget.roundings += 1;
            budget.cancels |= self.rounded.cancelling.iter().any(|name| name == op.name);
            budget.lone = unit;
            budget.relative += unit;
        }
    }
}

/// The largest finite size in a tensor of floats.
fn largest(tensor: &Tensor) -> Option<f64> {
    use warpforge_tensor::Elements;
    let sizes: Vec<f64> = match tensor.elements() {
        Elements::Integers(_) => return None,
        Elements::Floats(values) => values.into_iter().map(f64::abs).collect(),
        Elements::Complex(values) => values.into_iter().map(|value| value.norm()).collect(),
    };
    sizes.into_iter().filter(|size| size.is_finite()).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpforge_hlo::parse;
    use warpforge_tensor::Shape;

    fn allowed(group: &str, text: &str) -> Allowed {
        let program = parse(text).unwrap();
        let three = [Tensor::from_floats(DType::F32, Shape::scalar(), vec![3.0]).unwrap()];
        Tolerances::committed().unwrap().allowed(group, &program, &three, &three)[0]
    }

    fn program(ops: &str) -> String {
        format!("func.func @main(%x: tensor<4xf32>, %s: tensor<f32>) {{\n{ops}\nreturn\n}}")
    }

    #[test]
    fn one_rounding_is_exact_and_two_are_not() {
        let one = "%0 = stablehlo.add %x, %x : tensor<4xf32>\n";
        assert_eq!(allowed("add", &program(one)).ulps, 0.0);
        let two = format!("{one}%1 = stablehlo.multiply %0, %x : tensor<4xf32>");
        let both = allowed("add", &program(&two));
        assert_eq!((both.ulps, both.norm, both.floor), (2.0, true, 3.0));
        let moved = "%0 = stablehlo.reverse %x, dims = [0] : tensor<4xf32>";
        assert_eq!(allowed("rev", &program(moved)), Allowed::NOTHING);
    }

    #[test]
    fn functions_sums_and_groups_have_their_own() {
        let function = "%0 = stablehlo.tanh %x : tensor<4xf32>";
        assert_eq!(allowed("tanh", &program(function)).ulps, 8.0);
        let sum = "%0 = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>";
        let summed = allowed("reduce_sum", &program(sum));
        assert_eq!((summed.ulps, summed.norm, summed.floor), (4.0, true, 3.0));
        let largest = sum.replace(".add", ".maximum");
        assert_eq!(allowed("reduce_max", &program(&largest)).ulps, 0.0);
        assert_eq!(allowed("lgamma", &program(function)).ulps, 128.0);
    }
}

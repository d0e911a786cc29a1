//! Whole runs from the golden start: nothing golden is seen after it but the batches, and the loss curves are judged as wholes.
//!
//! Rounding differs between any two ways to sum, and training makes small differences large, so single steps of two free runs are
//! not compared. What is: each run's curve with the golden one of the same seeds, over all seeds at once.

use std::time::Instant;

use serde::Serialize;
use warpforge_golden::{Bundle, Run, TrainingRun};
use warpforge_tensor::{Shape, Tensor, safetensors};
use warpt_stats::curves::sign_flip;

use crate::outcome::Named;
use crate::programs::{ModelArguments, Programs, mean_gradients};
use crate::{Runner, ValidateError};

/// Fewer seeds than this decide nothing.
pub const FEWEST_SEEDS: usize = 10;
/// Below this p value the curves are taken to differ.
pub const ALPHA: f64 = 0.01;
/// Mean differences within this share of the loss are none, however sure: the preset for the loss of a step.
pub const NEGLIGIBLE: f64 = 1e-4;
/// The most that the end of the mean curve may be off, as a share of the golden one.
pub const FINAL_SHARE: f64 = 1e-2;
/// The steps at the end whose mean is the final loss: a tenth of all.
const FINAL_PART: usize = 10;

/// Free runs, judged.
#[derive(Debug, Clone, Serialize)]
pub struct FreeRun {
    /// The recipe of the bundle.
    pub recipe: String,
    /// How it was run.
    pub run: Run,
    /// One curve for each seed.
    pub curves: Vec<Curve>,
    /// The p value of the test of whole curves; none where it could not be made.
    pub p_value: Option<f64>,
    /// The largest mean difference at any step, as a share of the mean golden loss there.
    pub largest_share: f64,
    /// The difference of the mean final losses as a share of the golden one.
    pub final_share: f64,
    /// What follows.
    pub verdict: FreeVerdict,
}

/// The loss of one run, here and in the golden run.
#[derive(Debug, Clone, Serialize)]
pub struct Curve {
    /// The seed of the weights.
    pub seed: i64,
    /// The loss of each step here.
    pub loss: Vec<f64>,
    /// The loss of each step in the golden run.
    pub golden: Vec<f64>,
    /// What the run took here, without preparing it.
    pub seconds: f64,
}

/// What free runs say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FreeVerdict {
    /// The curves cannot be told from the golden ones.
    Match,
    /// They can, or the end of training is off.
    Mismatch,
    /// Too few seeds to say.
    Inconclusive,
}

/// Runs a bundle's training from the start of each of its runs and judges the loss curves. `progress` is told of each run.
pub fn free_run(
    bundle: &Bundle,
    runner: &Runner<'_>,
    producer: &str,
    mut progress: impl FnMut(usize, usize),
) -> Result<FreeRun, ValidateError> {
    let mut programs = Programs::new(runner, bundle)?;
    let runs = &bundle.manifest().runs;
    let mut curves = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        progress(number, runs.len());
        curves.push(trained(bundle, runner, &mut programs, run)?);
    }
    Ok(judged(&bundle.manifest().model.recipe, runner.described(producer), curves))
}

/// One run, from its start to its end.
fn trained(
    bundle: &Bundle,
    runner: &Runner<'_>,
    programs: &mut Programs<'_>,
    run: &TrainingRun,
) -> Result<Curve, ValidateError> {
    let batches: Vec<safetensors::File> =
        run.batches.iter().map(|path| bundle.tensors(path)).collect::<Result<_, _>>()?;
    let mut weights = crate::outcome::mapped(&bundle.tensors(&run.initial)?, |_| true)?;
    let mut state: Option<Named> = None;
    let mut loss = Vec::new();
    let started = Instant::now();
    for (step, rate) in bundle.loss_curve().learning_rate.iter().enumerate() {
        let number = step as u64 % run.batch_count;
        let mut ranks = Vec::new();
        let mut buffers = Named::new();
        for file in &batches {
            let arguments =
                ModelArguments { weights: &weights, inputs: file, prefix: &format!("{number}/") };
            let computed = programs.gradients(runner, &arguments)?;
            buffers = computed.buffers;
            ranks.push((computed.loss, computed.gradients));
        }
        let losses: Vec<f64> =
            ranks.iter().map(|(loss, _)| first(loss)).collect::<Result<_, _>>()?;
        loss.push(losses.iter().sum::<f64>() / losses.len() as f64);
        let gradients: Vec<&Named> = ranks.iter().map(|(_, gradients)| gradients).collect();
        let gradients = mean_gradients(&gradients)?;
        let (updated, next) =
            programs.update(runner, &weights, &gradients, state.as_ref(), *rate)?;
        state = Some(next);
        for (name, tensor) in updated.into_iter().chain(buffers) {
            match weights.iter_mut().find(|(known, _)| *known == name) {
                Some(place) => place.1 = tensor,
                None => weights.push((name, tensor)),
            }
        }
    }
    Ok(Curve {
        seed: run.seeds.weights,
        loss,
        golden: run.loss.clone(),
        seconds: started.elapsed().as_secs_f64(),
    })
}

fn first(tensor: &Tensor) -> Result<f64, ValidateError> {
    let one = tensor.reshaped(Shape::scalar())?;
    Ok(one.floats()?.first().copied().unwrap_or(f64::NAN))
}

/// What curves say together.
fn judged(recipe: &str, run: Run, curves: Vec<Curve>) -> FreeRun {
    let differences: Vec<Vec<f64>> = curves
        .iter()
        .map(|curve| {
            curve.loss.iter().zip(&curve.golden).map(|(own, golden)| own - golden).collect()
        })
        .collect();
    let finite = curves.iter().all(|curve| curve.loss.iter().all(|loss| loss.is_finite()));
    let test = sign_flip(&differences, 0);
    let steps = curves.first().map_or(0, |curve| curve.loss.len());
    let mean = |step: usize, of: fn(&Curve) -> &Vec<f64>| -> f64 {
        curves.iter().map(|curve| of(curve)[step]).sum::<f64>() / curves.len() as f64
    };
    let share = |step: usize| {
        let golden = mean(step, |curve| &curve.golden);
        (mean(step, |curve| &curve.loss) - golden).abs() / golden.abs().max(f64::MIN_POSITIVE)
    };
    let largest_share = (0..steps).map(share).fold(0.0, f64::max);
    let last = steps - steps.div_ceil(FINAL_PART).min(steps)..steps;
    let end = |of: fn(&Curve) -> &Vec<f64>| last.clone().map(|step| mean(step, of)).sum::<f64>();
    let golden_end = end(|curve| &curve.golden);
    let final_share =
        (end(|curve| &curve.loss) - golden_end).abs() / golden_end.abs().max(f64::MIN_POSITIVE);
    let p_value = test.map(|test| test.p_value);
    let verdict = if !finite || (!last.is_empty() && final_share > FINAL_SHARE) {
        FreeVerdict::Mismatch
    } else if curves.len() < FEWEST_SEEDS {
        FreeVerdict::Inconclusive
    } else if p_value.is_some_and(|p| p <= ALPHA) && largest_share > NEGLIGIBLE {
        FreeVerdict::Mismatch
    } else {
        FreeVerdict::Match
    };
    FreeRun { recipe: recipe.to_owned(), run, curves, p_value, largest_share, final_share, verdict }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(count: usize, change: impl Fn(usize, usize) -> f64) -> FreeRun {
        let one = |number: usize| {
            let golden: Vec<f64> = (0..40).map(|step| 2.0 / (1.0 + step as f64 / 10.0)).collect();
            let loss =
                golden.iter().enumerate().map(|(step, loss)| loss * (1.0 + change(number, step)));
            Curve {
                seed: number as i64,
                loss: loss.collect(),
                golden: golden.clone(),
                seconds: 0.0,
            }
        };
        let run = Run {
            producer: String::new(),
            tier: String::new(),
            precision: String::new(),
            threads: None,
        };
        judged("mlp", run, (0..count).map(one).collect())
    }

    #[test]
    fn verdicts() {
        let sign = |number: usize| if number.is_multiple_of(2) { 1.0 } else { -1.0 };
        // Differences of either sign that grow, as those of rounding do.
        let noise = curves(12, |number, step| sign(number) * 1e-7 * 1.2_f64.powi(step as i32));
        assert_eq!(noise.verdict, FreeVerdict::Match, "{noise:?}");
        // The same sign everywhere, but of no size.
        assert_eq!(curves(12, |_, _| 1e-6).verdict, FreeVerdict::Match);
        assert_eq!(curves(12, |_, _| 1e-3).verdict, FreeVerdict::Mismatch);
        assert_eq!(curves(5, |_, _| 1e-3).verdict, FreeVerdict::Inconclusive);
        assert_eq!(curves(5, |_, _| 2e-2).verdict, FreeVerdict::Mismatch);
        assert_eq!(
            curves(12, |_, step| if step == 7 { f64::NAN } else { 0.0 }).verdict,
            FreeVerdict::Mismatch
        );
        assert_eq!(curves(0, |_, _| 0.0).verdict, FreeVerdict::Inconclusive);
    }
}

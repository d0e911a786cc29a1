//! Whole runs from the golden start: nothing golden is seen after it but the batches, and the loss curves are judged as wholes.
//!
//! Rounding differs between any two ways to sum, and training makes small differences large, so single steps of two free runs are
//! not compared. What is: each run's curve with the golden one of the same seeds, over all seeds at once.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;
use warpforge_golden::{Bundle, Run, TrainingRun};
use warpforge_tensor::{Shape, Tensor, safetensors};
use warpt_stats::curves::sign_flip;
use warpt_stats::median;

use crate::outcome::Named;
use crate::programs::{Inputs, ModelArguments, Programs, mean_gradients};
use crate::questions::{Asking, BatchesCompared};
use crate::targets::{MetricJudged, Speed, TargetJudged, metrics, targets};
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
    /// Metrics at the end, where the bundle has questions to ask.
    pub metrics: Vec<MetricJudged>,
    /// Batches made here from the text of the questions.
    pub batches: Option<BatchesCompared>,
    /// What the golden run should reach.
    pub targets: Vec<TargetJudged>,
    /// How fast it is, here and in the golden run.
    pub speed: Option<Speed>,
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
    /// What each step took here.
    pub step_seconds: Vec<f64>,
    /// What was measured at its end here.
    pub metrics: BTreeMap<String, f64>,
    /// What was measured at the end of the golden run.
    pub golden_metrics: BTreeMap<String, f64>,
}

/// What free runs say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FreeVerdict {
    /// The curves cannot be told from the golden ones.
    Match,
    /// They can, or the end of training is off.
    Mismatch,
    /// Everything matches, but the golden run does not reach what it should.
    GoldenMissesTarget,
    /// Too few seeds to say.
    Inconclusive,
}

/// How far free runs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeProgress {
    /// The run, from 0, and how many there are.
    pub run: (usize, usize),
    /// The step of it, from 0, and how many there are.
    pub step: (usize, usize),
}

/// Runs a bundle's training from the start of each of its runs and judges the loss curves, and what is measured at the end.
/// `same_machine` says whether the golden run was made on a machine like this one, so that speeds can be judged. `progress` is told of
/// each step.
pub fn free_run(
    bundle: &Bundle,
    runner: &Runner<'_>,
    producer: &str,
    same_machine: bool,
    mut progress: impl FnMut(FreeProgress),
) -> Result<FreeRun, ValidateError> {
    let started = Instant::now();
    let mut programs = Programs::new(runner, bundle)?;
    let manifest = bundle.manifest();
    let asking = Asking::open(bundle)?;
    let mut compared = BatchesCompared::default();
    let mut curves = Vec::new();
    for (number, run) in manifest.runs.iter().enumerate() {
        let steps = bundle.loss_curve().learning_rate.len();
        let mut tell = |step| {
            progress(FreeProgress { run: (number, manifest.runs.len()), step: (step, steps) });
        };
        let batches: Vec<safetensors::File> =
            run.batches.iter().map(|path| bundle.tensors(path)).collect::<Result<_, _>>()?;
        if let Some(asking) = &asking {
            asking.compare_batches(bundle, run, &batches, &mut compared)?;
        }
        let (mut curve, weights) =
            trained(bundle, runner, &mut programs, run, &batches, &mut tell)?;
        if let Some(asking) = &asking {
            curve.metrics = asking.ask(bundle, runner, &mut programs, &weights)?;
        }
        curves.push(curve);
    }
    let mut found = judged(&manifest.model.recipe, runner.described(producer), curves);
    found.batches = asking.map(|_| compared);
    found.metrics = metrics(&found.curves);
    let both = manifest.seconds.map(|golden| golden + started.elapsed().as_secs_f64());
    let own = found.curves.iter().flat_map(|curve| curve.step_seconds.iter().copied());
    let own_seconds = median(&own.collect::<Vec<_>>());
    let golden_seconds = median(&bundle.loss_curve().seconds);
    found.speed = (own_seconds > 0.0 && golden_seconds > 0.0).then_some(Speed {
        own_seconds,
        golden_seconds,
        same_machine,
    });
    found.targets = targets(&manifest.targets, &found.curves, both, found.speed);
    found.weigh();
    Ok(found)
}

impl FreeRun {
    /// Whether the curves alone could be the golden ones.
    pub fn curves_match(&self) -> bool {
        curves_verdict(&self.curves, self.p_value, self.largest_share, self.final_share)
            == FreeVerdict::Match
    }

    /// Lets everything beside the curves have its say.
    fn weigh(&mut self) {
        let different = self.batches.as_ref().is_some_and(|batches| batches.different > 0);
        let off = self.metrics.iter().any(|metric| !metric.matches);
        let missed = |of_run: bool| {
            self.targets.iter().any(|each| !each.reached && each.is_of_run() == of_run)
        };
        let (slow, short) = (missed(true), missed(false));
        if different || off || slow {
            self.verdict = FreeVerdict::Mismatch;
        } else if self.verdict == FreeVerdict::Match && short {
            self.verdict = FreeVerdict::GoldenMissesTarget;
        }
    }
}

/// One run, from its start to its end.
fn trained(
    bundle: &Bundle,
    runner: &Runner<'_>,
    programs: &mut Programs<'_>,
    run: &TrainingRun,
    batches: &[safetensors::File],
    tell: &mut dyn FnMut(usize),
) -> Result<(Curve, Named), ValidateError> {
    let mut weights = crate::outcome::mapped(&bundle.tensors(&run.initial)?, |_| true)?;
    let mut state: Option<Named> = None;
    let (mut loss, mut step_seconds) = (Vec::new(), Vec::new());
    for (step, rate) in bundle.loss_curve().learning_rate.iter().enumerate() {
        tell(step);
        let started = Instant::now();
        let number = step as u64 % run.batch_count;
        let mut ranks = Vec::new();
        let mut buffers = Named::new();
        let prefix = format!("{number}/");
        for file in batches {
            let inputs = Inputs::File(file, &prefix);
            let arguments = ModelArguments { weights: &weights, inputs };
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
        step_seconds.push(started.elapsed().as_secs_f64());
    }
    let curve = Curve {
        seed: run.seeds.weights,
        loss,
        golden: run.loss.clone(),
        seconds: step_seconds.iter().sum(),
        step_seconds,
        metrics: BTreeMap::new(),
        golden_metrics: run.metrics.clone(),
    };
    Ok((curve, weights))
}

/// The mean over the last tenth of the steps of all runs.
pub(crate) fn final_loss(curves: &[Curve], of: fn(&Curve) -> &Vec<f64>) -> Option<f64> {
    let steps = curves.first().map_or(0, |curve| of(curve).len());
    let last = steps - steps.div_ceil(FINAL_PART).min(steps)..steps;
    let all: Vec<f64> =
        curves.iter().flat_map(|curve| of(curve)[last.clone()].iter().copied()).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
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
    let end = |of: fn(&Curve) -> &Vec<f64>| final_loss(&curves, of);
    let final_share = match (end(|curve| &curve.loss), end(|curve| &curve.golden)) {
        (Some(own), Some(golden)) => (own - golden).abs() / golden.abs().max(f64::MIN_POSITIVE),
        _ => 0.0,
    };
    let p_value = test.map(|test| test.p_value);
    let verdict = curves_verdict(&curves, p_value, largest_share, final_share);
    FreeRun {
        recipe: recipe.to_owned(),
        run,
        curves,
        p_value,
        largest_share,
        final_share,
        metrics: Vec::new(),
        batches: None,
        targets: Vec::new(),
        speed: None,
        verdict,
    }
}

/// What curves alone say.
fn curves_verdict(
    curves: &[Curve],
    p_value: Option<f64>,
    largest_share: f64,
    final_share: f64,
) -> FreeVerdict {
    let finite = curves.iter().all(|curve| curve.loss.iter().all(|loss| loss.is_finite()));
    if !finite || final_share > FINAL_SHARE {
        FreeVerdict::Mismatch
    } else if curves.len() < FEWEST_SEEDS {
        FreeVerdict::Inconclusive
    } else if p_value.is_some_and(|p| p <= ALPHA) && largest_share > NEGLIGIBLE {
        FreeVerdict::Mismatch
    } else {
        FreeVerdict::Match
    }
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
                step_seconds: Vec::new(),
                metrics: BTreeMap::new(),
                golden_metrics: BTreeMap::new(),
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

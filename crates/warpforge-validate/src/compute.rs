//! Steps from the golden state: loss, gradients and activations from the golden weights and batch, the update from the golden
//! gradients.
//!
//! Invariant: nothing a step computes reaches the next one, so each difference is made in the step that shows it.

use std::time::Instant;

use warpforge_golden::{Activation, Bundle, Rank, Step, Unobserved};
use warpforge_tensor::{DType, Shape, Tensor};

use crate::ValidateError;
use crate::outcome::{Named, Outcome, RankOutcome, mapped};
use crate::programs::{Inputs, ModelArguments, Programs, mean_gradients, watching};
use crate::runner::{Ready, Runner};

/// A bundle's programs made ready to run its steps.
pub struct StepLocked<'a> {
    runner: &'a Runner<'a>,
    bundle: &'a Bundle,
    programs: Programs<'a>,
    activations: Option<Ready>,
    observed: Vec<&'a Activation>,
    unobserved: Vec<Unobserved>,
}

impl<'a> StepLocked<'a> {
    /// Reads the programs of a bundle and makes them ready.
    pub fn new(runner: &'a Runner<'a>, bundle: &'a Bundle) -> Result<Self, ValidateError> {
        let (activations, observed, unobserved) = watching(runner, bundle)?;
        let programs = Programs::new(runner, bundle)?;
        Ok(Self { runner, bundle, programs, activations, observed, unobserved })
    }

    /// Activations that the programs do not show, with the reason.
    pub fn unobserved(&self) -> &[Unobserved] {
        &self.unobserved
    }

    /// Runs one step.
    pub fn step(&mut self, step: &Step) -> Result<Outcome, ValidateError> {
        let weights = mapped(&self.bundle.tensors(&step.before.weights)?, |_| true)?;
        let mut outcome = Outcome { index: step.index, ..Outcome::default() };
        for rank in &step.ranks {
            let (rank, buffers) = self.rank(&weights, rank)?;
            outcome.ranks.push(rank);
            outcome.weights = buffers;
        }
        let parts: Vec<&Named> = outcome.ranks.iter().map(|rank| &rank.gradients).collect();
        outcome.gradients = mean_gradients(&parts)?;
        let golden = mapped(&self.bundle.tensors(&step.gradients)?, |_| true)?;
        let state = match &step.before.optimizer {
            Some(path) => Some(mapped(&self.bundle.tensors(path)?, |_| true)?),
            None => None,
        };
        let rate = step.learning_rate;
        let started = Instant::now();
        let (updated, after) =
            self.programs.update(self.runner, &weights, &golden, state.as_ref(), rate)?;
        outcome.update_seconds = started.elapsed().as_secs_f64();
        outcome.weights.extend(updated);
        outcome.state = after;
        let own = self.programs.update(
            self.runner,
            &weights,
            &outcome.gradients,
            state.as_ref(),
            rate,
        )?;
        outcome.own_weights = own.0;
        Ok(outcome)
    }

    /// The trained model on the evaluation batch, where the bundle has one.
    pub fn evaluation(&mut self) -> Result<Option<Named>, ValidateError> {
        let Some(evaluation) = &self.bundle.manifest().evaluation else { return Ok(None) };
        let weights = mapped(&self.bundle.tensors(&evaluation.weights)?, |_| true)?;
        let inputs = self.bundle.tensors(&evaluation.inputs)?;
        let arguments = ModelArguments { weights: &weights, inputs: Inputs::File(&inputs, "") };
        Ok(Some(self.programs.forward(self.runner, &arguments)?))
    }

    fn rank(
        &mut self,
        weights: &Named,
        rank: &Rank,
    ) -> Result<(RankOutcome, Named), ValidateError> {
        let inputs = self.bundle.tensors(&rank.inputs)?;
        let arguments = ModelArguments { weights, inputs: Inputs::File(&inputs, "") };
        let computed = self.programs.gradients(self.runner, &arguments)?;
        let mut activations = Vec::new();
        if let Some(ready) = &mut self.activations {
            let entry = self.bundle.program("gradients")?;
            let seen = self.runner.run(ready, arguments.of(entry)?)?;
            activations = self.observed.iter().map(|each| each.key.clone()).zip(seen).collect();
        }
        let (loss, gradients, seconds) = (computed.loss, computed.gradients, computed.seconds);
        Ok((RankOutcome { loss, gradients, activations, seconds }, computed.buffers))
    }
}

/// A loss as a tensor to compare with.
pub(crate) fn scalar(value: f64) -> Result<Tensor, ValidateError> {
    Ok(Tensor::from_floats(DType::F64, Shape::scalar(), vec![value])?)
}

//! Compares what a step gave with the bundle.
//!
//! Invariant: every tensor of the outcome has its counterpart in the bundle and the other way round; one that is missing on either side
//! is an error, never a pass.

use std::collections::HashMap;

use warpforge_golden::{Bundle, Step};
use warpforge_tensor::{Comparison, DType, Tensor, safetensors};

use crate::compute::scalar;
use crate::outcome::{Named, Outcome};
use crate::validation::{Judged, Timing, Validation};
use crate::{Kind, Tolerances, ValidateError};

/// Where a comparison belongs.
#[derive(Clone, Copy)]
struct Place {
    step: Option<u64>,
    rank: Option<u64>,
}

/// Compares one step's outcome with the bundle and adds what was found to a validation.
pub fn judge(
    validation: &mut Validation,
    bundle: &Bundle,
    outcome: &Outcome,
    tolerances: &Tolerances,
) -> Result<(), ValidateError> {
    let steps = &bundle.manifest().steps;
    let Some(step) = steps.iter().find(|step| step.index == outcome.index) else {
        return Err(ValidateError::Mismatched(format!("the bundle has no step {}", outcome.index)));
    };
    if step.ranks.len() != outcome.ranks.len() {
        let (found, expected) = (outcome.ranks.len(), step.ranks.len());
        return Err(ValidateError::Mismatched(format!(
            "step {} was run by {found} ranks, the bundle has {expected}",
            step.index
        )));
    }
    Judge { validation, bundle, tolerances }.step(step, outcome)
}

/// Compares what the trained model returned with the bundle and adds what was found to a validation.
pub fn judge_outputs(
    validation: &mut Validation,
    bundle: &Bundle,
    outputs: &Named,
    tolerances: &Tolerances,
) -> Result<(), ValidateError> {
    let Some(evaluation) = &bundle.manifest().evaluation else { return Ok(()) };
    let file = bundle.tensors(&evaluation.outputs)?;
    let names: Vec<&str> = file.names().collect();
    let place = Place { step: None, rank: None };
    Judge { validation, bundle, tolerances }.all(place, Kind::Output, outputs, &file, &names)
}

struct Judge<'a> {
    validation: &'a mut Validation,
    bundle: &'a Bundle,
    tolerances: &'a Tolerances,
}

impl Judge<'_> {
    fn step(&mut self, step: &Step, outcome: &Outcome) -> Result<(), ValidateError> {
        let place = Place { step: Some(step.index), rank: None };
        for (number, (golden, own)) in step.ranks.iter().zip(&outcome.ranks).enumerate() {
            let place = Place { rank: (step.ranks.len() > 1).then_some(number as u64), ..place };
            let file = self.bundle.tensors(&golden.activations)?;
            let hidden: Vec<String> =
                self.validation.unobserved.iter().map(|each| each.activation.clone()).collect();
            let shown: Vec<&str> =
                file.names().filter(|name| !hidden.iter().any(|key| key == name)).collect();
            self.all(place, Kind::Activation, &own.activations, &file, &shown)?;
            self.compare(place, Kind::Loss, "loss", &own.loss, &scalar(golden.loss)?)?;
            let file = self.bundle.tensors(&golden.gradients)?;
            let names: Vec<&str> = file.names().collect();
            self.all(place, Kind::Gradient, &own.gradients, &file, &names)?;
        }
        let file = self.bundle.tensors(&step.gradients)?;
        if step.ranks.len() > 1 {
            let names: Vec<&str> = file.names().collect();
            self.all(place, Kind::MeanGradient, &outcome.gradients, &file, &names)?;
        }
        self.update(step, outcome)?;
        let golden = self.bundle.loss_curve().seconds.get(step.index as usize).copied();
        let own = outcome.ranks.iter().map(|rank| rank.seconds).fold(0.0, f64::max);
        self.validation.timing.push(Timing {
            step: step.index,
            seconds: own + outcome.update_seconds,
            gradients_seconds: own,
            update_seconds: outcome.update_seconds,
            golden_seconds: golden,
        });
        Ok(())
    }

    fn update(&mut self, step: &Step, outcome: &Outcome) -> Result<(), ValidateError> {
        let place = Place { step: Some(step.index), rank: None };
        let after = self.bundle.tensors(&step.after.weights)?;
        let before = self.bundle.tensors(&step.before.weights)?;
        let tensors = &self.bundle.programs().model.tensors;
        let trainable: HashMap<&str, bool> =
            tensors.iter().map(|each| (each.name.as_str(), each.trainable)).collect();
        let mut seen = 0;
        for (name, own) in &outcome.weights {
            let expected = after.mapped(name)?;
            if trainable.get(name.as_str()) != Some(&true) {
                self.compare(place, Kind::Buffer, name, own, &expected)?;
                continue;
            }
            seen += 1;
            self.compare(place, Kind::Weight, name, own, &expected)?;
            let start = before.mapped(name)?;
            self.difference(place, name, own, &expected, &start)?;
        }
        if seen != trainable.values().filter(|trainable| **trainable).count() {
            return Err(ValidateError::Mismatched(format!(
                "step {} updated {seen} parameters, not all that are trained",
                step.index
            )));
        }
        let file = self.bundle.tensors(&step.after.optimizer)?;
        let names: Vec<&str> = file.names().collect();
        self.all(place, Kind::State, &outcome.state, &file, &names)?;
        for (name, own) in &outcome.own_weights {
            self.compare(place, Kind::OwnWeight, name, own, &after.mapped(name)?)?;
        }
        Ok(())
    }

    /// What was added to a parameter, beside what should have been.
    fn difference(
        &mut self,
        place: Place,
        name: &str,
        own: &Tensor,
        expected: &Tensor,
        start: &Tensor,
    ) -> Result<(), ValidateError> {
        if own.dtype() != DType::F32
            || expected.dtype() != DType::F32
            || own.shape() != expected.shape()
        {
            // A narrower type holds too little of an update beside the parameter.
            return Ok(());
        }
        let start_values = start.floats()?;
        let minus = |tensor: &Tensor| -> Result<Tensor, ValidateError> {
            let values = tensor.floats()?;
            let change = values
                .into_iter()
                .zip(&start_values)
                .map(|(after, before)| after - before)
                .collect();
            Ok(Tensor::from_floats(DType::F64, tensor.shape().clone(), change)?)
        };
        // The tolerance looks at the parameter: its size says how exactly the change can be held.
        let tolerance = self.tolerances.of(Kind::Update, name, start);
        let comparison = Comparison::new(&minus(own)?, &minus(expected)?, &tolerance)?;
        self.validation.comparisons.push(Judged {
            step: place.step,
            rank: place.rank,
            kind: Kind::Update,
            name: name.to_owned(),
            comparison,
        });
        Ok(())
    }

    /// Compares tensors with those of a file; `names` are all that should be there.
    fn all(
        &mut self,
        place: Place,
        kind: Kind,
        own: &Named,
        golden: &safetensors::File,
        names: &[&str],
    ) -> Result<(), ValidateError> {
        for (name, tensor) in own {
            self.compare(place, kind, name, tensor, &golden.mapped(name)?)?;
        }
        if let Some(missing) =
            names.iter().find(|name| !own.iter().any(|(found, _)| found == *name))
        {
            let step = place.step.map_or_else(String::new, |step| format!("step {step}: "));
            return Err(ValidateError::Mismatched(format!(
                "{step}the results have no {kind} {missing:?}"
            )));
        }
        Ok(())
    }

    fn compare(
        &mut self,
        place: Place,
        kind: Kind,
        name: &str,
        own: &Tensor,
        expected: &Tensor,
    ) -> Result<(), ValidateError> {
        let tolerance = self.tolerances.of(kind, name, expected);
        let comparison = Comparison::new(own, expected, &tolerance)
            .map_err(|error| ValidateError::Mismatched(format!("{kind} {name:?}: {error}")))?;
        self.validation.comparisons.push(Judged {
            step: place.step,
            rank: place.rank,
            kind,
            name: name.to_owned(),
            comparison,
        });
        Ok(())
    }
}

//! The program that computes a compared tensor, and the golden values it is given.

use warpforge_golden::{Bundle, ProgramEntry};
use warpforge_tensor::Tensor;

use crate::outcome::mapped;
use crate::programs::{Inputs, ModelArguments, update_arguments};
use crate::validation::Judged;
use crate::{Kind, ValidateError};

/// The program of a comparison, and its golden arguments in order.
pub(super) fn of<'a>(
    bundle: &'a Bundle,
    judged: &Judged,
) -> Result<(&'a ProgramEntry, Vec<Tensor>), ValidateError> {
    let manifest = bundle.manifest();
    let Some(index) = judged.step else {
        let Some(evaluation) = &manifest.evaluation else {
            return Err(ValidateError::Mismatched("the bundle has no evaluation".to_owned()));
        };
        let entry = bundle.program("forward")?;
        let weights = mapped(&bundle.tensors(&evaluation.weights)?, |_| true)?;
        let inputs = bundle.tensors(&evaluation.inputs)?;
        let arguments = ModelArguments { weights: &weights, inputs: Inputs::File(&inputs, "") };
        return Ok((entry, arguments.of(entry)?));
    };
    let Some(step) = manifest.steps.iter().find(|step| step.index == index) else {
        return Err(ValidateError::Mismatched(format!("the bundle has no step {index}")));
    };
    let weights = mapped(&bundle.tensors(&step.before.weights)?, |_| true)?;
    match judged.kind {
        Kind::Weight | Kind::Update | Kind::State | Kind::OwnWeight => {
            let entry = bundle.program(&manifest.configuration.optimizer.name)?;
            let gradients = mapped(&bundle.tensors(&step.gradients)?, |_| true)?;
            let state = match &step.before.optimizer {
                Some(path) => Some(mapped(&bundle.tensors(path)?, |_| true)?),
                None => None,
            };
            let rate = step.learning_rate;
            let given = update_arguments(entry, &weights, &gradients, state.as_ref(), rate)?;
            Ok((entry, given))
        }
        _ => {
            let entry = bundle.program("gradients")?;
            let rank = step.ranks.get(judged.rank.unwrap_or(0) as usize);
            let Some(rank) = rank else {
                return Err(ValidateError::Mismatched(format!("step {index} has no such rank")));
            };
            let inputs = bundle.tensors(&rank.inputs)?;
            let arguments = ModelArguments { weights: &weights, inputs: Inputs::File(&inputs, "") };
            Ok((entry, arguments.of(entry)?))
        }
    }
}

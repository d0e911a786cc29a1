//! The programs of a bundle, made ready: arguments found by role and name, results given by role and name.

use std::collections::HashMap;
use std::time::Instant;

use warpforge_golden::{Activation, Argument, Bundle, ProgramEntry, Unobserved};
use warpforge_tensor::{Shape, Tensor, TensorError, safetensors};

use crate::ValidateError;
use crate::observe::observed;
use crate::outcome::Named;
use crate::runner::{Ready, Runner};

/// The programs that training needs, and the one of evaluation where the bundle asks for it.
pub(crate) struct Programs<'a> {
    gradients: (&'a ProgramEntry, Ready),
    optimizer: (&'a ProgramEntry, Ready),
    forward: Option<(&'a ProgramEntry, Ready)>,
}

/// What the program of the gradients gave.
pub(crate) struct Computed {
    pub(crate) loss: Tensor,
    pub(crate) gradients: Named,
    /// Buffers that the forward pass changed.
    pub(crate) buffers: Named,
    pub(crate) seconds: f64,
}

/// Weights, and a batch.
pub(crate) struct ModelArguments<'a> {
    pub(crate) weights: &'a Named,
    pub(crate) inputs: Inputs<'a>,
}

/// A batch: `input.NAME` and `target.NAME`.
#[derive(Clone, Copy)]
pub(crate) enum Inputs<'a> {
    /// In a file whose names may all begin with a prefix.
    File(&'a safetensors::File, &'a str),
    Made(&'a Named),
}

impl Inputs<'_> {
    fn tensor(&self, key: &str) -> Result<Tensor, ValidateError> {
        match self {
            Self::File(file, prefix) => Ok(file.mapped(&format!("{prefix}{key}"))?),
            Self::Made(named) => {
                let found = named.iter().find(|(name, _)| name == key);
                found.map(|(_, tensor)| tensor.clone()).ok_or_else(|| {
                    ValidateError::Mismatched(format!("there is no {key:?} in the batch"))
                })
            }
        }
    }
}

impl<'a> Programs<'a> {
    /// Reads the programs of a bundle and makes them ready.
    pub(crate) fn new(runner: &Runner<'_>, bundle: &'a Bundle) -> Result<Self, ValidateError> {
        let ready = |name: &str| -> Result<(&'a ProgramEntry, Ready), ValidateError> {
            let entry = bundle.program(name)?;
            Ok((entry, runner.ready(bundle, entry, runner.program(bundle, entry)?)?))
        };
        let evaluated = bundle.manifest().evaluation.is_some();
        Ok(Self {
            gradients: ready("gradients")?,
            optimizer: ready(&bundle.manifest().configuration.optimizer.name)?,
            forward: evaluated.then(|| ready("forward")).transpose()?,
        })
    }

    /// Loss and gradients.
    pub(crate) fn gradients(
        &mut self,
        runner: &Runner<'_>,
        arguments: &ModelArguments<'_>,
    ) -> Result<Computed, ValidateError> {
        let (entry, ready) = &mut self.gradients;
        let arguments = arguments.of(entry)?;
        let started = Instant::now();
        let results = runner.run(ready, arguments)?;
        let seconds = started.elapsed().as_secs_f64();
        let mut results = by_role(entry, results)?;
        let loss = results.remove("loss").and_then(|mut found| found.pop());
        let Some((_, loss)) = loss else {
            return Err(ValidateError::Mismatched(
                "the program \"gradients\" gives no loss".to_owned(),
            ));
        };
        let mut take = |role: &str| results.remove(role).unwrap_or_default();
        Ok(Computed { loss, gradients: take("gradient"), buffers: take("buffer"), seconds })
    }

    /// Parameters and optimizer state after an update; without a state all of it is zero.
    pub(crate) fn update(
        &mut self,
        runner: &Runner<'_>,
        weights: &Named,
        gradients: &Named,
        state: Option<&Named>,
        learning_rate: f64,
    ) -> Result<(Named, Named), ValidateError> {
        let (entry, ready) = &mut self.optimizer;
        let arguments = update_arguments(entry, weights, gradients, state, learning_rate)?;
        let results = runner.run(ready, arguments)?;
        let mut results = by_role(entry, results)?;
        let mut take = |role: &str| results.remove(role).unwrap_or_default();
        Ok((take("parameter"), take("state")))
    }

    /// The model's outputs in evaluation mode.
    pub(crate) fn forward(
        &mut self,
        runner: &Runner<'_>,
        arguments: &ModelArguments<'_>,
    ) -> Result<Named, ValidateError> {
        let Some((entry, ready)) = &mut self.forward else { return Ok(Named::new()) };
        let results = runner.run(ready, arguments.of(entry)?)?;
        Ok(by_role(entry, results)?.remove("output").unwrap_or_default())
    }
}

/// The arguments of an optimizer's program, in order; without a state all of it is zero.
pub(crate) fn update_arguments(
    entry: &ProgramEntry,
    weights: &Named,
    gradients: &Named,
    state: Option<&Named>,
    learning_rate: f64,
) -> Result<Vec<Tensor>, ValidateError> {
    let (weights, gradients, state) = (by_name(weights), by_name(gradients), state.map(by_name));
    let mut arguments = Vec::with_capacity(entry.arguments.len());
    for argument in &entry.arguments {
        arguments.push(match (argument.role.as_str(), &state) {
            ("parameter", _) => found(&weights, argument)?,
            ("gradient", _) => found(&gradients, argument)?,
            ("state", Some(state)) => found(state, argument)?,
            ("state", None) => Tensor::zeros(argument.dtype, shape(&argument.shape)?),
            ("hyperparameter", _) if argument.name == "learning_rate" => {
                Tensor::from_floats(argument.dtype, Shape::scalar(), vec![learning_rate])?
            }
            _ => return Err(unknown(entry, argument)),
        });
    }
    Ok(arguments)
}

impl ModelArguments<'_> {
    /// The arguments of `forward` or `gradients`, in order.
    pub(crate) fn of(&self, entry: &ProgramEntry) -> Result<Vec<Tensor>, ValidateError> {
        let weights = by_name(self.weights);
        entry
            .arguments
            .iter()
            .map(|argument| match argument.role.as_str() {
                "parameter" | "buffer" => found(&weights, argument),
                "input" | "target" => self.inputs.tensor(&argument.key()),
                _ => Err(unknown(entry, argument)),
            })
            .collect()
    }
}

/// A program that shows activations: which they are, and which it does not show.
pub(crate) type Watching<'a> = (Option<Ready>, Vec<&'a Activation>, Vec<Unobserved>);

/// The program of the gradients with the values that modules returned as its results: the same forward pass, in the mode of training.
/// Also which activations these are, and which the program does not show.
pub(crate) fn watching<'a>(
    runner: &Runner<'_>,
    bundle: &'a Bundle,
) -> Result<Watching<'a>, ValidateError> {
    let entry = bundle.program("gradients")?;
    let program = runner.program(bundle, entry)?;
    let known: HashMap<(&str, u64, &str), &str> = entry
        .module_values
        .iter()
        .filter(|value| value.kind == "value" && value.function == entry.entry)
        .map(|value| {
            ((value.module.as_str(), value.call, value.output.as_str()), value.value.as_str())
        })
        .collect();
    let (mut wanted, mut hidden) = (Vec::new(), Vec::new());
    for activation in &bundle.manifest().activations {
        let key = (activation.module.as_str(), activation.call, activation.output.as_str());
        match known.get(&key) {
            Some(value) => wanted.push((activation, *value)),
            None => hidden.push(activation),
        }
    }
    let names: Vec<&str> = wanted.iter().map(|(_, value)| *value).collect();
    if let Err(missing) = observed(&program, &entry.entry, &names) {
        hidden.extend(
            wanted
                .iter()
                .filter(|(_, value)| missing.iter().any(|name| name == value))
                .map(|each| each.0),
        );
        wanted.retain(|(_, value)| !missing.iter().any(|name| name == value));
    }
    let unobserved = hidden.into_iter().map(|activation| Unobserved {
        activation: activation.key.clone(),
        reason: "the program has no value for it".to_owned(),
    });
    let unobserved: Vec<Unobserved> = unobserved.collect();
    if wanted.is_empty() {
        return Ok((None, Vec::new(), unobserved));
    }
    let names: Vec<&str> = wanted.iter().map(|(_, value)| *value).collect();
    let program = observed(&program, &entry.entry, &names).map_err(|missing| {
        ValidateError::Mismatched(format!("the program has no values {missing:?}"))
    })?;
    let ready = runner.ready(bundle, entry, program)?;
    Ok((Some(ready), wanted.into_iter().map(|(activation, _)| activation).collect(), unobserved))
}

/// The mean of gradients over the ranks, summed in f64.
pub(crate) fn mean_gradients(ranks: &[&Named]) -> Result<Named, ValidateError> {
    let [first, others @ ..] = ranks else { return Ok(Vec::new()) };
    if others.is_empty() {
        return Ok((*first).clone());
    }
    let mut found = Vec::new();
    for (place, (name, tensor)) in first.iter().enumerate() {
        let mut sum = tensor.floats()?;
        for other in others {
            for (sum, part) in sum.iter_mut().zip(other[place].1.floats()?) {
                *sum += part;
            }
        }
        let count = ranks.len() as f64;
        let values = sum.into_iter().map(|sum| sum / count).collect();
        found.push((
            name.clone(),
            Tensor::from_floats(tensor.dtype(), tensor.shape().clone(), values)?,
        ));
    }
    Ok(found)
}

fn by_name(named: &Named) -> HashMap<&str, &Tensor> {
    named.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect()
}

fn found(among: &HashMap<&str, &Tensor>, argument: &Argument) -> Result<Tensor, ValidateError> {
    among.get(argument.name.as_str()).map(|tensor| (*tensor).clone()).ok_or_else(|| {
        ValidateError::Mismatched(format!(
            "there is no {} {:?} for the program",
            argument.role, argument.name
        ))
    })
}

fn unknown(entry: &ProgramEntry, argument: &Argument) -> ValidateError {
    let (program, name, role) = (&entry.name, &argument.name, &argument.role);
    ValidateError::Mismatched(format!(
        "the program {program:?} takes {name:?} as a {role:?}, which a bundle does not have"
    ))
}

/// The results of a program by their roles.
fn by_role(
    entry: &ProgramEntry,
    results: Vec<Tensor>,
) -> Result<HashMap<&str, Named>, ValidateError> {
    if results.len() != entry.results.len() {
        let (program, given, stated) = (&entry.name, results.len(), entry.results.len());
        return Err(ValidateError::Mismatched(format!(
            "the program {program:?} gives {given} results, its manifest says {stated}"
        )));
    }
    let mut found: HashMap<&str, Named> = HashMap::new();
    for (output, tensor) in entry.results.iter().zip(results) {
        found.entry(&output.role).or_default().push((output.name.clone(), tensor));
    }
    Ok(found)
}

fn shape(sizes: &[usize]) -> Result<Shape, ValidateError> {
    Ok(Shape::new(sizes).map_err(TensorError::from)?)
}

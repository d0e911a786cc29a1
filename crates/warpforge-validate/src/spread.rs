//! How far golden bundles of the same training lie apart, tensor by tensor.
//!
//! Invariant: two tensors are compared only where both were computed from equal values, so that what differs is how it was
//! computed: steps whose weights and batches are equal, and the evaluation of equal weights. An update starts from the gradients
//! of its own run, which differ; weights, updates and states are therefore never compared.

use std::collections::BTreeMap;

use serde::Serialize;
use warpforge_golden::{Bundle, FilePath, Step};
use warpforge_tensor::{Comparison, Kind as NumberKind, Tensor, safetensors};

use crate::compute::scalar;
use crate::tolerances::largest;
use crate::{Kind, Tolerances, ValidateError};

/// How far one tensor lies from the bundle that judges, over all steps, ranks and other bundles.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// The largest difference.
    pub absolute: f64,
    /// The largest difference as a share of the largest value of the tensor; infinite where all of that is zero.
    pub of_largest: f64,
    /// How much of what the preset allows is used; infinite where it allows nothing.
    pub share: f64,
    /// The step of that difference; none for the evaluation.
    pub step: Option<u64>,
    /// Which of the other bundles it is with.
    pub with: usize,
}

/// What was compared, and what it gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Spreads {
    /// One for each tensor, by kind and name.
    pub tensors: Vec<Spread>,
    /// For each other bundle, the steps that start where those of the first do.
    pub steps: Vec<Vec<u64>>,
}

/// Compares bundles with the first one, of the same recipe, options, seeds and batches; any other is an error.
pub fn spreads(
    golden: &Bundle,
    others: &[Bundle],
    presets: &Tolerances,
) -> Result<Spreads, ValidateError> {
    let mut found = Gathered { presets, tensors: BTreeMap::new() };
    let mut steps = Vec::new();
    for (with, other) in others.iter().enumerate() {
        if let Some(reason) = unlike(golden, other) {
            return Err(refused(golden, other, &reason));
        }
        let mut compared = Vec::new();
        for step in &golden.manifest().steps {
            let of_other = other.manifest().steps.iter().find(|each| each.index == step.index);
            let Some(of_other) = of_other else { continue };
            let differing = start(golden, step, other, of_other)?;
            match differing {
                None => {
                    found.step(golden, step, other, of_other, with)?;
                    compared.push(step.index);
                }
                // Later steps of two runs start from what each made of the earlier ones.
                Some(_) if !compared.is_empty() => {}
                Some(what) => return Err(refused(golden, other, &what)),
            }
        }
        if compared.is_empty() {
            return Err(refused(golden, other, "no step is recorded in both"));
        }
        found.evaluation(golden, other, with)?;
        steps.push(compared);
    }
    Ok(Spreads { tensors: found.tensors.into_values().collect(), steps })
}

fn refused(golden: &Bundle, other: &Bundle, reason: &str) -> ValidateError {
    let (golden, other) = (golden.directory().display(), other.directory().display());
    ValidateError::Mismatched(format!("{other} cannot be compared with {golden}: {reason}"))
}

/// Why two bundles are not of the same training.
fn unlike(golden: &Bundle, other: &Bundle) -> Option<String> {
    let (one, two) = (golden.manifest(), other.manifest());
    if golden.digest() == other.digest() {
        return Some("it is the same bundle".to_owned());
    }
    if one.model.recipe != two.model.recipe {
        let short = |text: &str| text.chars().take(100).collect::<String>();
        let (one, two) = (short(&one.model.recipe), short(&two.model.recipe));
        return Some(format!("it is of the recipe {two:?}, not {one:?}"));
    }
    if one.seeds != two.seeds {
        return Some(format!(
            "its seeds are {} and {}, not {} and {}, and other seeds give other numbers altogether",
            two.seeds.weights, two.seeds.data, one.seeds.weights, one.seeds.data
        ));
    }
    if one.configuration.ranks != two.configuration.ranks {
        let (one, two) = (one.configuration.ranks, two.configuration.ranks);
        return Some(format!("it was trained by {two} ranks, not {one}"));
    }
    let keys = one.model.options.keys().chain(two.model.options.keys());
    let differing =
        keys.into_iter().find(|key| one.model.options.get(*key) != two.model.options.get(*key));
    differing.map(|key| {
        let key: String = key.chars().take(100).collect();
        format!("its option {key:?} is another one")
    })
}

/// What differs in the start of two steps: their weights and batches.
fn start(
    golden: &Bundle,
    step: &Step,
    other: &Bundle,
    of_other: &Step,
) -> Result<Option<String>, ValidateError> {
    let index = step.index;
    let differing = |one: &FilePath, two: &FilePath| -> Result<Option<String>, ValidateError> {
        unequal(&golden.tensors(one)?, &other.tensors(two)?)
    };
    if let Some(name) = differing(&step.before.weights, &of_other.before.weights)? {
        return Ok(Some(format!("step {index} starts from other weights ({name})")));
    }
    for (one, two) in step.ranks.iter().zip(&of_other.ranks) {
        if let Some(name) = differing(&one.inputs, &two.inputs)? {
            return Ok(Some(format!("step {index} has another batch ({name})")));
        }
    }
    Ok(None)
}

/// The name of a tensor that is not the same in both files.
fn unequal(
    one: &safetensors::File,
    two: &safetensors::File,
) -> Result<Option<String>, ValidateError> {
    for name in one.names() {
        let same = two.info(name).is_some() && {
            let (one, two) = (one.mapped(name)?, two.mapped(name)?);
            (one.dtype(), one.shape(), one.bytes()) == (two.dtype(), two.shape(), two.bytes())
        };
        if !same {
            return Ok(Some(format!("{name:?}")));
        }
    }
    Ok(None)
}

/// The tensors of two files that both have.
struct Pair {
    golden: safetensors::File,
    other: safetensors::File,
}

impl Pair {
    fn open(
        (golden, one): (&Bundle, &FilePath),
        (other, two): (&Bundle, &FilePath),
    ) -> Result<Self, ValidateError> {
        Ok(Self { golden: golden.tensors(one)?, other: other.tensors(two)? })
    }
}

/// Where a comparison belongs.
#[derive(Clone, Copy)]
struct Place {
    step: Option<u64>,
    with: usize,
}

struct Gathered<'a> {
    presets: &'a Tolerances,
    tensors: BTreeMap<(Kind, String), Spread>,
}

impl Gathered<'_> {
    fn step(
        &mut self,
        golden: &Bundle,
        step: &Step,
        other: &Bundle,
        of_other: &Step,
        with: usize,
    ) -> Result<(), ValidateError> {
        let place = Place { step: Some(step.index), with };
        for (one, two) in step.ranks.iter().zip(&of_other.ranks) {
            let seen = Pair::open((golden, &one.activations), (other, &two.activations))?;
            self.all(place, Kind::Activation, &seen, |_| true)?;
            self.compare(place, Kind::Loss, "loss", &scalar(two.loss)?, &scalar(one.loss)?)?;
            let slopes = Pair::open((golden, &one.gradients), (other, &two.gradients))?;
            self.all(place, Kind::Gradient, &slopes, |_| true)?;
        }
        if step.ranks.len() > 1 {
            let slopes = Pair::open((golden, &step.gradients), (other, &of_other.gradients))?;
            self.all(place, Kind::MeanGradient, &slopes, |_| true)?;
        }
        let after = Pair::open((golden, &step.after.weights), (other, &of_other.after.weights))?;
        let tensors = &golden.programs().model.tensors;
        let buffer = |name: &str| tensors.iter().any(|each| each.name == name && !each.trainable);
        self.all(place, Kind::Buffer, &after, buffer)
    }

    fn evaluation(
        &mut self,
        golden: &Bundle,
        other: &Bundle,
        with: usize,
    ) -> Result<(), ValidateError> {
        let evaluations = (&golden.manifest().evaluation, &other.manifest().evaluation);
        let (Some(one), Some(two)) = evaluations else { return Ok(()) };
        for (one, two) in [(&one.weights, &two.weights), (&one.inputs, &two.inputs)] {
            if unequal(&golden.tensors(one)?, &other.tensors(two)?)?.is_some() {
                return Ok(());
            }
        }
        let outputs = Pair::open((golden, &one.outputs), (other, &two.outputs))?;
        self.all(Place { step: None, with }, Kind::Output, &outputs, |_| true)
    }

    fn all(
        &mut self,
        place: Place,
        kind: Kind,
        pair: &Pair,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(), ValidateError> {
        let both = pair.golden.names().filter(|name| pair.other.info(name).is_some());
        for name in both.filter(|name| wanted(name)) {
            let (found, expected) = (pair.other.mapped(name)?, pair.golden.mapped(name)?);
            self.compare(place, kind, name, &found, &expected)?;
        }
        Ok(())
    }

    fn compare(
        &mut self,
        place: Place,
        kind: Kind,
        name: &str,
        found: &Tensor,
        expected: &Tensor,
    ) -> Result<(), ValidateError> {
        let wrong =
            |reason: String| ValidateError::Mismatched(format!("{kind} {name:?}: {reason}"));
        let tolerance = self.presets.of(kind, name, expected);
        let comparison = Comparison::new(found, expected, &tolerance)
            .map_err(|error| wrong(error.to_string()))?;
        let integers = !matches!(expected.dtype().kind(), NumberKind::Float | NumberKind::Complex);
        let endless = comparison.worst.as_ref().is_some_and(|worst| worst.ulps.is_none());
        if !comparison.passed() && (integers || endless) {
            let reason =
                "the bundles differ in what no tolerance allows: integers, NaN or infinity";
            return Err(wrong(reason.to_owned()));
        }
        let absolute = comparison.max_absolute_error;
        let of_largest = if absolute == 0.0 { 0.0 } else { absolute / largest(expected) };
        let share = comparison.worst.map_or(0.0, |worst| worst.share);
        let known = self.tensors.entry((kind, name.to_owned())).or_insert_with(|| Spread {
            kind,
            name: name.to_owned(),
            absolute: 0.0,
            of_largest: 0.0,
            share: 0.0,
            step: place.step,
            with: place.with,
        });
        if of_largest > known.of_largest {
            (known.step, known.with) = (place.step, place.with);
        }
        known.absolute = known.absolute.max(absolute);
        known.of_largest = known.of_largest.max(of_largest);
        known.share = known.share.max(share);
        Ok(())
    }
}

//! Which faults are planted: drawn from a seed, measured in the correctness tier, and kept as a list.

use std::collections::HashMap;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use warpforge_golden::{Bundle, ProgramEntry};
use warpforge_hlo::Program;
use warpforge_tensor::Tensor;
use warpforge_validate::{Disturbance, Runner, Tier};

use super::classes::{Class, flip, plant};

/// A fault must be so many times as large as what is allowed, or at most this share of it.
const LARGE: f64 = 4.0;
const SMALL: f64 = 0.25;
/// Draws for each fault before a class is given up.
const DRAWS: usize = 60;

/// The faults of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct List {
    /// Those that must be found.
    pub(super) large: Vec<Fault>,
    /// Those that must not be.
    pub(super) silent: Vec<Fault>,
}

/// One fault.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Fault {
    pub(super) class: Class,
    /// The program.
    pub(super) program: String,
    /// The op's number in the entry function, or the argument's.
    pub(super) at: usize,
    /// The op's result as the text has it, or the argument's name.
    pub(super) value: String,
    /// Which of several ways, or how much.
    pub(super) scale: f64,
    pub(super) step: u64,
    /// How many times what is allowed the worst tensor is off, in the correctness tier.
    pub(super) size: f64,
}

/// A fault in place.
pub(super) enum Planted {
    /// A program instead of the bundle's of this name.
    Program(String, Box<Program>),
    /// Other arguments.
    Arguments(Box<Disturbance>),
}

impl Fault {
    pub(super) fn described(&self) -> String {
        let Self { class, program, value, step, size, .. } = self;
        format!("{class:?} at {value} of {program}, step {step}, {size:.1} times what is allowed")
    }

    /// Puts it in place; none where there is nothing that can be wrong so.
    pub(super) fn planted(&self, bundle: &Bundle) -> anyhow::Result<Option<Planted>> {
        let entry = bundle.program(&self.program)?;
        if !self.class.is_of_arguments() {
            let program = Runner::read(bundle, entry)?;
            let planted = plant(&program, &entry.entry, self.class, self.at, self.scale);
            return Ok(planted.map(|with| Planted::Program(self.program.clone(), Box::new(with))));
        }
        let Some(tensor) = self.argument(bundle, entry)? else { return Ok(None) };
        let (program, at) = (self.program.clone(), self.at);
        Ok(Some(Planted::Arguments(Box::new(move |name, arguments| {
            if name == program
                && let Some(argument) = arguments.get_mut(at)
            {
                *argument = tensor.clone();
            }
        }))))
    }

    /// The wrong argument.
    fn argument(&self, bundle: &Bundle, entry: &ProgramEntry) -> anyhow::Result<Option<Tensor>> {
        let Some(argument) = entry.arguments.get(self.at) else { return Ok(None) };
        if argument.role != "parameter" {
            return Ok(None);
        }
        let steps = &bundle.manifest().steps;
        let own = steps.iter().find(|step| step.index == self.step).context("no such step")?;
        if self.class == Class::FlippedBit {
            let held = super::tensor(bundle, &own.before.weights, &argument.name)?;
            let count = held.shape().elements();
            return Ok(flip(&held, (self.scale * count as f64) as usize));
        }
        let Some(other) = steps.iter().find(|step| step.index != self.step) else {
            return Ok(None);
        };
        Ok(Some(super::tensor(bundle, &other.before.weights, &argument.name)?))
    }

    /// How large it is: in the correctness tier, by the same tolerances.
    fn measured(&self, bundle: &Bundle) -> anyhow::Result<Option<f64>> {
        let Some(planted) = self.planted(bundle)? else { return Ok(None) };
        let with = super::runner(Tier::Correctness, Some(&planted))?;
        let validation = super::judged(bundle, &with, self.step)?;
        let judged = validation.comparisons.iter().filter(|each| each.kind.is_judged());
        Ok(Some(judged.map(|each| each.share()).fold(0.0, f64::max)))
    }
}

/// Draws faults.
pub(super) fn choose(
    bundle: &Bundle,
    large: usize,
    silent: usize,
    seed: u64,
) -> anyhow::Result<List> {
    let mut draw = Draw {
        bundle,
        random: fastrand::Rng::with_seed(seed),
        programs: Vec::new(),
        places: HashMap::new(),
    };
    for name in ["gradients", bundle.manifest().configuration.optimizer.name.as_str()] {
        let entry = bundle.program(name)?;
        draw.programs.push((entry, Runner::read(bundle, entry)?));
    }
    let mut list = List::default();
    let mut barren = Vec::new();
    while list.large.len() < large {
        let before = list.large.len();
        for class in Class::LARGE {
            if list.large.len() >= large || barren.contains(&class) {
                continue;
            }
            match draw.fault(class, |size| size >= LARGE)? {
                Some(fault) => list.large.push(fault),
                None => barren.push(class),
            }
        }
        eprintln!("{} of {large} faults drawn", list.large.len());
        if list.large.len() == before {
            bail!("no more faults can be drawn");
        }
    }
    while list.silent.len() < silent {
        let Some(fault) = draw.fault(Class::SlightlyScaled, |size| size > 0.0 && size <= SMALL)?
        else {
            bail!("no small faults can be drawn");
        };
        list.silent.push(fault);
    }
    Ok(list)
}

struct Draw<'a> {
    bundle: &'a Bundle,
    random: fastrand::Rng,
    programs: Vec<(&'a ProgramEntry, Program)>,
    /// Where faults of a class can be: the program's number, the op's or argument's, and its name.
    places: HashMap<Class, Vec<(usize, usize, String)>>,
}

impl Draw<'_> {
    /// A fault of a class whose size is as wanted; none after many draws.
    fn fault(
        &mut self,
        class: Class,
        wanted: impl Fn(f64) -> bool,
    ) -> anyhow::Result<Option<Fault>> {
        for _ in 0..DRAWS {
            let Some(mut fault) = self.candidate(class) else { return Ok(None) };
            let Some(size) = fault.measured(self.bundle)? else { continue };
            if wanted(size) {
                // A size that is no number cannot be written as one.
                fault.size = if size.is_finite() { size } else { f64::MAX };
                return Ok(Some(fault));
            }
        }
        Ok(None)
    }

    /// A place where a fault of a class can be.
    fn candidate(&mut self, class: Class) -> Option<Fault> {
        let steps = &self.bundle.manifest().steps;
        let step = steps[self.random.usize(..steps.len())].index;
        let scale = match class {
            Class::SlightlyScaled => 10_f64.powf(-7.0 + 3.0 * self.random.f64()),
            _ => self.random.f64(),
        };
        if !self.places.contains_key(&class) {
            let places = self.places_of(class)?;
            self.places.insert(class, places);
        }
        let places = self.places.get(&class).filter(|places| !places.is_empty())?;
        let (number, at, value) = places[self.random.usize(..places.len())].clone();
        let program = self.programs[number].0.name.clone();
        Some(Fault { class, program, at, value, scale, step, size: 0.0 })
    }

    /// Every place where a fault of a class can be; whether an op is one is tried out.
    fn places_of(&self, class: Class) -> Option<Vec<(usize, usize, String)>> {
        let mut places = Vec::new();
        for (number, (entry, program)) in self.programs.iter().enumerate() {
            if class.is_of_arguments() {
                let parameters = entry.arguments.iter().enumerate();
                let parameters = parameters.filter(|(_, argument)| argument.role == "parameter");
                places.extend(parameters.map(|(at, argument)| (number, at, argument.name.clone())));
                continue;
            }
            let function = program.functions.iter().find(|each| each.name == entry.entry)?;
            for (at, op) in function.body.ops.iter().enumerate() {
                if plant(program, &entry.entry, class, at, 0.5).is_some() {
                    let value = op.results.first();
                    let name = value.map(|value| function.values[value.index()].name.to_string());
                    places.push((number, at, format!("%{}", name.unwrap_or_default())));
                }
            }
        }
        Some(places)
    }
}

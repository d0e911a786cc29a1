//! A model in training: its programs made ready, the weights and the optimizer's state as they go from step to step.
//!
//! Where the export has the whole step as one program and nothing is accumulated, values are handed on inside the engine; else
//! gradients are computed and summed, and the optimizer's program makes one update of their mean.

use std::collections::HashMap;
use std::sync::Arc;

use warpforge_engine::pool::Pool;
use warpforge_engine::reference::Value;
use warpforge_engine::{EngineError, Executable, Options, Sequence};
use warpforge_golden::{Argument, Export, ProgramEntry};
use warpforge_tensor::{DType, Shape, Tensor, TensorError};

use crate::TrainError;

/// Tensors by name.
pub type Named = Vec<(String, Tensor)>;

/// A model in training.
pub struct Trainer {
    steps: Steps,
    /// All weights before the first step; what is not trained stays.
    weights: Named,
    state: Named,
    stepped: bool,
}

enum Steps {
    Whole { entry: ProgramEntry, sequence: Box<Sequence> },
    Parts { gradients: Box<Part>, update: Box<Part> },
}

struct Part {
    entry: ProgramEntry,
    executable: Executable,
}

impl Trainer {
    /// Makes the programs of an export ready. Without a state all of the optimizer's is zero. `optimizer` is its name, as in
    /// `adamw`.
    pub fn new(
        export: &Export,
        optimizer: &str,
        pool: &Arc<Pool>,
        options: &Options,
        weights: Named,
        state: Option<Named>,
        accumulate: u64,
    ) -> Result<Self, TrainError> {
        let whole = export.manifest().program(&format!("train-{optimizer}"));
        let whole = whole.filter(|_| accumulate == 1);
        let entry = match whole {
            Some(entry) => entry,
            None => export.program(optimizer)?,
        };
        let state = match state {
            Some(state) => state,
            None => zeros(entry)?,
        };
        let compiled = |entry: &ProgramEntry| -> Result<Part, TrainError> {
            let executable = compile(export, entry, pool, options)?;
            Ok(Part { entry: entry.clone(), executable })
        };
        let steps = if whole.is_some() {
            let Part { entry, executable } = compiled(entry)?;
            let values = begin(&entry, &weights, &state)?;
            let sequence = Sequence::new(executable, &values).map_err(failed(&entry))?;
            Steps::Whole { entry, sequence: Box::new(sequence) }
        } else {
            let gradients = Box::new(compiled(export.program("gradients")?)?);
            Steps::Parts { gradients, update: Box::new(compiled(entry)?) }
        };
        Ok(Self { steps, weights, state, stepped: false })
    }

    /// The program whose inputs and targets a batch has.
    pub fn entry(&self) -> &ProgramEntry {
        match &self.steps {
            Steps::Whole { entry, .. } => entry,
            Steps::Parts { gradients, .. } => &gradients.entry,
        }
    }

    /// One update from one batch or the mean over several; the mean of their losses, from before the update.
    pub fn step(&mut self, batches: &[Named], rate: f64) -> Result<f64, TrainError> {
        self.stepped = true;
        match &mut self.steps {
            Steps::Whole { entry, sequence } => {
                let [batch] = batches else {
                    return Err(TrainError::Settings("one batch a step".to_owned()));
                };
                whole_step(entry, sequence, batch, rate)
            }
            Steps::Parts { gradients, update } => {
                let mut sum: Option<Named> = None;
                let mut loss = 0.0;
                for batch in batches {
                    let results = gradients.run(|argument| match argument.role.as_str() {
                        "input" | "target" => find(batch, &argument.key()),
                        _ => find(&self.weights, &argument.name),
                    })?;
                    loss += scalar(role(&results, "loss").next())?;
                    replace(&mut self.weights, role(&results, "buffer"));
                    let found = role(&results, "gradient");
                    match &mut sum {
                        None => {
                            sum = Some(
                                found.map(|each| (each.0.to_owned(), each.1.clone())).collect(),
                            );
                        }
                        Some(sum) => add(sum, found)?,
                    }
                }
                let count = batches.len() as f64;
                let mut sum = sum.unwrap_or_default();
                if batches.len() > 1 {
                    scale(&mut sum, 1.0 / count)?;
                }
                let results = update.run(|argument| match argument.role.as_str() {
                    "parameter" => find(&self.weights, &argument.name),
                    "gradient" => find(&sum, &argument.name),
                    "state" => find(&self.state, &argument.name),
                    _ => hyperparameter(argument, rate),
                })?;
                replace(&mut self.weights, role(&results, "parameter"));
                replace(&mut self.state, role(&results, "state"));
                Ok(loss / count)
            }
        }
    }

    /// Parameters and buffers as they are now.
    pub fn weights(&mut self) -> Result<Named, TrainError> {
        self.fetch()?;
        Ok(self.weights.clone())
    }

    /// The optimizer's state as it is now.
    pub fn state(&mut self) -> Result<Named, TrainError> {
        self.fetch()?;
        Ok(self.state.clone())
    }

    /// Takes what the engine has handed on.
    fn fetch(&mut self) -> Result<(), TrainError> {
        let Steps::Whole { entry, sequence } = &self.steps else { return Ok(()) };
        if !std::mem::take(&mut self.stepped) {
            return Ok(());
        }
        for (number, output) in entry.results.iter().enumerate() {
            let into = match output.role.as_str() {
                "parameter" | "buffer" => &mut self.weights,
                "state" => &mut self.state,
                _ => continue,
            };
            let tensor = sequence.result(number).map_err(failed(entry))?;
            replace(into, [(output.name.as_str(), &tensor)].into_iter());
        }
        Ok(())
    }
}

impl Part {
    fn run(
        &mut self,
        mut value: impl FnMut(&Argument) -> Result<Tensor, TrainError>,
    ) -> Result<Vec<(String, String, Tensor)>, TrainError> {
        let values = self.entry.arguments.iter().map(|argument| value(argument).map(Value::Tensor));
        let values: Vec<Value> = values.collect::<Result<_, _>>()?;
        let results = self.executable.run(&values).map_err(failed(&self.entry))?;
        if results.len() != self.entry.results.len() {
            return Err(unlike_manifest(&self.entry));
        }
        let named =
            self.entry.results.iter().zip(results).filter_map(|(output, value)| match value {
                Value::Tensor(tensor) => Some((output.role.clone(), output.name.clone(), tensor)),
                _ => None,
            });
        Ok(named.collect())
    }
}

/// Reads and compiles a program of an export.
pub(crate) fn compile(
    export: &Export,
    entry: &ProgramEntry,
    pool: &Arc<Pool>,
    options: &Options,
) -> Result<Executable, TrainError> {
    let text = export.text(entry)?;
    let program = warpforge_hlo::parse_verified(&text)
        .map_err(|error| crate::error::wrong(&export.path(entry), error))?;
    let options = Options { function: Some(entry.entry.clone()), ..options.clone() };
    let executable =
        Executable::compile(&program, Arc::clone(pool), &options).map_err(failed(entry))?;
    if executable.function().arguments.len() != entry.arguments.len()
        || executable.function().results.len() != entry.results.len()
    {
        return Err(unlike_manifest(entry));
    }
    Ok(executable)
}

fn begin(entry: &ProgramEntry, weights: &Named, state: &Named) -> Result<Vec<Value>, TrainError> {
    let (weights, state) = (by_name(weights), by_name(state));
    let value = |argument: &Argument| match argument.role.as_str() {
        "parameter" | "buffer" => lookup(&weights, &argument.name),
        "state" => lookup(&state, &argument.name),
        _ => Ok(Tensor::zeros(argument.dtype, shape(&argument.shape)?)),
    };
    entry.arguments.iter().map(|argument| value(argument).map(Value::Tensor)).collect()
}

fn whole_step(
    entry: &ProgramEntry,
    sequence: &mut Sequence,
    batch: &Named,
    rate: f64,
) -> Result<f64, TrainError> {
    for (place, argument) in entry.arguments.iter().enumerate() {
        let tensor = match argument.role.as_str() {
            "input" | "target" => find(batch, &argument.key())?,
            "hyperparameter" => hyperparameter(argument, rate)?,
            _ => continue,
        };
        sequence.set(place, &Value::Tensor(tensor)).map_err(failed(entry))?;
    }
    sequence.step().map_err(failed(entry))?;
    let loss = entry.results.iter().position(|output| output.role == "loss");
    let loss = loss.ok_or_else(|| unlike_manifest(entry))?;
    scalar(Some((entry.name.as_str(), &sequence.result(loss).map_err(failed(entry))?)))
}

fn zeros(entry: &ProgramEntry) -> Result<Named, TrainError> {
    let states = entry.arguments.iter().filter(|argument| argument.role == "state");
    states
        .map(|each| Ok((each.name.clone(), Tensor::zeros(each.dtype, shape(&each.shape)?))))
        .collect()
}

fn hyperparameter(argument: &Argument, rate: f64) -> Result<Tensor, TrainError> {
    if argument.name != "learning_rate" {
        let name = &argument.name;
        return Err(TrainError::Settings(format!(
            "the program wants {name:?}, which is not known"
        )));
    }
    Ok(Tensor::from_floats(argument.dtype, Shape::scalar(), vec![rate])?)
}

/// The results of one role.
fn role<'a>(
    results: &'a [(String, String, Tensor)],
    wanted: &'a str,
) -> impl Iterator<Item = (&'a str, &'a Tensor)> {
    let of_role = results.iter().filter(move |(role, _, _)| role == wanted);
    of_role.map(|(_, name, tensor)| (name.as_str(), tensor))
}

fn replace<'a>(among: &mut Named, found: impl Iterator<Item = (&'a str, &'a Tensor)>) {
    let mut places: HashMap<String, usize> =
        among.iter().enumerate().map(|(place, (name, _))| (name.clone(), place)).collect();
    for (name, tensor) in found {
        match places.get(name) {
            Some(place) => among[*place].1 = tensor.clone(),
            None => {
                places.insert(name.to_owned(), among.len());
                among.push((name.to_owned(), tensor.clone()));
            }
        }
    }
}

/// Adds gradients, element by element, in single precision.
fn add<'a>(
    sum: &mut Named,
    found: impl Iterator<Item = (&'a str, &'a Tensor)>,
) -> Result<(), TrainError> {
    for ((_, sum), (_, more)) in sum.iter_mut().zip(found) {
        *sum = combined(sum, Some(more), |one, other| one + other)?;
    }
    Ok(())
}

fn scale(sum: &mut Named, factor: f64) -> Result<(), TrainError> {
    for (_, sum) in sum {
        *sum = combined(sum, None, |one, _| one * factor as f32)?;
    }
    Ok(())
}

fn combined(
    one: &Tensor,
    other: Option<&Tensor>,
    of: impl Fn(f32, f32) -> f32,
) -> Result<Tensor, TrainError> {
    if one.dtype() != DType::F32 || other.is_some_and(|other| other.dtype() != DType::F32) {
        return Err(TrainError::Settings("gradients are summed in f32 only".to_owned()));
    }
    let single = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let mut bytes = Vec::with_capacity(one.bytes().len());
    match other {
        Some(other) => {
            for (one, other) in one.bytes().chunks_exact(4).zip(other.bytes().chunks_exact(4)) {
                bytes.extend(of(single(one), single(other)).to_le_bytes());
            }
        }
        None => {
            for one in one.bytes().chunks_exact(4) {
                bytes.extend(of(single(one), 0.0).to_le_bytes());
            }
        }
    }
    Ok(Tensor::new(DType::F32, one.shape().clone(), bytes)?)
}

fn scalar(found: Option<(&str, &Tensor)>) -> Result<f64, TrainError> {
    let missing = || TrainError::Settings("the program gives no loss".to_owned());
    let (_, tensor) = found.ok_or_else(missing)?;
    tensor.floats()?.first().copied().ok_or_else(missing)
}

fn by_name(named: &Named) -> HashMap<&str, &Tensor> {
    named.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect()
}

fn lookup(among: &HashMap<&str, &Tensor>, name: &str) -> Result<Tensor, TrainError> {
    among.get(name).map(|tensor| (*tensor).clone()).ok_or_else(|| missing(name))
}

fn find(among: &Named, name: &str) -> Result<Tensor, TrainError> {
    let found = among.iter().find(|(known, _)| known == name);
    found.map(|(_, tensor)| tensor.clone()).ok_or_else(|| missing(name))
}

fn missing(name: &str) -> TrainError {
    TrainError::Settings(format!("there is no {name:?} for the program"))
}

fn unlike_manifest(entry: &ProgramEntry) -> TrainError {
    let name = &entry.name;
    TrainError::Settings(format!("the program {name:?} is not what its manifest says"))
}

pub(crate) fn failed(entry: &ProgramEntry) -> impl Fn(EngineError) -> TrainError {
    let program = entry.name.clone();
    move |error| TrainError::Program { program: program.clone(), error }
}

pub(crate) fn shape(sizes: &[usize]) -> Result<Shape, TrainError> {
    Ok(Shape::new(sizes).map_err(TensorError::from)?)
}

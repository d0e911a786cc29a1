//! How well a trained model answers the questions of a set.

use std::collections::HashMap;
use std::sync::Arc;

use warpforge_engine::pool::Pool;
use warpforge_engine::reference::Value;
use warpforge_engine::{Executable, Options};
use warpforge_golden::{Export, ProgramEntry};
use warpforge_tensor::Tensor;

use crate::questions::tensors;
use crate::squad::{Answers, Examples, Limits, Rows, Score, score};
use crate::trainer::{compile, failed};
use crate::{Named, TrainError};

/// What was measured, and the answers themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct Metrics {
    /// Exact match and F1.
    pub score: Score,
    /// The answer to each question, by its id.
    pub answers: Vec<(String, String)>,
}

/// Asks a model questions.
#[derive(Debug, Clone, Copy)]
pub struct Evaluator<'a> {
    /// The rows.
    pub examples: &'a Examples,
    /// Only so many questions, from the first on.
    pub questions: usize,
    /// Which answers are looked at.
    pub limits: Limits,
}

impl Evaluator<'_> {
    /// Asks a program of an export, with these weights.
    pub fn ask(
        &self,
        export: &Export,
        pool: &Arc<Pool>,
        options: &Options,
        weights: &Named,
        progress: impl FnMut(usize, usize),
    ) -> Result<Metrics, TrainError> {
        let entry = export.program("forward")?;
        let mut fixed = HashMap::new();
        for (place, argument) in entry.arguments.iter().enumerate() {
            if let Some((_, tensor)) = weights.iter().find(|(name, _)| *name == argument.name) {
                fixed.insert(place, tensor.clone());
            }
        }
        let options = Options { fixed, ..options.clone() };
        let mut model = compile(export, entry, pool, &options)?;
        self.ask_with(entry, |batch| run(&mut model, entry, batch), progress)
    }

    /// Asks a model that is run elsewhere: from the inputs of a program to its outputs, both by name.
    pub fn ask_with<E: From<TrainError>>(
        &self,
        entry: &ProgramEntry,
        mut model: impl FnMut(Named) -> Result<Named, E>,
        mut progress: impl FnMut(usize, usize),
    ) -> Result<Metrics, E> {
        let windows = self.examples.windows();
        let count = windows.partition_point(|each| (each.question as usize) < self.questions);
        let input = entry.arguments.iter().find(|argument| argument.role == "input");
        let size = input.and_then(|input| input.shape.first()).copied().unwrap_or(0).max(1);
        let mut answers = Answers::new(self.examples, self.limits);
        for (number, asked) in windows[..count].chunks(size).enumerate() {
            progress(number * size, count);
            let mut rows = Rows::default();
            let last = asked[asked.len() - 1];
            for place in 0..size {
                self.examples.push(asked.get(place).copied().unwrap_or(last), &mut rows);
            }
            let outputs = model(tensors(entry, &rows)?)?;
            let (starts, ends) =
                (logits(&outputs, "start_logits")?, logits(&outputs, "end_logits")?);
            let width = self.examples.sequence();
            for (place, window) in asked.iter().enumerate() {
                let row = place * width..(place + 1) * width;
                let (Some(starts), Some(ends)) = (starts.get(row.clone()), ends.get(row)) else {
                    return Err(TrainError::Settings("the logits are too few".to_owned()).into());
                };
                answers.take(*window, starts, ends);
            }
        }
        let questions = self.examples.questions().iter().take(self.questions);
        let answered: Vec<(&str, Vec<&str>)> = questions
            .clone()
            .zip(answers.words())
            .map(|(question, words)| {
                (words, question.answers.iter().map(|answer| answer.text.as_str()).collect())
            })
            .collect();
        let named = questions.zip(&answered);
        let named = named.map(|(question, (words, _))| (question.id.clone(), (*words).to_owned()));
        let answers = named.collect();
        Ok(Metrics { score: score(answered), answers })
    }
}

fn run(model: &mut Executable, entry: &ProgramEntry, batch: Named) -> Result<Named, TrainError> {
    let values: Vec<Value> = batch.into_iter().map(|(_, tensor)| Value::Tensor(tensor)).collect();
    let results = model.run(&values).map_err(failed(entry))?;
    let named = entry.results.iter().zip(results).filter_map(|(output, value)| match value {
        Value::Tensor(tensor) => Some((output.name.clone(), tensor)),
        _ => None,
    });
    Ok(named.collect())
}

fn logits(outputs: &Named, name: &str) -> Result<Vec<f32>, TrainError> {
    let found = outputs.iter().find(|(known, _)| known == name);
    let (_, tensor): &(String, Tensor) = found.ok_or_else(|| {
        TrainError::Settings(format!("the program \"forward\" gives no {name:?}"))
    })?;
    Ok(tensor.floats()?.into_iter().map(|value| value as f32).collect())
}

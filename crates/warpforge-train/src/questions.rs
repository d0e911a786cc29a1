//! Batches of questions for training, and rows as a program takes them.

use std::sync::{Mutex, PoisonError};

use warpforge_golden::ProgramEntry;
use warpforge_tensor::Tensor;

use crate::squad::{Examples, Rows};
use crate::trainer::shape;
use crate::training::Batches;
use crate::{Named, TrainError, order};

/// The rows of a set in the order of training.
#[derive(Debug)]
pub struct QuestionBatches<'a> {
    examples: &'a Examples,
    entry: ProgramEntry,
    seed: i64,
    size: usize,
    /// Which of how many processes that train together.
    rank: (usize, usize),
    /// The order of the epoch asked for last.
    last: Mutex<Option<(u64, Vec<u32>)>>,
}

impl<'a> QuestionBatches<'a> {
    /// Batches for a program, in the order that a seed gives.
    pub fn new(
        examples: &'a Examples,
        entry: &ProgramEntry,
        seed: i64,
        rank: (usize, usize),
    ) -> Result<Self, TrainError> {
        let input = entry.arguments.iter().find(|argument| argument.role == "input");
        let size = input.and_then(|input| input.shape.first()).copied().unwrap_or(0);
        let all = size * rank.1;
        let rows = examples.windows().len();
        if all == 0 || rows < all {
            return Err(TrainError::Settings(format!("{rows} rows do not fill a batch of {all}")));
        }
        let last = Mutex::new(None);
        Ok(Self { examples, entry: entry.clone(), seed, size, rank, last })
    }

    /// Batches in an epoch; what does not fill one is left out.
    pub fn in_epoch(&self) -> u64 {
        (self.examples.windows().len() / (self.size * self.rank.1)) as u64
    }

    /// Rows in a batch.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The rows of a batch.
    pub fn rows(&self, number: u64) -> Rows {
        let (epoch, place) = (number / self.in_epoch(), number % self.in_epoch());
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(known, _)| *known != epoch) {
            *last = Some((epoch, order(self.seed, epoch, self.examples.windows().len())));
        }
        let order = last.as_ref().map_or(&[][..], |(_, order)| order);
        let first = (place as usize * self.rank.1 + self.rank.0) * self.size;
        let mut rows = Rows::default();
        for number in order.iter().skip(first).take(self.size) {
            self.examples.push(self.examples.windows()[*number as usize], &mut rows);
        }
        rows
    }
}

impl Batches for QuestionBatches<'_> {
    fn batch(&self, number: u64) -> Result<Named, TrainError> {
        tensors(&self.entry, &self.rows(number))
    }
}

/// Rows as the inputs and targets of a program.
pub(crate) fn tensors(entry: &ProgramEntry, rows: &Rows) -> Result<Named, TrainError> {
    let wanted =
        entry.arguments.iter().filter(|each| each.role == "input" || each.role == "target");
    wanted
        .map(|argument| {
            let values = match argument.name.as_str() {
                "input_ids" => &rows.input_ids,
                "attention_mask" => &rows.attention_mask,
                "token_type_ids" => &rows.token_type_ids,
                "start_positions" => &rows.start_positions,
                "end_positions" => &rows.end_positions,
                name => {
                    let program = &entry.name;
                    return Err(TrainError::Settings(format!(
                        "the program {program:?} takes {name:?}, which questions do not have"
                    )));
                }
            };
            let shape = shape(&argument.shape)?;
            let tensor = Tensor::from_integers(argument.dtype, shape, values.clone())?;
            Ok((argument.key(), tensor))
        })
        .collect()
}

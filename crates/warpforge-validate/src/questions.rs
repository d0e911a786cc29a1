//! The questions of a bundle: rows made here and held against the golden ones, and a trained model asked as the golden one was.

use std::collections::BTreeMap;

use serde::Serialize;
use warpforge_golden::{Bundle, Questions, TrainingRun};
use warpforge_tensor::safetensors;
use warpforge_train::squad::{Examples, Limits, Shape, Squad};
use warpforge_train::{Batches, Evaluator, QuestionBatches, Vocabulary};

use crate::outcome::Named;
use crate::programs::{Inputs, ModelArguments, Programs};
use crate::{Runner, ValidateError};

/// Batches made here from the text of the questions, held against those of the golden runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BatchesCompared {
    /// Tensors that were compared, bit by bit.
    pub tensors: u64,
    /// Those that differ.
    pub different: u64,
    /// The first of them.
    pub first: Option<String>,
}

/// The questions of a bundle, as rows.
pub(crate) struct Asking<'a> {
    questions: &'a Questions,
    train: Examples,
    dev: Examples,
}

impl<'a> Asking<'a> {
    /// Reads the questions of a bundle; nothing where it has none.
    pub(crate) fn open(bundle: &'a Bundle) -> Result<Option<Self>, ValidateError> {
        let Some(questions) = &bundle.manifest().questions else { return Ok(None) };
        let vocabulary =
            Vocabulary::open(&bundle.path(&questions.vocabulary)?, questions.lowercase)?;
        let shape = Shape {
            sequence: questions.sequence as usize,
            stride: questions.stride as usize,
            longest_question: questions.longest_question as usize,
        };
        let examples = |path| -> Result<Examples, ValidateError> {
            let squad = Squad::open(&bundle.path(path)?)?;
            Ok(Examples::new(squad, &vocabulary, shape)?)
        };
        let (train, dev) = (examples(&questions.train)?, examples(&questions.dev)?);
        Ok(Some(Self { questions, train, dev }))
    }

    /// Makes the batches of a golden run again.
    pub(crate) fn compare_batches(
        &self,
        bundle: &Bundle,
        run: &TrainingRun,
        files: &[safetensors::File],
        compared: &mut BatchesCompared,
    ) -> Result<(), ValidateError> {
        let entry = bundle.program("gradients")?;
        for (rank, file) in files.iter().enumerate() {
            let place = (rank, files.len());
            let batches = QuestionBatches::new(&self.train, entry, run.seeds.data, place)?;
            for number in 0..run.batch_count {
                for (key, own) in batches.batch(number)? {
                    let name = format!("{number}/{key}");
                    compared.tensors += 1;
                    if file.mapped(&name)? != own {
                        compared.different += 1;
                        let seed = run.seeds.data;
                        compared.first.get_or_insert_with(|| {
                            format!("{name} of the run with data seed {seed}, rank {rank}")
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// Asks a trained model, and measures.
    pub(crate) fn ask(
        &self,
        bundle: &Bundle,
        runner: &Runner<'_>,
        programs: &mut Programs<'_>,
        weights: &Named,
    ) -> Result<BTreeMap<String, f64>, ValidateError> {
        let evaluator = Evaluator {
            examples: &self.dev,
            questions: self.questions.dev_questions as usize,
            limits: Limits {
                best: self.questions.best as usize,
                longest_answer: self.questions.longest_answer as usize,
            },
        };
        let model = |batch: Named| -> Result<Named, ValidateError> {
            let arguments = ModelArguments { weights, inputs: Inputs::Made(&batch) };
            programs.forward(runner, &arguments)
        };
        let found = evaluator.ask_with(bundle.program("forward")?, model, |_, _| {})?;
        Ok(BTreeMap::from([
            ("exact_match".to_owned(), found.score.exact_match),
            ("f1".to_owned(), found.score.f1),
        ]))
    }
}

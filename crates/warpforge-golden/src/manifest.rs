//! The manifest of a golden bundle, as `docs/golden.md` describes it.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{FileEntry, FilePath};

/// The version of the format that is written and read; newer ones are refused.
pub const SCHEMA_VERSION: u32 = 1;

/// What stands in `format`.
pub(crate) const FORMAT: &str = "warpforge.golden";

/// A golden bundle: what plain PyTorch computed, and how it came about. Fields that are not known are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Always `warpforge.golden`.
    pub format: String,
    /// The version of this format; raised when a meaning changes.
    pub schema_version: u32,
    /// What was trained.
    pub model: Model,
    /// How it was trained.
    pub configuration: Configuration,
    /// Where random numbers came from.
    pub seeds: Seeds,
    /// What it was trained on, with its licences.
    pub data: Vec<Data>,
    /// Versions of Python and the packages, by name.
    pub generator: BTreeMap<String, String>,
    /// The machine, as far as it could be read.
    pub machine: BTreeMap<String, Value>,
    /// The manifest of the programs, as `warpforge.export` writes it; the programs lie beside it.
    pub programs: FilePath,
    /// What is in each file of activations, in the order in which it was computed.
    pub activations: Vec<Activation>,
    /// The steps that were written in full.
    pub steps: Vec<Step>,
    /// The same training from several seeds: the start, batches and losses of each; the first is that of `steps`.
    pub runs: Vec<TrainingRun>,
    /// The state after the last step.
    #[serde(rename = "final")]
    pub last: Checkpoint,
    /// The trained model on a batch it had not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Evaluation>,
    /// The questions it was trained on and asked, where it is about questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<Questions>,
    /// What should be reached: `f1` and `exact_match` by the golden run at least, `final_loss` at most, `seconds` for both passes at most,
    /// and `throughput` by a run that is judged, as a part of the golden one's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub targets: BTreeMap<String, f64>,
    /// What training and evaluating all runs took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The loss of every step, recorded in full or not.
    pub loss_curve: FilePath,
    /// What was measured at the end.
    pub metrics: FilePath,
    /// Size and digest of every file but this one.
    pub files: BTreeMap<FilePath, FileEntry>,
}

/// Questions in the form of SQuAD, and how rows and answers are made of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Questions {
    /// The questions of training.
    pub train: FilePath,
    /// The questions of evaluation.
    pub dev: FilePath,
    /// The vocabulary.
    pub vocabulary: FilePath,
    /// Whether text is brought to lower case.
    pub lowercase: bool,
    /// Tokens in a row.
    pub sequence: u32,
    /// Tokens that two rows of one text share.
    pub stride: u32,
    /// The most tokens of a question.
    pub longest_question: u32,
    /// The most tokens of an answer.
    pub longest_answer: u32,
    /// So many of the likeliest beginnings and ends are looked at.
    pub best: u32,
    /// Questions of `dev` that are asked, from the first on.
    pub dev_questions: u32,
}

/// What was trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// The recipe.
    pub recipe: String,
    /// The published model whose sizes it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The recipe's options.
    pub options: BTreeMap<String, Value>,
    /// Where the initial weights came from.
    pub weights: String,
}

/// How it was trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Configuration {
    /// Steps in all.
    pub steps: u64,
    /// Steps written in full, from the first on.
    pub recorded_steps: u64,
    /// Examples in a batch of one rank.
    pub batch_size: u64,
    /// Examples in an epoch; 0 where every batch is new.
    pub examples: u64,
    /// Processes that trained together.
    pub ranks: u64,
    /// What they met through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// The element type of weights and floating-point inputs.
    pub dtype: String,
    /// The type products were computed in, where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autocast: Option<String>,
    /// Threads of each process.
    pub threads: u64,
    /// The learning rate of each step.
    pub schedule: Schedule,
    /// The optimizer.
    pub optimizer: Optimizer,
}

/// The learning rate over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// The rate after the warm-up.
    pub learning_rate: f64,
    /// `constant`, or `linear`: falling to zero.
    pub kind: String,
    /// Steps over which it rises at first.
    pub warmup_steps: u64,
}

/// AdamW's constants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Optimizer {
    /// The name of the optimizer, and of its program.
    pub name: String,
    /// The decay of the first moment.
    pub beta1: f64,
    /// The decay of the second moment.
    pub beta2: f64,
    /// What keeps the divisor from zero.
    pub epsilon: f64,
    /// The decay of the weights.
    pub weight_decay: f64,
}

/// Where random numbers came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seeds {
    /// Of the initial weights.
    pub weights: i64,
    /// Of the batches.
    pub data: i64,
}

/// A set of data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Data {
    /// Its name.
    pub name: String,
    /// Its licence, as an SPDX expression where there is one.
    pub licence: String,
    /// What it is.
    pub description: String,
}

/// A tensor that a module returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activation {
    /// Its name in the files of activations.
    pub key: String,
    /// The module, by its path; empty for the whole model.
    pub module: String,
    /// Which call of the module, from 0.
    pub call: u64,
    /// Which part of what it returned; empty for a lone tensor.
    pub output: String,
}

/// One step, written in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Its number, from 0.
    pub index: u64,
    /// The learning rate of its update.
    pub learning_rate: f64,
    /// The state it starts from.
    pub before: Start,
    /// What each rank was given and computed, by rank.
    pub ranks: Vec<Rank>,
    /// The gradients of the update: the mean over the ranks.
    pub gradients: FilePath,
    /// The state after its update.
    pub after: Checkpoint,
}

/// A whole run of training from one pair of seeds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrainingRun {
    /// Its seeds.
    pub seeds: Seeds,
    /// Parameters and buffers before the first step.
    pub initial: FilePath,
    /// The batches of each rank: `NUMBER/input.NAME` and `NUMBER/target.NAME`.
    pub batches: Vec<FilePath>,
    /// How many batches there are; step `n` has the one with number `n` modulo this.
    pub batch_count: u64,
    /// The loss of every step, the mean over the ranks.
    pub loss: Vec<f64>,
    /// What was measured at its end.
    pub metrics: BTreeMap<String, f64>,
}

/// The state a step starts from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Start {
    /// Parameters and buffers.
    pub weights: FilePath,
    /// The optimizer's state; absent before the first step, when all of it is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<FilePath>,
}

/// A state that training could go on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    /// Parameters and buffers.
    pub weights: FilePath,
    /// The optimizer's state.
    pub optimizer: FilePath,
}

/// What one rank was given and computed in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rank {
    /// Its loss, before the update.
    pub loss: f64,
    /// Its batch: `input.NAME` and `target.NAME`.
    pub inputs: FilePath,
    /// What modules returned, by the keys of `activations`.
    pub activations: FilePath,
    /// Its own gradients, before those of all ranks are averaged.
    pub gradients: FilePath,
}

/// The trained model on a batch it had not seen, in evaluation mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evaluation {
    /// Parameters and buffers.
    pub weights: FilePath,
    /// The batch: `input.NAME` and `target.NAME`.
    pub inputs: FilePath,
    /// What the model returned.
    pub outputs: FilePath,
}

impl Manifest {
    /// Reads a manifest and checks what can be checked without the files; the reason where something is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let manifest: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        manifest.fault().map_or(Ok(manifest), Err)
    }

    /// Every file it gives a meaning.
    pub(crate) fn named(&self) -> Vec<&FilePath> {
        let mut found = vec![&self.programs, &self.loss_curve, &self.metrics];
        found.extend([&self.last.weights, &self.last.optimizer]);
        for step in &self.steps {
            found.push(&step.before.weights);
            found.extend(&step.before.optimizer);
            found.extend([&step.gradients, &step.after.weights, &step.after.optimizer]);
            for rank in &step.ranks {
                found.extend([&rank.inputs, &rank.activations, &rank.gradients]);
            }
        }
        for run in &self.runs {
            found.push(&run.initial);
            found.extend(&run.batches);
        }
        if let Some(questions) = &self.questions {
            found.extend([&questions.train, &questions.dev, &questions.vocabulary]);
        }
        if let Some(evaluation) = &self.evaluation {
            found.extend([&evaluation.weights, &evaluation.inputs, &evaluation.outputs]);
        }
        found
    }

    /// What is wrong with it, beyond the types of its fields.
    fn fault(&self) -> Option<String> {
        if self.format != FORMAT {
            let found: String = self.format.chars().take(100).collect();
            return Some(format!("its format is {found:?}, expected {FORMAT:?}"));
        }
        if self.schema_version != SCHEMA_VERSION {
            let found = self.schema_version;
            return Some(format!(
                "version {found} of the format cannot be read, only {SCHEMA_VERSION}"
            ));
        }
        let mut keys = HashSet::new();
        if let Some(twice) = self.activations.iter().find(|each| !keys.insert(&each.key)) {
            return Some(format!("two activations have the key {:?}", twice.key));
        }
        let ranks = self.configuration.ranks;
        for (place, step) in self.steps.iter().enumerate() {
            let index = step.index;
            if place > 0 && self.steps[place - 1].index >= index {
                return Some(format!("step {index} comes after one that is not before it"));
            }
            if step.ranks.len() as u64 != ranks || ranks == 0 {
                let found = step.ranks.len();
                return Some(format!("step {index} has {found} ranks, the configuration {ranks}"));
            }
        }
        for (number, run) in self.runs.iter().enumerate() {
            let (batches, count, losses) = (run.batches.len(), run.batch_count, run.loss.len());
            if batches as u64 != ranks || count == 0 || losses as u64 != self.configuration.steps {
                return Some(format!(
                    "run {number} has batches of {batches} ranks, {count} of each, and {losses} losses"
                ));
            }
        }
        None
    }
}

//! What a run of one step gave, in memory or in files.

use warpforge_golden::{
    Bundle, Checkpoint, FilePath, GoldenError, ResultRank, ResultStep, Results, ResultsWriter, Run,
    Unobserved,
};
use warpforge_tensor::{Tensor, safetensors};

use crate::ValidateError;

/// Tensors by name.
pub type Named = Vec<(String, Tensor)>;

/// The name of the loss among a rank's gradients, where these are kept in a file.
const LOSS: &str = "loss";

/// What one step gave, started from the golden state.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The step.
    pub index: u64,
    /// What each rank computed.
    pub ranks: Vec<RankOutcome>,
    /// The mean of its own gradients over the ranks.
    pub gradients: Named,
    /// Parameters after the update by the golden gradients, and buffers that the forward pass changed.
    pub weights: Named,
    /// The optimizer's state after that update.
    pub state: Named,
    /// Parameters after an update by the run's own gradients; empty where they were not kept.
    pub own_weights: Named,
    /// What the update took.
    pub update_seconds: f64,
}

/// What one rank computed in a step.
#[derive(Debug, Clone)]
pub struct RankOutcome {
    /// Its loss.
    pub loss: Tensor,
    /// Its gradients.
    pub gradients: Named,
    /// What modules returned.
    pub activations: Named,
    /// What loss and gradients took.
    pub seconds: f64,
}

/// Writes outcomes to a directory of results.
#[derive(Debug)]
pub struct Saver {
    writer: ResultsWriter,
    steps: Vec<ResultStep>,
    evaluation: Option<FilePath>,
}

impl Saver {
    /// Into a directory that is new or empty.
    pub fn new(directory: &std::path::Path) -> Result<Self, ValidateError> {
        let writer = ResultsWriter::new(directory)?;
        Ok(Self { writer, steps: Vec::new(), evaluation: None })
    }

    /// Keeps a step.
    pub fn step(&mut self, outcome: &Outcome) -> Result<(), ValidateError> {
        let index = outcome.index;
        let place = |name: &str| path(&format!("steps/{index:04}/{name}.safetensors"));
        let mut ranks = Vec::new();
        for (number, rank) in outcome.ranks.iter().enumerate() {
            let gradients = place(&format!("rank{number}/gradients"));
            let activations = place(&format!("rank{number}/activations"));
            let mut tensors = rank.gradients.clone();
            tensors.push((LOSS.to_owned(), rank.loss.clone()));
            self.writer.write(&gradients, &tensors)?;
            self.writer.write(&activations, &rank.activations)?;
            ranks.push(ResultRank { seconds: rank.seconds, gradients, activations });
        }
        let gradients = place("gradients");
        let after = Checkpoint { weights: place("weights"), optimizer: place("optimizer") };
        self.writer.write(&gradients, &outcome.gradients)?;
        self.writer.write(&after.weights, &outcome.weights)?;
        self.writer.write(&after.optimizer, &outcome.state)?;
        let update_seconds = outcome.update_seconds;
        self.steps.push(ResultStep { index, ranks, gradients, after, update_seconds });
        Ok(())
    }

    /// Keeps what the trained model returned.
    pub fn evaluation(&mut self, outputs: &Named) -> Result<(), ValidateError> {
        let place = path("evaluation/outputs.safetensors");
        self.writer.write(&place, outputs)?;
        self.evaluation = Some(place);
        Ok(())
    }

    /// Makes the results whole.
    pub fn finish(
        self,
        bundle: &Bundle,
        run: Run,
        unobserved: &[Unobserved],
    ) -> Result<(), ValidateError> {
        self.writer.finish(
            bundle.digest(),
            run,
            self.steps,
            self.evaluation,
            unobserved.to_vec(),
        )?;
        Ok(())
    }
}

/// Outcomes that were saved.
#[derive(Debug)]
pub struct Saved {
    results: Results,
}

impl Saved {
    /// Opens results and makes sure that they started from this bundle.
    pub fn open(directory: &std::path::Path, bundle: &Bundle) -> Result<Self, ValidateError> {
        let results = Results::open(directory)?;
        if results.manifest().golden != bundle.digest() {
            return Err(ValidateError::Mismatched(format!(
                "{} started from another bundle than {}: the digest of the golden manifest differs",
                directory.display(),
                bundle.directory().display()
            )));
        }
        Ok(Self { results })
    }

    /// How they were made.
    pub fn run(&self) -> &Run {
        &self.results.manifest().run
    }

    /// Activations that the programs did not show.
    pub fn unobserved(&self) -> &[Unobserved] {
        &self.results.manifest().unobserved
    }

    /// The steps they hold.
    pub fn steps(&self) -> impl Iterator<Item = &ResultStep> {
        self.results.manifest().steps.iter()
    }

    /// A step's outcome; tensors stay in their files until they are compared.
    pub fn step(&self, step: &ResultStep) -> Result<Outcome, ValidateError> {
        let mut outcome = Outcome {
            index: step.index,
            gradients: self.all(&step.gradients)?,
            weights: self.all(&step.after.weights)?,
            state: self.all(&step.after.optimizer)?,
            update_seconds: step.update_seconds,
            ..Outcome::default()
        };
        for rank in &step.ranks {
            let file = self.results.tensors(&rank.gradients)?;
            let loss = file.mapped(LOSS)?;
            let gradients = mapped(&file, |name| name != LOSS)?;
            let activations = self.all(&rank.activations)?;
            outcome.ranks.push(RankOutcome { loss, gradients, activations, seconds: rank.seconds });
        }
        Ok(outcome)
    }

    /// What the trained model returned, where that was kept.
    pub fn evaluation(&self) -> Result<Option<Named>, ValidateError> {
        self.results.manifest().evaluation.as_ref().map(|path| self.all(path)).transpose()
    }

    fn all(&self, path: &FilePath) -> Result<Named, ValidateError> {
        Ok(mapped(&self.results.tensors(path)?, |_| true)?)
    }
}

/// The tensors of a file where they lie.
pub(crate) fn mapped(
    file: &safetensors::File,
    wanted: impl Fn(&str) -> bool,
) -> Result<Named, GoldenError> {
    let names = file.names().filter(|name| wanted(name));
    names.map(|name| Ok((name.to_owned(), file.mapped(name)?))).collect()
}

fn path(text: &str) -> FilePath {
    FilePath::new(text).expect("a name made here is plain")
}

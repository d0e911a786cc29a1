//! The training loop: batches in, losses out, a checkpoint every so often.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Checkpoints, Named, Schedule, TrainError, Trainer};

/// How long and how fast.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrainingPlan {
    /// Updates in all.
    pub steps: u64,
    /// The learning rate of each.
    pub schedule: Schedule,
    /// Batches whose mean gradient makes one update.
    pub accumulate: u64,
    /// A checkpoint after so many steps; 0: only at the end.
    pub checkpoint_every: u64,
}

/// Where batches come from.
pub trait Batches {
    /// The batch with this number: `input.NAME` and `target.NAME`, as the program takes them.
    fn batch(&self, number: u64) -> Result<Named, TrainError>;
}

/// A step that was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Steps made so far, those before a resumption too.
    pub done: u64,
    /// Steps in all.
    pub steps: u64,
    /// The loss of the last one.
    pub loss: f64,
    /// What it took.
    pub seconds: f64,
}

/// What training has to say.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Trained {
    /// The loss of every step, before its update.
    pub loss: Vec<f64>,
    /// The learning rate of every step.
    pub learning_rate: Vec<f64>,
    /// What each step took that was made here: batches, gradients and update, without checkpoints.
    pub seconds: Vec<f64>,
    /// The step it went on from.
    pub resumed_at: u64,
}

impl TrainingPlan {
    /// Refuses what does not fit together.
    pub fn check(&self) -> Result<(), TrainError> {
        if self.steps == 0 || self.accumulate == 0 {
            return Err(TrainError::Settings(
                "training needs at least one step of one batch".to_owned(),
            ));
        }
        self.schedule.check(self.steps)
    }
}

/// Trains to the end of a plan, going on after the losses of the steps that were made before. A request to stop is heard after each
/// step; what was reached is then kept as a checkpoint.
pub fn train(
    trainer: &mut Trainer,
    batches: &dyn Batches,
    plan: &TrainingPlan,
    before: Vec<f64>,
    checkpoints: Option<&Checkpoints>,
    cancel: Option<&AtomicBool>,
    mut progress: impl FnMut(Progress),
) -> Result<Trained, TrainError> {
    plan.check()?;
    let resumed_at = before.len() as u64;
    let mut trained = Trained { loss: before, resumed_at, ..Trained::default() };
    for step in 0..plan.steps {
        trained.learning_rate.push(plan.schedule.rate(step, plan.steps));
    }
    let save = |trainer: &mut Trainer, loss: &[f64]| -> Result<(), TrainError> {
        let Some(checkpoints) = checkpoints else { return Ok(()) };
        checkpoints.write(loss, &trainer.weights()?, &trainer.state()?)
    };
    for step in resumed_at..plan.steps {
        let started = Instant::now();
        let first = step * plan.accumulate;
        let taken: Vec<Named> = (first..first + plan.accumulate)
            .map(|number| batches.batch(number))
            .collect::<Result<_, _>>()?;
        let loss = trainer.step(&taken, trained.learning_rate[step as usize])?;
        let seconds = started.elapsed().as_secs_f64();
        if !loss.is_finite() {
            return Err(TrainError::Diverged { step, loss });
        }
        trained.loss.push(loss);
        trained.seconds.push(seconds);
        let done = step + 1;
        progress(Progress { done, steps: plan.steps, loss, seconds });
        let stop = cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        let due = plan.checkpoint_every > 0 && done.is_multiple_of(plan.checkpoint_every);
        if due || stop || done == plan.steps {
            save(trainer, &trained.loss)?;
        }
        if stop && done < plan.steps {
            return Err(TrainError::Cancelled);
        }
    }
    Ok(trained)
}

//! A whole validation: every step computed and judged, or read and judged.

use std::path::Path;

use warpforge_golden::{Bundle, Run};

use crate::outcome::{Saved, Saver};
use crate::{
    Precision, Runner, StepLocked, Tier, Tolerances, ValidateError, Validation, judge,
    judge_outputs,
};

impl Runner<'_> {
    /// How it runs, for records.
    pub fn described(&self, producer: &str) -> Run {
        Run {
            producer: producer.to_owned(),
            tier: self.tier.name().to_owned(),
            precision: self.precision.name().to_owned(),
            threads: match self.tier {
                Tier::Production { threads } | Tier::Observable { threads } => Some(threads as u64),
                Tier::Correctness => None,
            },
        }
    }
}

/// Runs at most `most` recorded steps of a bundle, each from the golden state, and judges them; what was computed is kept where
/// that was asked for. `progress` is told of each step before it runs.
pub fn validate(
    bundle: &Bundle,
    runner: &Runner<'_>,
    producer: &str,
    tolerances: &Tolerances,
    most: usize,
    save: Option<&Path>,
    mut progress: impl FnMut(u64),
) -> Result<Validation, ValidateError> {
    let run = runner.described(producer);
    let mut validation =
        Validation::new(&bundle.manifest().model.recipe, bundle.digest(), run.clone());
    let mut saver = save.map(Saver::new).transpose()?;
    let mut locked = StepLocked::new(runner, bundle)?;
    validation.unobserved = locked.unobserved().to_vec();
    for step in bundle.manifest().steps.iter().take(most) {
        progress(step.index);
        let outcome = locked.step(step)?;
        if let Some(saver) = &mut saver {
            saver.step(&outcome)?;
        }
        judge(&mut validation, bundle, &outcome, tolerances)?;
    }
    if let Some(outputs) = locked.evaluation()? {
        if let Some(saver) = &mut saver {
            saver.evaluation(&outputs)?;
        }
        judge_outputs(&mut validation, bundle, &outputs, tolerances)?;
    }
    if let Some(saver) = saver {
        saver.finish(bundle, run, locked.unobserved())?;
    }
    Ok(validation)
}

/// Judges results that were saved.
pub fn compare(
    bundle: &Bundle,
    saved: &Saved,
    tolerances: &Tolerances,
) -> Result<Validation, ValidateError> {
    let run = saved.run().clone();
    let mut validation = Validation::new(&bundle.manifest().model.recipe, bundle.digest(), run);
    validation.unobserved = saved.unobserved().to_vec();
    for step in saved.steps() {
        judge(&mut validation, bundle, &saved.step(step)?, tolerances)?;
    }
    match saved.evaluation()? {
        Some(outputs) => judge_outputs(&mut validation, bundle, &outputs, tolerances)?,
        None if bundle.manifest().evaluation.is_some() => {
            return Err(ValidateError::Mismatched(
                "the results have no outputs of the evaluation".to_owned(),
            ));
        }
        None => {}
    }
    Ok(validation)
}

/// The precision that results were computed in.
pub fn precision_of(saved: &Saved) -> Precision {
    Precision::named(&saved.run().precision).unwrap_or_default()
}

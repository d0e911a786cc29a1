//! Where a mismatch begins, for people and programs.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use warpforge_golden::Bundle;
use warpforge_validate::{
    Divergence, Judged, Origin, Runner, Searching, ValidateError, first_divergence,
};

use super::page::lines;
use crate::output::Output;
use crate::waiting::Waiting;

/// What was found, and where it was written.
pub(super) struct Found {
    divergence: Divergence,
    file: Option<PathBuf>,
}

/// Looks for where a mismatch begins.
pub(super) fn search(
    bundle: &Bundle,
    runner: &Runner<'_>,
    first: &Judged,
    folder: &Path,
    output: &Output,
) -> Result<Option<Found>, ValidateError> {
    let mut waiting = Waiting::new(output.progress_is_visible());
    let mut progress = |at: Searching| {
        waiting.say(|| match at {
            Searching::Ops(done, all) => {
                format!("where it begins: {done} of {all} ops looked at")
            }
            Searching::Kernels(done) => {
                format!("where it begins: all ops are right; {done} kernels looked at")
            }
        });
    };
    let divergence = first_divergence(bundle, runner, first, &mut progress)?;
    drop(waiting);
    let name = match (&divergence.origin, divergence.step) {
        (Origin::Kernel { number, .. }, Some(step)) => format!("step-{step}-kernel-{number}"),
        (_, Some(step)) => format!("step-{step}-op"),
        (_, None) => "evaluation-op".to_owned(),
    };
    let written = divergence.reproducer.as_ref().map(|alone| alone.write(folder, &name));
    let file = written.transpose()?;
    Ok(Some(Found { divergence, file }))
}

impl Found {
    /// What was found, in a sentence; names in it are as the bundle has them.
    pub(super) fn sentence(&self) -> String {
        let step = match (self.divergence.step, self.divergence.rank) {
            (Some(step), Some(rank)) => format!("step {step}, rank {rank}"),
            (Some(step), None) => format!("step {step}"),
            (None, _) => "the evaluation".to_owned(),
        };
        let inside = |module: &Option<String>| match module.as_deref() {
            Some("") => " in the model itself".to_owned(),
            Some(module) => format!(" in {module}"),
            None => String::new(),
        };
        let what = match &self.divergence.origin {
            Origin::Argument { role, name } => {
                format!("the {role} {name} that the program was given is not the golden one")
            }
            Origin::Op { op, value, module, what } => {
                format!("{op} ({value}){}: {what}", inside(module))
            }
            Origin::Kernel { number, backend, ops, what } => {
                format!("kernel {number} ({backend}: {}): {what}", ops.join(" "))
            }
            Origin::Model { tensor, module } => format!(
                "{tensor}{}; every op and kernel computes what the program says, so the program and PyTorch disagree",
                inside(module)
            ),
        };
        format!("begins in {step}, program {}: {what}", self.divergence.program)
    }

    /// The command that runs it alone, in parts that belong on one line each.
    pub(super) fn command(&self) -> Option<[String; 2]> {
        let file = self.file.as_ref()?;
        let tensors = file.with_extension("safetensors");
        Some([format!("warpt run {}", file.display()), format!("--inputs {}", tensors.display())])
    }

    /// For people.
    pub(super) fn page(&self, width: usize) -> String {
        let mut text = lines(&self.sentence(), width);
        if let Some([run, inputs]) = self.command() {
            // A command stays one that can be copied, so paths are not cut.
            let fits = run.chars().count() + inputs.chars().count() + 8 <= width;
            let between = if fits { " " } else { " \\\n    " };
            text.push_str(&format!(
                "alone: {run}{between}{inputs}\n  (found0 in that file is what was computed, wanted0 what it should be)\n"
            ));
        }
        text
    }

    /// For programs.
    pub(super) fn json(&self) -> Json {
        json!({
            "step": self.divergence.step,
            "rank": self.divergence.rank,
            "program": self.divergence.program,
            "origin": self.divergence.origin,
            "reproducer": self.file,
        })
    }
}

//! What a validation found.

use serde::Serialize;
use warpforge_golden::{Run, Unobserved};
use warpforge_tensor::Comparison;

use crate::Kind;

/// A bundle's steps, judged.
#[derive(Debug, Clone, Serialize)]
pub struct Validation {
    /// The recipe of the bundle.
    pub recipe: String,
    /// The SHA-256 of the bundle's manifest.
    pub golden: String,
    /// How the steps were run.
    pub run: Run,
    /// Every comparison, in the order of the computation.
    pub comparisons: Vec<Judged>,
    /// Activations that the programs do not show, with the reason.
    pub unobserved: Vec<Unobserved>,
    /// How long each step took.
    pub timing: Vec<Timing>,
}

/// One tensor, compared.
#[derive(Debug, Clone, Serialize)]
pub struct Judged {
    /// The step; none for the trained model's outputs.
    pub step: Option<u64>,
    /// The rank, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// What it is.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// What was found.
    pub comparison: Comparison,
}

/// How long a step took, here and for PyTorch. Not a comparison of speed: nothing was repeated or interleaved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timing {
    /// The step.
    pub step: u64,
    /// Loss, gradients and update here.
    pub seconds: f64,
    /// Loss and gradients here; of several ranks, those of the slowest.
    pub gradients_seconds: f64,
    /// The update here.
    pub update_seconds: f64,
    /// The same in the golden run, on its machine.
    pub golden_seconds: Option<f64>,
}

/// The comparisons of one kind in one step.
#[derive(Debug, Clone)]
pub struct Summary<'a> {
    /// The step; none for the trained model's outputs.
    pub step: Option<u64>,
    /// The kind.
    pub kind: Kind,
    /// How many tensors were compared.
    pub tensors: usize,
    /// How many of them matched.
    pub matched: usize,
    /// The one that uses most of what is allowed; none where all are equal.
    pub worst: Option<&'a Judged>,
}

impl Judged {
    /// How much of what is allowed its worst element uses.
    pub fn share(&self) -> f64 {
        self.comparison.worst.as_ref().map_or(0.0, |worst| worst.share)
    }

    /// Whether it matches, or need not.
    pub fn passed(&self) -> bool {
        !self.kind.is_judged() || self.comparison.passed()
    }
}

impl Validation {
    /// Nothing judged yet.
    pub fn new(recipe: &str, golden: &str, run: Run) -> Self {
        Self {
            recipe: recipe.to_owned(),
            golden: golden.to_owned(),
            run,
            comparisons: Vec::new(),
            unobserved: Vec::new(),
            timing: Vec::new(),
        }
    }

    /// Whether every judged tensor matches, and there was one.
    pub fn passed(&self) -> bool {
        self.judged() > 0 && self.comparisons.iter().all(Judged::passed)
    }

    /// How many comparisons decide the verdict.
    pub fn judged(&self) -> usize {
        self.comparisons.iter().filter(|judged| judged.kind.is_judged()).count()
    }

    /// The tensors that do not match, in the order of the computation: the first is where to look.
    pub fn mismatches(&self) -> impl Iterator<Item = &Judged> {
        self.comparisons.iter().filter(|judged| !judged.passed())
    }

    /// The comparisons by step and kind, in order.
    pub fn summaries(&self) -> Vec<Summary<'_>> {
        let mut found: Vec<Summary<'_>> = Vec::new();
        for judged in &self.comparisons {
            let known = found
                .iter_mut()
                .rev()
                .find(|each| (each.step, each.kind) == (judged.step, judged.kind));
            let summary = match known {
                Some(summary) => summary,
                None => {
                    let (step, kind) = (judged.step, judged.kind);
                    found.push(Summary { step, kind, tensors: 0, matched: 0, worst: None });
                    found.last_mut().expect("one was just added")
                }
            };
            summary.tensors += 1;
            summary.matched += usize::from(judged.comparison.passed());
            if judged.share() > summary.worst.map_or(0.0, Judged::share) {
                summary.worst = Some(judged);
            }
        }
        found
    }
}

//! What is compared, and the tolerance of each kind.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpforge_tensor::{NonFinitePolicy, Tolerance};

use crate::Precision;

/// What a compared tensor is, in the order in which a step computes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What a module returned.
    Activation,
    /// The loss of a rank.
    Loss,
    /// A gradient of one rank.
    Gradient,
    /// A gradient, averaged over the ranks.
    MeanGradient,
    /// A buffer that the forward pass changes, such as a running mean.
    Buffer,
    /// A parameter after the update by the golden gradients.
    Weight,
    /// What that update added to a parameter.
    Update,
    /// The optimizer's state after that update.
    State,
    /// A parameter after an update by the run's own gradients. Adam divides by the size of a gradient, so where that is zero but for
    /// rounding the update is all rounding: this is shown and not judged.
    OwnWeight,
    /// What the trained model returns in evaluation mode.
    Output,
}

/// A tolerance that may depend on the size of what is expected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scaled {
    /// The tolerance itself.
    pub tolerance: Tolerance,
    /// Added to the absolute tolerance: so many times the largest expected magnitude.
    pub of_largest: f64,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Activation,
        Self::Loss,
        Self::Gradient,
        Self::MeanGradient,
        Self::Buffer,
        Self::Weight,
        Self::Update,
        Self::State,
        Self::OwnWeight,
        Self::Output,
    ];

    /// The name in tables and in the patterns of tolerances.
    pub fn name(self) -> &'static str {
        match self {
            Self::Activation => "activation",
            Self::Loss => "loss",
            Self::Gradient => "gradient",
            Self::MeanGradient => "mean-gradient",
            Self::Buffer => "buffer",
            Self::Weight => "weight",
            Self::Update => "update",
            Self::State => "state",
            Self::OwnWeight => "own-weight",
            Self::Output => "output",
        }
    }

    /// Whether a mismatch fails the validation.
    pub fn is_judged(self) -> bool {
        self != Self::OwnWeight
    }

    /// The preset it is judged by, where nothing else was asked for.
    fn preset(self) -> &'static str {
        match self {
            Self::Activation | Self::Output => "activations",
            Self::Loss => "loss",
            Self::Gradient | Self::MeanGradient => "gradients",
            Self::Buffer | Self::Weight | Self::Update | Self::State | Self::OwnWeight => "weights",
        }
    }

    /// What is allowed where nothing else was asked for.
    pub(crate) fn tolerance(self, precision: Precision) -> Scaled {
        let plain = Tolerance::preset(self.preset()).expect("every kind names a preset there is");
        match (self, precision) {
            // An update is small beside its parameter: what is allowed is measured by the update itself, and by how
            // exactly single precision holds the largest parameter.
            (Self::Update, _) => scaled(1e-3, 5e-7),
            // Moments are as small as gradients and their squares; their own size is the only measure.
            (Self::State, _) => scaled(1e-4, 1e-6),
            // bf16 holds eight binary digits, and its errors go with the size of what is summed, not with the sum.
            (Self::Activation | Self::Output, Precision::Bf16) => scaled(2e-2, 2e-2),
            (Self::Loss, Precision::Bf16) => scaled(1e-2, 0.0),
            (Self::Gradient | Self::MeanGradient, Precision::Bf16) => scaled(5e-2, 5e-2),
            _ => Scaled { tolerance: plain, of_largest: 0.0 },
        }
    }
}

fn scaled(relative: f64, of_largest: f64) -> Scaled {
    let fail = NonFinitePolicy::Fail;
    let tolerance = Tolerance { nan: fail, infinity: fail, ..Tolerance::new(relative, 0.0) };
    Scaled { tolerance, of_largest }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

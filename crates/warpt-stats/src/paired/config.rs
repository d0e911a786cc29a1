//! What a paired comparison is asked to do. Values from files are clamped where they are used, never trusted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Share of `alpha` spent on the location test.
pub const LOCATION_SHARE: f64 = 0.6;
/// Share of `alpha` spent on the tail test. What is left over is a reserve: the promise is "at most alpha".
pub const TAIL_SHARE: f64 = 0.2;

/// How long the bodies are, and so how they are reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Regime {
    /// Bodies below about 100 ms: many blocks, each segment reduced to its minimum.
    Short,
    /// Bodies of seconds: 15 to 30 pairs, each segment usually one sample, the effect is the median log-ratio.
    Long,
}

/// The plan and the rules of one comparison. Record it with the observations: with both, a verdict can be redone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PairedConfig {
    /// How segments and units are reduced.
    pub regime: Regime,
    /// Restarts per look. Each extension adds as many again.
    pub restarts: usize,
    /// Blocks (one segment of each side) in a restart.
    pub blocks_per_restart: usize,
    /// Samples in a segment.
    pub samples_per_segment: usize,
    /// Overall false-alarm probability, over all looks and both statistics.
    pub alpha: f64,
    /// Smallest relative difference worth a verdict, and the margin of `same`.
    pub effect_floor: f64,
    /// The same for the 95th percentile.
    pub tail_effect_floor: f64,
    /// How often the data may be judged (first look included).
    pub max_looks: usize,
    /// Confidence of the interval.
    pub confidence: f64,
    /// Seed of the order of sides and of all resampling.
    pub seed: u64,
}

impl PairedConfig {
    /// For short bodies: per look 12 restarts of 8 blocks, 2 × 12 samples each; up to 4 looks.
    #[must_use]
    pub fn short() -> Self {
        Self {
            regime: Regime::Short,
            restarts: 12,
            blocks_per_restart: 8,
            samples_per_segment: 12,
            alpha: 0.01,
            effect_floor: 0.01,
            tail_effect_floor: 0.10,
            max_looks: 4,
            confidence: 0.95,
            seed: 0,
        }
    }

    /// For bodies of seconds: 15 pairs, each its own restart, and 15 more if those do not decide.
    #[must_use]
    pub fn long() -> Self {
        Self {
            regime: Regime::Long,
            restarts: 15,
            blocks_per_restart: 1,
            samples_per_segment: 1,
            max_looks: 2,
            ..Self::short()
        }
    }

    /// The p value a location difference needs at look number `look` (from 1): 0 beyond `max_looks`.
    #[must_use]
    pub fn location_alpha(&self, look: usize) -> f64 {
        self.look_alpha(LOCATION_SHARE, look)
    }

    /// The p value a tail difference needs at look number `look` (from 1): 0 beyond `max_looks`.
    #[must_use]
    pub fn tail_alpha(&self, look: usize) -> f64 {
        self.look_alpha(TAIL_SHARE, look)
    }

    /// All false-alarm probability used up to and including look number `look`.
    #[must_use]
    pub fn alpha_spent(&self, look: usize) -> f64 {
        let looks = look.clamp(1, self.max_looks.max(1)) as f64;
        looks * (self.location_alpha(1) + self.tail_alpha(1))
    }

    fn look_alpha(&self, share: f64, look: usize) -> f64 {
        let looks = self.max_looks.max(1);
        if look > looks { 0.0 } else { share * fraction(self.alpha, 0.01) / looks as f64 }
    }

    /// ln(1 + floor): floors are symmetric on the logarithmic scale.
    pub(crate) fn log_floor(&self) -> f64 {
        at_least_zero(self.effect_floor).ln_1p()
    }

    pub(crate) fn log_tail_floor(&self) -> f64 {
        at_least_zero(self.tail_effect_floor).ln_1p()
    }

    pub(crate) fn usable_confidence(&self) -> f64 {
        fraction(self.confidence, 0.95)
    }
}

impl Default for PairedConfig {
    fn default() -> Self {
        Self::short()
    }
}

/// The value when it lies strictly between 0 and 1, else the default.
fn fraction(value: f64, default: f64) -> f64 {
    if value > 0.0 && value < 1.0 { value } else { default }
}

fn at_least_zero(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

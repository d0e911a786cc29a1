//! What counts as close enough, and the named presets.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What counts as close enough. Integers and booleans must always be equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// The error allowed as a share of the expected value; added to `absolute`.
    pub relative: f64,
    /// The error allowed whatever the expected value.
    pub absolute: f64,
    /// A distance in units of the last place that is allowed even where the other two do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ulps: Option<u64>,
    /// What to think of NaN.
    #[serde(default)]
    pub nan: NonFinitePolicy,
    /// What to think of infinities.
    #[serde(default)]
    pub infinity: NonFinitePolicy,
}

/// What to think of elements that are not finite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NonFinitePolicy {
    /// They match themselves: NaN any NaN, infinity the infinity of the same sign.
    #[default]
    Equal,
    /// They never match: a result that should be finite has none.
    Fail,
}

/// A tolerance with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Preset {
    /// The name.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// The tolerance.
    pub tolerance: Tolerance,
}

/// The order of sums and the rounding of products differ between libraries; these bounds hold that, and little more. What
/// training must keep finite has NaN and infinities refused.
static PRESETS: [Preset; 7] = [
    preset("weights", "parameters after training", 1e-4, 1e-6, NonFinitePolicy::Fail),
    preset("activations", "values between layers", 1e-3, 1e-5, NonFinitePolicy::Equal),
    preset("gradients", "gradients of one worker", 1e-3, 1e-5, NonFinitePolicy::Fail),
    preset("loss", "the loss of each step", 1e-4, 1e-6, NonFinitePolicy::Fail),
    preset("metrics", "F1, mean average precision, perplexity", 5e-3, 0.0, NonFinitePolicy::Fail),
    preset("f32", "single operations on floats", 1e-5, 0.0, NonFinitePolicy::Equal),
    preset("exact", "values that must be the same", 0.0, 0.0, NonFinitePolicy::Equal),
];

const fn preset(
    name: &'static str,
    purpose: &'static str,
    relative: f64,
    absolute: f64,
    non_finite: NonFinitePolicy,
) -> Preset {
    let tolerance =
        Tolerance { relative, absolute, ulps: None, nan: non_finite, infinity: non_finite };
    Preset { name, purpose, tolerance }
}

impl Tolerance {
    /// A relative and an absolute error, NaN and infinities matching themselves.
    pub fn new(relative: f64, absolute: f64) -> Self {
        let equal = NonFinitePolicy::Equal;
        Self { relative, absolute, ulps: None, nan: equal, infinity: equal }
    }

    /// Nothing but equal values.
    pub fn exact() -> Self {
        Self::new(0.0, 0.0)
    }

    /// A distance in units of the last place, and nothing else.
    pub fn within_ulps(ulps: u64) -> Self {
        Self { ulps: Some(ulps), ..Self::exact() }
    }

    /// The preset of this name.
    pub fn preset(name: &str) -> Option<Self> {
        PRESETS.iter().find(|preset| preset.name == name).map(|preset| preset.tolerance.clone())
    }

    /// All presets.
    pub fn presets() -> &'static [Preset] {
        &PRESETS
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.relative == 0.0 && self.absolute == 0.0, self.ulps) {
            (true, None) => formatter.write_str("equal")?,
            (true, Some(ulps)) => write!(formatter, "{ulps} ULP")?,
            (false, ulps) => {
                write!(formatter, "rtol {:e}, atol {:e}", self.relative, self.absolute)?;
                if let Some(ulps) = ulps {
                    write!(formatter, ", or {ulps} ULP")?;
                }
            }
        }
        match (self.nan, self.infinity) {
            (NonFinitePolicy::Equal, NonFinitePolicy::Equal) => Ok(()),
            (NonFinitePolicy::Fail, NonFinitePolicy::Equal) => formatter.write_str(", no NaN"),
            (NonFinitePolicy::Equal, NonFinitePolicy::Fail) => formatter.write_str(", no infinity"),
            (NonFinitePolicy::Fail, NonFinitePolicy::Fail) => formatter.write_str(", all finite"),
        }
    }
}

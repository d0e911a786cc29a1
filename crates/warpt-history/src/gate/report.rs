//! What the gate found, as people and tools read it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is said of one metric, and of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Within its limit, as far as the measurement could see, and it could see that far.
    Pass,
    /// Worse than its limit, and so again when measured again.
    Regression,
    /// The data cannot tell; the reasons say why.
    Inconclusive,
    /// Worse than its limit, and an exception allows it.
    Excepted,
    /// An exception whose day has passed: renew it with a reason or remove it.
    ExpiredException,
    /// A benchmark that passed before and fails now.
    Broken,
}

impl Outcome {
    /// The word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Regression => "regression",
            Self::Inconclusive => "inconclusive",
            Self::Excepted => "excepted",
            Self::ExpiredException => "expired",
            Self::Broken => "broken",
        }
    }

    /// Whether it keeps a change from being merged.
    #[must_use]
    pub fn fails(self) -> bool {
        matches!(self, Self::Regression | Self::ExpiredException | Self::Broken)
    }
}

/// One metric, exception or benchmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The metric's identifier; a benchmark or a pattern where it is about one of those.
    pub subject: String,
    /// The verdict.
    pub outcome: Outcome,
    /// The value before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<f64>,
    /// The value after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<f64>,
    /// The unit of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How much worse, as a share of the cost before: times and other metrics where lower is better `after / before - 1`, rates
    /// `before / after - 1`. Negative is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worsening: Option<f64>,
    /// How much worse it may get, as the same share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// The smallest worsening this measurement would have shown with 80% probability; absent when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum_detectable_effect: Option<f64>,
    /// How often chance alone would look like this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_value: Option<f64>,
    /// The worsening when measured again; absent when that was not needed or not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remeasured: Option<f64>,
    /// How it was measured again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The verdict in words, and what limits it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

impl Finding {
    /// A finding that is not about one metric's numbers.
    pub(super) fn about(subject: impl Into<String>, outcome: Outcome, reason: String) -> Self {
        Self {
            subject: subject.into(),
            outcome,
            before: None,
            after: None,
            unit: None,
            worsening: None,
            limit: None,
            minimum_detectable_effect: None,
            p_value: None,
            remeasured: None,
            method: None,
            reasons: vec![reason],
        }
    }
}

/// The version of [`GateReport`].
pub const GATE_SCHEMA_VERSION: u32 = 1;

/// The whole judgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// The version of this form.
    pub schema_version: u32,
    /// Regression if anything fails, else inconclusive if anything is, else pass.
    pub verdict: Outcome,
    /// What the candidate was held against.
    pub baseline: String,
    /// What was judged.
    pub candidate: String,
    /// The rules file.
    pub rules: String,
    /// When it was judged.
    pub judged_at: Timestamp,
    /// Metrics that a rule judges.
    pub guarded: usize,
    /// Metrics of the candidate that no rule names.
    pub unguarded: usize,
    /// Metrics that a rule says to ignore.
    pub ignored: usize,
    /// The p value asked of what was measured again, after the correction for their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Failures first, then what could not be told, then the rest.
    pub findings: Vec<Finding>,
    /// What else a reader should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl GateReport {
    /// How many findings have the outcome.
    #[must_use]
    pub fn count(&self, outcome: Outcome) -> usize {
        self.findings.iter().filter(|finding| finding.outcome == outcome).count()
    }
}

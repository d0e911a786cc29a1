//! How a benchmark ended, what was verified, and what its reader should know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpt_machine::conditions::Conditions;

/// Steal above this share of the time is worth saying.
const STEAL_PERCENT: f64 = 1.0;
/// Other programs using more than this share of the machine are worth saying.
const OTHERS_BUSY_PERCENT: f64 = 10.0;

/// How a benchmark ended. Missing hardware is skipped, never success.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran and every check passed.
    #[default]
    Passed,
    /// It could not finish, or a check failed.
    Failed,
    /// It could not run here, for a stated reason.
    Skipped,
}

/// One verification of a computed result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What was verified.
    pub name: String,
    /// Whether it held.
    pub passed: bool,
    /// Expected and found, or how close.
    pub detail: String,
}

impl Check {
    /// A check from a condition.
    pub fn new(name: impl Into<String>, passed: bool, detail: impl Into<String>) -> Self {
        Self { name: name.into(), passed, detail: detail.into() }
    }
}

/// Something a reader of the numbers should know, with a stable code for tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// A stable kebab-case code.
    pub code: String,
    /// The sentence for people.
    pub message: String,
    /// The metric it concerns, when it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

/// What happened on the machine that a reader of the numbers should know.
pub(super) fn condition_warnings(conditions: &Conditions) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut say = |code: &str, message: String| {
        notices.push(Notice { code: code.into(), message, metric: None });
    };
    if let Some(steal) = conditions.steal_percent.filter(|steal| *steal > STEAL_PERCENT) {
        say(
            "steal",
            format!("the hypervisor took {steal:.1}% of the CPU time during the measurement"),
        );
    }
    if let Some(busy) = conditions.other_busy_percent.filter(|busy| *busy > OTHERS_BUSY_PERCENT) {
        say(
            "others-busy",
            format!("other programs used {busy:.0}% of the machine during the measurement"),
        );
    }
    if let Some(throttled) = conditions.throttled_seconds.filter(|seconds| *seconds > 0.0) {
        say(
            "throttled",
            format!("the control group's CPU quota stopped this process for {throttled:.2} s"),
        );
    }
    notices
}

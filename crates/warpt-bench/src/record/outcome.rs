//! How a benchmark ended, what was verified, and what its reader should know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

//! Is this host quiet enough to measure on, and what would make it quieter? Settings are read once; the CPU and
//! the other processes are watched for a fifth of a second. A check that cannot be made on this machine leaves
//! its reason in `absent`, so that silence always means "looked and found nothing".

mod activity;
mod settings;

#[cfg(test)]
mod tests;

use crate::absent::Absent;
use crate::source::SystemRoot;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How much a finding matters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing when results are compared with those of another machine or setting.
    Note,
    /// Makes results here vary.
    Warning,
}

/// One thing that makes measurements here vary or differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable name in kebab case.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub advice: String,
    /// Fields this version does not know, kept as they were read.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What to look at and where warnings begin.
#[derive(Debug, Clone, PartialEq)]
pub struct PreflightConfig {
    /// How long the CPU and other processes are watched.
    pub watch: Duration,
    /// The directory disk benchmarks would use; the current one where unset.
    pub working_directory: Option<PathBuf>,
    /// Load average per CPU from which it is a warning (never below half a task).
    pub load_per_cpu: f64,
    /// CPU use of other processes, in percent of one CPU, from which it is a warning.
    pub other_busy_percent: f64,
    /// Share of stolen time from which it is a warning.
    pub steal_percent: f64,
    /// Share of memory that must be available.
    pub available_memory_percent: f64,
}

impl Default for PreflightConfig {
    fn default() -> Self {
        Self {
            watch: Duration::from_millis(200),
            working_directory: None,
            load_per_cpu: 0.1,
            other_busy_percent: 5.0,
            steal_percent: 0.5,
            available_memory_percent: 10.0,
        }
    }
}

/// What makes this host noisy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Preflight {
    /// Everything found, warnings first.
    pub findings: Vec<Finding>,
    /// Whether there is no warning.
    pub quiet: bool,
    /// How long the check took.
    pub seconds: f64,
    /// The reason for each check that could not be made, by what it looks at.
    #[serde(skip_serializing_if = "Absent::is_empty")]
    pub absent: Absent,
    /// Fields this version does not know, kept as they were read.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Preflight {
    /// Looks at the machine with the given thresholds.
    pub fn check(root: &SystemRoot, config: &PreflightConfig) -> Self {
        Self::check_watching(root, config, &mut |watch| std::thread::sleep(watch))
    }

    /// The same with a pause of the caller's, called once between the two readings of everything that moves.
    pub fn check_watching(
        root: &SystemRoot,
        config: &PreflightConfig,
        pause: &mut dyn FnMut(Duration),
    ) -> Self {
        let started = Instant::now();
        let mut report = Report::default();
        let before = activity::Activity::read(root);
        settings::check(root, config, &mut report);
        pause(config.watch.saturating_sub(started.elapsed()));
        activity::check(root, config, &before, &mut report);
        report.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        Self {
            quiet: report.findings.iter().all(|finding| finding.severity < Severity::Warning),
            findings: report.findings,
            seconds: started.elapsed().as_secs_f64(),
            absent: report.absent,
            extra: Map::new(),
        }
    }

    /// The finding with this code.
    pub fn finding(&self, code: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.code == code)
    }
}

/// Findings and reasons as they come in.
#[derive(Debug, Default)]
struct Report {
    findings: Vec<Finding>,
    absent: Absent,
}

impl Report {
    fn note(&mut self, code: &str, message: impl Into<String>, advice: &str) {
        self.add(Severity::Note, code, message.into(), advice);
    }

    fn warn(&mut self, code: &str, message: impl Into<String>, advice: &str) {
        self.add(Severity::Warning, code, message.into(), advice);
    }

    fn add(&mut self, severity: Severity, code: &str, message: String, advice: &str) {
        let (code, advice) = (code.to_owned(), advice.to_owned());
        self.findings.push(Finding { code, severity, message, advice, extra: Map::new() });
    }
}

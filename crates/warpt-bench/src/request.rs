//! What a run was asked to do, as plain data: the command line builds it, the runner carries it out, and a child
//! process receives it as JSON.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::component::BenchmarkComponent;

/// A request to run benchmarks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRequest {
    /// The suite, if one was named.
    pub suite: Option<String>,
    /// Benchmarks by name, or as `suite/name`.
    pub benchmarks: Vec<String>,
    /// Components: a filter when a suite is named, a selection of defaults otherwise.
    pub components: Vec<BenchmarkComponent>,
    /// Seconds of sampling per benchmark; each benchmark's own default when absent.
    pub duration_seconds: Option<f64>,
    /// Warm-up lasts at least so long per case, steady or not.
    pub burnin_seconds: f64,
    /// `key=value` or `benchmark.key=value`, later ones winning.
    pub params: Vec<(String, String)>,
    /// Stop a case early once the interval's half width is below this share of the median.
    pub target_precision: f64,
    /// Run each benchmark in a child process.
    pub isolate: bool,
    /// Where scratch files go.
    pub working_directory: PathBuf,
    /// CPUs to use at most; all usable ones when absent.
    pub threads: Option<usize>,
}

impl Default for RunRequest {
    fn default() -> Self {
        Self {
            suite: None,
            benchmarks: Vec::new(),
            components: Vec::new(),
            duration_seconds: None,
            burnin_seconds: 0.0,
            params: Vec::new(),
            target_precision: 0.005,
            isolate: false,
            working_directory: PathBuf::from("."),
            threads: None,
        }
    }
}

impl RunRequest {
    /// The name of the run in records and file names: the suite, or the components joined by `-`, or the benchmarks.
    pub fn subject(&self) -> String {
        if let Some(suite) = &self.suite {
            return suite.clone();
        }
        if self.components.is_empty() {
            return match self.benchmarks.as_slice() {
                [] => BenchmarkComponent::System.name().to_owned(),
                [one] => one.replace('/', "-"),
                _ => "selection".to_owned(),
            };
        }
        let names: Vec<&str> = self.components.iter().map(|component| component.name()).collect();
        names.join("-")
    }
}

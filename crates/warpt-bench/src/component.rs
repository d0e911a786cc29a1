//! The vocabulary of selection: which part of a machine a benchmark exercises, of what kind it is, and its name.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::BenchError;
use crate::nearest::nearest;

/// A hardware or system area to benchmark.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BenchmarkComponent {
    /// Processor cores.
    Cpu,
    /// Accelerators.
    Gpu,
    /// Main memory and caches.
    Ram,
    /// Disks and file systems.
    Storage,
    /// Network links and the stack above them.
    Network,
    /// The machine as a whole.
    System,
}

impl BenchmarkComponent {
    /// Every component, in the order pages show them.
    pub const ALL: [Self; 6] =
        [Self::Cpu, Self::Gpu, Self::Ram, Self::Storage, Self::Network, Self::System];

    /// The name used in options and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Ram => "ram",
            Self::Storage => "storage",
            Self::Network => "network",
            Self::System => "system",
        }
    }
}

impl fmt::Display for BenchmarkComponent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for BenchmarkComponent {
    type Err = BenchError;

    fn from_str(text: &str) -> Result<Self, BenchError> {
        Self::ALL.into_iter().find(|component| component.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            BenchError::unknown("component", text, nearest(text, names.iter().copied()))
        })
    }
}

/// What kind of workload a benchmark is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BenchmarkKind {
    /// A microbenchmark or stress-like workload.
    Synthetic,
    /// An end-to-end machine-learning or application workload.
    Application,
    /// A workload of one domain, such as genomics.
    Domain,
}

impl fmt::Display for BenchmarkKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Synthetic => "synthetic",
            Self::Application => "application",
            Self::Domain => "domain",
        })
    }
}

/// The unique name of a benchmark: its suite and its name within the suite.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct BenchmarkId {
    /// The suite, such as `micro`.
    pub suite: String,
    /// The name within the suite, such as `cpu_flops`.
    pub name: String,
}

impl BenchmarkId {
    /// An identifier from its two parts.
    pub fn new(suite: impl Into<String>, name: impl Into<String>) -> Self {
        Self { suite: suite.into(), name: name.into() }
    }
}

impl fmt::Display for BenchmarkId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.suite, self.name)
    }
}

//! One moment of the machine. The first five fields carry the names monitor files have always had and are always
//! written; the others are written where there is a value. Fields of later versions survive in `extra`.

use crate::gpu::GpuUsage;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What the machine was doing when a sample was taken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MonitorRecord {
    /// When, in ISO 8601; a time without a zone is read as UTC.
    #[serde(deserialize_with = "crate::time::with_or_without_zone")]
    pub timestamp: Timestamp,
    /// Share of all CPUs' time in which work of this machine ran.
    #[serde(default)]
    pub cpu_utilization_percent: Option<f64>,
    /// All memory the kernel manages.
    #[serde(default)]
    pub total_memory_bytes: Option<u64>,
    /// Memory that is not available to new programs, in percent of all of it.
    #[serde(default)]
    pub memory_utilization_percent: Option<f64>,
    /// Every graphics processor found.
    #[serde(default)]
    pub gpu_usage: Vec<GpuUsage>,
    /// Seconds since monitoring began, by a clock that never steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_seconds: Option<f64>,
    /// What a new program could get without swapping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_memory_bytes: Option<u64>,
    /// Memory locked or otherwise not evictable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wired_memory_bytes: Option<u64>,
    /// Share of all CPUs' time the hypervisor gave to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_percent: Option<f64>,
    /// Share of all CPUs' time idle while storage was awaited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iowait_percent: Option<f64>,
    /// Busy share of each online CPU, in CPU order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_cpu_utilization_percent: Vec<f64>,
    /// Load average over the last minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_1m: Option<f64>,
    /// The hottest CPU package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_temperature_celsius: Option<f64>,
    /// Mean clock of a few CPUs spread over the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_frequency_mhz: Option<f64>,
    /// Mean power of all CPU packages since the sample before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package_power_watts: Option<f64>,
    /// Energy of all CPU packages since monitoring began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_joules: Option<f64>,
    /// Time the CPU limit of this control group held its threads back since monitoring began, summed over CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled_seconds: Option<f64>,
    /// Fields this version does not know, kept as they were read.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl MonitorRecord {
    /// One record for two neighbours of equal length: shares and powers are averaged, running totals and
    /// everything else are those of the later one.
    pub(crate) fn merged_with(&self, later: Self) -> Self {
        let same_cpus =
            self.per_cpu_utilization_percent.len() == later.per_cpu_utilization_percent.len();
        let mut merged = later;
        for (mine, theirs) in [
            (self.cpu_utilization_percent, &mut merged.cpu_utilization_percent),
            (self.memory_utilization_percent, &mut merged.memory_utilization_percent),
            (self.steal_percent, &mut merged.steal_percent),
            (self.iowait_percent, &mut merged.iowait_percent),
            (self.cpu_frequency_mhz, &mut merged.cpu_frequency_mhz),
            (self.package_power_watts, &mut merged.package_power_watts),
        ] {
            *theirs = mean(mine, *theirs);
        }
        if same_cpus {
            let mine = self.per_cpu_utilization_percent.iter();
            for (theirs, mine) in merged.per_cpu_utilization_percent.iter_mut().zip(mine) {
                *theirs = f64::midpoint(*theirs, *mine);
            }
        }
        for theirs in &mut merged.gpu_usage {
            let Some(mine) = self.gpu_usage.iter().find(|mine| mine.index == theirs.index) else {
                continue;
            };
            theirs.utilization_percent = mean(mine.utilization_percent, theirs.utilization_percent);
            theirs.power_watts = mean(mine.power_watts, theirs.power_watts);
            theirs.memory_utilization_percent =
                mean(mine.memory_utilization_percent, theirs.memory_utilization_percent);
        }
        merged
    }
}

fn mean(left: Option<f64>, right: Option<f64>) -> Option<f64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(f64::midpoint(left, right)),
        (left, right) => left.or(right),
    }
}

//! The records of a graphics processor: what it is, and what it is doing. Every field that may be unknown is
//! optional; fields of later versions survive a round trip in `extra`.

use crate::absent::Absent;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a device is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuFacts {
    /// Position among the devices found, NVIDIA first; the same as in `GpuUsage`.
    pub index: usize,
    /// `nvidia` or `amd`.
    pub vendor: String,
    /// Marketing name.
    pub model: Option<String>,
    /// The vendor's identifier of this very device.
    pub guid: Option<String>,
    /// Where it sits, as `domain:bus:device.function`.
    pub pci_address: Option<String>,
    /// Version of the kernel driver.
    pub driver_version: Option<String>,
    /// Device memory.
    pub memory_total_bytes: Option<u64>,
    /// Power the driver lets it draw.
    pub power_limit_watts: Option<f64>,
    /// Highest clock of the compute units.
    pub core_clock_max_mhz: Option<u32>,
    /// Highest clock of the memory.
    pub memory_clock_max_mhz: Option<u32>,
    /// PCI Express generation of the link as it is now.
    pub pcie_generation: Option<u32>,
    /// Lanes of the link as it is now.
    pub pcie_width: Option<u32>,
    /// Highest CUDA version the driver runs (NVIDIA).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda_version: Option<String>,
    /// CUDA compute capability (NVIDIA).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<String>,
    /// Whether memory errors are corrected (NVIDIA).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecc_enabled: Option<bool>,
    /// Installed ROCm version (AMD).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rocm_version: Option<String>,
    /// The reason for each null field.
    #[serde(skip_serializing_if = "Absent::is_empty")]
    pub absent: Absent,
    /// Fields this version does not know, kept as they were read.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a device is doing. The first six fields are always written, the others where there is a value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpuUsage {
    /// Position among the devices found.
    pub index: usize,
    /// Marketing name.
    pub model: Option<String>,
    /// Share of the driver's last sampling period in which a kernel ran.
    pub utilization_percent: Option<f64>,
    /// Device memory in use, in percent of all of it.
    pub memory_utilization_percent: Option<f64>,
    /// Power drawn by the whole board.
    pub power_watts: Option<f64>,
    /// The vendor's identifier of this very device.
    pub guid: Option<String>,
    /// Temperature of the chip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_celsius: Option<f64>,
    /// Device memory in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_used_bytes: Option<u64>,
    /// Clock of the compute units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_clock_mhz: Option<u32>,
    /// Fields this version does not know, kept as they were read.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

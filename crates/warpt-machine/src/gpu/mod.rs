//! The graphics processors of this machine: NVIDIA through NVML, AMD through sysfs with amdsmi for names. Vendor
//! libraries are loaded when a driver left them there, never linked. What they return is untrusted: counts are
//! capped, texts cleaned, and numbers no device has are refused.

mod amd;
mod amdsmi;
mod facts;
mod nvidia;

#[cfg(test)]
mod library_tests;

pub use facts::{GpuFacts, GpuUsage};

use crate::absent::Absent;
use crate::source::{Reason, SystemRoot};
use std::path::PathBuf;

/// More devices than this are not believed.
const MAX_DEVICES: usize = 256;

/// Which vendor libraries to load; `None` leaves one out.
#[derive(Debug, Clone, Default)]
pub struct GpuLibraries {
    /// NVIDIA's management library.
    pub nvml: Option<PathBuf>,
    /// AMD's management library.
    pub amdsmi: Option<PathBuf>,
}

impl GpuLibraries {
    /// The names drivers install their libraries under.
    pub fn installed() -> Self {
        Self { nvml: Some(nvidia::LIBRARY.into()), amdsmi: Some(amdsmi::LIBRARY.into()) }
    }
}

/// The devices found, ready to be described and sampled.
#[derive(Debug)]
pub struct Gpus {
    root: SystemRoot,
    nvidia: Option<nvidia::Nvidia>,
    amd: Vec<amd::AmdDevice>,
    absent: Vec<Reason>,
}

impl Gpus {
    /// Finds all devices. Vendor libraries describe the running machine, so a captured tree does not load them.
    pub fn open(root: &SystemRoot) -> Self {
        let libraries =
            if root.is_live() { GpuLibraries::installed() } else { GpuLibraries::default() };
        Self::open_with(root, &libraries)
    }

    /// Finds all devices with the given vendor libraries.
    pub fn open_with(root: &SystemRoot, libraries: &GpuLibraries) -> Self {
        let mut absent = Vec::new();
        let nvidia = match &libraries.nvml {
            Some(path) => nvidia::Nvidia::open(path),
            None => Err("NVML: not asked, because a captured tree is described".to_owned()),
        };
        let nvidia = nvidia.map_err(|reason| absent.push(with_pci_hint(root, reason))).ok();
        let first = nvidia.as_ref().map_or(0, nvidia::Nvidia::count);
        let amd = match amd::find(root, first) {
            Ok(mut devices) => {
                if let Some(path) = &libraries.amdsmi {
                    match amdsmi::names(path) {
                        Ok(names) => amd::adopt_names(&mut devices, &names),
                        Err(reason) => absent.push(reason),
                    }
                }
                devices
            }
            Err(reason) => {
                absent.push(reason);
                Vec::new()
            }
        };
        Self { root: root.clone(), nvidia, amd, absent }
    }

    /// How many devices were found.
    pub fn count(&self) -> usize {
        self.nvidia.as_ref().map_or(0, nvidia::Nvidia::count) + self.amd.len()
    }

    /// What each device is.
    pub fn describe(&self) -> Vec<GpuFacts> {
        let nvidia = self.nvidia.iter().flat_map(nvidia::Nvidia::describe);
        nvidia.chain(self.amd.iter().map(|device| device.describe(&self.root))).collect()
    }

    /// What each device is doing now.
    pub fn sample(&self) -> Vec<GpuUsage> {
        self.sample_noting(&mut Absent::default())
    }

    /// What each device is doing now, with the reason for each null under `gpu_usage[index].field`.
    pub fn sample_noting(&self, absent: &mut Absent) -> Vec<GpuUsage> {
        let mut usages = Vec::with_capacity(self.count());
        if let Some(nvidia) = &self.nvidia {
            nvidia.sample(&mut usages, absent);
        }
        usages.extend(self.amd.iter().map(|device| device.sample(&self.root, absent)));
        usages
    }

    /// Why devices that may be there were not found.
    pub fn absent(&self) -> Vec<Reason> {
        self.absent.clone()
    }
}

/// Says when the PCI bus shows an NVIDIA display device that the library did not lead to.
fn with_pci_hint(root: &SystemRoot, reason: Reason) -> Reason {
    let found =
        root.names("/sys/bus/pci/devices").unwrap_or_default().into_iter().find(|address| {
            let file = |name: &str| root.text(&format!("/sys/bus/pci/devices/{address}/{name}"));
            file("vendor").is_ok_and(|vendor| vendor == "0x10de")
                && file("class").is_ok_and(|class| class.starts_with("0x03"))
        });
    match found {
        Some(address) => {
            let driver = root.link_name(&format!("/sys/bus/pci/devices/{address}/driver"));
            let driver =
                driver.map_or_else(|_| "no driver".into(), |name| format!("driver {name}"));
            let address = clean(&address);
            format!("{reason}; yet PCI device {address} is an NVIDIA one, with {}", clean(&driver))
        }
        None => reason,
    }
}

/// A text from a driver or library, without control characters and of bounded length.
fn clean(text: &str) -> String {
    let visible: String = text.chars().filter(|letter| !letter.is_control()).take(128).collect();
    visible.trim().to_owned()
}

/// A cleaned text that holds something.
fn named(text: &str, what: &str) -> Result<String, Reason> {
    let text = clean(text);
    if text.is_empty() { Err(format!("{what} is empty")) } else { Ok(text) }
}

/// The sampled field's value, or null with its reason.
fn settle<T>(
    absent: &mut Absent,
    index: usize,
    field: &str,
    result: Result<T, Reason>,
) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(reason) => {
            absent.note(&format!("gpu_usage[{index}].{field}"), reason);
            None
        }
    }
}

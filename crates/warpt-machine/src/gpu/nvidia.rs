//! NVIDIA devices through NVML, loaded at run time. Names and identifiers are read once; a sample asks only for
//! what changes. A device that a query does not apply to yields the reason NVML gives.

use super::{GpuFacts, GpuUsage, MAX_DEVICES, clean, named, settle};
use crate::absent::Absent;
use crate::counters::percent;
use crate::source::Reason;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use std::path::Path;

/// The library a driver installs.
pub(super) const LIBRARY: &str = "libnvidia-ml.so.1";

/// NVML and the devices it showed when it was opened.
#[derive(Debug)]
pub(super) struct Nvidia {
    nvml: Nvml,
    known: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    model: Result<String, Reason>,
    guid: Result<String, Reason>,
}

impl Nvidia {
    pub(super) fn open(library: &Path) -> Result<Self, Reason> {
        let name = library.display();
        let nvml = Nvml::builder().lib_path(library.as_os_str()).init().map_err(|error| match error {
            NvmlError::LibloadingError(_) => {
                format!("NVML: {name} could not be loaded (no NVIDIA driver installed)")
            }
            NvmlError::DriverNotLoaded => "NVML: the NVIDIA driver is installed but not loaded".into(),
            NvmlError::NoPermission => "NVML: this user may not talk to the NVIDIA driver".into(),
            NvmlError::LibRmVersionMismatch => {
                "NVML: the library and the loaded driver have different versions; a reboot usually mends it".into()
            }
            other => why(&other),
        })?;
        let count = nvml.device_count().map_err(|error| why(&error))? as usize;
        if count == 0 {
            return Err("NVML: the driver shows no device".into());
        }
        let mut this = Self { nvml, known: Vec::new() };
        this.known = (0..count.min(MAX_DEVICES))
            .map(|index| match this.device(index) {
                Ok(device) => Known {
                    model: text(device.name(), "the device name"),
                    guid: text(device.uuid(), "the device identifier"),
                },
                Err(reason) => Known { model: Err(reason.clone()), guid: Err(reason) },
            })
            .collect();
        Ok(this)
    }

    pub(super) fn count(&self) -> usize {
        self.known.len()
    }

    pub(super) fn describe(&self) -> Vec<GpuFacts> {
        let describe = |(index, known)| self.describe_one(index, known);
        self.known.iter().enumerate().map(describe).collect()
    }

    pub(super) fn sample(&self, usages: &mut Vec<GpuUsage>, absent: &mut Absent) {
        let sample = |(index, known)| self.sample_one(index, known, absent);
        usages.extend(self.known.iter().enumerate().map(sample));
    }

    fn device(&self, index: usize) -> Result<Device<'_>, Reason> {
        let index = u32::try_from(index).map_err(|_| "NVML: no such device".to_owned())?;
        self.nvml.device_by_index(index).map_err(|error| why(&error))
    }

    fn describe_one(&self, index: usize, known: &Known) -> GpuFacts {
        let mut absent = Absent::default();
        let mut facts = GpuFacts { index, vendor: "nvidia".into(), ..GpuFacts::default() };
        facts.model = absent.take("model", known.model.clone());
        facts.guid = absent.take("guid", known.guid.clone());
        let driver = text(self.nvml.sys_driver_version(), "the driver version");
        facts.driver_version = absent.take("driver_version", driver);
        facts.cuda_version = absent.take(
            "cuda_version",
            ask(self.nvml.sys_cuda_driver_version())
                .map(|version| format!("{}.{}", version / 1000, version % 1000 / 10)),
        );
        match self.device(index) {
            Ok(device) => describe_device(&device, &mut facts, &mut absent),
            Err(reason) => {
                for field in [
                    "pci_address",
                    "memory_total_bytes",
                    "power_limit_watts",
                    "core_clock_max_mhz",
                    "memory_clock_max_mhz",
                    "pcie_generation",
                    "pcie_width",
                    "compute_capability",
                    "ecc_enabled",
                ] {
                    absent.note(field, reason.clone());
                }
            }
        }
        facts.absent = absent;
        facts
    }

    fn sample_one(&self, index: usize, known: &Known, absent: &mut Absent) -> GpuUsage {
        let mut usage = GpuUsage { index, ..GpuUsage::default() };
        usage.model = settle(absent, index, "model", known.model.clone());
        usage.guid = settle(absent, index, "guid", known.guid.clone());
        let device = match self.device(index) {
            Ok(device) => device,
            Err(reason) => {
                absent.note(&format!("gpu_usage[{index}]"), reason);
                return usage;
            }
        };
        let busy = ask(device.utilization_rates()).and_then(|rates| match rates.gpu {
            busy @ 0..=100 => Ok(f64::from(busy)),
            other => Err(format!("NVML: {other} is no percentage")),
        });
        usage.utilization_percent = settle(absent, index, "utilization_percent", busy);
        let memory = ask(device.memory_info());
        usage.memory_utilization_percent = settle(
            absent,
            index,
            "memory_utilization_percent",
            memory.as_ref().map_err(Clone::clone).and_then(|memory| {
                percent(memory.used as f64, memory.total as f64)
                    .ok_or_else(|| "NVML: the device shows no memory".to_owned())
            }),
        );
        usage.memory_used_bytes =
            settle(absent, index, "memory_used_bytes", memory.map(|memory| memory.used));
        let power = ask(device.power_usage()).and_then(watts);
        usage.power_watts = settle(absent, index, "power_watts", power);
        let temperature =
            ask(device.temperature(TemperatureSensor::Gpu)).and_then(|celsius| match celsius {
                0..=250 => Ok(f64::from(celsius)),
                other => Err(format!("NVML: {other} is no temperature of a chip")),
            });
        usage.temperature_celsius = settle(absent, index, "temperature_celsius", temperature);
        let clock = ask(device.clock_info(Clock::Graphics));
        usage.core_clock_mhz = settle(absent, index, "core_clock_mhz", clock);
        usage
    }
}

fn describe_device(device: &Device<'_>, facts: &mut GpuFacts, absent: &mut Absent) {
    facts.pci_address =
        absent.take("pci_address", ask(device.pci_info()).map(|pci| short_address(&pci.bus_id)));
    facts.memory_total_bytes =
        absent.take("memory_total_bytes", ask(device.memory_info()).map(|memory| memory.total));
    facts.power_limit_watts =
        absent.take("power_limit_watts", ask(device.enforced_power_limit()).and_then(watts));
    facts.core_clock_max_mhz =
        absent.take("core_clock_max_mhz", ask(device.max_clock_info(Clock::Graphics)));
    facts.memory_clock_max_mhz =
        absent.take("memory_clock_max_mhz", ask(device.max_clock_info(Clock::Memory)));
    facts.pcie_generation = absent.take("pcie_generation", ask(device.current_pcie_link_gen()));
    facts.pcie_width = absent.take("pcie_width", ask(device.current_pcie_link_width()));
    facts.compute_capability = absent.take(
        "compute_capability",
        ask(device.cuda_compute_capability())
            .map(|capability| format!("{}.{}", capability.major, capability.minor)),
    );
    facts.ecc_enabled =
        absent.take("ecc_enabled", ask(device.is_ecc_enabled()).map(|ecc| ecc.currently_enabled));
}

/// NVML writes eight digits of domain where the kernel writes four.
fn short_address(bus_id: &str) -> String {
    let address = clean(bus_id).to_ascii_lowercase();
    match address.strip_prefix("0000") {
        Some(short) if short.len() == "0000:01:00.0".len() => short.to_owned(),
        _ => address,
    }
}

fn watts(milliwatts: u32) -> Result<f64, Reason> {
    // No board draws a hundred kilowatts; drivers return all ones for "unknown".
    if milliwatts < 100_000_000 {
        Ok(f64::from(milliwatts) / 1000.0)
    } else {
        Err(format!("NVML: {milliwatts} mW is no power of a board"))
    }
}

fn ask<T>(answer: Result<T, NvmlError>) -> Result<T, Reason> {
    answer.map_err(|error| why(&error))
}

fn text(answer: Result<String, NvmlError>, what: &str) -> Result<String, Reason> {
    ask(answer).and_then(|text| named(&text, what))
}

fn why(error: &NvmlError) -> Reason {
    match error {
        NvmlError::NotSupported => "NVML: this device does not offer it".into(),
        NvmlError::GpuLost => "NVML: the device has fallen off the bus".into(),
        NvmlError::FailedToLoadSymbol(_) => {
            "NVML: the installed driver is too old to offer it".into()
        }
        other => format!("NVML: {}", clean(&other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_powers_are_brought_to_the_usual_form() {
        assert_eq!(short_address("00000000:01:00.0"), "0000:01:00.0");
        assert_eq!(short_address("0000:0A:00.0"), "0000:0a:00.0");
        assert_eq!(short_address(""), "");
        assert_eq!(watts(310_500), Ok(310.5));
        assert!(watts(u32::MAX).is_err());
    }

    #[test]
    fn a_missing_library_is_named() {
        let reason = Nvidia::open(Path::new("/nowhere/libnvidia-ml.so.1")).unwrap_err();
        assert_eq!(
            reason,
            "NVML: /nowhere/libnvidia-ml.so.1 could not be loaded (no NVIDIA driver installed)"
        );
    }
}

//! Graphics processors and accelerators: what the PCI bus says of them, and where the answers of the vendors'
//! libraries are merged in. Devices are ordered by PCI address, and `index` counts them in that order.

use super::facts::{facts, meaningful, or_reason};
use crate::source::{Reason, SystemRoot};
use serde_json::Value;

const DEVICES: &str = "/sys/bus/pci/devices";
const MAX_DEVICES: usize = 1024;

facts! {
    /// Every graphics processor and accelerator found.
    pub struct Gpus, read as GpusReadings {
        /// The devices; empty when the bus was read and holds none.
        devices: Vec<GpuDevice>,
    }
}

facts! {
    /// One graphics processor or accelerator.
    pub struct GpuDevice, read as GpuDeviceReadings {
        /// Its place in the list.
        index: u32,
        /// `nvidia`, `amd`, `intel`, or the PCI vendor number.
        vendor: String,
        /// The model name.
        model: String,
        /// The vendor's unique identifier of this device.
        guid: String,
        /// The serial number of the board.
        serial: String,
        /// PCI address, `domain:bus:device.function`.
        pci_address: String,
        /// PCI vendor number, four hexadecimal digits.
        vendor_id: String,
        /// PCI device number, four hexadecimal digits.
        device_id: String,
        /// PCI class number, six hexadecimal digits.
        class: String,
        /// The kernel driver.
        driver: String,
        /// The version of the driver.
        driver_version: String,
        /// The version of the firmware on the board.
        firmware_version: String,
        /// The compute capability or architecture, in the vendor's words.
        architecture: String,
        /// Memory on the device.
        memory_total_bytes: u64,
        /// Compute units or multiprocessors.
        compute_units: u32,
        /// The highest clock of the compute units.
        maximum_clock_hz: u64,
        /// The highest clock of the memory.
        maximum_memory_clock_hz: u64,
        /// The power limit in force.
        power_limit_watts: f64,
        /// The current PCI link speed, as the kernel words it.
        link_speed: String,
        /// The current PCI link width, in lanes.
        link_width: u32,
        /// The NUMA node the device is attached to.
        numa_node: u32,
    }
}

impl Gpus {
    /// Merge devices a vendor's library described. Devices are matched by PCI address; a value replaces what the bus
    /// said, a reason replaces the bus's reason for a field that stays null, and unmatched devices are appended.
    pub fn merge(&mut self, found: Vec<GpuDevice>) {
        if found.is_empty() {
            return;
        }
        self.absent.clear("devices");
        let devices = self.devices.get_or_insert_default();
        for device in found {
            let address = device.pci_address.as_deref().map(normal_address);
            let known = devices.iter_mut().find(|known| {
                address.is_some() && known.pci_address.as_deref().map(normal_address) == address
            });
            match known {
                Some(known) => known.merge(&device),
                None => devices.push(GpuDevice {
                    index: Some(u32::try_from(devices.len()).unwrap_or(u32::MAX)),
                    ..device
                }),
            }
        }
    }

    /// Note for every device of a vendor why its library told nothing, for the fields only that library knows.
    pub fn explain(&mut self, vendor: &str, reason: &str) {
        for device in self
            .devices
            .iter_mut()
            .flatten()
            .filter(|device| device.vendor.as_deref() == Some(vendor))
        {
            for field in LIBRARY_FIELDS {
                if device.absent.reason(field) == Some(NOT_ON_THE_BUS) {
                    device.absent.note(field, reason);
                }
            }
        }
    }
}

impl GpuDevice {
    fn merge(&mut self, found: &Self) {
        let (Ok(Value::Object(mut fields)), Ok(Value::Object(found_fields))) =
            (serde_json::to_value(&*self), serde_json::to_value(found))
        else {
            return;
        };
        let keep = ["absent", "index", "pci_address"];
        for (name, value) in found_fields {
            if !value.is_null() && !keep.contains(&name.as_str()) {
                fields.insert(name, value);
            }
        }
        let Ok(mut merged) = serde_json::from_value::<Self>(Value::Object(fields.clone())) else {
            return;
        };
        for (field, reason) in found.absent.iter() {
            merged.absent.note(field, reason);
        }
        for (name, _) in fields.iter().filter(|(_, value)| !value.is_null()) {
            merged.absent.clear(name);
        }
        *self = merged;
    }
}

const NOT_ON_THE_BUS: &str = "the PCI bus does not say; the vendor's library was not asked";
const LIBRARY_FIELDS: [&str; 11] = [
    "model",
    "guid",
    "serial",
    "driver_version",
    "firmware_version",
    "architecture",
    "memory_total_bytes",
    "compute_units",
    "maximum_clock_hz",
    "maximum_memory_clock_hz",
    "power_limit_watts",
];

/// NVML writes eight digits of domain where sysfs writes four, and capital letters.
fn normal_address(address: &str) -> String {
    let address = address.to_ascii_lowercase();
    match address.split_once(':') {
        Some((domain, rest)) => format!("{}:{rest}", domain.trim_start_matches('0')),
        None => address,
    }
}

pub(super) fn read(root: &SystemRoot) -> Gpus {
    let names = root.names(DEVICES).map_err(|reason| format!("no PCI bus: {reason}"));
    let devices = names.map(|names| {
        let shown: Vec<String> =
            names.into_iter().filter(|name| is_display(root, name)).take(MAX_DEVICES).collect();
        let names = if shown.is_empty() { None } else { pci_names(root) };
        shown
            .iter()
            .zip(0..)
            .map(|(name, index)| device(root, name, index, names.as_deref()))
            .collect()
    });
    let mut gpus = GpusReadings { devices }.settle();
    let libraries = crate::gpu::Gpus::open(root);
    gpus.merge(libraries.describe().into_iter().map(from_library).collect());
    for reason in libraries.absent() {
        // "NVML: …" and "AMD: …": the vendor's name is the key, so that a page shows one line each.
        let (library, why) = reason.split_once(": ").unwrap_or(("library", &reason));
        gpus.absent.note(library, why);
    }
    gpus
}

/// What a vendor's library said, in the inventory's form.
fn from_library(facts: crate::gpu::GpuFacts) -> GpuDevice {
    let megahertz = |clock: Option<u32>| clock.map(|clock| u64::from(clock) * 1_000_000);
    GpuDevice {
        vendor: Some(facts.vendor),
        model: facts.model,
        guid: facts.guid,
        pci_address: facts.pci_address,
        driver_version: facts.driver_version,
        memory_total_bytes: facts.memory_total_bytes,
        power_limit_watts: facts.power_limit_watts,
        maximum_clock_hz: megahertz(facts.core_clock_max_mhz),
        maximum_memory_clock_hz: megahertz(facts.memory_clock_max_mhz),
        architecture: facts
            .compute_capability
            .map(|version| format!("compute capability {version}")),
        absent: facts.absent,
        ..GpuDevice::default()
    }
}

/// Display controllers, and the processing accelerators some vendors class their GPUs as.
fn is_display(root: &SystemRoot, name: &str) -> bool {
    let class = root.text(&format!("{DEVICES}/{name}/class")).unwrap_or_default();
    class.starts_with("0x03") || class.starts_with("0x1200")
}

fn device(root: &SystemRoot, address: &str, index: u32, names: Option<&str>) -> GpuDevice {
    let directory = format!("{DEVICES}/{address}");
    let number = |name: &str| -> Result<String, Reason> {
        let text = root.text(&format!("{directory}/{name}"))?;
        Ok(text.trim_start_matches("0x").to_ascii_lowercase())
    };
    let (vendor_id, device_id) = (number("vendor"), number("device"));
    let vendor = vendor_id.clone().map(|id| match id.as_str() {
        "10de" => "nvidia".to_owned(),
        "1002" => "amd".to_owned(),
        "8086" => "intel".to_owned(),
        _ => id,
    });
    let driver = root.link_name(&format!("{directory}/driver"));
    let driver_version = driver
        .clone()
        .map_err(|_| "no kernel driver is bound to the device".to_owned())
        .and_then(|driver| {
            let path = format!("/sys/module/{driver}/version");
            meaningful(root.text(&path), &path)
                .map_err(|_| format!("the kernel driver {driver} states no version"))
        });
    let model = names.zip(vendor_id.as_ref().ok()).zip(device_id.as_ref().ok());
    let model = model.and_then(|((names, vendor), device)| pci_name(names, vendor, device));
    let numa_node = root.parse::<i32>(&format!("{directory}/numa_node"));
    let not_on_the_bus = || NOT_ON_THE_BUS.to_owned();
    GpuDeviceReadings {
        index: Ok(index),
        vendor,
        model: or_reason(model, NOT_ON_THE_BUS),
        guid: Err(not_on_the_bus()),
        serial: Err(not_on_the_bus()),
        pci_address: Ok(address.to_owned()),
        class: number("class"),
        driver: driver.map_err(|_| "no kernel driver is bound to the device".to_owned()),
        driver_version,
        firmware_version: Err(not_on_the_bus()),
        architecture: Err(not_on_the_bus()),
        memory_total_bytes: root
            .parse(&format!("{directory}/mem_info_vram_total"))
            .map_err(|_| not_on_the_bus()),
        compute_units: Err(not_on_the_bus()),
        maximum_clock_hz: Err(not_on_the_bus()),
        maximum_memory_clock_hz: Err(not_on_the_bus()),
        power_limit_watts: Err(not_on_the_bus()),
        link_speed: root.text(&format!("{directory}/current_link_speed")),
        link_width: root.parse(&format!("{directory}/current_link_width")),
        numa_node: numa_node.and_then(|node| {
            u32::try_from(node)
                .map_err(|_| "the firmware does not say which node the device is on".to_owned())
        }),
        vendor_id,
        device_id,
    }
    .settle()
}

fn pci_names(root: &SystemRoot) -> Option<String> {
    ["/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids", "/var/lib/pciutils/pci.ids"]
        .iter()
        .find_map(|path| root.text(path).ok())
}

/// The name in a `pci.ids` table: vendors start at the margin, their devices after one tab.
fn pci_name(table: &str, vendor: &str, device: &str) -> Option<String> {
    let mut lines = table.lines().skip_while(|line| !line.starts_with(vendor)).skip(1);
    lines.by_ref().take_while(|line| line.starts_with('\t') || line.starts_with('#')).find_map(
        |line| line.strip_prefix('\t')?.strip_prefix(device).map(|name| name.trim().to_owned()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_looked_up_by_number() {
        let table = "# list\n1002  AMD\n\t74a1  Aqua Vanjaram\n10de  NVIDIA\n\t2330  GH100 [H100 SXM5 80GB]\n\t\t10de 16c1  sub\n8086  Intel\n";
        assert_eq!(pci_name(table, "10de", "2330").as_deref(), Some("GH100 [H100 SXM5 80GB]"));
        assert_eq!(pci_name(table, "10de", "74a1"), None);
        assert_eq!(pci_name(table, "ffff", "74a1"), None);
    }

    #[test]
    fn a_library_answer_is_merged_into_the_device_at_its_address() {
        let mut from_bus = GpuDevice {
            index: Some(0),
            pci_address: Some("0000:3b:00.0".into()),
            ..GpuDevice::default()
        };
        from_bus.absent.note("model", NOT_ON_THE_BUS);
        from_bus.absent.note("guid", NOT_ON_THE_BUS);
        from_bus.vendor = Some("nvidia".into());
        let mut gpus = Gpus { devices: Some(vec![from_bus]), ..Gpus::default() };
        let mut found = GpuDevice {
            index: Some(7),
            pci_address: Some("00000000:3B:00.0".into()),
            model: Some("H100".into()),
            ..GpuDevice::default()
        };
        found.absent.note("guid", "hidden");
        gpus.merge(vec![found, GpuDevice { model: Some("other".into()), ..GpuDevice::default() }]);
        let devices = gpus.devices.as_ref().unwrap();
        assert_eq!(devices.len(), 2);
        assert_eq!((devices[0].index, devices[0].model.as_deref()), (Some(0), Some("H100")));
        assert_eq!(devices[0].pci_address.as_deref(), Some("0000:3b:00.0"));
        assert_eq!(devices[0].vendor.as_deref(), Some("nvidia"));
        assert_eq!(devices[0].absent.reason("guid"), Some("hidden"));
        assert_eq!(devices[0].absent.reason("model"), None);
        assert_eq!(devices[1].index, Some(1));
    }
}

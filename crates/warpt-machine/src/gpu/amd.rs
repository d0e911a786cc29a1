//! AMD devices through the files their kernel driver exports below `/sys/class/drm`, which keep their form across
//! driver versions; amdsmi only adds names the files lack.

use super::amdsmi::Names;
use super::{GpuFacts, GpuUsage, MAX_DEVICES, clean, named, settle};
use crate::absent::Absent;
use crate::counters::percent;
use crate::counters::sensors::millidegrees;
use crate::source::{Reason, SystemRoot};

const CARDS: &str = "/sys/class/drm";

/// One device and where its files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AmdDevice {
    index: usize,
    directory: String,
    sensors: Result<String, Reason>,
    pci_address: Result<String, Reason>,
    model: Result<String, Reason>,
    guid: Result<String, Reason>,
}

/// All AMD devices, numbered from `first`.
pub(super) fn find(root: &SystemRoot, first: usize) -> Result<Vec<AmdDevice>, Reason> {
    let names =
        root.names(CARDS).map_err(|reason| format!("AMD: {reason} (no graphics driver loaded)"))?;
    let mut cards: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix("card")?.parse().ok()).collect();
    cards.sort_unstable();
    let devices: Vec<AmdDevice> = cards
        .into_iter()
        .map(|card| format!("{CARDS}/card{card}/device"))
        .filter(|directory| {
            root.text(&format!("{directory}/vendor")).is_ok_and(|id| id == "0x1002")
        })
        .take(MAX_DEVICES)
        .enumerate()
        .map(|(position, directory)| AmdDevice::open(root, first + position, directory))
        .collect();
    if devices.is_empty() { Err(format!("AMD: no AMD device below {CARDS}")) } else { Ok(devices) }
}

/// Lets amdsmi fill in what the files did not say.
pub(super) fn adopt_names(devices: &mut [AmdDevice], names: &[Names]) {
    for device in devices {
        let Ok(address) = &device.pci_address else { continue };
        let Some(names) = names.iter().find(|names| names.pci_address == *address) else {
            continue;
        };
        if let Some(name) = &names.market_name {
            device.model = Ok(name.clone());
        }
        if let (Err(_), Some(uuid)) = (&device.guid, &names.uuid) {
            device.guid = Ok(uuid.clone());
        }
    }
}

impl AmdDevice {
    fn open(root: &SystemRoot, index: usize, directory: String) -> Self {
        let below = format!("{directory}/hwmon");
        let sensors = root.names(&below).and_then(|names| {
            let first = names.into_iter().find(|name| name.starts_with("hwmon"));
            first.map(|name| format!("{below}/{name}")).ok_or_else(|| format!("{below} is empty"))
        });
        let pci_address = root
            .text(&format!("{directory}/uevent"))
            .and_then(|text| {
                let slot = text.lines().find_map(|line| line.strip_prefix("PCI_SLOT_NAME="));
                named(slot.unwrap_or(""), "PCI_SLOT_NAME")
            })
            .or_else(|_| root.link_name(&directory).map(|name| clean(&name)));
        // The form rocminfo prints, so that records of other tools can be joined.
        let guid = root.text(&format!("{directory}/unique_id")).and_then(|id| {
            named(&id, "unique_id").map(|id| format!("GPU-{}", id.trim_start_matches("0x")))
        });
        let model = model(root, &directory);
        Self { index, directory, sensors, pci_address, model, guid }
    }

    pub(super) fn describe(&self, root: &SystemRoot) -> GpuFacts {
        let mut absent = Absent::default();
        let mut facts = GpuFacts { index: self.index, vendor: "amd".into(), ..GpuFacts::default() };
        facts.model = absent.take("model", self.model.clone());
        facts.guid = absent.take("guid", self.guid.clone());
        facts.pci_address = absent.take("pci_address", self.pci_address.clone());
        let driver =
            root.text("/sys/module/amdgpu/version").and_then(|text| named(&text, "the version"));
        let driver = driver.map_err(|reason| {
            format!("{reason}; the kernel's own amdgpu has no version of its own")
        });
        facts.driver_version = absent.take("driver_version", driver);
        facts.memory_total_bytes =
            absent.take("memory_total_bytes", self.number(root, "mem_info_vram_total"));
        facts.power_limit_watts =
            absent.take("power_limit_watts", self.watts(root, &["power1_cap"]));
        facts.core_clock_max_mhz =
            absent.take("core_clock_max_mhz", self.highest_clock(root, "pp_dpm_sclk"));
        facts.memory_clock_max_mhz =
            absent.take("memory_clock_max_mhz", self.highest_clock(root, "pp_dpm_mclk"));
        facts.pcie_generation = absent.take("pcie_generation", self.pcie_generation(root));
        facts.pcie_width = absent.take(
            "pcie_width",
            self.number(root, "current_link_width").and_then(|lanes| {
                u32::try_from(lanes).map_err(|_| format!("{lanes} is no number of lanes"))
            }),
        );
        let rocm =
            root.text("/opt/rocm/.info/version").and_then(|text| named(&text, "the version"));
        facts.rocm_version = absent.take("rocm_version", rocm);
        facts.absent = absent;
        facts
    }

    pub(super) fn sample(&self, root: &SystemRoot, absent: &mut Absent) -> GpuUsage {
        let index = self.index;
        let mut usage = GpuUsage { index, ..GpuUsage::default() };
        usage.model = settle(absent, index, "model", self.model.clone());
        usage.guid = settle(absent, index, "guid", self.guid.clone());
        let busy = self.number(root, "gpu_busy_percent").and_then(|busy| match busy {
            0..=100 => Ok(busy as f64),
            other => Err(format!("gpu_busy_percent holds {other}, which is no percentage")),
        });
        usage.utilization_percent = settle(absent, index, "utilization_percent", busy);
        let used = self.number(root, "mem_info_vram_used");
        let share = used.clone().and_then(|used| {
            let total = self.number(root, "mem_info_vram_total")?;
            percent(used as f64, total as f64)
                .ok_or_else(|| "the device shows no memory".to_owned())
        });
        usage.memory_utilization_percent =
            settle(absent, index, "memory_utilization_percent", share);
        usage.memory_used_bytes = settle(absent, index, "memory_used_bytes", used);
        let power = self.watts(root, &["power1_average", "power1_input"]);
        usage.power_watts = settle(absent, index, "power_watts", power);
        let temperature = self.sensor("temp1_input").and_then(|path| millidegrees(root, &path));
        usage.temperature_celsius = settle(absent, index, "temperature_celsius", temperature);
        let clock = self.sensor("freq1_input").and_then(|path| {
            let hertz: u64 = root.parse(&path)?;
            u32::try_from(hertz / 1_000_000).map_err(|_| format!("{path} holds no clock"))
        });
        usage.core_clock_mhz = settle(absent, index, "core_clock_mhz", clock);
        usage
    }

    fn number(&self, root: &SystemRoot, file: &str) -> Result<u64, Reason> {
        root.parse(&format!("{}/{file}", self.directory))
    }

    fn sensor(&self, file: &str) -> Result<String, Reason> {
        self.sensors.clone().map(|directory| format!("{directory}/{file}"))
    }

    /// The first of the files that can be read, which hold microwatts.
    fn watts(&self, root: &SystemRoot, files: &[&str]) -> Result<f64, Reason> {
        let mut first = None;
        for file in files {
            let reading = self.sensor(file).and_then(|path| {
                let microwatts: u64 = root.parse(&path)?;
                if microwatts < 100_000_000_000 {
                    Ok(microwatts as f64 * 1e-6)
                } else {
                    Err(format!("{path} holds {microwatts}, which is no power of a board"))
                }
            });
            match reading {
                Ok(watts) => return Ok(watts),
                Err(reason) => _ = first.get_or_insert(reason),
            }
        }
        Err(first.unwrap_or_else(|| "no power sensor".to_owned()))
    }

    /// The highest clock of a table whose lines look like `1: 2304Mhz *`.
    fn highest_clock(&self, root: &SystemRoot, file: &str) -> Result<u32, Reason> {
        let text = root.text(&format!("{}/{file}", self.directory))?;
        let clocks = text.lines().take(64).filter_map(|line| {
            let (_, clock) = line.split_once(':')?;
            clock.trim().to_ascii_lowercase().split_once("mhz")?.0.trim().parse().ok()
        });
        clocks.max().ok_or_else(|| format!("{file} lists no clock"))
    }

    fn pcie_generation(&self, root: &SystemRoot) -> Result<u32, Reason> {
        let text = root.text(&format!("{}/current_link_speed", self.directory))?;
        match text.split_ascii_whitespace().next().unwrap_or("") {
            "2.5" => Ok(1),
            "5.0" | "5" => Ok(2),
            "8.0" | "8" => Ok(3),
            "16.0" | "16" => Ok(4),
            "32.0" | "32" => Ok(5),
            "64.0" | "64" => Ok(6),
            other => {
                Err(format!("current_link_speed holds {:?}, which no generation has", clean(other)))
            }
        }
    }
}

/// The board's own name, or the one libdrm's table gives its device and revision.
fn model(root: &SystemRoot, directory: &str) -> Result<String, Reason> {
    let own = root.text(&format!("{directory}/product_name"));
    if let Ok(name) = own.and_then(|name| named(&name, "product_name")) {
        return Ok(name);
    }
    let identifier = |file: &str| -> Result<u32, Reason> {
        let text = root.text(&format!("{directory}/{file}"))?;
        u32::from_str_radix(text.trim_start_matches("0x"), 16)
            .map_err(|_| format!("{directory}/{file} holds no identifier"))
    };
    let (device, revision) = (identifier("device")?, identifier("revision").unwrap_or(0));
    let table = "/usr/share/libdrm/amdgpu.ids";
    let text = root.text(table).map_err(|reason| {
        format!("the driver gives device 0x{device:04x} no name, and {reason}")
    })?;
    text.lines()
        .find_map(|line| {
            let mut parts = line.splitn(3, ',').map(str::trim);
            let same = |part: Option<&str>, value| {
                part.and_then(|part| u32::from_str_radix(part, 16).ok()) == Some(value)
            };
            (same(parts.next(), device) && same(parts.next(), revision)).then(|| parts.next())?
        })
        .map(clean)
        .ok_or_else(|| format!("neither the driver nor {table} names device 0x{device:04x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::Captured;
    use crate::gpu::Gpus;

    fn radeon() -> Captured {
        let device = "/sys/class/drm/card1/device";
        let tree = Captured::new(&[
            ("/sys/class/drm/card0/device/vendor", "0x8086\n"),
            ("/sys/class/drm/card1-DP-1/status", "connected\n"),
            ("/usr/share/libdrm/amdgpu.ids", "# ids\n1.0.0\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n"),
            ("/opt/rocm/.info/version", "6.2.0-66\n"),
        ]);
        for (file, content) in [
            ("vendor", "0x1002\n"),
            ("device", "0x744c\n"),
            ("revision", "0xc8\n"),
            ("uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n"),
            ("unique_id", "6b1d5e3c9a2f0814\n"),
            ("gpu_busy_percent", "84\n"),
            ("mem_info_vram_total", "25753026560\n"),
            ("mem_info_vram_used", "12876513280\n"),
            ("pp_dpm_sclk", "0: 500Mhz *\n1: 2304Mhz\n"),
            ("current_link_speed", "16.0 GT/s PCIe\n"),
            ("current_link_width", "16\n"),
            ("hwmon/hwmon4/name", "amdgpu\n"),
            ("hwmon/hwmon4/power1_average", "310500000\n"),
            ("hwmon/hwmon4/power1_cap", "339000000\n"),
            ("hwmon/hwmon4/temp1_input", "61000\n"),
            ("hwmon/hwmon4/freq1_input", "2300000000\n"),
        ] {
            tree.write(&format!("{device}/{file}"), content);
        }
        tree
    }

    #[test]
    fn a_captured_card_is_described_and_sampled() {
        let tree = radeon();
        let gpus = Gpus::open(&tree.root);
        assert_eq!(gpus.count(), 1);
        let facts = &gpus.describe()[0];
        assert_eq!(facts.model.as_deref(), Some("AMD Radeon RX 7900 XTX"));
        assert_eq!(facts.guid.as_deref(), Some("GPU-6b1d5e3c9a2f0814"));
        assert_eq!(facts.pci_address.as_deref(), Some("0000:03:00.0"));
        assert_eq!(facts.power_limit_watts, Some(339.0));
        assert_eq!((facts.core_clock_max_mhz, facts.pcie_generation), (Some(2304), Some(4)));
        assert_eq!(facts.rocm_version.as_deref(), Some("6.2.0-66"));
        assert!(facts.absent.reason("driver_version").unwrap().contains("no version of its own"));
        assert!(facts.absent.reason("memory_clock_max_mhz").is_some());

        let mut absent = Absent::default();
        let usage = &gpus.sample_noting(&mut absent)[0];
        assert_eq!(usage.utilization_percent, Some(84.0));
        assert_eq!(usage.memory_utilization_percent, Some(50.0));
        assert_eq!(usage.power_watts, Some(310.5));
        assert_eq!((usage.temperature_celsius, usage.core_clock_mhz), (Some(61.0), Some(2300)));
        assert!(absent.is_empty(), "{absent:?}");
        assert_eq!(gpus.absent().len(), 1, "only NVML is absent: {:?}", gpus.absent());
    }

    #[test]
    fn a_card_whose_files_are_missing_or_wrong_says_why() {
        let tree = radeon();
        tree.remove("/sys/class/drm/card1/device/unique_id");
        tree.remove("/usr/share/libdrm/amdgpu.ids");
        tree.write("/sys/class/drm/card1/device/gpu_busy_percent", "900");
        tree.write(
            "/sys/class/drm/card1/device/hwmon/hwmon4/power1_average",
            "18446744073709551615",
        );
        let gpus = Gpus::open(&tree.root);
        let mut absent = Absent::default();
        let usage = &gpus.sample_noting(&mut absent)[0];
        assert_eq!((usage.utilization_percent, usage.power_watts), (None, None));
        for field in ["model", "guid", "utilization_percent", "power_watts"] {
            assert!(absent.reason(&format!("gpu_usage[0].{field}")).is_some(), "{field}");
        }
    }

    #[test]
    fn names_from_the_library_reach_the_card_at_the_same_address() {
        let tree = radeon();
        tree.remove("/sys/class/drm/card1/device/unique_id");
        let mut devices = find(&tree.root, 3).unwrap();
        let names = |address: &str, name: &str| Names {
            pci_address: address.into(),
            market_name: Some(name.into()),
            uuid: Some("u".into()),
        };
        adopt_names(&mut devices, &[names("0000:09:00.0", "other"), names("0000:03:00.0", "mine")]);
        assert_eq!((devices[0].index, devices[0].model.as_deref()), (3, Ok("mine")));
        assert_eq!(devices[0].guid.as_deref(), Ok("u"));
    }
}

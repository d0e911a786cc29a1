//! CPU temperature and clock. Sensors are found once and then only read; a machine may have hundreds of clocks,
//! of which a few spread ones are read, because each read may interrupt the CPU it asks about.

use crate::source::{Reason, SystemRoot};

/// hwmon drivers whose temperatures are those of the CPU.
const CPU_DRIVERS: [&str; 6] =
    ["coretemp", "k10temp", "k8temp", "zenpower", "cpu_thermal", "via_cputemp"];

/// Thermal zones whose temperature is that of the CPU.
const CPU_ZONES: [&str; 4] = ["x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc_thermal"];

const MAX_SENSORS: usize = 64;
const MAX_CLOCKS: usize = 8;

/// The sensors that show how hot the CPU is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuThermometer {
    inputs: Vec<String>,
}

impl CpuThermometer {
    /// Finds the package sensors, or, where there are none, those of the cores.
    pub fn open(root: &SystemRoot) -> Result<Self, Reason> {
        let mut packages = Vec::new();
        let mut others = Vec::new();
        for device in root.names("/sys/class/hwmon").unwrap_or_default() {
            let directory = format!("/sys/class/hwmon/{device}");
            let driver = root.text(&format!("{directory}/name")).unwrap_or_default();
            if !CPU_DRIVERS.contains(&driver.trim()) {
                continue;
            }
            for file in root.names(&directory).unwrap_or_default() {
                let Some(sensor) =
                    file.strip_suffix("_input").filter(|name| name.starts_with("temp"))
                else {
                    continue;
                };
                let label = root.text(&format!("{directory}/{sensor}_label")).unwrap_or_default();
                let package =
                    ["Package", "Tdie", "Tctl"].iter().any(|start| label.starts_with(start));
                if package { &mut packages } else { &mut others }
                    .push(format!("{directory}/{file}"));
            }
        }
        if packages.is_empty() && others.is_empty() {
            for zone in root.names("/sys/class/thermal").unwrap_or_default() {
                let directory = format!("/sys/class/thermal/{zone}");
                let kind = root.text(&format!("{directory}/type")).unwrap_or_default();
                if CPU_ZONES.contains(&kind.trim()) {
                    packages.push(format!("{directory}/temp"));
                }
            }
        }
        let mut inputs = if packages.is_empty() { others } else { packages };
        inputs.truncate(MAX_SENSORS);
        let thermometer = Self { inputs };
        if thermometer.inputs.is_empty() {
            return Err(
                "no CPU sensor below /sys/class/hwmon or /sys/class/thermal; a virtual machine \
                        usually hides them"
                    .into(),
            );
        }
        thermometer.celsius(root).map(|_| thermometer)
    }

    /// The hottest of the sensors.
    pub fn celsius(&self, root: &SystemRoot) -> Result<f64, Reason> {
        let readings = self.inputs.iter().filter_map(|input| millidegrees(root, input).ok());
        readings.max_by(f64::total_cmp).ok_or_else(|| match self.inputs.first() {
            Some(input) => millidegrees(root, input)
                .err()
                .unwrap_or_else(|| format!("{input} could not be read")),
            None => "no CPU sensor".to_owned(),
        })
    }
}

/// A temperature file in thousandths of a degree, as degrees; values no chip has are refused.
pub(crate) fn millidegrees(root: &SystemRoot, path: &str) -> Result<f64, Reason> {
    let value: i64 = root.parse(path)?;
    let celsius = value as f64 / 1000.0;
    if (-100.0..=250.0).contains(&celsius) {
        Ok(celsius)
    } else {
        Err(format!("{path} holds {value}, which is no temperature of a chip"))
    }
}

/// The clocks of a few CPUs spread over the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuClocks {
    policies: Vec<String>,
}

impl CpuClocks {
    /// Finds the frequency policies.
    pub fn open(root: &SystemRoot) -> Result<Self, Reason> {
        let directory = "/sys/devices/system/cpu/cpufreq";
        let names = root.names(directory).unwrap_or_default();
        let all: Vec<String> = names
            .into_iter()
            .filter(|name| name.starts_with("policy"))
            .map(|name| format!("{directory}/{name}"))
            .collect();
        if all.is_empty() {
            return Err(format!("{directory} has no policy; a virtual machine usually hides it"));
        }
        let step = all.len().div_ceil(MAX_CLOCKS);
        let clocks = Self { policies: all.into_iter().step_by(step).collect() };
        clocks.megahertz(root).map(|_| clocks)
    }

    /// The mean clock now.
    pub fn megahertz(&self, root: &SystemRoot) -> Result<f64, Reason> {
        self.mean(root, "scaling_cur_freq")
    }

    /// The mean of the highest clocks the CPUs may have.
    pub fn maximum_megahertz(&self, root: &SystemRoot) -> Result<f64, Reason> {
        self.mean(root, "cpuinfo_max_freq")
    }

    /// The governor of the first policy that differs from `performance`, or `performance`.
    pub fn governor(&self, root: &SystemRoot) -> Result<String, Reason> {
        let mut found = Err("no governor is readable".to_owned());
        for policy in &self.policies {
            let governor = root.text(&format!("{policy}/scaling_governor"))?;
            let different = governor != "performance";
            found = Ok(governor);
            if different {
                break;
            }
        }
        found
    }

    fn mean(&self, root: &SystemRoot, file: &str) -> Result<f64, Reason> {
        let mut sum = 0.0;
        for policy in &self.policies {
            let path = format!("{policy}/{file}");
            let kilohertz: u64 = root.parse(&path)?;
            if !(1_000..=100_000_000).contains(&kilohertz) {
                return Err(format!("{path} holds {kilohertz}, which is no clock of a CPU"));
            }
            sum += kilohertz as f64 / 1000.0;
        }
        Ok(sum / self.policies.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::Captured;

    #[test]
    fn the_package_sensor_is_preferred_to_cores_and_other_chips_are_left_out() {
        let tree = Captured::new(&[
            ("/sys/class/hwmon/hwmon0/name", "nvme\n"),
            ("/sys/class/hwmon/hwmon0/temp1_input", "90000\n"),
            ("/sys/class/hwmon/hwmon1/name", "coretemp\n"),
            ("/sys/class/hwmon/hwmon1/temp1_input", "61000\n"),
            ("/sys/class/hwmon/hwmon1/temp1_label", "Package id 0\n"),
            ("/sys/class/hwmon/hwmon1/temp2_input", "75000\n"),
            ("/sys/class/hwmon/hwmon1/temp2_label", "Core 0\n"),
        ]);
        assert_eq!(CpuThermometer::open(&tree.root).unwrap().celsius(&tree.root), Ok(61.0));
    }

    #[test]
    fn a_thermal_zone_serves_where_hwmon_does_not() {
        let tree = Captured::new(&[
            ("/sys/class/thermal/thermal_zone0/type", "acpitz\n"),
            ("/sys/class/thermal/thermal_zone0/temp", "20000\n"),
            ("/sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n"),
            ("/sys/class/thermal/thermal_zone1/temp", "44500\n"),
        ]);
        assert_eq!(CpuThermometer::open(&tree.root).unwrap().celsius(&tree.root), Ok(44.5));
        tree.write("/sys/class/thermal/thermal_zone1/temp", "99999999");
        assert!(CpuThermometer::open(&tree.root).unwrap_err().contains("no temperature"));
        assert!(CpuThermometer::open(&Captured::new(&[]).root).unwrap_err().contains("virtual"));
    }

    #[test]
    fn clocks_are_averaged_and_one_other_governor_is_enough() {
        let tree = Captured::new(&[]);
        for (number, clock, governor) in
            [(0, "2000000", "performance"), (1, "3000000", "powersave")]
        {
            let policy = format!("/sys/devices/system/cpu/cpufreq/policy{number}");
            tree.write(&format!("{policy}/scaling_cur_freq"), clock);
            tree.write(&format!("{policy}/cpuinfo_max_freq"), "4000000");
            tree.write(&format!("{policy}/scaling_governor"), governor);
        }
        let clocks = CpuClocks::open(&tree.root).unwrap();
        assert_eq!(clocks.megahertz(&tree.root), Ok(2500.0));
        assert_eq!(clocks.maximum_megahertz(&tree.root), Ok(4000.0));
        assert_eq!(clocks.governor(&tree.root).as_deref(), Ok("powersave"));
        assert!(CpuClocks::open(&Captured::new(&[]).root).unwrap_err().contains("no policy"));
    }
}

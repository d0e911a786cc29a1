//! Energy of the CPU packages, from the RAPL counters the kernel exports through powercap. Counters wrap, so
//! they are summed from differences; a wrap is noticed as long as the meter is read more often than once per
//! turn (about 20 minutes at 200 W on common processors).

use crate::source::{Reason, SystemRoot};

const DIRECTORY: &str = "/sys/class/powercap";
const MAX_DOMAINS: usize = 64;

/// Energy used since the meter was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Energy {
    /// All CPU packages together.
    pub package_joules: f64,
    /// Memory, where the processor counts it apart from the package.
    pub memory_joules: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Domain {
    counter: String,
    wraps_after_microjoules: u64,
    memory: bool,
    last_microjoules: u64,
    used_microjoules: u64,
}

/// The RAPL counters of this machine and what they have counted since the meter was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnergyMeter {
    domains: Vec<Domain>,
}

impl EnergyMeter {
    /// Finds the package and memory domains and reads where they stand.
    pub fn open(root: &SystemRoot) -> Result<Self, Reason> {
        if !root.exists(DIRECTORY) {
            return Err(format!("{DIRECTORY} does not exist; a virtual machine usually hides it"));
        }
        let names = root.names(DIRECTORY)?;
        let mut domains = Vec::new();
        let mut refused = None;
        // The same package may be exported through MSRs and through MMIO; it is counted once.
        for control in ["intel-rapl:", "intel-rapl-mmio:"] {
            let ours = names.iter().filter(|name| name.starts_with(control)).take(MAX_DOMAINS);
            for name in ours {
                let directory = format!("{DIRECTORY}/{name}");
                let domain = root.text(&format!("{directory}/name")).unwrap_or_default();
                if !domain.starts_with("package") && domain != "dram" {
                    continue;
                }
                match Domain::open(root, &directory, domain == "dram") {
                    Ok(domain) => domains.push(domain),
                    Err(reason) => refused = Some(reason),
                }
            }
            if !domains.is_empty() {
                break;
            }
        }
        if domains.iter().any(|domain| !domain.memory) {
            return Ok(Self { domains });
        }
        Err(refused.map_or_else(
            || format!("{DIRECTORY} has no RAPL package domain"),
            |reason| {
                if reason.contains("not readable") {
                    format!("{reason}: kernels since 5.10 let only root read energy counters")
                } else {
                    reason
                }
            },
        ))
    }

    /// Energy since the meter was opened.
    pub fn read(&mut self, root: &SystemRoot) -> Result<Energy, Reason> {
        for domain in &mut self.domains {
            domain.advance(root)?;
        }
        let joules = |memory: bool| {
            let microjoules = self.domains.iter().filter(|domain| domain.memory == memory);
            microjoules.map(|domain| domain.used_microjoules as f64 * 1e-6).sum::<f64>()
        };
        let counts_memory = self.domains.iter().any(|domain| domain.memory);
        Ok(Energy {
            package_joules: joules(false),
            memory_joules: counts_memory.then(|| joules(true)),
        })
    }
}

impl Domain {
    fn open(root: &SystemRoot, directory: &str, memory: bool) -> Result<Self, Reason> {
        let counter = format!("{directory}/energy_uj");
        let last_microjoules = root.parse(&counter)?;
        let wraps_after_microjoules = root.parse(&format!("{directory}/max_energy_range_uj"))?;
        Ok(Self { counter, wraps_after_microjoules, memory, last_microjoules, used_microjoules: 0 })
    }

    fn advance(&mut self, root: &SystemRoot) -> Result<(), Reason> {
        let now: u64 = root.parse(&self.counter)?;
        let used = if now >= self.last_microjoules {
            now - self.last_microjoules
        } else if self.last_microjoules <= self.wraps_after_microjoules {
            (self.wraps_after_microjoules - self.last_microjoules).saturating_add(now)
        } else {
            self.last_microjoules = now;
            return Err(format!("{} went back without having reached its range", self.counter));
        };
        self.last_microjoules = now;
        self.used_microjoules = self.used_microjoules.saturating_add(used);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::Captured;

    fn tree() -> Captured {
        let tree = Captured::new(&[]);
        for (zone, name, energy) in [
            ("intel-rapl:0", "package-0", "999000000"),
            ("intel-rapl:0:0", "core", "5"),
            ("intel-rapl:0:1", "dram", "1000000"),
            ("intel-rapl:1", "package-1", "0"),
            ("intel-rapl:2", "psys", "7"),
            ("intel-rapl-mmio:0", "package-0", "999000000"),
        ] {
            tree.write(&format!("{DIRECTORY}/{zone}/name"), format!("{name}\n"));
            tree.write(&format!("{DIRECTORY}/{zone}/energy_uj"), energy);
            tree.write(&format!("{DIRECTORY}/{zone}/max_energy_range_uj"), "1000000000\n");
        }
        tree
    }

    #[test]
    fn packages_are_summed_across_a_wrap_and_memory_is_apart() {
        let tree = tree();
        let mut meter = EnergyMeter::open(&tree.root).unwrap();
        assert_eq!(meter.domains.len(), 3);
        tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", "4000000");
        tree.write("/sys/class/powercap/intel-rapl:1/energy_uj", "2000000");
        tree.write("/sys/class/powercap/intel-rapl:0:1/energy_uj", "1500000");
        let energy = meter.read(&tree.root).unwrap();
        assert!((energy.package_joules - 7.0).abs() < 1e-9, "{energy:?}");
        assert!((energy.memory_joules.unwrap() - 0.5).abs() < 1e-9, "{energy:?}");
        assert_eq!(meter.read(&tree.root).unwrap(), energy);
    }

    #[test]
    fn a_machine_without_counters_says_so() {
        let reason = EnergyMeter::open(&Captured::new(&[]).root).unwrap_err();
        assert_eq!(
            reason,
            "/sys/class/powercap does not exist; a virtual machine usually hides it"
        );
        let tree = Captured::new(&[("/sys/class/powercap/intel-rapl/enabled", "1")]);
        assert!(EnergyMeter::open(&tree.root).unwrap_err().contains("no RAPL package domain"));
    }

    #[test]
    fn a_counter_that_jumps_back_is_a_reason_not_a_number() {
        let tree = tree();
        tree.write("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "10");
        let mut meter = EnergyMeter::open(&tree.root).unwrap();
        tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", "1");
        assert!(meter.read(&tree.root).unwrap_err().contains("went back"));
        assert!(meter.read(&tree.root).is_ok());
    }
}

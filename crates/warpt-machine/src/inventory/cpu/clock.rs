//! Clock rates and what governs them. Rates are in hertz; where policies differ between cores, the lowest minimum and
//! the highest maximum stand, and governors are listed together.

use super::{CPU, CpuInfo, cpuid};
use crate::inventory::facts::{facts, non_empty, or_reason};
use crate::source::{Reason, SystemRoot};
use std::collections::BTreeSet;

facts! {
    /// Clock rates and what governs them.
    pub struct Clocks, read as ClocksReadings {
        /// The mean clock of the cores when the inventory was read.
        current_hz: u64,
        /// The guaranteed clock.
        base_hz: u64,
        /// The lowest clock of the hardware.
        minimum_hz: u64,
        /// The highest clock of the hardware.
        maximum_hz: u64,
        /// The lowest clock the settings allow.
        allowed_minimum_hz: u64,
        /// The highest clock the settings allow.
        allowed_maximum_hz: u64,
        /// The frequency governor.
        governor: String,
        /// The frequency driver.
        driver: String,
        /// The preference between energy and performance.
        energy_preference: String,
        /// Whether the cores may run above their base clock.
        turbo: bool,
        /// The idle-state driver.
        idle_driver: String,
    }
}

pub(super) fn read(root: &SystemRoot, info: &CpuInfo) -> Clocks {
    let policies = policies(root);
    let values = |file: &str| -> Result<Vec<String>, Reason> {
        let policies = policies.as_ref().map_err(Clone::clone)?;
        let found = policies
            .iter()
            .filter_map(|policy| root.text(&format!("{policy}/{file}")).ok())
            .collect();
        non_empty(found, format!("no frequency policy has {file}"))
    };
    let rates = |file: &str| -> Result<Vec<u64>, Reason> {
        let parsed = values(file)?
            .iter()
            .filter_map(|text| text.trim().parse::<u64>().ok()?.checked_mul(1000))
            .collect();
        non_empty(parsed, format!("no frequency policy has a number in {file}"))
    };
    let lowest = |file: &str| rates(file).map(|all| all.into_iter().min().unwrap_or(0));
    let highest = |file: &str| rates(file).map(|all| all.into_iter().max().unwrap_or(0));
    let joined = |file: &str| -> Result<String, Reason> {
        let distinct: BTreeSet<String> = values(file)?.into_iter().collect();
        Ok(distinct.into_iter().take(16).collect::<Vec<_>>().join(", "))
    };
    let mean = |file: &str| rates(file).map(|all| mean_of(&all));
    ClocksReadings {
        current_hz: info.mean_clock_hz().map_or_else(|| mean("scaling_cur_freq"), Ok),
        base_hz: base(root, info, &highest),
        minimum_hz: lowest("cpuinfo_min_freq"),
        maximum_hz: highest("cpuinfo_max_freq"),
        allowed_minimum_hz: lowest("scaling_min_freq"),
        allowed_maximum_hz: highest("scaling_max_freq"),
        governor: joined("scaling_governor"),
        driver: joined("scaling_driver"),
        energy_preference: joined("energy_performance_preference"),
        turbo: turbo(root),
        idle_driver: root.text(&format!("{CPU}/cpuidle/current_driver")),
    }
    .settle()
}

fn mean_of(rates: &[u64]) -> u64 {
    let sum: u128 = rates.iter().map(|rate| u128::from(*rate)).sum();
    u64::try_from(sum / rates.len().max(1) as u128).unwrap_or(u64::MAX)
}

fn policies(root: &SystemRoot) -> Result<Vec<String>, Reason> {
    let directory = format!("{CPU}/cpufreq");
    let names = root.names(&directory).unwrap_or_default();
    let found: Vec<String> = names
        .iter()
        .filter(|name| name.starts_with("policy"))
        .take(crate::cpulist::MAX_CPUS)
        .map(|name| format!("{directory}/{name}"))
        .collect();
    if found.is_empty() && root.exists(&format!("{CPU}/cpu0/cpufreq")) {
        return Ok(vec![format!("{CPU}/cpu0/cpufreq")]);
    }
    non_empty(
        found,
        format!(
            "{directory} has no policy: the kernel or the hypervisor offers no frequency control"
        ),
    )
}

fn base(
    root: &SystemRoot,
    info: &CpuInfo,
    highest: &dyn Fn(&str) -> Result<u64, Reason>,
) -> Result<u64, Reason> {
    if let Ok(rate) = highest("base_frequency") {
        return Ok(rate);
    }
    let named = info.model().ok().and_then(|model| clock_in_name(&model));
    or_reason(
        cpuid::base_hz(root).or(named),
        "neither the frequency driver, the processor nor its name states a base clock",
    )
}

/// The clock at the end of names like `Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz`.
fn clock_in_name(model: &str) -> Option<u64> {
    let (_, clock) = model.rsplit_once('@')?;
    let gigahertz: f64 = clock.trim().strip_suffix("GHz")?.trim().parse().ok()?;
    (gigahertz.is_finite() && gigahertz > 0.0 && gigahertz < 100.0)
        .then_some((gigahertz * 1e9).round() as u64)
}

fn turbo(root: &SystemRoot) -> Result<bool, Reason> {
    if let Ok(off) = root.parse::<u8>(&format!("{CPU}/intel_pstate/no_turbo")) {
        return Ok(off == 0);
    }
    if let Ok(on) = root.parse::<u8>(&format!("{CPU}/cpufreq/boost")) {
        return Ok(on != 0);
    }
    Err("neither intel_pstate/no_turbo nor cpufreq/boost exists: the kernel does not control it here".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_in_the_name_is_read() {
        assert_eq!(clock_in_name("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz"), Some(2_400_000_000));
        assert_eq!(clock_in_name("AMD EPYC 9654"), None);
        assert_eq!(clock_in_name("x @ nanGHz"), None);
    }
}

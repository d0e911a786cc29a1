//! `/proc/cpuinfo`, whose fields differ by architecture. The first processor speaks for all, except for clock rates
//! and Arm part numbers, which are kept per processor.

use super::super::facts::or_reason;
use crate::cpulist::MAX_CPUS;
use crate::source::{Reason, SystemRoot};
use std::collections::BTreeMap;

/// What `/proc/cpuinfo` says.
pub(crate) struct CpuInfo {
    first: Result<BTreeMap<String, String>, Reason>,
    clocks_mhz: Vec<f64>,
    parts: BTreeMap<(u32, u32), Vec<usize>>,
}

impl CpuInfo {
    pub(crate) fn read(root: &SystemRoot) -> Self {
        match root.text("/proc/cpuinfo") {
            Ok(text) => Self::parse(&text),
            Err(reason) => {
                Self { first: Err(reason), clocks_mhz: Vec::new(), parts: BTreeMap::new() }
            }
        }
    }

    fn parse(text: &str) -> Self {
        let mut first = BTreeMap::new();
        let mut clocks_mhz = Vec::new();
        let mut parts: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
        let (mut processor, mut implementer) = (0usize, 0u32);
        for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let (key, value) = (key.trim(), value.trim());
            match key {
                "processor" => processor = value.parse().unwrap_or(0).min(MAX_CPUS),
                "cpu MHz" if clocks_mhz.len() < MAX_CPUS => {
                    clocks_mhz.extend(
                        value.parse::<f64>().ok().filter(|clock| clock.is_finite() && *clock > 0.0),
                    );
                }
                "CPU implementer" => implementer = parse_number(value).unwrap_or(0),
                "CPU part" => {
                    let cpus =
                        parts.entry((implementer, parse_number(value).unwrap_or(0))).or_default();
                    if cpus.len() < MAX_CPUS {
                        cpus.push(processor);
                    }
                }
                _ => {}
            }
            if first.len() < 256 && !value.is_empty() {
                first.entry(key.to_owned()).or_insert_with(|| value.to_owned());
            }
        }
        Self { first: Ok(first), clocks_mhz, parts }
    }

    /// The first of these fields that is there.
    pub(crate) fn text(&self, keys: &[&str]) -> Result<String, Reason> {
        let fields = self.first.as_ref().map_err(Clone::clone)?;
        let found = keys.iter().find_map(|key| fields.get(*key)).cloned();
        or_reason(found, format!("/proc/cpuinfo has no {:?}", keys.first().copied().unwrap_or("")))
    }

    /// The first of these fields as a number, decimal or hexadecimal.
    pub(crate) fn number(&self, keys: &[&str]) -> Result<u32, Reason> {
        let text = self.text(keys)?;
        or_reason(
            parse_number(&text),
            format!("/proc/cpuinfo: {} is not a number", keys.join(" or ")),
        )
    }

    pub(crate) fn stepping(&self) -> Result<u32, Reason> {
        if !self.is_arm() {
            return self.number(&["stepping"]);
        }
        let (variant, revision) = (self.number(&["CPU variant"])?, self.number(&["CPU revision"])?);
        Ok((variant & 0xff) << 4 | revision & 0xf)
    }

    pub(crate) fn is_x86(&self) -> bool {
        self.text(&["vendor_id"]).is_ok() && self.text(&["flags"]).is_ok()
    }

    pub(crate) fn is_arm(&self) -> bool {
        self.text(&["CPU implementer"]).is_ok()
    }

    /// Whether the flag is among those of the first processor.
    pub(crate) fn has_flag(&self, name: &str) -> Result<bool, Reason> {
        let flags = self.text(&["flags", "Features", "features"])?;
        Ok(flags.split_whitespace().any(|flag| flag == name))
    }

    /// The mean clock of the processors now.
    pub(crate) fn mean_clock_hz(&self) -> Option<u64> {
        let count = self.clocks_mhz.len();
        (count > 0).then(|| (self.clocks_mhz.iter().sum::<f64>() / count as f64 * 1e6) as u64)
    }

    pub(crate) fn vendor(&self) -> Result<String, Reason> {
        if self.is_arm() {
            let implementer = self.number(&["CPU implementer"])?;
            return Ok(arm_vendor(implementer)
                .map_or_else(|| format!("implementer {implementer:#x}"), str::to_owned));
        }
        self.text(&["vendor_id", "vendor"])
    }

    pub(crate) fn model(&self) -> Result<String, Reason> {
        let named = self.text(&["model name", "cpu model", "cpu", "uarch", "Processor"]);
        if named.is_err() && !self.parts.is_empty() {
            return Ok(self.arm_parts().into_keys().collect::<Vec<_>>().join(" + "));
        }
        named
    }

    /// The processors of each Arm core type, by name.
    pub(crate) fn arm_parts(&self) -> BTreeMap<String, Vec<usize>> {
        let named = self.parts.iter().map(|(&(implementer, part), cpus)| {
            let vendor = arm_vendor(implementer).unwrap_or("Arm-compatible");
            let name = arm_part(implementer, part)
                .map_or_else(|| format!("part {part:#x}"), str::to_owned);
            (format!("{vendor} {name}"), cpus.clone())
        });
        named.collect()
    }
}

fn parse_number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn arm_vendor(implementer: u32) -> Option<&'static str> {
    Some(match implementer {
        0x41 => "Arm",
        0x42 => "Broadcom",
        0x43 => "Cavium",
        0x46 => "Fujitsu",
        0x48 => "HiSilicon",
        0x4e => "NVIDIA",
        0x51 => "Qualcomm",
        0x61 => "Apple",
        0x6d => "Microsoft",
        0xc0 => "Ampere",
        _ => return None,
    })
}

fn arm_part(implementer: u32, part: u32) -> Option<&'static str> {
    Some(match (implementer, part) {
        (0x41, 0xd03) => "Cortex-A53",
        (0x41, 0xd05) => "Cortex-A55",
        (0x41, 0xd07) => "Cortex-A57",
        (0x41, 0xd08) => "Cortex-A72",
        (0x41, 0xd0b) => "Cortex-A76",
        (0x41, 0xd0c) => "Neoverse-N1",
        (0x41, 0xd40) => "Neoverse-V1",
        (0x41, 0xd41) => "Cortex-A78",
        (0x41, 0xd42) => "Cortex-A78AE",
        (0x41, 0xd49) => "Neoverse-N2",
        (0x41, 0xd4f) => "Neoverse-V2",
        (0x41, 0xd80) => "Cortex-A520",
        (0x41, 0xd81) => "Cortex-A720",
        (0x41, 0xd84) => "Neoverse-V3",
        (0x41, 0xd8e) => "Neoverse-N3",
        (0x43, 0x0af) => "ThunderX2",
        (0x46, 0x001) => "A64FX",
        (0x48, 0xd01) => "Kunpeng-920",
        (0xc0, 0xac3) => "AmpereOne",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arm_cores_are_named_and_grouped() {
        let block = |cpu: usize, part: &str| {
            format!(
                "processor\t: {cpu}\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: {part}\n"
            )
        };
        let info =
            CpuInfo::parse(&[block(0, "0xd05"), block(1, "0xd0b"), block(2, "0xd0b")].join("\n"));
        assert!(info.is_arm() && !info.is_x86());
        assert_eq!(info.model().unwrap(), "Arm Cortex-A55 + Arm Cortex-A76");
        assert_eq!(info.arm_parts()["Arm Cortex-A76"], vec![1, 2]);
        assert_eq!(info.has_flag("asimd"), Ok(true));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(processor|cpu MHz|CPU part|CPU variant|[a-z ]{1,8})?[ \t]*:?[ 0-9a-fx.-]{0,12}(\n.{0,30}){0,8}") {
            let info = CpuInfo::parse(&text);
            let _ = (info.model(), info.vendor(), info.stepping(), info.mean_clock_hz(), info.arm_parts());
        }
    }
}

//! The caches of the machine, one entry per level, kind and geometry, with how many of them there are. Unlike cores
//! give separate entries; entries are ordered by level, then kind.

use crate::cpulist;
use crate::inventory::facts::facts;
use crate::source::{Reason, SystemRoot};
use crate::topology::online_cpus;
use std::collections::{BTreeMap, BTreeSet};

const MAX_INDEX: usize = 16;

facts! {
    /// A cache level.
    pub struct Cache, read as CacheReadings {
        /// The level, one being the nearest to the core.
        level: u32,
        /// `data`, `instruction` or `unified`.
        kind: String,
        /// The size of one instance.
        size_bytes: u64,
        /// The line size.
        line_bytes: u32,
        /// Associativity.
        ways: u32,
        /// How many hardware threads share one instance.
        shared_by: u32,
        /// How many instances the online CPUs have.
        instances: u32,
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Geometry {
    level: Option<u32>,
    kind: Option<String>,
    size_bytes: Option<u64>,
    line_bytes: Option<u32>,
    ways: Option<u32>,
    shared_by: Option<usize>,
}

/// The caches of the online CPUs.
pub(crate) fn read_caches(root: &SystemRoot) -> Result<Vec<Cache>, Reason> {
    let mut instances: BTreeMap<Geometry, BTreeSet<Vec<usize>>> = BTreeMap::new();
    for cpu in online_cpus(root)? {
        for index in 0..MAX_INDEX {
            let directory = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
            let Ok(level) = root.parse::<u32>(&format!("{directory}/level")) else { break };
            let shared = root
                .text(&format!("{directory}/shared_cpu_list"))
                .and_then(|text| cpulist::parse(&text));
            let shared = shared.ok().filter(|cpus| !cpus.is_empty());
            let geometry = Geometry {
                level: Some(level),
                kind: root.text(&format!("{directory}/type")).ok().map(|kind| kind.to_lowercase()),
                size_bytes: root
                    .text(&format!("{directory}/size"))
                    .ok()
                    .and_then(|text| size(&text)),
                line_bytes: root.parse(&format!("{directory}/coherency_line_size")).ok(),
                ways: root
                    .parse(&format!("{directory}/ways_of_associativity"))
                    .ok()
                    .filter(|ways| *ways > 0),
                shared_by: shared.as_ref().map(Vec::len),
            };
            instances.entry(geometry).or_default().insert(shared.unwrap_or_else(|| vec![cpu]));
        }
    }
    if instances.is_empty() {
        return Err("/sys/devices/system/cpu describes no cache".to_owned());
    }
    let silent = |field: &str| format!("the kernel does not say the {field} of this cache");
    let entry = |(geometry, sets): (Geometry, BTreeSet<Vec<usize>>)| {
        CacheReadings {
            level: geometry.level.ok_or_else(|| silent("level")),
            kind: geometry.kind.ok_or_else(|| silent("kind")),
            size_bytes: geometry.size_bytes.ok_or_else(|| silent("size")),
            line_bytes: geometry.line_bytes.ok_or_else(|| silent("line size")),
            ways: geometry.ways.ok_or_else(|| silent("associativity")),
            shared_by: geometry
                .shared_by
                .and_then(|count| u32::try_from(count).ok())
                .ok_or_else(|| silent("sharing")),
            instances: u32::try_from(sets.len()).map_err(|_| silent("number")),
        }
        .settle()
    };
    Ok(instances.into_iter().map(entry).collect())
}

/// A size as sysfs writes it: `48K`, `2M`, or bytes.
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, scale) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1 << 10),
        None => text.strip_suffix(['M', 'm']).map_or((text, 1), |digits| (digits, 1 << 20)),
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(size("48K"), Some(48 << 10));
        assert_eq!(size("2M\n"), Some(2 << 20));
        assert_eq!(size("64"), Some(64));
        assert_eq!(size("18446744073709551615K"), None);
        assert_eq!(size("-1K"), None);
    }
}

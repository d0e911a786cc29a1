//! The parts of `/proc/meminfo` that say whether memory is short, swapped or pinned. Values are bytes.

use super::percent;
use crate::source::{Reason, SystemRoot};

/// Memory of the machine; a line the kernel does not print is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// All memory the kernel manages.
    pub total_bytes: Option<u64>,
    /// What a new program could get without swapping.
    pub available_bytes: Option<u64>,
    /// Pages the kernel may not move out: locked, or otherwise unevictable.
    pub wired_bytes: Option<u64>,
    /// Size of all swap areas.
    pub swap_total_bytes: Option<u64>,
    /// Unused part of all swap areas.
    pub swap_free_bytes: Option<u64>,
}

impl Memory {
    /// The state now.
    pub fn read(root: &SystemRoot) -> Result<Self, Reason> {
        let bytes = root.bytes("/proc/meminfo")?;
        let memory = Self::parse(&String::from_utf8_lossy(&bytes));
        if memory == Self::default() {
            return Err("/proc/meminfo holds none of the expected lines".into());
        }
        Ok(memory)
    }

    /// The state in the text of `/proc/meminfo`.
    pub fn parse(text: &str) -> Self {
        let mut memory = Self::default();
        let (mut free, mut cached, mut locked) = (None, None, None);
        for line in text.lines() {
            let Some((name, rest)) = line.split_once(':') else { continue };
            let slot = match name {
                "MemTotal" => &mut memory.total_bytes,
                "MemAvailable" => &mut memory.available_bytes,
                "MemFree" => &mut free,
                "Cached" => &mut cached,
                "Unevictable" => &mut memory.wired_bytes,
                "Mlocked" => &mut locked,
                "SwapTotal" => &mut memory.swap_total_bytes,
                "SwapFree" => &mut memory.swap_free_bytes,
                _ => continue,
            };
            let kibibytes = rest.split_ascii_whitespace().next().and_then(|word| word.parse().ok());
            *slot = kibibytes.and_then(|value: u64| value.checked_mul(1024));
        }
        memory.wired_bytes = memory.wired_bytes.or(locked);
        // Kernels before 3.14 have no estimate of their own.
        memory.available_bytes =
            memory.available_bytes.or_else(|| Some(free?.saturating_add(cached.unwrap_or(0))));
        memory
    }

    /// Memory that is not available, in percent of all memory.
    pub fn utilization_percent(&self) -> Option<f64> {
        let (total, available) = (self.total_bytes?, self.available_bytes?);
        percent(total.saturating_sub(available) as f64, total as f64)
    }

    /// Swap in use.
    pub fn swap_used_bytes(&self) -> Option<u64> {
        Some(self.swap_total_bytes?.saturating_sub(self.swap_free_bytes?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_bytes_and_missing_ones_stay_missing() {
        let memory = Memory::parse(
            "MemTotal:       1000 kB\nMemFree: 100 kB\nMemAvailable:    750 kB\nUnevictable: 8 kB\n\
             Mlocked: 4 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n",
        );
        assert_eq!(memory.total_bytes, Some(1_024_000));
        assert_eq!(memory.utilization_percent(), Some(25.0));
        assert_eq!(memory.wired_bytes, Some(8192));
        assert_eq!(memory.swap_used_bytes(), Some(30 * 1024));
        let old = Memory::parse("MemTotal: 100 kB\nMemFree: 10 kB\nCached: 15 kB\nMlocked: 4 kB\n");
        assert_eq!((old.available_bytes, old.wired_bytes), (Some(25 * 1024), Some(4096)));
        assert_eq!(old.swap_used_bytes(), None);
        assert_eq!(Memory::parse("MemTotal: 99999999999999999999 kB"), Memory::default());
    }
}

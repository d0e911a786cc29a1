//! The data caches the inventory reports, and what is assumed where it reports none. Sizes drive working sets;
//! whether they were reported or assumed is said where it matters.

use warpt_machine::inventory::Machine;

/// The sizes of the data caches as one core sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caches {
    /// Bytes per level, nearest first: what is reported, or what is assumed.
    levels: Vec<u64>,
    /// Whether the inventory reported them.
    pub(super) reported: bool,
}

impl Caches {
    /// The caches of a machine.
    pub fn of(machine: &Machine) -> Self {
        let caches = machine.cpu.as_ref().and_then(|cpu| cpu.caches.as_ref());
        let sized = caches.into_iter().flatten().filter_map(|cache| {
            let data =
                cache.kind.as_deref().is_none_or(|kind| !kind.eq_ignore_ascii_case("instruction"));
            data.then_some((cache.level?, cache.size_bytes?))
        });
        Self::from_levels(sized)
    }

    /// From pairs of level and size; of several caches of a level the largest counts.
    fn from_levels(sized: impl Iterator<Item = (u32, u64)>) -> Self {
        let mut levels: Vec<u64> = Vec::new();
        let mut sized: Vec<(u32, u64)> =
            sized.filter(|(_, bytes)| (4096..1 << 40).contains(bytes)).collect();
        sized.sort_unstable();
        sized.dedup();
        let mut last_level = 0;
        for (level, bytes) in sized {
            if level == last_level {
                levels.pop();
            }
            // A level smaller than the one before it would make no sense as a working set of its own.
            if levels.last().is_none_or(|before| bytes > *before) {
                levels.push(bytes);
                last_level = level;
            }
        }
        match levels.is_empty() {
            true => Self { levels: vec![32 << 10, 1 << 20, 32 << 20], reported: false },
            false => Self { levels, reported: true },
        }
    }

    /// Name and size of each level, nearest first.
    pub(super) fn levels(&self) -> impl Iterator<Item = (String, u64)> {
        self.levels.iter().enumerate().map(|(index, bytes)| (format!("L{}", index + 1), *bytes))
    }

    /// The size of the last level.
    pub fn last_bytes(&self) -> u64 {
        self.levels.last().copied().unwrap_or(32 << 20)
    }

    /// The size of the second level, or of the first where there is no second.
    pub(super) fn second_bytes(&self) -> u64 {
        self.levels.get(1).or(self.levels.first()).copied().unwrap_or(1 << 20)
    }

    /// Whether the size of a level is a report or an assumption, in words.
    pub(super) fn origin(&self) -> &'static str {
        if self.reported { "reported" } else { "assumed, as the kernel reports none" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_cache_of_a_level_counts_and_levels_grow() {
        let caches = Caches::from_levels(
            [(1, 32 << 10), (1, 48 << 10), (3, 30 << 20), (2, 2 << 20)].into_iter(),
        );
        let levels: Vec<(String, u64)> = caches.levels().collect();
        assert_eq!(
            levels,
            [("L1".into(), 48 << 10), ("L2".into(), 2 << 20), ("L3".into(), 30 << 20)]
        );
        assert_eq!(
            (caches.last_bytes(), caches.second_bytes(), caches.reported),
            (30 << 20, 2 << 20, true)
        );
    }

    #[test]
    fn nothing_reported_is_said() {
        let caches = Caches::from_levels([(1, 0), (2, u64::MAX)].into_iter());
        assert!(!caches.reported && caches.origin().contains("assumed"));
        assert_eq!(caches.levels().count(), 3);
    }
}

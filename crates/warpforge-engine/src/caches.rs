//! The caches of this machine, where the system says what they are.

use std::sync::OnceLock;

/// The sizes of all caches of the first processor that hold data, by level.
fn sizes() -> &'static [(usize, usize)] {
    static SIZES: OnceLock<Vec<(usize, usize)>> = OnceLock::new();
    SIZES.get_or_init(|| {
        let read = |index: usize, what: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}");
            std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
        };
        let cache = |index: usize| {
            let bytes = read(index, "size")?.strip_suffix('K')?.parse::<usize>().ok()?;
            let level = read(index, "level")?.parse().ok()?;
            let holds = read(index, "type")? != "Instruction";
            holds.then_some((level, bytes.checked_mul(1 << 10)?))
        };
        (0..8).filter_map(cache).collect()
    })
}

/// Bytes of the last cache, of which every thread may have its part taken by others: what is larger than half of it is not
/// there any more when it is read.
pub(crate) fn last_bytes() -> usize {
    const UNKNOWN: usize = 32 << 20;
    sizes().iter().map(|(_, bytes)| *bytes).max().unwrap_or(UNKNOWN)
}

/// Bytes of the second-level cache.
pub(crate) fn second_bytes() -> usize {
    const UNKNOWN: usize = 1 << 20;
    sizes().iter().find(|(level, _)| *level == 2).map_or(UNKNOWN, |(_, bytes)| *bytes)
}

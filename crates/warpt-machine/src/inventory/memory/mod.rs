//! Main memory: amounts from `/proc/meminfo`, huge pages and policies from sysfs and sysctl files, and the memory
//! modules from the firmware's tables where this user may read them.

mod smbios;

use super::facts::{facts, non_empty};
use crate::source::{Reason, SystemRoot};

facts! {
    /// Main memory.
    pub struct Memory, read as MemoryReadings {
        /// All the memory the kernel manages.
        total_bytes: u64,
        /// What programs could still get without swapping.
        available_bytes: u64,
        /// Swap space.
        swap_total_bytes: u64,
        /// Swap space in nobody's use.
        swap_free_bytes: u64,
        /// How readily the kernel swaps (`vm.swappiness`).
        swappiness: u32,
        /// The size of a page.
        page_bytes: u64,
        /// The pools of huge pages, one per size.
        huge_pages: Vec<HugePages>,
        /// `always`, `madvise` or `never`.
        transparent_huge_pages: String,
        /// How hard the kernel tries to make a huge page at a fault.
        transparent_huge_pages_defrag: String,
        /// `heuristic`, `always` or `never`.
        overcommit: String,
        /// Whether the kernel moves pages between NUMA nodes by itself.
        numa_balancing: bool,
        /// The memory modules.
        modules: Vec<MemoryModule>,
        /// Whether the modules correct errors.
        error_correction: bool,
    }
}

facts! {
    /// A pool of huge pages.
    pub struct HugePages, read as HugePagesReadings {
        /// The size of a page.
        page_bytes: u64,
        /// Pages in the pool.
        total: u64,
        /// Pages in nobody's use.
        free: u64,
    }
}

facts! {
    /// A memory module, as the firmware describes it.
    pub struct MemoryModule, read as MemoryModuleReadings {
        /// The slot.
        locator: String,
        /// The bank.
        bank: String,
        /// Its size.
        size_bytes: u64,
        /// The technology, such as `DDR5`.
        technology: String,
        /// `DIMM`, `SODIMM` and so on.
        form_factor: String,
        /// The highest transfer rate, in millions of transfers per second.
        speed_mt_per_second: u32,
        /// The transfer rate in force.
        configured_speed_mt_per_second: u32,
        /// Data bits.
        data_width_bits: u32,
        /// Data and error correction bits.
        total_width_bits: u32,
        /// Ranks.
        ranks: u32,
        /// The maker.
        manufacturer: String,
        /// The part number.
        part_number: String,
        /// The serial number.
        serial: String,
    }
}

pub(super) fn read(root: &SystemRoot) -> Memory {
    let table = root.text("/proc/meminfo");
    let amount = |name: &str| -> Result<u64, Reason> {
        let table = table.as_ref().map_err(Clone::clone)?;
        let line = table.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let line = line.ok_or_else(|| format!("/proc/meminfo has no {name}"))?;
        let kilobytes = line.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        kilobytes
            .and_then(|amount| amount.checked_mul(1024))
            .ok_or_else(|| format!("/proc/meminfo: {name} is not an amount"))
    };
    let modules = smbios::read(root);
    MemoryReadings {
        total_bytes: amount("MemTotal"),
        available_bytes: amount("MemAvailable"),
        swap_total_bytes: amount("SwapTotal"),
        swap_free_bytes: amount("SwapFree"),
        swappiness: root.parse("/proc/sys/vm/swappiness"),
        page_bytes: page_bytes(root),
        huge_pages: huge_pages(root),
        transparent_huge_pages: chosen(root, "/sys/kernel/mm/transparent_hugepage/enabled"),
        transparent_huge_pages_defrag: chosen(root, "/sys/kernel/mm/transparent_hugepage/defrag"),
        overcommit: overcommit(root),
        numa_balancing: root.parse::<u32>("/proc/sys/kernel/numa_balancing").map(|mode| mode != 0),
        error_correction: error_correction(&modules),
        modules,
    }
    .settle()
}

fn page_bytes(root: &SystemRoot) -> Result<u64, Reason> {
    if root.is_live() {
        return Ok(rustix::param::page_size() as u64);
    }
    Err("the page size is known on the running machine only".to_owned())
}

fn huge_pages(root: &SystemRoot) -> Result<Vec<HugePages>, Reason> {
    let directory = "/sys/kernel/mm/hugepages";
    let mut pools: Vec<HugePages> = root
        .names(directory)?
        .iter()
        .take(64)
        .filter_map(|name| {
            let kilobytes: u64 =
                name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
            let pool = HugePagesReadings {
                page_bytes: kilobytes
                    .checked_mul(1024)
                    .ok_or_else(|| format!("{name} names no size")),
                total: root.parse(&format!("{directory}/{name}/nr_hugepages")),
                free: root.parse(&format!("{directory}/{name}/free_hugepages")),
            };
            Some(pool.settle())
        })
        .collect();
    pools.sort_by_key(|pool| pool.page_bytes);
    non_empty(pools, format!("{directory} names no page size"))
}

/// The word in brackets of a file that lists its choices.
pub(super) fn chosen(root: &SystemRoot, path: &str) -> Result<String, Reason> {
    let text = root.text(path)?;
    let word = text
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(word, _)| word.to_owned());
    word.ok_or_else(|| format!("{path} marks no choice"))
}

fn overcommit(root: &SystemRoot) -> Result<String, Reason> {
    let path = "/proc/sys/vm/overcommit_memory";
    match root.parse::<u32>(path)? {
        0 => Ok("heuristic".to_owned()),
        1 => Ok("always".to_owned()),
        2 => Ok("never".to_owned()),
        other => Err(format!("{path} holds {other}, which is no policy")),
    }
}

fn error_correction(modules: &Result<Vec<MemoryModule>, Reason>) -> Result<bool, Reason> {
    let modules = modules.as_ref().map_err(Clone::clone)?;
    let widths: Vec<(u32, u32)> = modules
        .iter()
        .filter_map(|module| module.total_width_bits.zip(module.data_width_bits))
        .collect();
    if widths.is_empty() {
        return Err("the firmware does not state the widths of the modules".to_owned());
    }
    Ok(widths.iter().all(|(total, data)| total > data))
}

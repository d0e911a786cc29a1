//! The processors of the machine, from sysfs and `/proc/cpuinfo`, and on the running x86 machine from the CPUID
//! instruction. Counts are of online CPUs; lists of CPUs are written in the kernel's list format.

mod cache;
mod clock;
mod cpuid;
mod cpuinfo;
mod features;

pub use cache::Cache;
pub(crate) use cache::read_caches;
pub use clock::Clocks;
pub(super) use cpuinfo::CpuInfo;

use super::facts::{facts, meaningful, non_empty, or_reason};
use crate::cpulist;
use crate::source::{Reason, SystemRoot};
use crate::topology::{Topology, online_cpus, usable_cpus_of};
use std::collections::BTreeMap;

const CPU: &str = "/sys/devices/system/cpu";
const NODE: &str = "/sys/devices/system/node";
const MAX_NODES: usize = 4096;

facts! {
    /// The processors of the machine.
    pub struct Cpu, read as CpuReadings {
        /// The model name.
        model: String,
        /// The maker, as the processor states it.
        vendor: String,
        /// The instruction set architecture, as `uname -m` names it.
        architecture: String,
        /// The family number (x86).
        family: u32,
        /// The model number (x86), or the part number (Arm).
        model_number: u32,
        /// The stepping (x86), or variant and revision (Arm).
        stepping: u32,
        /// The microcode version.
        microcode: String,
        /// Sockets.
        sockets: u32,
        /// Physical cores, of all sockets together.
        cores: u32,
        /// Hardware threads, of all cores together.
        threads: u32,
        /// The CPUs that are online, as a list.
        online_cpus: String,
        /// The CPUs this process may use: its affinity, within its cpuset.
        usable_cpus: String,
        /// How many CPUs this process may use.
        usable_count: u32,
        /// CPUs the kernel keeps the scheduler away from, as a list; empty when none.
        isolated_cpus: String,
        /// Groups of unlike cores, on machines that have them.
        core_kinds: Vec<CoreKind>,
        /// The NUMA nodes.
        numa_nodes: Vec<NumaNode>,
        /// The caches, one entry per level and kind.
        caches: Vec<Cache>,
        /// The instruction set extensions that matter for computing, in the kernel's spelling.
        features: Vec<String>,
        /// Clock rates and what governs them.
        clocks: Clocks,
        /// Whether cores run several hardware threads now.
        smt_active: bool,
        /// `on`, `off`, `forceoff`, `notsupported` or `notimplemented`.
        smt_control: String,
        /// Whether this machine is a virtual one.
        virtualized: bool,
        /// What the machine runs under, when it is virtual.
        hypervisor: String,
        /// Whether the time stamp counter keeps its rate when the clock changes.
        tsc_constant: bool,
        /// Whether the time stamp counter keeps counting in deep sleep.
        tsc_nonstop: bool,
        /// The kernel's clock source.
        clock_source: String,
        /// Processor vulnerabilities this machine has, with what the kernel does about each; the ones it does not
        /// have are left out.
        mitigations: BTreeMap<String, String>,
    }
}

facts! {
    /// A group of like cores on a machine that has several kinds.
    pub struct CoreKind, read as CoreKindReadings {
        /// What the cores are called.
        name: String,
        /// The CPUs, as a list.
        cpus: String,
    }
}

facts! {
    /// A NUMA node.
    pub struct NumaNode, read as NumaNodeReadings {
        /// Its number.
        id: u32,
        /// Its CPUs, as a list; empty for a node of memory alone.
        cpus: String,
        /// Its memory.
        memory_total_bytes: u64,
        /// Its free memory.
        memory_free_bytes: u64,
        /// The relative distance to each node, in their order (10 is local).
        distances: Vec<u32>,
    }
}

pub(super) fn read(root: &SystemRoot, info: &CpuInfo) -> Cpu {
    let topology = Topology::read(root);
    let usable = usable_cpus_of(root);
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let core_count = |of: fn(&Topology) -> usize| {
        topology.as_ref().map(|all| count(of(all))).map_err(Clone::clone)
    };
    let x86 = info.is_x86();
    let flag = |name: &str| -> Result<bool, Reason> {
        if x86 {
            info.has_flag(name)
        } else {
            Err("only x86 processors have a time stamp counter".to_owned())
        }
    };
    let (virtualized, hypervisor) = virtualization(root, info);
    CpuReadings {
        model: info.model(),
        vendor: info.vendor(),
        architecture: architecture(root, info),
        family: info.number(&["cpu family"]),
        model_number: info.number(&["model", "CPU part"]),
        stepping: info.stepping(),
        microcode: info.text(&["microcode"]),
        sockets: core_count(Topology::packages),
        cores: core_count(|all| all.cores.len()),
        threads: core_count(Topology::threads),
        online_cpus: online_cpus(root).map(|cpus| cpulist::format(&cpus)),
        usable_cpus: usable.as_ref().map(|cpus| cpulist::format(cpus)).map_err(Clone::clone),
        usable_count: usable.map(|cpus| count(cpus.len())),
        isolated_cpus: root.text(&format!("{CPU}/isolated")).map(|text| text.trim().to_owned()),
        core_kinds: core_kinds(root, info),
        numa_nodes: numa_nodes(root),
        caches: read_caches(root),
        features: features::of_interest(info),
        clocks: Ok(clock::read(root, info)),
        smt_active: root.parse::<u8>(&format!("{CPU}/smt/active")).map(|active| active != 0),
        smt_control: root.text(&format!("{CPU}/smt/control")),
        virtualized,
        hypervisor,
        tsc_constant: flag("constant_tsc"),
        tsc_nonstop: flag("nonstop_tsc"),
        clock_source: root.text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        mitigations: mitigations(root),
    }
    .settle()
}

fn architecture(root: &SystemRoot, info: &CpuInfo) -> Result<String, Reason> {
    if let Ok(name) = root.text("/proc/sys/kernel/arch")
        && !name.is_empty()
    {
        return Ok(name);
    }
    if root.is_live() {
        return Ok(rustix::system::uname().machine().to_string_lossy().into_owned());
    }
    let guess = match () {
        () if info.is_x86() && info.has_flag("lm") == Ok(true) => Some("x86_64"),
        () if info.is_arm() => Some("aarch64"),
        () => None,
    };
    or_reason(
        guess.map(str::to_owned),
        "neither /proc/sys/kernel/arch nor /proc/cpuinfo names the architecture",
    )
}

fn core_kinds(root: &SystemRoot, info: &CpuInfo) -> Result<Vec<CoreKind>, Reason> {
    let kind =
        |name: String, cpus: String| CoreKindReadings { name: Ok(name), cpus: Ok(cpus) }.settle();
    let hybrid: Vec<CoreKind> =
        [("performance", "cpu_core"), ("efficiency", "cpu_atom"), ("low power", "cpu_lowpower")]
            .iter()
            .filter_map(|(name, directory)| {
                let cpus = root.text(&format!("/sys/devices/{directory}/cpus")).ok()?;
                Some(kind((*name).to_owned(), cpus.trim().to_owned()))
            })
            .collect();
    if !hybrid.is_empty() {
        return Ok(hybrid);
    }
    let parts = info.arm_parts();
    if parts.len() > 1 {
        return Ok(parts
            .into_iter()
            .map(|(name, cpus)| kind(name, cpulist::format(&cpus)))
            .collect());
    }
    Err("every core is of the same kind, as far as the kernel says".to_owned())
}

fn numa_nodes(root: &SystemRoot) -> Result<Vec<NumaNode>, Reason> {
    let names = root.names(NODE)?;
    let mut ids: Vec<u32> = names
        .iter()
        .filter_map(|name| name.strip_prefix("node")?.parse().ok())
        .take(MAX_NODES)
        .collect();
    ids.sort_unstable();
    let nodes = ids.into_iter().map(|id| {
        let directory = format!("{NODE}/node{id}");
        let memory = root.text(&format!("{directory}/meminfo"));
        let amount = |name: &str| -> Result<u64, Reason> {
            let text = memory.as_ref().map_err(Clone::clone)?;
            let line = text.lines().find_map(|line| line.split_once(&format!(" {name}:")));
            let kilobytes =
                line.and_then(|(_, rest)| rest.split_whitespace().next()?.parse::<u64>().ok());
            let bytes = kilobytes.and_then(|amount| amount.checked_mul(1024));
            or_reason(bytes, format!("{directory}/meminfo has no {name}"))
        };
        let distances = root.text(&format!("{directory}/distance")).and_then(|text| {
            let numbers = text
                .split_whitespace()
                .take(MAX_NODES)
                .map_while(|word| word.parse().ok())
                .collect();
            non_empty(numbers, format!("{directory}/distance is empty"))
        });
        NumaNodeReadings {
            id: Ok(id),
            cpus: root.text(&format!("{directory}/cpulist")).map(|text| text.trim().to_owned()),
            memory_total_bytes: amount("MemTotal"),
            memory_free_bytes: amount("MemFree"),
            distances,
        }
        .settle()
    });
    non_empty(nodes.collect(), format!("{NODE} names no node"))
}

/// Whether the machine is virtual and under what; firmware strings decide where the processor has no bit for it.
fn virtualization(
    root: &SystemRoot,
    info: &CpuInfo,
) -> (Result<bool, Reason>, Result<String, Reason>) {
    let named = root
        .text("/sys/hypervisor/type")
        .ok()
        .filter(|name| !name.is_empty())
        .or_else(|| cpuid::hypervisor(root))
        .or_else(|| firmware_hypervisor(root));
    let bit = if info.is_x86() { info.has_flag("hypervisor").ok() } else { None };
    match (named, bit) {
        (Some(name), _) => (Ok(true), Ok(name)),
        (None, Some(true)) => (Ok(true), Err("the hypervisor does not give its name".to_owned())),
        (None, Some(false)) => (Ok(false), Err("this machine is not virtual".to_owned())),
        (None, None) if root.exists("/sys/class/dmi/id/sys_vendor") => {
            (Ok(false), Err("this machine is not virtual, as far as its firmware says".to_owned()))
        }
        (None, None) => {
            let reason =
                "neither the processor nor the firmware says whether this machine is virtual";
            (Err(reason.to_owned()), Err(reason.to_owned()))
        }
    }
}

fn firmware_hypervisor(root: &SystemRoot) -> Option<String> {
    let tree = "/proc/device-tree/hypervisor/compatible";
    if let Ok(name) = root.text(tree) {
        return Some(name.trim_end_matches('\0').replace('\0', ","))
            .filter(|name| !name.is_empty());
    }
    let text = |name: &str| {
        meaningful(root.text(&format!("/sys/class/dmi/id/{name}")), name).unwrap_or_default()
    };
    let (vendor, product) = (text("sys_vendor"), text("product_name"));
    match vendor.as_str() {
        "QEMU" => Some("QEMU".to_owned()),
        "Amazon EC2" if !product.contains("metal") => Some("Amazon EC2".to_owned()),
        "Google" | "Google Cloud" if product.contains("Compute Engine") => {
            Some("Google Compute Engine".to_owned())
        }
        "Microsoft Corporation" if product == "Virtual Machine" => {
            Some("Microsoft Hyper-V".to_owned())
        }
        "innotek GmbH" => Some("VirtualBox".to_owned()),
        "VMware, Inc." => Some("VMware".to_owned()),
        "Xen" => Some("Xen".to_owned()),
        "Parallels Software International Inc." => Some("Parallels".to_owned()),
        _ => None,
    }
}

fn mitigations(root: &SystemRoot) -> Result<BTreeMap<String, String>, Reason> {
    let directory = format!("{CPU}/vulnerabilities");
    let names = root.names(&directory)?;
    let states = names.into_iter().take(256).filter_map(|name| {
        let state = root.text(&format!("{directory}/{name}")).ok()?;
        (state != "Not affected").then_some((name, state))
    });
    Ok(states.collect())
}

//! The CPUs this process may use and how they sit together: cores, packages, nodes, last cache. Callers ask here
//! before starting threads; lists are sorted, and a worker count is at least one.

use crate::cgroup::Cgroups;
use crate::source::{Reason, SystemRoot};
use crate::{affinity, cpulist};
use std::collections::{BTreeMap, BTreeSet};

const CPU_DIRECTORY: &str = "/sys/devices/system/cpu";

/// One physical core and the hardware threads on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Core {
    /// The package (socket) the core is in.
    pub package: i64,
    /// The NUMA node of the core, where the kernel says.
    pub node: Option<usize>,
    /// The hardware threads of the core, ascending.
    pub cpus: Vec<usize>,
}

/// The physical cores of a machine, ordered by their first hardware thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// The cores.
    pub cores: Vec<Core>,
}

impl Topology {
    /// The cores of the online CPUs; a CPU the kernel says nothing about counts as a core of its own.
    pub fn read(root: &SystemRoot) -> Result<Self, Reason> {
        let online = online_cpus(root)?;
        let nodes = node_of_cpu(root);
        let mut cores: BTreeMap<(i64, usize), Core> = BTreeMap::new();
        let mut known = 0usize;
        for &cpu in &online {
            let directory = format!("{CPU_DIRECTORY}/cpu{cpu}/topology");
            let package: i64 = root.parse(&format!("{directory}/physical_package_id")).unwrap_or(0);
            let siblings = ["core_cpus_list", "thread_siblings_list"].iter().find_map(|name| {
                cpulist::parse(&root.text(&format!("{directory}/{name}")).ok()?).ok()
            });
            known += usize::from(siblings.is_some());
            let first = siblings.and_then(|list| list.first().copied()).unwrap_or(cpu);
            let node = nodes.get(&cpu).copied();
            let core = cores.entry((package, first)).or_insert_with(|| Core {
                package,
                node,
                cpus: Vec::new(),
            });
            core.cpus.push(cpu);
        }
        if known == 0 {
            return Self::from_cpuinfo(root).ok_or_else(|| {
                format!("neither {CPU_DIRECTORY} nor /proc/cpuinfo says how CPUs form cores")
            });
        }
        let mut cores: Vec<Core> = cores.into_values().collect();
        cores.sort_by_key(|core| core.cpus.first().copied());
        Ok(Self { cores })
    }

    /// The same from `/proc/cpuinfo`, for kernels and containers that hide the sysfs directories.
    fn from_cpuinfo(root: &SystemRoot) -> Option<Self> {
        let text = root.text("/proc/cpuinfo").ok()?;
        let mut cores: BTreeMap<(i64, i64), Core> = BTreeMap::new();
        for block in text.split("\n\n").take(cpulist::MAX_CPUS) {
            let field = |name: &str| -> Option<i64> {
                block.lines().find_map(|line| {
                    let (key, value) = line.split_once(':')?;
                    (key.trim() == name).then(|| value.trim().parse().ok())?
                })
            };
            let (Some(cpu), Some(package), Some(core)) =
                (field("processor"), field("physical id"), field("core id"))
            else {
                continue;
            };
            let cpu = usize::try_from(cpu).ok().filter(|cpu| *cpu < cpulist::MAX_CPUS)?;
            let core = cores.entry((package, core)).or_insert_with(|| Core {
                package,
                node: None,
                cpus: Vec::new(),
            });
            core.cpus.push(cpu);
        }
        let mut cores: Vec<Core> = cores.into_values().collect();
        cores.sort_by_key(|core| core.cpus.first().copied());
        (!cores.is_empty()).then_some(Self { cores })
    }

    /// How many packages (sockets) hold these cores.
    pub fn packages(&self) -> usize {
        self.cores.iter().map(|core| core.package).collect::<BTreeSet<_>>().len()
    }

    /// How many hardware threads the cores have together.
    pub fn threads(&self) -> usize {
        self.cores.iter().map(|core| core.cpus.len()).sum()
    }

    /// The first usable hardware thread of every core that has one.
    pub fn one_cpu_per_core(&self, usable: &[usize]) -> Vec<usize> {
        self.cores
            .iter()
            .filter_map(|core| {
                core.cpus.iter().copied().find(|cpu| usable.binary_search(cpu).is_ok())
            })
            .collect()
    }
}

/// The CPUs that are online.
pub(crate) fn online_cpus(root: &SystemRoot) -> Result<Vec<usize>, Reason> {
    let path = format!("{CPU_DIRECTORY}/online");
    let online = root.text(&path).and_then(|text| cpulist::parse(&text));
    if let Ok(cpus) = &online
        && !cpus.is_empty()
    {
        return online;
    }
    let text = root.text("/proc/cpuinfo")?;
    let cpus: Vec<usize> = text
        .lines()
        .filter_map(|line| {
            line.strip_prefix("processor")?.trim_start().strip_prefix(':')?.trim().parse().ok()
        })
        .filter(|cpu| *cpu < cpulist::MAX_CPUS)
        .collect();
    if cpus.is_empty() { Err(format!("{path} and /proc/cpuinfo name no CPU")) } else { Ok(cpus) }
}

fn node_of_cpu(root: &SystemRoot) -> BTreeMap<usize, usize> {
    let mut nodes = BTreeMap::new();
    for name in root.names("/sys/devices/system/node").unwrap_or_default() {
        let Some(node) = name.strip_prefix("node").and_then(|number| number.parse::<usize>().ok())
        else {
            continue;
        };
        let list =
            root.text(&format!("/sys/devices/system/node/{name}/cpulist")).unwrap_or_default();
        nodes.extend(cpulist::parse(&list).unwrap_or_default().into_iter().map(|cpu| (cpu, node)));
    }
    nodes
}

/// The CPUs a process on this machine may use: its affinity, within its cpuset.
pub fn usable_cpus_of(root: &SystemRoot) -> Result<Vec<usize>, Reason> {
    let allowed = root.text("/proc/self/status").and_then(|text| {
        text.lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .ok_or_else(|| "/proc/self/status has no Cpus_allowed_list".to_owned())
            .and_then(cpulist::parse)
    });
    let mut cpus = match allowed {
        Err(_) if root.is_live() => affinity::allowed_cpus(0)?,
        other => other?,
    };
    if let Ok(set) = Cgroups::read(root).cpuset_cpus() {
        let within: Vec<usize> =
            cpus.iter().copied().filter(|cpu| set.binary_search(cpu).is_ok()).collect();
        if !within.is_empty() {
            cpus = within;
        }
    }
    if cpus.is_empty() {
        Err("the affinity of this process names no CPU".to_owned())
    } else {
        Ok(cpus)
    }
}

/// The CPUs this process may use, ascending; at least one. Threads that pinned themselves do not change the answer,
/// unless the main thread did.
pub fn usable_cpus() -> Vec<usize> {
    usable_cpus_of(&SystemRoot::live()).unwrap_or_else(|_| vec![0])
}

/// The CPU time per second the control groups grant this process, in CPUs; `None` when they set no limit.
pub fn quota_cpus() -> Option<f64> {
    Cgroups::read(&SystemRoot::live()).quota_cpus().ok()
}

/// How many busy threads this process can run without being throttled or sharing a CPU with itself.
pub fn worker_count() -> usize {
    workers(usable_cpus().len(), quota_cpus())
}

fn workers(usable: usize, quota: Option<f64>) -> usize {
    // Rounded down: the last part of a CPU buys less than throttling all workers costs.
    let granted = quota.map_or(usable, |cpus| cpus.floor().clamp(0.0, 1e6) as usize);
    usable.min(granted).max(1)
}

/// Keep the calling thread on one CPU.
pub fn pin_current_thread(cpu: usize) -> Result<(), Reason> {
    affinity::restrict_current_thread(&[cpu])
}

/// Let the calling thread run on any of these CPUs.
pub fn spread_current_thread(cpus: &[usize]) -> Result<(), Reason> {
    affinity::restrict_current_thread(cpus)
}

/// The CPUs the calling thread may run on now.
pub fn current_thread_cpus() -> Result<Vec<usize>, Reason> {
    affinity::allowed_cpus(0)
}

/// One usable hardware thread per physical core, ascending by core; every usable CPU when cores are unknown.
pub fn one_cpu_per_core() -> Vec<usize> {
    let usable = usable_cpus();
    match Topology::read(&SystemRoot::live()) {
        Ok(topology) => topology.one_cpu_per_core(&usable),
        Err(_) => usable,
    }
}

/// The size of one instance of the largest last-level cache, where the kernel tells it.
pub fn last_level_cache_bytes() -> Option<u64> {
    let caches = crate::inventory::read_caches(&SystemRoot::live()).ok()?;
    let last = caches.iter().filter_map(|cache| cache.level).max()?;
    caches
        .iter()
        .filter(|cache| cache.level == Some(last))
        .filter_map(|cache| cache.size_bytes)
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_respect_affinity_and_quota() {
        assert_eq!(workers(8, None), 8);
        assert_eq!(workers(8, Some(2.9)), 2);
        assert_eq!(workers(8, Some(0.25)), 1);
        assert_eq!(workers(2, Some(64.0)), 2);
        assert_eq!(workers(4, Some(f64::NAN)), 1);
    }

    #[test]
    fn a_thread_can_be_pinned_where_it_may_run_and_nowhere_else() {
        std::thread::spawn(|| {
            let cpu = usable_cpus()[0];
            pin_current_thread(cpu).unwrap();
            assert_eq!(current_thread_cpus().unwrap(), vec![cpu]);
            assert!(pin_current_thread(60_000).is_err());
            assert!(pin_current_thread(usize::MAX).is_err());
            assert!(spread_current_thread(&[]).is_err());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn the_live_machine_has_cores_and_workers() {
        assert!(worker_count() >= 1);
        assert!(!one_cpu_per_core().is_empty());
    }
}

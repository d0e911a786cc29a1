//! What control groups and resource limits leave of the machine. "No limit" is a reason, not a number.

use super::facts::facts;
use crate::cgroup::Cgroups;
use crate::cpulist;
use crate::source::{Reason, SystemRoot};

facts! {
    /// The limits this process runs under.
    pub struct Limits, read as LimitsReadings {
        /// `v1`, `v2` or `hybrid`.
        cgroup_version: String,
        /// The control group of this process, as it sees it.
        cgroup_path: String,
        /// CPU time per second, in CPUs.
        cpu_quota_cpus: f64,
        /// The share of CPU time under contention, version 2 (default 100).
        cpu_weight: u64,
        /// The share of CPU time under contention, version 1 (default 1024).
        cpu_shares: u64,
        /// The CPUs of the cpuset, as a list.
        cpuset_cpus: String,
        /// The memory nodes of the cpuset, as a list.
        cpuset_memory_nodes: String,
        /// The hard limit on memory.
        memory_limit_bytes: u64,
        /// The memory use above which the group is slowed down.
        memory_high_bytes: u64,
        /// The swap that may be used beyond the memory.
        swap_limit_bytes: u64,
        /// How many processes and threads the group may have.
        process_limit: u64,
        /// The share of block device time under contention.
        io_weight: u64,
        /// Bandwidth limits by device.
        io_limits: Vec<IoLimit>,
        /// Memory that may be locked, as registered buffers and RDMA need (`ulimit -l`).
        locked_memory_bytes: u64,
        /// Files that may be open (`ulimit -n`).
        open_files: u64,
        /// Processes of this user (`ulimit -u`).
        user_processes: u64,
        /// The stack of the main thread (`ulimit -s`).
        stack_bytes: u64,
        /// The address space (`ulimit -v`).
        address_space_bytes: u64,
    }
}

facts! {
    /// The bandwidth limits of one block device.
    pub struct IoLimit, read as IoLimitReadings {
        /// `major:minor` of the device.
        device: String,
        /// Bytes read per second.
        read_bytes_per_second: u64,
        /// Bytes written per second.
        write_bytes_per_second: u64,
        /// Reads per second.
        reads_per_second: u64,
        /// Writes per second.
        writes_per_second: u64,
    }
}

pub(super) fn read(root: &SystemRoot) -> Limits {
    let groups = Cgroups::read(root);
    let resources = root.text("/proc/self/limits");
    let resource = |name: &str| soft_limit(&resources, name);
    LimitsReadings {
        cgroup_version: groups.version().map(str::to_owned),
        cgroup_path: groups.path(),
        cpu_quota_cpus: groups.quota_cpus(),
        cpu_weight: groups.cpu_weight(),
        cpu_shares: groups.cpu_shares(),
        cpuset_cpus: groups.cpuset_cpus().map(|cpus| cpulist::format(&cpus)),
        cpuset_memory_nodes: groups.cpuset_memory_nodes().map(|nodes| cpulist::format(&nodes)),
        memory_limit_bytes: groups.memory_limit_bytes(),
        memory_high_bytes: groups.memory_high_bytes(),
        swap_limit_bytes: groups.swap_limit_bytes(),
        process_limit: groups.process_limit(),
        io_weight: groups.io_weight(),
        io_limits: io_limits(&groups),
        locked_memory_bytes: resource("Max locked memory"),
        open_files: resource("Max open files"),
        user_processes: resource("Max processes"),
        stack_bytes: resource("Max stack size"),
        address_space_bytes: resource("Max address space"),
    }
    .settle()
}

fn io_limits(groups: &Cgroups) -> Result<Vec<IoLimit>, Reason> {
    let settle = |device: crate::cgroup::DeviceLimit| {
        let limit = |name: &str| {
            device.limits.get(name).copied().ok_or_else(|| "no limit is set".to_owned())
        };
        IoLimitReadings {
            read_bytes_per_second: limit("rbps"),
            write_bytes_per_second: limit("wbps"),
            reads_per_second: limit("riops"),
            writes_per_second: limit("wiops"),
            device: Ok(device.device.clone()),
        }
        .settle()
    };
    Ok(groups.io_limits()?.into_iter().map(settle).collect())
}

fn soft_limit(table: &Result<String, Reason>, name: &str) -> Result<u64, Reason> {
    let table = table.as_ref().map_err(Clone::clone)?;
    let line = table.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|line| line.split_whitespace().next());
    match word {
        None => Err(format!("/proc/self/limits has no {name:?}")),
        Some("unlimited") => Err("no limit is set".to_owned()),
        Some(word) => word.parse().map_err(|_| {
            format!("/proc/self/limits: {:?} is not a limit", cpulist::shortened(word))
        }),
    }
}

//! The control groups of this process, version 1, version 2 or both at once, and the limits they set. A limit is
//! the tightest one between the group of the process and the root of what this process can see; "no limit" and
//! "cannot be read" are both reasons, never numbers.

use crate::source::{Reason, SystemRoot};
use crate::{cpulist, mounts};
use std::collections::BTreeMap;

/// Version 1 writes "no limit" as the largest page-aligned number.
const V1_UNLIMITED: u64 = 1 << 62;
const MAX_DEPTH: usize = 128;
const MAX_IO_LINES: usize = 4096;

/// Which generation of control groups serves a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The directories of one hierarchy, from the group of the process up to the mount point.
#[derive(Debug, Clone)]
struct Hierarchy {
    version: Version,
    path: String,
    directories: Vec<String>,
}

/// A bandwidth limit of one block device; absent members are unlimited.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceLimit {
    /// `major:minor` of the device.
    pub device: String,
    /// Limit by name: `rbps`, `wbps`, `riops`, `wiops`.
    pub limits: BTreeMap<String, u64>,
}

/// The control groups of this process.
#[derive(Debug, Clone)]
pub struct Cgroups {
    root: SystemRoot,
    controllers: BTreeMap<String, Hierarchy>,
    unified: Option<Hierarchy>,
}

impl Cgroups {
    /// The groups of this process; a machine without control groups gives an empty answer.
    pub fn read(root: &SystemRoot) -> Self {
        let mut groups = Self { root: root.clone(), controllers: BTreeMap::new(), unified: None };
        let Ok(membership) = root.text("/proc/self/cgroup") else { return groups };
        let mounted = mounts::read(root).unwrap_or_default();
        for line in membership.lines().take(64) {
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) =
                (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            if controllers.is_empty() {
                let mount = mounted.iter().find(|mount| mount.kind == "cgroup2");
                let (point, base) = match mount {
                    Some(mount) => (mount.point.clone(), mount.root.clone()),
                    None => (default_unified(root), "/".to_owned()),
                };
                groups.unified = hierarchy(root, Version::Two, &point, &base, path);
                continue;
            }
            for controller in
                controllers.split(',').filter(|name| !name.is_empty() && !name.contains('='))
            {
                let mount = mounted.iter().find(|mount| {
                    mount.kind == "cgroup"
                        && mount.super_options.split(',').any(|option| option == controller)
                });
                let (point, base) = match mount {
                    Some(mount) => (mount.point.clone(), mount.root.clone()),
                    None => (format!("/sys/fs/cgroup/{controller}"), "/".to_owned()),
                };
                if let Some(found) = hierarchy(root, Version::One, &point, &base, path) {
                    groups.controllers.insert(controller.to_owned(), found);
                }
            }
        }
        groups
    }

    /// `v1`, `v2`, or `hybrid` when version 1 controllers stand beside a version 2 tree.
    pub fn version(&self) -> Result<&'static str, Reason> {
        match (self.controllers.is_empty(), self.unified.is_some()) {
            (true, true) => Ok("v2"),
            (false, true) => Ok("hybrid"),
            (false, false) => Ok("v1"),
            (true, false) => Err(if self.root.exists("/proc/self/cgroup") {
                "no control group file system is mounted".to_owned()
            } else {
                "/proc/self/cgroup does not exist".to_owned()
            }),
        }
    }

    /// The path of the group of this process, in the hierarchy that limits memory.
    pub fn path(&self) -> Result<String, Reason> {
        let found = self.controllers.get("memory").or(self.unified.as_ref());
        let found = found.or_else(|| self.controllers.values().next());
        found.map(|hierarchy| hierarchy.path.clone()).ok_or_else(|| self.missing("memory"))
    }

    /// The CPU time per second, in CPUs.
    pub fn quota_cpus(&self) -> Result<f64, Reason> {
        let hierarchy = self.controller("cpu")?;
        let quotas = hierarchy.directories.iter().filter_map(|directory| {
            let (quota, period) = match hierarchy.version {
                Version::Two => {
                    let text = self.root.text(&format!("{directory}/cpu.max")).ok()?;
                    let mut words = text.split_whitespace();
                    let quota = words.next()?.parse::<f64>().ok()?;
                    (
                        quota,
                        words.next().and_then(|period| period.parse().ok()).unwrap_or(100_000.0),
                    )
                }
                Version::One => (
                    self.root.parse::<f64>(&format!("{directory}/cpu.cfs_quota_us")).ok()?,
                    self.root.parse::<f64>(&format!("{directory}/cpu.cfs_period_us")).ok()?,
                ),
            };
            let cpus = quota / period;
            (quota > 0.0 && period > 0.0 && cpus.is_finite()).then_some(cpus)
        });
        quotas.min_by(f64::total_cmp).ok_or_else(|| "no control group limits CPU time".to_owned())
    }

    /// The CPUs of the cpuset of this process.
    pub fn cpuset_cpus(&self) -> Result<Vec<usize>, Reason> {
        self.cpuset(&["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"])
    }

    /// The memory nodes of the cpuset of this process.
    pub fn cpuset_memory_nodes(&self) -> Result<Vec<usize>, Reason> {
        self.cpuset(&["cpuset.mems.effective", "cpuset.effective_mems", "cpuset.mems"])
    }

    fn cpuset(&self, files: &[&str]) -> Result<Vec<usize>, Reason> {
        let hierarchy = self.controller("cpuset")?;
        let nearest = hierarchy.directories.iter().find_map(|directory| {
            files.iter().find_map(|file| {
                let list =
                    cpulist::parse(&self.root.text(&format!("{directory}/{file}")).ok()?).ok()?;
                (!list.is_empty()).then_some(list)
            })
        });
        nearest.ok_or_else(|| "no control group above this process has a cpuset".to_owned())
    }

    /// The hard memory limit.
    pub fn memory_limit_bytes(&self) -> Result<u64, Reason> {
        let hierarchy = self.controller("memory")?;
        let own = self.tightest(hierarchy, "memory.max", "memory.limit_in_bytes");
        // A namespaced view hides the groups above; version 1 tells their limit in the statistics.
        let hidden =
            hierarchy.directories.first().filter(|_| hierarchy.version == Version::One).and_then(
                |own| {
                    let text = self.root.text(&format!("{own}/memory.stat")).ok()?;
                    let line = text
                        .lines()
                        .find_map(|line| line.strip_prefix("hierarchical_memory_limit "))?;
                    line.trim().parse::<u64>().ok().filter(|limit| *limit < V1_UNLIMITED)
                },
            );
        own.into_iter()
            .chain(hidden)
            .min()
            .ok_or_else(|| "no control group limits memory".to_owned())
    }

    /// The memory use above which the group is throttled (version 2 only).
    pub fn memory_high_bytes(&self) -> Result<u64, Reason> {
        let hierarchy = self.second("memory", "memory.high")?;
        self.tightest(hierarchy, "memory.high", "")
            .ok_or_else(|| "no control group sets memory.high".to_owned())
    }

    /// The swap the process may use beyond its memory.
    pub fn swap_limit_bytes(&self) -> Result<u64, Reason> {
        let hierarchy = self.controller("memory")?;
        let limit = self.tightest(hierarchy, "memory.swap.max", "memory.memsw.limit_in_bytes");
        let limit = limit.ok_or_else(|| "no control group limits swap".to_owned())?;
        match hierarchy.version {
            Version::Two => Ok(limit),
            Version::One => Ok(limit.saturating_sub(self.memory_limit_bytes().unwrap_or(0))),
        }
    }

    /// How many processes and threads the group may have.
    pub fn process_limit(&self) -> Result<u64, Reason> {
        let hierarchy = self.controller("pids")?;
        self.tightest(hierarchy, "pids.max", "pids.max")
            .ok_or_else(|| "no control group limits the number of processes".to_owned())
    }

    /// The share of CPU time under contention, version 2 (100 is the default).
    pub fn cpu_weight(&self) -> Result<u64, Reason> {
        let hierarchy = self.second("cpu", "cpu.weight")?;
        self.nearest(hierarchy, &["cpu.weight"])
    }

    /// The share of CPU time under contention, version 1 (1024 is the default).
    pub fn cpu_shares(&self) -> Result<u64, Reason> {
        let hierarchy = self.controller("cpu")?;
        if hierarchy.version == Version::Two {
            return Err("control groups version 2 have cpu_weight in place of shares".to_owned());
        }
        self.nearest(hierarchy, &["cpu.shares"])
    }

    /// The share of block device time under contention.
    pub fn io_weight(&self) -> Result<u64, Reason> {
        self.nearest(
            self.block()?,
            &["io.weight", "io.bfq.weight", "blkio.weight", "blkio.bfq.weight"],
        )
    }

    /// Bandwidth limits of block devices, of every group above this process, nearest first.
    pub fn io_limits(&self) -> Result<Vec<DeviceLimit>, Reason> {
        let hierarchy = self.block()?;
        let mut devices: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        for directory in &hierarchy.directories {
            for (device, name, limit) in self.io_lines(hierarchy.version, directory) {
                let known = devices.entry(device).or_default().entry(name).or_insert(limit);
                *known = limit.min(*known);
            }
        }
        if devices.is_empty() {
            return Err("no control group limits block devices".to_owned());
        }
        Ok(devices.into_iter().map(|(device, limits)| DeviceLimit { device, limits }).collect())
    }

    fn io_lines(&self, version: Version, directory: &str) -> Vec<(String, String, u64)> {
        let mut found = Vec::new();
        let lines = |file: &str, each: &mut dyn FnMut(&str, &str)| {
            let text = self.root.text(&format!("{directory}/{file}")).unwrap_or_default();
            for line in text.lines().take(MAX_IO_LINES) {
                if let Some((device, rest)) = line.split_once(' ') {
                    each(device, rest);
                }
            }
        };
        match version {
            Version::Two => lines("io.max", &mut |device, rest| {
                for (name, value) in rest.split_whitespace().filter_map(|pair| pair.split_once('='))
                {
                    if let Ok(limit) = value.parse() {
                        found.push((device.to_owned(), name.to_owned(), limit));
                    }
                }
            }),
            Version::One => {
                for (file, name) in [
                    ("blkio.throttle.read_bps_device", "rbps"),
                    ("blkio.throttle.write_bps_device", "wbps"),
                    ("blkio.throttle.read_iops_device", "riops"),
                    ("blkio.throttle.write_iops_device", "wiops"),
                ] {
                    lines(file, &mut |device, rest| {
                        if let Ok(limit) = rest.trim().parse() {
                            found.push((device.to_owned(), name.to_owned(), limit));
                        }
                    });
                }
            }
        }
        found
    }

    fn block(&self) -> Result<&Hierarchy, Reason> {
        self.controllers.get("blkio").map_or_else(|| self.controller("io"), Ok)
    }

    fn controller(&self, name: &str) -> Result<&Hierarchy, Reason> {
        self.controllers.get(name).or(self.unified.as_ref()).ok_or_else(|| self.missing(name))
    }

    fn second(&self, controller: &str, file: &str) -> Result<&Hierarchy, Reason> {
        let hierarchy = self.controller(controller)?;
        if hierarchy.version == Version::One {
            return Err(format!("control groups version 1 have no {file}"));
        }
        Ok(hierarchy)
    }

    fn missing(&self, controller: &str) -> Reason {
        self.version().err().unwrap_or_else(|| format!("no {controller} control group is mounted"))
    }

    fn tightest(&self, hierarchy: &Hierarchy, second: &str, first: &str) -> Option<u64> {
        let file = if hierarchy.version == Version::Two { second } else { first };
        let limits = hierarchy
            .directories
            .iter()
            .filter_map(|directory| self.root.parse(&format!("{directory}/{file}")).ok());
        limits.filter(|limit| *limit < V1_UNLIMITED).min()
    }

    fn nearest(&self, hierarchy: &Hierarchy, files: &[&str]) -> Result<u64, Reason> {
        let found = hierarchy.directories.iter().find_map(|directory| {
            files.iter().find_map(|file| {
                let text = self.root.text(&format!("{directory}/{file}")).ok()?;
                text.split_whitespace().find(|word| *word != "default")?.parse().ok()
            })
        });
        found.ok_or_else(|| format!("no control group above this process has {}", files[0]))
    }
}

fn default_unified(root: &SystemRoot) -> String {
    let hybrid = "/sys/fs/cgroup/unified";
    if root.exists(hybrid) { hybrid.to_owned() } else { "/sys/fs/cgroup".to_owned() }
}

/// The directories from the group of the process to the mount point. A path that leads outside what is mounted,
/// as in containers without a control group namespace of their own, is taken as the mount point.
fn hierarchy(
    root: &SystemRoot,
    version: Version,
    point: &str,
    base: &str,
    path: &str,
) -> Option<Hierarchy> {
    if !root.exists(point)
        || (version == Version::Two && !root.exists(&format!("{point}/cgroup.controllers")))
    {
        return None;
    }
    let point = point.trim_end_matches('/');
    let inside = match base.trim_end_matches('/') {
        "" => path,
        base => path
            .strip_prefix(base)
            .filter(|rest| rest.is_empty() || rest.starts_with('/'))
            .unwrap_or(path),
    };
    let names: Vec<&str> =
        inside.split('/').filter(|name| !name.is_empty()).take(MAX_DEPTH).collect();
    let mut directories = Vec::new();
    if !names.contains(&"..") {
        let own = format!("{point}/{}", names.join("/"));
        if !names.is_empty() && root.exists(&own) {
            directories.extend(
                (1..=names.len())
                    .rev()
                    .map(|depth| format!("{point}/{}", names[..depth].join("/"))),
            );
        }
    }
    directories.push(point.to_owned());
    Some(Hierarchy { version, path: path.to_owned(), directories })
}

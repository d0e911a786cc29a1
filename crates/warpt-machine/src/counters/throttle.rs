//! The CPU limit of the control groups this process is in, and how long they were held back by it. A limit may
//! sit on any ancestor, so every level up to the root is read; cgroup v1 and v2 are both understood. Only files
//! below `/sys/fs/cgroup` are touched.

use crate::source::{Reason, SystemRoot};

const MOUNT: &str = "/sys/fs/cgroup";

/// Nesting beyond this is not followed.
const MAX_LEVELS: usize = 32;

/// The control-group directories that limit this process's CPU time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttle {
    levels: Vec<String>,
}

impl Throttle {
    /// Finds the directories of this process's CPU control group and its ancestors.
    pub fn open(root: &SystemRoot) -> Result<Self, Reason> {
        let text = root.text("/proc/self/cgroup")?;
        let (mounts, path) = cpu_group(&text)
            .ok_or_else(|| "/proc/self/cgroup names no group with a CPU limit".to_owned())?;
        let mount =
            mounts.iter().find(|mount| root.exists(&format!("{mount}/cpu.stat"))).ok_or_else(
                || format!("no cpu.stat below {MOUNT}, so no CPU control group is mounted"),
            )?;
        let levels = ancestors(mount, &path)
            .into_iter()
            .filter(|directory| root.exists(&format!("{directory}/cpu.stat")))
            .collect();
        Ok(Self { levels })
    }

    /// Seconds the groups' threads were held back since the groups were made, summed over CPUs.
    pub fn throttled_seconds(&self, root: &SystemRoot) -> Result<f64, Reason> {
        let mut sum = None;
        for directory in &self.levels {
            let text = root.text(&format!("{directory}/cpu.stat"))?;
            if let Some(seconds) = throttled(&text) {
                *sum.get_or_insert(0.0) += seconds;
            }
        }
        sum.ok_or_else(|| {
            "this process is in the root control group, which has no CPU limit".to_owned()
        })
    }

    /// The smallest CPU limit of all levels, in CPUs; `None` where none is set.
    pub fn limit_cpus(&self, root: &SystemRoot) -> Option<f64> {
        self.levels
            .iter()
            .filter_map(|directory| {
                let v2 = root.text(&format!("{directory}/cpu.max")).ok();
                v2.map_or_else(
                    || {
                        let quota = root.parse(&format!("{directory}/cpu.cfs_quota_us")).ok()?;
                        quotient(quota, root.parse(&format!("{directory}/cpu.cfs_period_us")).ok()?)
                    },
                    |text| {
                        let (quota, period) = text.split_once(' ')?;
                        quotient(quota.parse().ok()?, period.trim().parse().ok()?)
                    },
                )
            })
            .min_by(f64::total_cmp)
    }
}

fn quotient(quota: f64, period: f64) -> Option<f64> {
    (quota > 0.0 && period > 0.0 && quota.is_finite() && period.is_finite()).then(|| quota / period)
}

/// Where the CPU controller may be mounted and the group's path below it.
fn cpu_group(text: &str) -> Option<(Vec<String>, String)> {
    let mut unified = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if controllers.split(',').any(|controller| controller == "cpu") {
            let mounts = vec![format!("{MOUNT}/cpu"), format!("{MOUNT}/cpu,cpuacct")];
            return Some((mounts, path.to_owned()));
        }
        if controllers.is_empty() {
            unified = Some((vec![MOUNT.to_owned(), format!("{MOUNT}/unified")], path.to_owned()));
        }
    }
    unified
}

/// The group's directory and those above it. A path that leaves the mount (seen from inside a container) or
/// holds more than names stands for the mount itself.
fn ancestors(mount: &str, path: &str) -> Vec<String> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    if names.contains(&"..") || names.contains(&".") {
        return vec![mount.to_owned()];
    }
    let mut directory = mount.to_owned();
    let mut levels = vec![directory.clone()];
    for name in names.into_iter().take(MAX_LEVELS) {
        directory = format!("{directory}/{name}");
        levels.push(directory.clone());
    }
    levels
}

fn throttled(text: &str) -> Option<f64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let unit = match name {
            "throttled_usec" => 1e-6,
            "throttled_time" => 1e-9,
            _ => return None,
        };
        value.trim().parse::<u64>().ok().map(|value| value as f64 * unit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::Captured;

    #[test]
    fn a_limit_on_an_ancestor_of_a_v2_group_is_found() {
        let tree = Captured::new(&[
            ("/proc/self/cgroup", "0::/limited/inner\n"),
            ("/sys/fs/cgroup/cpu.stat", "usage_usec 5\n"),
            ("/sys/fs/cgroup/limited/cpu.stat", "usage_usec 5\nthrottled_usec 2500000\n"),
            ("/sys/fs/cgroup/limited/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/limited/inner/cpu.stat", "throttled_usec 0\n"),
            ("/sys/fs/cgroup/limited/inner/cpu.max", "max 100000\n"),
        ]);
        let throttle = Throttle::open(&tree.root).unwrap();
        assert_eq!(throttle.throttled_seconds(&tree.root), Ok(2.5));
        assert_eq!(throttle.limit_cpus(&tree.root), Some(1.5));
    }

    #[test]
    fn a_v1_group_is_read_and_a_path_that_leaves_the_mount_is_not_followed() {
        let tree = Captured::new(&[
            ("/proc/self/cgroup", "2:cpuacct:/x\n1:cpu:/../..\n0::/\n"),
            ("/sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 1\nthrottled_time 1000000000\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ]);
        let throttle = Throttle::open(&tree.root).unwrap();
        assert_eq!(throttle.levels, vec!["/sys/fs/cgroup/cpu"]);
        assert_eq!(throttle.throttled_seconds(&tree.root), Ok(1.0));
        assert_eq!(throttle.limit_cpus(&tree.root), Some(0.5));
    }

    #[test]
    fn the_root_group_and_a_missing_mount_are_reasons() {
        let tree = Captured::new(&[("/proc/self/cgroup", "0::/\n")]);
        assert!(Throttle::open(&tree.root).unwrap_err().contains("no CPU control group"));
        tree.write("/sys/fs/cgroup/cpu.stat", "usage_usec 5\n");
        let throttle = Throttle::open(&tree.root).unwrap();
        assert!(throttle.throttled_seconds(&tree.root).unwrap_err().contains("root control group"));
        assert_eq!(throttle.limit_cpus(&tree.root), None);
    }
}

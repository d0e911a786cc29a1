//! Processor time by kind, from `/proc/stat`: for the whole machine and for each CPU, in clock ticks. Guest time
//! is already part of user time there, so it is not counted again.

use super::percent;
use crate::source::{Reason, SystemRoot};

/// CPUs beyond this many are summed but not listed.
const MAX_CPUS: usize = 4096;

/// Ticks spent since boot (or between two readings), by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// User time, niced user time included.
    pub user: u64,
    /// Kernel time, interrupts included.
    pub system: u64,
    /// Idle with nothing to wait for.
    pub idle: u64,
    /// Idle while storage is awaited.
    pub iowait: u64,
    /// Taken by the hypervisor for someone else.
    pub steal: u64,
}

impl CpuTimes {
    /// All ticks.
    pub fn total(&self) -> u64 {
        [self.user, self.system, self.idle, self.iowait, self.steal]
            .into_iter()
            .fold(0, u64::saturating_add)
    }

    /// Ticks in which this machine's own work ran.
    pub fn busy(&self) -> u64 {
        self.user.saturating_add(self.system)
    }

    /// What was spent after `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            iowait: self.iowait.saturating_sub(earlier.iowait),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    /// Share of ticks in which this machine's work ran.
    pub fn busy_percent(&self) -> Option<f64> {
        percent(self.busy() as f64, self.total() as f64)
    }

    /// Share of ticks the hypervisor took away.
    pub fn steal_percent(&self) -> Option<f64> {
        percent(self.steal as f64, self.total() as f64)
    }

    /// Share of ticks idle while storage was awaited.
    pub fn iowait_percent(&self) -> Option<f64> {
        percent(self.iowait as f64, self.total() as f64)
    }

    fn parse(fields: &str) -> Option<Self> {
        let mut values = fields.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
        let mut required = || values.next().flatten();
        let (user, nice, system, idle) = (required()?, required()?, required()?, required()?);
        let mut optional = || values.next().flatten().unwrap_or(0);
        let (iowait, irq, softirq, steal) = (optional(), optional(), optional(), optional());
        Some(Self {
            user: user.saturating_add(nice),
            system: system.saturating_add(irq).saturating_add(softirq),
            idle,
            iowait,
            steal,
        })
    }
}

/// One reading of `/proc/stat`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuReading {
    /// All CPUs together.
    pub all: CpuTimes,
    /// Each online CPU with its number.
    pub each: Vec<(u32, CpuTimes)>,
}

impl CpuReading {
    /// The counters now.
    pub fn read(root: &SystemRoot) -> Result<Self, Reason> {
        let bytes = root.bytes("/proc/stat")?;
        Self::parse(&String::from_utf8_lossy(&bytes))
            .ok_or_else(|| "/proc/stat has no line of processor times".to_owned())
    }

    /// The counters in the text of `/proc/stat`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut all = None;
        let mut each = Vec::new();
        // The cpu lines come first; the long interrupt line after them is never looked at.
        for line in text.lines().take_while(|line| line.starts_with("cpu")) {
            let Some((label, fields)) = line.split_once(' ') else { continue };
            match label.trim_start_matches("cpu") {
                "" => all = CpuTimes::parse(fields),
                number if each.len() < MAX_CPUS => {
                    if let (Ok(number), Some(times)) = (number.parse(), CpuTimes::parse(fields)) {
                        each.push((number, times));
                    }
                }
                _ => {}
            }
        }
        Some(Self { all: all?, each })
    }

    /// Busy percent of each CPU that both readings have, in CPU order; a CPU without a tick in between is 0.
    pub fn busy_percent_each(&self, earlier: &Self) -> Vec<f64> {
        self.each
            .iter()
            .enumerate()
            .filter_map(|(position, (number, times))| {
                let same = |candidate: &&(u32, CpuTimes)| candidate.0 == *number;
                let before = earlier
                    .each
                    .get(position)
                    .filter(same)
                    .or_else(|| earlier.each.iter().find(same))?;
                Some(times.since(&before.1).busy_percent().unwrap_or(0.0))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "cpu  100 10 50 800 20 5 5 10 7 0\ncpu0 50 5 25 400 10 5 5 5 0 0\n\
                         cpu1 50 5 25 400 10 0 0 5 7 0\nintr 1 2 3\n";
    const SECOND: &str = "cpu  140 10 60 840 20 5 5 20 9 0\ncpu0 90 5 35 400 10 5 5 5 0 0\n\
                          cpu1 50 5 25 440 10 0 0 15 9 0\nintr 1 2 3\n";

    #[test]
    fn the_difference_of_two_readings_is_what_happened_between_them() {
        let (first, second) =
            (CpuReading::parse(FIRST).unwrap(), CpuReading::parse(SECOND).unwrap());
        let between = second.all.since(&first.all);
        assert_eq!((between.busy(), between.total(), between.steal), (50, 100, 10));
        assert_eq!(between.busy_percent(), Some(50.0));
        assert_eq!(between.steal_percent(), Some(10.0));
        assert_eq!(second.busy_percent_each(&first), vec![100.0, 0.0]);
    }

    #[test]
    fn old_kernels_and_broken_text_are_read_as_far_as_they_go() {
        let old = CpuReading::parse("cpu 1 2 3 4\n").unwrap();
        assert_eq!((old.all.total(), old.all.steal), (10, 0));
        assert!(old.each.is_empty());
        assert_eq!(CpuReading::parse(""), None);
        assert_eq!(CpuReading::parse("cpu x y z\n"), None);
        assert_eq!(CpuTimes::default().busy_percent(), None);
    }
}

//! What happened on the machine while something was measured: whether the hypervisor or other processes took CPU
//! time, whether a limit or the heat held the CPU back, whether pages had to be fetched. A probe reads a handful
//! of counters before and after; nothing runs in between.

use crate::absent::Absent;
use crate::counters::cpu::{CpuReading, CpuTimes};
use crate::counters::process::ProcessTimes;
use crate::counters::sensors::CpuClocks;
use crate::counters::throttle::Throttle;
use crate::counters::{load, percent, rounded};
use crate::resource_usage::ResourceUsage;
use crate::source::{Reason, SystemRoot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// The kernel counts processor time in ticks; shares of fewer than this many would be guesses.
const FEWEST_TICKS: u64 = 20;

/// What happened during a measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Conditions {
    /// How long it took.
    pub wall_seconds: f64,
    /// Share of all CPUs' time the hypervisor gave to others.
    pub steal_percent: Option<f64>,
    /// Load average over the minute before the end.
    pub load_1m: Option<f64>,
    /// Share of all CPUs' time used by processes other than this one and its children.
    pub other_busy_percent: Option<f64>,
    /// Share of the time in which some task waited for a CPU.
    pub cpu_pressure_percent: Option<f64>,
    /// Times a CPU was taken away from this process or its finished children.
    pub involuntary_context_switches: Option<u64>,
    /// Times this process or its finished children gave a CPU up to wait.
    pub voluntary_context_switches: Option<u64>,
    /// Page faults of this process and its finished children that had to read from storage.
    pub major_page_faults: Option<u64>,
    /// Time the CPU limit of this control group held its threads back, summed over CPUs.
    pub throttled_seconds: Option<f64>,
    /// Clock at the end as a fraction of the highest one.
    pub frequency_ratio: Option<f64>,
    /// The reason for each null field.
    #[serde(skip_serializing_if = "Absent::is_empty")]
    pub absent: Absent,
    /// Fields this version does not know, kept as they were read.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Counters at the beginning of a measurement.
#[derive(Debug)]
pub struct ConditionsProbe {
    root: SystemRoot,
    children: Vec<u32>,
    throttle: Result<Throttle, Reason>,
    clocks: Result<CpuClocks, Reason>,
    before: Reading,
}

/// All counters at one moment.
#[derive(Debug, Clone)]
struct Reading {
    taken: Instant,
    cpu: Result<CpuTimes, Reason>,
    usage: Result<ResourceUsage, Reason>,
    pressure_microseconds: Result<u64, Reason>,
    throttled_seconds: Result<f64, Reason>,
}

impl ConditionsProbe {
    /// Reads the counters before a measurement.
    pub fn begin(root: &SystemRoot) -> Self {
        Self::begin_with_children(root, &[])
    }

    /// The same, with running child processes whose CPU time belongs to the measurement. Children that have
    /// ended and been waited for are counted anyway.
    pub fn begin_with_children(root: &SystemRoot, children: &[u32]) -> Self {
        let throttle = Throttle::open(root);
        let clocks = CpuClocks::open(root);
        let before = Reading::take(root, children, &throttle);
        Self { root: root.clone(), children: children.to_vec(), throttle, clocks, before }
    }

    /// Starts the next measurement with this probe, which need not look for its files again.
    pub fn restart(&mut self) {
        self.before = Reading::take(&self.root, &self.children, &self.throttle);
    }

    /// Reads the counters again and says what happened in between.
    pub fn end(&self) -> Conditions {
        let after = Reading::take(&self.root, &self.children, &self.throttle);
        let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
        let mut conditions = between(&self.before, &after, ticks_per_second);
        let absent = &mut conditions.absent;
        conditions.load_1m = absent.take("load_1m", load::load_1m(&self.root));
        let ratio = self.clocks.as_ref().map_err(Clone::clone).and_then(|clocks| {
            Ok(clocks.megahertz(&self.root)? / clocks.maximum_megahertz(&self.root)?)
        });
        conditions.frequency_ratio =
            absent.take("frequency_ratio", ratio.map(|ratio| rounded(ratio, 4)));
        conditions
    }
}

impl Reading {
    fn take(root: &SystemRoot, children: &[u32], throttle: &Result<Throttle, Reason>) -> Self {
        let usage = if root.is_live() {
            let own = ResourceUsage::of_this_process();
            let finished = ResourceUsage::of_finished_children();
            let ticks_per_second = rustix::param::clock_ticks_per_second() as f64;
            let running: u64 = children
                .iter()
                .filter_map(|child| ProcessTimes::read(root, *child))
                .map(|child| child.ticks.saturating_add(child.child_ticks))
                .fold(0, u64::saturating_add);
            Ok(ResourceUsage {
                cpu_seconds: own.cpu_seconds
                    + finished.cpu_seconds
                    + running as f64 / ticks_per_second,
                major_page_faults: own.major_page_faults + finished.major_page_faults,
                minor_page_faults: own.minor_page_faults + finished.minor_page_faults,
                voluntary_context_switches: own.voluntary_context_switches
                    + finished.voluntary_context_switches,
                involuntary_context_switches: own.involuntary_context_switches
                    + finished.involuntary_context_switches,
            })
        } else {
            Err("a captured tree has no running process".to_owned())
        };
        Self {
            taken: Instant::now(),
            cpu: CpuReading::read(root).map(|reading| reading.all),
            usage,
            pressure_microseconds: load::cpu_pressure_microseconds(root),
            throttled_seconds: throttle
                .as_ref()
                .map_err(Clone::clone)
                .and_then(|throttle| throttle.throttled_seconds(root)),
        }
    }
}

/// What two readings say about the time between them.
fn between(before: &Reading, after: &Reading, ticks_per_second: f64) -> Conditions {
    let wall = after.taken.saturating_duration_since(before.taken);
    let mut absent = Absent::default();
    let cpu = pair(&before.cpu, &after.cpu).and_then(|(before, after)| {
        let spent = after.since(before);
        if spent.total() < FEWEST_TICKS {
            return Err(format!("{} clock ticks are too few to tell shares from", spent.total()));
        }
        Ok(spent)
    });
    let usage = pair(&before.usage, &after.usage);
    let other = cpu.clone().and_then(|spent| {
        let (before, after) = usage.clone()?;
        let own_ticks = (after.cpu_seconds - before.cpu_seconds).max(0.0) * ticks_per_second;
        percent((spent.busy() as f64 - own_ticks).max(0.0), spent.total() as f64)
            .ok_or_else(|| "no time was counted".to_owned())
    });
    let pressure = pair(&before.pressure_microseconds, &after.pressure_microseconds)
        .and_then(|(before, after)| waited_percent(after.saturating_sub(*before), wall));
    let throttled = pair(&before.throttled_seconds, &after.throttled_seconds);
    let steal =
        cpu.and_then(|spent| spent.steal_percent().ok_or_else(|| "no time was counted".into()));
    let mut count = |field: &str, value: fn(&ResourceUsage) -> u64| {
        let counted =
            usage.clone().map(|(before, after)| value(after).saturating_sub(value(before)));
        absent.take(field, counted)
    };
    let involuntary_context_switches =
        count("involuntary_context_switches", |usage| usage.involuntary_context_switches);
    let voluntary_context_switches =
        count("voluntary_context_switches", |usage| usage.voluntary_context_switches);
    let major_page_faults = count("major_page_faults", |usage| usage.major_page_faults);
    Conditions {
        wall_seconds: wall.as_secs_f64(),
        steal_percent: absent.take("steal_percent", steal.map(|share| rounded(share, 3))),
        load_1m: None,
        other_busy_percent: absent.take("other_busy_percent", other.map(|share| rounded(share, 3))),
        cpu_pressure_percent: absent.take("cpu_pressure_percent", pressure),
        involuntary_context_switches,
        voluntary_context_switches,
        major_page_faults,
        throttled_seconds: absent.take(
            "throttled_seconds",
            throttled.map(|(before, after)| rounded((after - before).max(0.0), 6)),
        ),
        frequency_ratio: None,
        absent,
        extra: Map::new(),
    }
}

fn pair<'a, T>(
    before: &'a Result<T, Reason>,
    after: &'a Result<T, Reason>,
) -> Result<(&'a T, &'a T), Reason> {
    match (before, after) {
        (Ok(before), Ok(after)) => Ok((before, after)),
        (Err(reason), _) | (_, Err(reason)) => Err(reason.clone()),
    }
}

fn waited_percent(microseconds: u64, wall: Duration) -> Result<f64, Reason> {
    percent(microseconds as f64 * 1e-6, wall.as_secs_f64())
        .map(|share| rounded(share, 3))
        .ok_or_else(|| "no time passed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::captured::Captured;

    fn reading(taken: Instant, busy: u64, steal: u64, own_seconds: f64) -> Reading {
        Reading {
            taken,
            cpu: Ok(CpuTimes {
                user: busy,
                idle: 1000 - busy - steal,
                steal,
                ..CpuTimes::default()
            }),
            usage: Ok(ResourceUsage {
                cpu_seconds: own_seconds,
                involuntary_context_switches: busy,
                ..ResourceUsage::default()
            }),
            pressure_microseconds: Ok(busy * 1000),
            throttled_seconds: Ok(own_seconds / 2.0),
        }
    }

    #[test]
    fn what_others_used_is_what_neither_this_process_nor_its_children_used() {
        let start = Instant::now();
        let mut before = reading(start, 0, 0, 1.0);
        before.cpu = Ok(CpuTimes::default());
        let after = reading(start + Duration::from_secs(5), 600, 50, 5.0);
        let conditions = between(&before, &after, 100.0);
        assert_eq!(conditions.wall_seconds, 5.0);
        assert_eq!(conditions.steal_percent, Some(5.0));
        assert_eq!(conditions.other_busy_percent, Some(20.0));
        assert_eq!(conditions.cpu_pressure_percent, Some(12.0));
        assert_eq!(conditions.throttled_seconds, Some(2.0));
        assert_eq!(conditions.involuntary_context_switches, Some(600));
        assert!(conditions.absent.is_empty(), "{:?}", conditions.absent);
    }

    #[test]
    fn a_window_of_a_few_ticks_has_no_shares() {
        let start = Instant::now();
        let mut after = reading(start, 5, 0, 0.0);
        let before = after.clone();
        after.cpu = Ok(CpuTimes { user: 10, idle: 995, ..CpuTimes::default() });
        let conditions = between(&before, &after, 100.0);
        assert_eq!((conditions.steal_percent, conditions.other_busy_percent), (None, None));
        assert_eq!(
            conditions.absent.reason("steal_percent"),
            Some("5 clock ticks are too few to tell shares from")
        );
        assert_eq!(conditions.absent.reason("cpu_pressure_percent"), Some("no time passed"));
    }

    #[test]
    fn an_empty_tree_is_all_reasons_and_the_record_survives_a_round_trip() {
        let tree = Captured::new(&[]);
        let conditions = ConditionsProbe::begin(&tree.root).end();
        let value = serde_json::to_value(&conditions).unwrap();
        for (field, content) in value.as_object().unwrap() {
            if content.is_null() {
                assert!(conditions.absent.reason(field).is_some(), "{field}");
            }
        }
        let mut later = value;
        later["new_field"] = serde_json::json!(3);
        let read: Conditions = serde_json::from_value(later.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), later);
    }

    #[test]
    fn the_running_machine_is_probed() {
        let mut probe = ConditionsProbe::begin_with_children(&SystemRoot::live(), &[u32::MAX]);
        let conditions = probe.end();
        assert!(conditions.voluntary_context_switches.is_some());
        assert!(conditions.load_1m.is_some());
        probe.restart();
        assert!(probe.end().wall_seconds >= 0.0);
    }
}

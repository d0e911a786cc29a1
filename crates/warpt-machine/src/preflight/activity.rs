//! What moves on the machine while it is watched: stolen time, load, other processes, heat. Each is judged by the
//! difference of two readings.

use super::{PreflightConfig, Report};
use crate::counters::cpu::CpuReading;
use crate::counters::load;
use crate::counters::process::ProcessTimes;
use crate::source::{Reason, SystemRoot};
use std::collections::HashMap;

/// Processes named in the finding.
const NAMED_PROCESSES: usize = 3;
const MAX_CPUS: usize = 1024;

/// Everything that moves, at one moment.
pub(super) struct Activity {
    cpu: Result<CpuReading, Reason>,
    processes: HashMap<u32, ProcessTimes>,
    more_processes: bool,
    throttle_events: Result<u64, Reason>,
}

impl Activity {
    pub(super) fn read(root: &SystemRoot) -> Self {
        let cpu = CpuReading::read(root);
        let (processes, more_processes) = ProcessTimes::read_all(root);
        let processes = processes.into_iter().map(|process| (process.id, process)).collect();
        Self { cpu, processes, more_processes, throttle_events: throttle_events(root) }
    }
}

/// Compares the machine now with how it was.
pub(super) fn check(
    root: &SystemRoot,
    config: &PreflightConfig,
    before: &Activity,
    report: &mut Report,
) {
    let after = Activity::read(root);
    let cpus = after.cpu.as_ref().map_or(1, |reading| reading.each.len().max(1));
    stolen(config, before, &after, report);
    match load::load_1m(root) {
        Ok(load) if load > (config.load_per_cpu * cpus as f64).max(0.5) => report.warn(
            "load-high",
            format!("the load average is {load:.2} on {cpus} CPUs"),
            "wait until other work has ended",
        ),
        Ok(_) => {}
        Err(reason) => report.absent.note("load", reason),
    }
    busy_processes(config, before, &after, cpus, report);
    heat(before, &after, report);
}

fn stolen(config: &PreflightConfig, before: &Activity, after: &Activity, report: &mut Report) {
    let (before, after) = match (&before.cpu, &after.cpu) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(reason), _) | (_, Err(reason)) => return report.absent.note("steal", reason.clone()),
    };
    let advice = "use a host with dedicated cores, or repeat at a quieter hour";
    let now = after.all.since(&before.all).steal_percent().unwrap_or(0.0);
    if now >= config.steal_percent {
        let message = format!("the hypervisor took {now:.1}% of the CPU time while it was watched");
        report.warn("steal-now", message, advice);
    }
    let ever = after.all.steal_percent().unwrap_or(0.0);
    if ever >= config.steal_percent {
        let message = format!("the hypervisor has taken {ever:.1}% of the CPU time since boot");
        report.warn("steal-since-boot", message, advice);
    } else if after.all.steal > 0 {
        let message = format!("the hypervisor has taken a little CPU time since boot ({ever:.2}%)");
        report.note("steal-since-boot", message, advice);
    }
}

fn busy_processes(
    config: &PreflightConfig,
    before: &Activity,
    after: &Activity,
    cpus: usize,
    report: &mut Report,
) {
    let (Ok(earlier), Ok(later)) = (&before.cpu, &after.cpu) else {
        return report.absent.note("other-processes", "without /proc/stat no share can be told");
    };
    if after.processes.is_empty() {
        return report.absent.note("other-processes", "/proc shows no process");
    }
    if after.more_processes {
        let seen = after.processes.len();
        report
            .absent
            .note("other-processes", format!("only the newest {seen} processes were watched"));
    }
    // The ticks all CPUs counted say how long one CPU was watched, without a clock.
    let ticks_per_cpu = later.all.since(&earlier.all).total() as f64 / cpus as f64;
    if ticks_per_cpu < 1.0 {
        return report
            .absent
            .note("other-processes", "no clock tick passed while they were watched");
    }
    let own = std::process::id();
    let mut busy: Vec<(f64, &ProcessTimes)> = after
        .processes
        .values()
        .filter(|process| process.id != own && process.parent != own)
        .filter_map(|process| {
            let earlier =
                before.processes.get(&process.id).filter(|e| e.started == process.started);
            // A process that has come meanwhile has used all of its time meanwhile.
            let used = process.ticks.saturating_sub(earlier.map_or(0, |earlier| earlier.ticks));
            (used > 0).then(|| (100.0 * used as f64 / ticks_per_cpu, process))
        })
        .collect();
    let all: f64 = busy.iter().map(|(share, _)| share).sum();
    if all < config.other_busy_percent {
        return;
    }
    busy.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.id.cmp(&right.1.id)));
    let names: Vec<String> = busy
        .iter()
        .take(NAMED_PROCESSES)
        .map(|(share, process)| format!("{} (pid {}) {share:.0}%", process.name, process.id))
        .collect();
    let message = format!("other processes use {all:.0}% of one CPU: {}", names.join(", "));
    report.warn("other-processes-busy", message, "end them or wait for them");
}

fn heat(before: &Activity, after: &Activity, report: &mut Report) {
    let advice = "improve cooling, or measure at a fixed lower clock";
    match (&before.throttle_events, &after.throttle_events) {
        (Ok(before), Ok(after)) if after > before => {
            report.warn(
                "thermal-throttled",
                "the CPU is slowing itself down because of heat",
                advice,
            );
        }
        (Ok(_), Ok(events @ 1..)) => {
            let message =
                format!("the CPU has slowed down because of heat {events} times since boot");
            report.note("thermal-throttled", message, advice);
        }
        (Ok(_), Ok(_)) => {}
        (Err(reason), _) | (_, Err(reason)) => {
            report.absent.note("thermal-throttle", reason.clone());
        }
    }
}

/// How often any CPU has slowed down because of heat.
fn throttle_events(root: &SystemRoot) -> Result<u64, Reason> {
    let directory = "/sys/devices/system/cpu";
    let mut events = None;
    let cpus = root.names(directory)?.into_iter().filter(|name| {
        name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok())
    });
    for cpu in cpus.take(MAX_CPUS) {
        for kind in ["core", "package"] {
            let path = format!("{directory}/{cpu}/thermal_throttle/{kind}_throttle_count");
            match root.parse::<u64>(&path) {
                Ok(count) => events = Some(events.unwrap_or(0u64).saturating_add(count)),
                // Machines without these counters have them on no CPU.
                Err(_) if events.is_none() => {
                    return Err(format!(
                        "{path} does not exist; a virtual machine usually hides it"
                    ));
                }
                Err(_) => {}
            }
        }
    }
    events.ok_or_else(|| format!("{directory} lists no CPU"))
}

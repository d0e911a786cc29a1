//! Settings and properties of the machine that make measurements vary: clocks, sharing of cores, limits, memory
//! management, time keeping and where files would go.

use super::{PreflightConfig, Report};
use crate::counters::memory::Memory;
use crate::counters::percent;
use crate::counters::sensors::CpuClocks;
use crate::counters::throttle::Throttle;
use crate::source::SystemRoot;
use rustix::time::{ClockId, clock_getres};

/// Looks at everything that does not move within a fraction of a second.
pub(super) fn check(root: &SystemRoot, config: &PreflightConfig, report: &mut Report) {
    clocks(root, report);
    shared_cores(root, report);
    limits(root, report);
    memory(root, config, report);
    kernel(root, report);
    time_keeping(root, report);
    power_supply(root, report);
    working_directory(root, config, report);
}

fn clocks(root: &SystemRoot, report: &mut Report) {
    let governor = CpuClocks::open(root).and_then(|clocks| clocks.governor(root));
    match report.absent.take("governor", governor).as_deref() {
        None | Some("performance") => {}
        Some(other) => {
            let message =
                format!("the CPU frequency governor is {other:?}, so clocks follow the load");
            report.warn(
                "governor-not-performance",
                message,
                "sudo cpupower frequency-set -g performance",
            );
        }
    }
    let intel =
        root.parse::<u8>("/sys/devices/system/cpu/intel_pstate/no_turbo").map(|off| off == 0);
    let turbo = intel
        .or_else(|_| root.parse::<u8>("/sys/devices/system/cpu/cpufreq/boost").map(|on| on == 1));
    let turbo = turbo.map_err(|_| {
        "neither intel_pstate/no_turbo nor cpufreq/boost exists; a virtual machine usually hides them".to_owned()
    });
    if report.absent.take("turbo", turbo) == Some(true) {
        report.note(
            "turbo-on",
            "turbo is on: clocks depend on heat and on how many cores are busy",
            "for comparable runs: echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo \
             (or echo 0 into /sys/devices/system/cpu/cpufreq/boost)",
        );
    }
}

fn shared_cores(root: &SystemRoot, report: &mut Report) {
    let active = root.parse::<u8>("/sys/devices/system/cpu/smt/active");
    if report.absent.take("smt", active) == Some(1) {
        report.note(
            "smt-on",
            "two hardware threads share each core, so a neighbour thread slows this one",
            "pin to one thread per core, or: echo off | sudo tee /sys/devices/system/cpu/smt/control",
        );
    }
    let text = report.absent.take("hypervisor", root.text("/proc/cpuinfo"));
    let virtual_machine = text.is_some_and(|text| {
        let flags = text.lines().find(|line| line.starts_with("flags"));
        flags.is_some_and(|line| line.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
    });
    if virtual_machine || root.exists("/sys/hypervisor/type") {
        report.note(
            "hypervisor",
            "this is a virtual machine: neighbours share caches, memory bandwidth and maybe cores",
            "compare runs in pairs taken close together, and watch steal_percent",
        );
    }
}

fn limits(root: &SystemRoot, report: &mut Report) {
    let throttle = match Throttle::open(root) {
        Ok(throttle) => throttle,
        Err(reason) => return report.absent.note("cpu-quota", reason),
    };
    if let Some(cpus) = throttle.limit_cpus(root) {
        let held = throttle.throttled_seconds(root).unwrap_or(0.0);
        let message = format!(
            "this control group may use {cpus:.2} CPUs; it has been held back for {held:.1} s so far"
        );
        report.warn("cpu-quota", message, "run outside the container, or raise its CPU limit");
    }
}

fn memory(root: &SystemRoot, config: &PreflightConfig, report: &mut Report) {
    if let Some(memory) = report.absent.take("memory", Memory::read(root)) {
        let used = memory.swap_used_bytes().unwrap_or(0);
        let mebibytes = used >> 20;
        let advice = "free memory, then: sudo swapoff -a && sudo swapon -a";
        if mebibytes >= 64 {
            report.warn("swap-in-use", format!("{mebibytes} MiB are swapped out"), advice);
        } else if used > 0 {
            report.note("swap-in-use", format!("{} KiB are swapped out", used >> 10), advice);
        }
        let available = memory.available_bytes.zip(memory.total_bytes);
        let share =
            available.and_then(|(available, total)| percent(available as f64, total as f64));
        if let Some(share) = share.filter(|share| *share < config.available_memory_percent) {
            let message = format!("only {share:.1}% of the memory is available");
            report.warn("memory-low", message, "end programs that hold memory before measuring");
        }
    }
    let huge = root.text("/sys/kernel/mm/transparent_hugepage/enabled");
    let chosen = report.absent.take("transparent-huge-pages", huge).unwrap_or_default();
    let chosen =
        chosen.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
    let advice =
        "compare only runs with the same setting of /sys/kernel/mm/transparent_hugepage/enabled";
    match chosen {
        Some("always") => report.note(
            "transparent-huge-pages",
            "transparent huge pages are always on: memory speed depends on how fragmented memory is",
            advice,
        ),
        Some("never") => report.note(
            "transparent-huge-pages",
            "transparent huge pages are off: large arrays pay for more address translation",
            advice,
        ),
        _ => {}
    }
    let nodes = root.names("/sys/devices/system/node").unwrap_or_default();
    let nodes = nodes.iter().filter(|name| {
        name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok())
    });
    let balancing = root.parse::<u8>("/proc/sys/kernel/numa_balancing");
    if report.absent.take("numa-balancing", balancing).unwrap_or(0) > 0 && nodes.count() > 1 {
        report.warn(
            "numa-balancing",
            "the kernel moves pages between NUMA nodes while programs run",
            "echo 0 | sudo tee /proc/sys/kernel/numa_balancing, or bind memory with numactl",
        );
    }
}

fn kernel(root: &SystemRoot, report: &mut Report) {
    let randomized = root.parse::<u8>("/proc/sys/kernel/randomize_va_space");
    if report.absent.take("address-space", randomized).unwrap_or(0) > 0 {
        report.note(
            "address-space-randomized",
            "addresses differ from run to run, which moves results by a few percent at times",
            "repeat in several processes (restarts), or run under setarch --addr-no-randomize",
        );
    }
    let advice = "sudo sysctl kernel.perf_event_paranoid=1 where there is a counter unit at all";
    if !root.exists("/sys/bus/event_source/devices/cpu")
        && !root.exists("/sys/bus/event_source/devices/cpu_core")
    {
        let message = "no hardware performance counters: the CPU or the hypervisor offers none";
        report.note(
            "performance-counters-unavailable",
            message,
            "use a bare-metal host for counter metrics",
        );
    } else {
        let paranoid = root.parse::<i8>("/proc/sys/kernel/perf_event_paranoid");
        if let Some(level) =
            report.absent.take("performance-counters", paranoid).filter(|level| *level > 2)
        {
            let message =
                format!("perf_event_paranoid is {level}, so hardware counters need privileges");
            report.note("performance-counters-unavailable", message, advice);
        }
    }
}

fn time_keeping(root: &SystemRoot, report: &mut Report) {
    let source = root.text("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    match report.absent.take("clocksource", source).as_deref() {
        None | Some("tsc" | "arch_sys_counter" | "stp" | "riscv_clocksource") => {}
        // Read in user space like the counter itself, only scaled.
        Some(source @ ("kvm-clock" | "hyperv_clocksource_tsc_page")) => report.note(
            "clocksource-not-tsc",
            format!("time comes from {source}, which adds a little to every reading"),
            "set the guest's clock source to tsc where the host keeps it stable",
        ),
        Some(source) => {
            let source: String =
                source.chars().filter(|letter| !letter.is_control()).take(32).collect();
            report.warn(
                "clocksource-not-tsc",
                format!("time comes from {source:?}: each reading is a system call of about a microsecond"),
                "find out with dmesg why the kernel distrusts the tsc; boot with tsc=reliable if it is sound",
            );
        }
    }
    if root.is_live() {
        let resolution = clock_getres(ClockId::Monotonic);
        let nanoseconds =
            resolution.tv_sec.saturating_mul(1_000_000_000).saturating_add(resolution.tv_nsec);
        if nanoseconds > 1000 {
            let message = format!("the clock advances in steps of {nanoseconds} ns");
            report.warn("timer-resolution-coarse", message, "boot with highres=on");
        }
    } else {
        report.absent.note("timer-resolution", "a captured tree has no clock");
    }
}

fn power_supply(root: &SystemRoot, report: &mut Report) {
    let directory = "/sys/class/power_supply";
    let names = report.absent.take("battery", root.names(directory)).unwrap_or_default();
    let discharging = names.iter().take(64).any(|name| {
        let file =
            |file: &str| root.text(&format!("{directory}/{name}/{file}")).unwrap_or_default();
        file("type") == "Battery" && file("scope") != "Device" && file("status") == "Discharging"
    });
    if discharging {
        report.warn(
            "on-battery",
            "the machine runs on its battery, which lowers clocks",
            "plug it in",
        );
    }
}

fn working_directory(root: &SystemRoot, config: &PreflightConfig, report: &mut Report) {
    let directory = config.working_directory.clone().map_or_else(std::env::current_dir, Ok);
    let directory = match directory {
        Ok(directory) => directory,
        Err(error) => {
            let reason = format!("the working directory is gone: {error}");
            return report.absent.note("working-directory", reason);
        }
    };
    let mounts = root.text("/proc/self/mountinfo");
    let Some(mounts) = report.absent.take("working-directory", mounts) else { return };
    let kind = mounts
        .lines()
        .filter_map(|line| {
            let (place, kind) = line.split_once(" - ")?;
            let point = place.split_ascii_whitespace().nth(4)?.replace("\\040", " ");
            let depth = point.len();
            directory.starts_with(&point).then(|| (depth, kind.split_ascii_whitespace().next()))
        })
        // Of two mounts at one place, the later covers the earlier.
        .max_by_key(|(depth, _)| *depth)
        .and_then(|(_, kind)| kind);
    let advice = "point disk benchmarks at a directory on the storage to be measured";
    match kind {
        Some("tmpfs" | "ramfs") => report.note(
            "working-directory-in-memory",
            "the working directory is in memory, so disk benchmarks here measure memory",
            advice,
        ),
        Some("overlay" | "aufs" | "fuse-overlayfs") => report.note(
            "working-directory-overlay",
            "the working directory is an overlay, whose first write to a file copies it",
            advice,
        ),
        _ => {}
    }
}

//! The preflight on a noisy captured machine, a quiet one, an empty one and the running one.

use super::*;
use crate::captured::Captured;

const CPU: &str = "/sys/devices/system/cpu";

fn config(directory: &str) -> PreflightConfig {
    PreflightConfig { working_directory: Some(directory.into()), ..PreflightConfig::default() }
}

fn process(id: u32, name: &str, ticks: u64) -> String {
    format!("{id} ({name}) R 1 1 1 0 -1 0 10 0 3 0 {ticks} 0 0 0 20 0 1 0 900 1 1 1")
}

fn quiet_machine() -> Captured {
    let tree = Captured::new(&[
        ("/proc/stat", "cpu 100 0 0 100000 0 0 0 0\ncpu0 50 0 0 50000\ncpu1 50 0 0 50000\n"),
        ("/proc/loadavg", "0.10 0.1 0.1 1/9 9\n"),
        (
            "/proc/meminfo",
            "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
        ),
        ("/proc/cpuinfo", "processor: 0\nflags\t\t: fpu sse avx\n"),
        ("/proc/self/cgroup", "0::/\n"),
        ("/sys/fs/cgroup/cpu.stat", "usage_usec 1\n"),
        ("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"),
        ("/proc/sys/kernel/randomize_va_space", "0\n"),
        ("/proc/sys/kernel/numa_balancing", "0\n"),
        ("/proc/sys/kernel/perf_event_paranoid", "1\n"),
        ("/sys/bus/event_source/devices/cpu/type", "4\n"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ("/sys/devices/system/cpu/smt/active", "0\n"),
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        ("/sys/class/power_supply/AC/type", "Mains\n"),
    ]);
    for cpu in 0..2 {
        tree.write(&format!("{CPU}/cpufreq/policy{cpu}/scaling_governor"), "performance\n");
        tree.write(&format!("{CPU}/cpufreq/policy{cpu}/scaling_cur_freq"), "2000000\n");
        for kind in ["core", "package"] {
            tree.write(&format!("{CPU}/cpu{cpu}/thermal_throttle/{kind}_throttle_count"), "0\n");
        }
    }
    tree.write("/proc/77/stat", process(77, "idle one", 5));
    tree
}

fn advance(tree: &Captured) {
    tree.write("/proc/stat", "cpu 100 0 0 100040 0 0 0 0\ncpu0 50 0 0 50020\ncpu1 50 0 0 50020\n");
}

#[test]
fn a_quiet_machine_has_no_finding_and_every_check_was_made() {
    let tree = quiet_machine();
    let mut pauses = Vec::new();
    let preflight = Preflight::check_watching(&tree.root, &config("/home/me"), &mut |pause| {
        pauses.push(pause);
        advance(&tree);
    });
    assert_eq!(preflight.findings, []);
    assert!(preflight.quiet);
    assert_eq!(pauses.len(), 1);
    assert!(pauses[0] <= Duration::from_millis(200));
    let absent: Vec<_> = preflight.absent.iter().map(|(check, _)| check).collect();
    assert_eq!(absent, ["timer-resolution"]);
}

#[test]
fn a_noisy_machine_has_each_finding_once_warnings_first() {
    let tree = quiet_machine();
    for (path, content) in [
        ("/proc/stat", "cpu 100 0 0 1000 0 0 0 20\ncpu0 50 0 0 500\ncpu1 50 0 0 500\n"),
        ("/proc/loadavg", "1.90 0.1 0.1 1/9 9\n"),
        (
            "/proc/meminfo",
            "MemTotal: 1000000 kB\nMemAvailable: 50000 kB\nSwapTotal: 200000 kB\nSwapFree: 0 kB\n",
        ),
        ("/proc/cpuinfo", "flags : fpu hypervisor avx\n"),
        ("/proc/self/cgroup", "0::/box\n"),
        ("/sys/fs/cgroup/box/cpu.stat", "throttled_usec 1500000\n"),
        ("/sys/fs/cgroup/box/cpu.max", "150000 100000\n"),
        (
            "/proc/self/mountinfo",
            "22 1 8:1 / / rw - overlay o rw\n23 22 0:1 / /tmp rw shared:1 - tmpfs t rw\n",
        ),
        ("/proc/sys/kernel/randomize_va_space", "2\n"),
        ("/proc/sys/kernel/numa_balancing", "1\n"),
        ("/sys/devices/system/node/node0/cpulist", "0\n"),
        ("/sys/devices/system/node/node1/cpulist", "1\n"),
        ("/proc/sys/kernel/perf_event_paranoid", "4\n"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
        ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
        ("/sys/devices/system/cpu/smt/active", "1\n"),
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
        ("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n"),
        ("/sys/class/power_supply/BAT0/type", "Battery\n"),
        ("/sys/class/power_supply/BAT0/status", "Discharging\n"),
    ] {
        tree.write(path, content);
    }
    let preflight = Preflight::check_watching(&tree.root, &config("/tmp/work"), &mut |_| {
        tree.write("/proc/stat", "cpu 130 0 0 1008 0 0 0 22\ncpu0 65 0 0 504\ncpu1 65 0 0 504\n");
        tree.write("/proc/77/stat", process(77, "idle one", 15));
        tree.write("/proc/88/stat", process(88, "cc1", 18));
        tree.write(&format!("{CPU}/cpu1/thermal_throttle/core_throttle_count"), "3\n");
    });
    let of = |severity: Severity| -> Vec<&str> {
        let found = preflight.findings.iter().filter(move |finding| finding.severity == severity);
        found.map(|finding| finding.code.as_str()).collect()
    };
    assert_eq!(
        of(Severity::Warning),
        [
            "governor-not-performance",
            "cpu-quota",
            "swap-in-use",
            "memory-low",
            "numa-balancing",
            "clocksource-not-tsc",
            "on-battery",
            "steal-now",
            "steal-since-boot",
            "load-high",
            "other-processes-busy",
            "thermal-throttled",
        ]
    );
    assert_eq!(
        of(Severity::Note),
        [
            "turbo-on",
            "smt-on",
            "hypervisor",
            "transparent-huge-pages",
            "address-space-randomized",
            "performance-counters-unavailable",
            "working-directory-in-memory",
        ]
    );
    assert!(!preflight.quiet);
    assert_eq!(preflight.findings[0].severity, Severity::Warning);
    assert_eq!(
        preflight.finding("other-processes-busy").unwrap().message,
        "other processes use 140% of one CPU: cc1 (pid 88) 90%, idle one (pid 77) 50%"
    );
    assert_eq!(
        preflight.finding("cpu-quota").unwrap().message,
        "this control group may use 1.50 CPUs; it has been held back for 1.5 s so far"
    );
    assert!(preflight.finding("steal-now").unwrap().message.contains("5.0%"));
}

#[test]
fn on_an_empty_machine_every_check_leaves_its_reason() {
    let tree = Captured::new(&[]);
    let preflight = Preflight::check_watching(&tree.root, &config("/x"), &mut |_| {});
    for check in [
        "governor",
        "turbo",
        "smt",
        "hypervisor",
        "cpu-quota",
        "memory",
        "transparent-huge-pages",
        "numa-balancing",
        "address-space",
        "clocksource",
        "battery",
        "working-directory",
        "steal",
        "load",
        "other-processes",
        "thermal-throttle",
    ] {
        assert!(preflight.absent.reason(check).is_some(), "{check}: {:?}", preflight.absent);
    }
}

#[test]
fn the_longest_mount_point_decides_and_the_record_survives_a_round_trip() {
    let tree = quiet_machine();
    tree.write(
        "/proc/self/mountinfo",
        "1 0 8:1 / / rw - tmpfs a rw\n2 1 8:2 / /home rw - overlay b rw\n",
    );
    let check =
        |directory: &str| Preflight::check_watching(&tree.root, &config(directory), &mut |_| {});
    assert!(check("/home/me").finding("working-directory-overlay").is_some());
    assert!(check("/homely").finding("working-directory-in-memory").is_some());
    let mut value = serde_json::to_value(check("/home/me")).unwrap();
    value["later"] = serde_json::json!([1]);
    let read: Preflight = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), value);
}

#[test]
fn the_running_machine_is_checked() {
    let config = PreflightConfig { watch: Duration::from_millis(10), ..PreflightConfig::default() };
    let preflight = Preflight::check(&SystemRoot::live(), &config);
    let mut codes: Vec<&str> =
        preflight.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(
        codes.iter().all(|code| code.chars().all(|c| c.is_ascii_lowercase() || c == '-')),
        "{codes:?}"
    );
    let found = codes.len();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), found, "each code once");
}

//! Whatever the kernel's files hold, reading them neither panics nor leaves the ranges the records promise.

use crate::captured::Captured;
use crate::conditions::ConditionsProbe;
use crate::gpu::Gpus;
use crate::monitor::{Sampler, Timeline};
use crate::preflight::{Preflight, PreflightConfig};
use proptest::prelude::*;

/// Files with the paths the readers look for; `?` stands for each content in turn.
const FILES: [&str; 38] = [
    "/proc/stat",
    "/proc/meminfo",
    "/proc/loadavg",
    "/proc/pressure/cpu",
    "/proc/self/cgroup",
    "/proc/cpuinfo",
    "/proc/self/mountinfo",
    "/proc/1/stat",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/perf_event_paranoid",
    "/sys/fs/cgroup/cpu.stat",
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/cpu/cpu.stat",
    "/sys/class/powercap/intel-rapl:0/energy_uj",
    "/sys/class/powercap/intel-rapl:0/max_energy_range_uj",
    "/sys/class/hwmon/hwmon0/temp1_input",
    "/sys/class/hwmon/hwmon0/temp1_label",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq",
    "/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
    "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/class/power_supply/BAT0/type",
    "/sys/class/power_supply/BAT0/status",
    "/sys/class/drm/card0/device/gpu_busy_percent",
    "/sys/class/drm/card0/device/mem_info_vram_total",
    "/sys/class/drm/card0/device/mem_info_vram_used",
    "/sys/class/drm/card0/device/unique_id",
    "/sys/class/drm/card0/device/uevent",
    "/sys/class/drm/card0/device/device",
    "/sys/class/drm/card0/device/pp_dpm_sclk",
    "/sys/class/drm/card0/device/current_link_speed",
    "/sys/class/drm/card0/device/hwmon/hwmon1/power1_average",
    "/sys/class/drm/card0/device/hwmon/hwmon1/temp1_input",
    "/sys/class/drm/card0/device/hwmon/hwmon1/freq1_input",
    "/usr/share/libdrm/amdgpu.ids",
];

fn content() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![
        any::<u64>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        any::<f64>().prop_map(|value| value.to_string()),
        Just("18446744073709551615".to_owned()),
        Just("max".to_owned()),
        Just("[always]".to_owned()),
        Just("total=99999999999999999999".to_owned()),
    ];
    let label = prop_oneof![
        Just("cpu"),
        Just("cpu0"),
        Just("cpu99999999999"),
        Just("MemTotal:"),
        Just("MemAvailable:"),
        Just("SwapTotal:"),
        Just("some"),
        Just("0::/../.."),
        Just("1:cpu:/a"),
        Just("throttled_usec"),
        Just("throttled_time"),
        Just("0:"),
        Just("1 (a)) R"),
        Just("1 2 3 4 / - "),
        Just("0x"),
        Just(""),
    ];
    let line = (label, proptest::collection::vec(number, 0..12))
        .prop_map(|(label, numbers)| format!("{label} {}\n", numbers.join(" ")));
    prop_oneof![
        3 => proptest::collection::vec(line, 0..5).prop_map(|lines| lines.concat().into_bytes()),
        1 => proptest::collection::vec(any::<u8>(), 0..200),
        1 => any::<u64>().prop_map(|value| format!("{value}\n").into_bytes()),
    ]
}

fn in_percent(value: Option<f64>) -> bool {
    value.is_none_or(|value| (0.0..=100.0).contains(&value))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_content_of_any_file_breaks_a_reader(
        first in proptest::collection::vec(content(), FILES.len()),
        second in proptest::collection::vec(content(), FILES.len()),
    ) {
        let tree = Captured::new(&[
            ("/sys/class/powercap/intel-rapl:0/name", "package-0\n"),
            ("/sys/class/hwmon/hwmon0/name", "coretemp\n"),
            ("/sys/class/drm/card0/device/vendor", "0x1002\n"),
        ]);
        let fill = |contents: &[Vec<u8>]| {
            for (path, content) in FILES.iter().zip(contents) {
                tree.write(path, content);
            }
        };
        fill(&first);
        let mut sampler = Sampler::open(&tree.root);
        let probe = ConditionsProbe::begin(&tree.root);
        let gpus = Gpus::open(&tree.root);
        let preflight = Preflight::check_watching(&tree.root, &PreflightConfig::default(), &mut |_| fill(&second));
        serde_json::to_string(&preflight).unwrap();
        let record = sampler.sample();
        prop_assert!(in_percent(record.cpu_utilization_percent), "{record:?}");
        prop_assert!(in_percent(record.memory_utilization_percent), "{record:?}");
        prop_assert!(in_percent(record.steal_percent), "{record:?}");
        prop_assert!(record.per_cpu_utilization_percent.iter().all(|share| in_percent(Some(*share))));
        let conditions = probe.end();
        prop_assert!(in_percent(conditions.steal_percent), "{conditions:?}");
        prop_assert!(in_percent(conditions.cpu_pressure_percent), "{conditions:?}");
        for usage in gpus.sample() {
            prop_assert!(in_percent(usage.utilization_percent), "{usage:?}");
            prop_assert!(in_percent(usage.memory_utilization_percent), "{usage:?}");
        }
        let text = Timeline { records: vec![record], ..Timeline::default() }.to_seed_json();
        prop_assert_eq!(Timeline::records_from_seed_json(&text).unwrap().len(), 1);
        serde_json::to_string(&gpus.describe()).unwrap();
    }

    #[test]
    fn no_text_breaks_the_reader_of_monitor_files(text in "\\PC{0,200}", bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Timeline::records_from_seed_json(&text);
        let _ = Timeline::records_from_seed_json(&String::from_utf8_lossy(&bytes));
    }
}

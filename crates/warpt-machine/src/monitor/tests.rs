//! The monitor against captured trees, and once against the running machine.

use super::*;
use crate::captured::Captured;
use serde_json::json;

fn machine() -> Captured {
    Captured::new(&[
        ("/proc/stat", "cpu 100 0 0 100 0 0 0 0 0 0\ncpu0 50 0 0 50\ncpu1 50 0 0 50\n"),
        ("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 676 kB\nUnevictable: 4 kB\n"),
        ("/proc/loadavg", "2.13 1.57 0.75 4/96 7877\n"),
        ("/proc/self/cgroup", "0::/a\n"),
        ("/sys/fs/cgroup/cpu.stat", "usage_usec 1\n"),
        ("/sys/fs/cgroup/a/cpu.stat", "throttled_usec 1000000\n"),
        ("/sys/class/powercap/intel-rapl:0/name", "package-0\n"),
        ("/sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n"),
        ("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n"),
    ])
}

#[test]
fn a_sample_holds_what_changed_since_the_sampler_was_opened() {
    let tree = machine();
    let mut sampler = Sampler::open(&tree.root);
    tree.write("/proc/stat", "cpu 130 0 0 160 0 0 0 10\ncpu0 80 0 0 50\ncpu1 50 0 0 110\n");
    tree.write("/sys/fs/cgroup/a/cpu.stat", "throttled_usec 1500000\n");
    tree.write("/sys/class/powercap/intel-rapl:0/energy_uj", "5000000\n");
    let record = sampler.sample();
    assert_eq!(record.cpu_utilization_percent, Some(30.0));
    assert_eq!(record.steal_percent, Some(10.0));
    assert_eq!(record.per_cpu_utilization_percent, vec![100.0, 0.0]);
    assert_eq!(record.total_memory_bytes, Some(1_024_000));
    assert_eq!(record.memory_utilization_percent, Some(32.4));
    assert_eq!(record.wired_memory_bytes, Some(4096));
    assert_eq!(record.load_1m, Some(2.13));
    assert_eq!(record.throttled_seconds, Some(0.5));
    assert_eq!(record.energy_joules, Some(4.0));
    let absent = sampler.absent();
    for field in ["gpu_usage", "cpu_temperature_celsius", "cpu_frequency_mhz"] {
        assert!(absent.reason(field).is_some(), "{field} in {absent:?}");
    }
    assert_eq!(absent.reason("energy_joules"), None);
    assert_eq!(sampler.cost().samples, 1);
}

#[test]
fn an_empty_machine_yields_records_of_nulls_with_reasons() {
    let mut sampler = Sampler::open(&Captured::new(&[]).root);
    let record = sampler.sample();
    let value = serde_json::to_value(&record).unwrap();
    let names: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "timestamp",
            "cpu_utilization_percent",
            "total_memory_bytes",
            "memory_utilization_percent",
            "gpu_usage",
            "elapsed_seconds"
        ]
    );
    for field in [
        "cpu_utilization_percent",
        "total_memory_bytes",
        "memory_utilization_percent",
        "gpu_usage",
        "load_1m",
        "steal_percent",
        "energy_joules",
        "package_power_watts",
        "throttled_seconds",
    ] {
        assert!(sampler.absent().reason(field).is_some(), "{field}");
    }
}

#[test]
fn seed_files_are_read_and_unknown_fields_survive() {
    let text = r#"[{"timestamp": "2025-12-05T14:00:01", "cpu_utilization_percent": 12.3,
        "total_memory_bytes": 68719476736, "memory_utilization_percent": 32.4,
        "gpu_usage": [{"index": 0, "model": "NVIDIA RTX 4090", "utilization_percent": 84.2,
            "memory_utilization_percent": 65.0, "power_watts": 310.5, "fan_percent": 30,
            "guid": "GPU-abcdef12-3456-7890-abcd-ef1234567890"}], "room": "b12"}]"#;
    let records = Timeline::records_from_seed_json(text).unwrap();
    assert_eq!(records[0].timestamp.to_string(), "2025-12-05T14:00:01Z");
    assert_eq!(records[0].gpu_usage[0].power_watts, Some(310.5));
    let written = Timeline { records, ..Timeline::default() }.to_seed_json();
    let mut expected: serde_json::Value = serde_json::from_str(text).unwrap();
    expected[0]["timestamp"] = json!("2025-12-05T14:00:01Z");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), expected);
    assert_eq!(Timeline::default().to_seed_json(), "[\n]\n");
    for wrong in ["", "{}", "[{}]", "[{\"timestamp\": \"yesterday\"}]"] {
        assert!(Timeline::records_from_seed_json(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_full_recording_merges_neighbours_and_doubles_its_interval() {
    let record = |busy: f64, energy: f64| MonitorRecord {
        cpu_utilization_percent: Some(busy),
        energy_joules: Some(energy),
        per_cpu_utilization_percent: vec![busy],
        gpu_usage: vec![crate::gpu::GpuUsage { power_watts: Some(busy), ..Default::default() }],
        ..MonitorRecord::default()
    };
    let mut recording = Recording::new(Duration::from_millis(500), 4);
    let doubled: Vec<bool> = (0..5)
        .map(|step| recording.push(record(f64::from(step) * 10.0, f64::from(step))))
        .collect();
    assert_eq!(doubled, [false, false, false, false, true]);
    let busy: Vec<_> =
        recording.records().iter().map(|record| record.cpu_utilization_percent).collect();
    assert_eq!(busy, [Some(5.0), Some(25.0), Some(40.0)]);
    assert_eq!(recording.records()[1].energy_joules, Some(3.0));
    assert_eq!(recording.records()[1].per_cpu_utilization_percent, vec![25.0]);
    assert_eq!(recording.records()[1].gpu_usage[0].power_watts, Some(25.0));
    let timeline = recording.finish(&Sampler::open(&Captured::new(&[]).root));
    assert_eq!((timeline.interval_seconds, timeline.halvings), (1.0, 1));
    assert!(timeline.notes().iter().any(|note| note.contains("merged 1 times")));
}

#[test]
fn deadlines_are_multiples_of_the_interval_and_missed_ones_are_skipped() {
    let (origin, second) = (Instant::now(), Duration::from_secs(1));
    assert_eq!(deadline(origin, second, 3), origin + 3 * second);
    assert_eq!(next_due(1, Duration::from_millis(1001), second), 2);
    assert_eq!(next_due(1, Duration::from_millis(999), second), 2);
    assert_eq!(next_due(1, Duration::from_millis(4500), second), 5);
    assert_eq!(next_due(1, Duration::MAX, Duration::from_nanos(1)), u64::MAX);
}

#[test]
fn intervals_that_cannot_be_kept_are_refused() {
    for seconds in [0.0, 0.009, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        let message = MonitorConfig::every(seconds).unwrap_err().to_string();
        assert!(
            message.starts_with("the monitor interval must be between 0.01 s and 86400 s"),
            "{message}"
        );
    }
    assert_eq!(MonitorConfig::every(0.01).unwrap().interval, MINIMUM_INTERVAL);
    let config = MonitorConfig { interval: Duration::ZERO, ..MonitorConfig::default() };
    assert!(Monitor::start(&config).is_err());
}

#[test]
fn the_running_machine_is_watched_and_the_cost_is_stated() {
    let monitor = Monitor::start(&MonitorConfig::every(0.02).unwrap()).unwrap();
    std::thread::sleep(Duration::from_millis(150));
    let timeline = monitor.stop();
    assert!(!timeline.records.is_empty());
    assert_eq!(timeline.cost.samples, timeline.records.len() as u64);
    assert!(
        timeline.cost.cpu_seconds > 0.0 && timeline.cost.cpu_seconds <= timeline.cost.wall_seconds
    );
    assert!(timeline.cost.per_sample_microseconds > 0.0);
    let last = timeline.records.last().unwrap();
    assert!(last.total_memory_bytes.unwrap() > 0);
    assert!(
        last.cpu_utilization_percent.is_some()
            || timeline.absent.reason("cpu_utilization_percent").is_some()
    );
    let elapsed: Vec<_> =
        timeline.records.iter().map(|record| record.elapsed_seconds.unwrap()).collect();
    assert!(elapsed.windows(2).all(|pair| pair[0] < pair[1]), "{elapsed:?}");
}

#[test]
fn a_run_shorter_than_its_interval_still_has_a_record_and_a_dropped_monitor_ends() {
    let tree = machine();
    let hourly = || MonitorConfig {
        root: SystemRoot::at(tree.path()),
        ..MonitorConfig::every(3600.0).unwrap()
    };
    let timeline = Monitor::start(&hourly()).unwrap().stop();
    assert_eq!(timeline.records.len(), 1);
    drop(Monitor::start(&hourly()).unwrap());
}

#[test]
fn a_timeline_survives_a_round_trip() {
    let tree = machine();
    let mut sampler = Sampler::open(&tree.root);
    let mut recording = Recording::new(Duration::from_secs(1), 10);
    recording.push(sampler.sample());
    let timeline = recording.finish(&sampler);
    let mut value = serde_json::to_value(&timeline).unwrap();
    value["later"] = json!({"a": 1});
    let read: Timeline = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), value);
}

#[test]
fn the_schema_names_every_field_and_lets_unknown_ones_pass() {
    let schema = serde_json::to_value(schemars::schema_for!(Timeline)).unwrap();
    let record = &schema["$defs"]["MonitorRecord"];
    for field in
        ["timestamp", "cpu_utilization_percent", "gpu_usage", "steal_percent", "energy_joules"]
    {
        assert!(record["properties"][field].is_object(), "{field} in {record}");
    }
    assert_eq!(record["required"], json!(["timestamp"]));
    assert_eq!(record["additionalProperties"], json!(true));
    assert!(schema["$defs"]["GpuUsage"]["properties"]["temperature_celsius"].is_object());
}

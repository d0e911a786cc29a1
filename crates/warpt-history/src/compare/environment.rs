//! What two machines, their software and the two moments have unlike, with the parts of a machine each difference can
//! slow down or speed up. One table of facts serves comparison and reports; a fact that a record does not have is said
//! to be unknown, never taken for equal or different.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use warpt_bench::BenchmarkComponent::{self, Cpu, Gpu, Network, Ram, Storage, System};
use warpt_bench::record::{BenchmarkRunResult, BenchmarkSuiteRun};
use warpt_machine::inventory::Machine;

/// Longest text of one fact.
const MAX_CHARS: usize = 400;

/// One fact about a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// The part of the machine: `cpu`, `memory`, `software` and so on.
    pub area: String,
    /// What it is called.
    pub name: String,
    /// Its value, or nothing when the record does not say.
    pub value: Option<String>,
}

/// A fact that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The part of the machine.
    pub area: String,
    /// What it is called.
    pub name: String,
    /// In A; absent when unknown there.
    pub a: Option<String>,
    /// In B.
    pub b: Option<String>,
    /// The parts whose speed it can change; empty stands for all of them.
    pub affects: Vec<BenchmarkComponent>,
}

impl Difference {
    /// `kernel 6.1 -> 6.5`.
    pub fn sentence(&self) -> String {
        let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        format!("{}: {} -> {}", self.name, show(&self.a), show(&self.b))
    }
}

/// How the numbers of a fact are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    None,
    Bytes,
    Hertz,
}

/// A place in the machine's JSON, its name, how close counts as equal, and what it affects.
struct Place {
    path: &'static str,
    name: &'static str,
    tolerance: f64,
    affects: &'static [BenchmarkComponent],
    unit: Unit,
}

const fn place(
    path: &'static str,
    name: &'static str,
    affects: &'static [BenchmarkComponent],
) -> Place {
    Place { path, name, tolerance: 0.0, affects, unit: unit_of(path) }
}

const fn near(
    path: &'static str,
    name: &'static str,
    tolerance: f64,
    affects: &'static [BenchmarkComponent],
) -> Place {
    Place { path, name, tolerance, affects, unit: unit_of(path) }
}

/// The unit is part of a field's name.
const fn unit_of(path: &str) -> Unit {
    match path.as_bytes() {
        [.., b'_', b'b', b'y', b't', b'e', b's'] => Unit::Bytes,
        [.., b'_', b'h', b'z'] => Unit::Hertz,
        _ => Unit::None,
    }
}

const ALL: &[BenchmarkComponent] = &[];
const COMPUTE: &[BenchmarkComponent] = &[Cpu, Ram, System];

/// Everything that is looked at, in the order it is shown. `*` stands for every entry of a list.
const PLACES: &[Place] = &[
    place("host/hostname", "host", ALL),
    place("host/product", "product", ALL),
    place("host/firmware_version", "firmware", COMPUTE),
    place("cpu/model", "CPU model", COMPUTE),
    place("cpu/architecture", "architecture", ALL),
    place("cpu/stepping", "CPU stepping", COMPUTE),
    place("cpu/microcode", "microcode", COMPUTE),
    place("cpu/sockets", "sockets", COMPUTE),
    place("cpu/cores", "cores", COMPUTE),
    place("cpu/threads", "hardware threads", COMPUTE),
    place("cpu/usable_cpus", "usable CPUs", ALL),
    place("cpu/isolated_cpus", "isolated CPUs", COMPUTE),
    place("cpu/smt_active", "SMT", COMPUTE),
    place("cpu/caches/*/size_bytes", "cache sizes", COMPUTE),
    place("cpu/features", "instruction sets", COMPUTE),
    near("cpu/clocks/current_hz", "clock", 0.05, COMPUTE),
    place("cpu/clocks/base_hz", "base clock", COMPUTE),
    place("cpu/clocks/maximum_hz", "highest clock", COMPUTE),
    place("cpu/clocks/allowed_maximum_hz", "highest allowed clock", COMPUTE),
    place("cpu/clocks/governor", "frequency governor", ALL),
    place("cpu/clocks/driver", "frequency driver", COMPUTE),
    place("cpu/clocks/energy_preference", "energy preference", COMPUTE),
    place("cpu/clocks/turbo", "turbo", COMPUTE),
    place("cpu/clocks/idle_driver", "idle driver", ALL),
    place("cpu/hypervisor", "hypervisor", ALL),
    place("cpu/clock_source", "clock source", ALL),
    place("cpu/mitigations", "mitigations", ALL),
    near("memory/total_bytes", "memory", 0.02, &[Ram, System]),
    place(
        "memory/modules/*/configured_speed_mt_per_second",
        "memory speed in MT/s",
        &[Cpu, Ram, System],
    ),
    place("memory/transparent_huge_pages", "transparent huge pages", &[Cpu, Ram, System]),
    place("memory/transparent_huge_pages_defrag", "huge page defragmentation", &[Cpu, Ram, System]),
    place("memory/numa_balancing", "NUMA balancing", &[Cpu, Ram, System]),
    place("memory/swappiness", "swappiness", &[Ram, Storage, System]),
    place("cpu/numa_nodes/*/cpus", "NUMA nodes", COMPUTE),
    place("storage/working_directory/kind", "file system", &[Storage, System]),
    place("storage/working_directory/options", "mount options", &[Storage, System]),
    place("storage/devices/*/model", "disks", &[Storage, System]),
    place("storage/devices/*/scheduler", "disk scheduler", &[Storage, System]),
    place("network/links/*/driver", "network drivers", &[Network, System]),
    place("network/links/*/mtu_bytes", "network packet size", &[Network, System]),
    place("network/links/*/speed_bits_per_second", "network speed", &[Network, System]),
    place("gpu/devices/*/model", "GPUs", &[Gpu, System]),
    place("gpu/devices/*/driver_version", "GPU driver", &[Gpu, System]),
    place("gpu/devices/*/power_limit_watts", "GPU power limit", &[Gpu, System]),
    place("limits/cpu_quota_cpus", "CPU limit of the control group", ALL),
    place("limits/cpu_shares", "CPU shares", ALL),
    place("limits/cpu_weight", "CPU weight", ALL),
    place("limits/cpuset_cpus", "CPUs of the control group", ALL),
    place("limits/memory_limit_bytes", "memory limit of the control group", ALL),
    place("limits/memory_high_bytes", "memory throttle of the control group", ALL),
    place("limits/io_limits", "disk limits of the control group", &[Storage, System]),
    place("limits/locked_memory_bytes", "lockable memory", &[Network, Gpu, System]),
    place("software/kernel/release", "kernel", ALL),
    place("software/kernel/version", "kernel build", ALL),
    place("software/operating_system/name", "operating system", ALL),
    place("software/libc/version", "C library", COMPUTE),
    place("software/blas", "BLAS", COMPUTE),
    place("software/gpu_drivers", "GPU kernel drivers", &[Gpu, System]),
    place("software/cuda_toolkit", "CUDA", &[Gpu, System]),
    place("software/rocm", "ROCm", &[Gpu, System]),
    place("software/mpi/version", "MPI", &[Network, System]),
    place("software/python/version", "Python", &[System]),
    place("software/container/runtime", "container", ALL),
];

/// The machine a run was made on: that of its first result which has one.
pub(super) fn machine(run: &BenchmarkSuiteRun) -> Option<&Machine> {
    run.benchmarks.iter().find_map(|result| result.system.as_ref())
}

/// The facts of a run's machine, in the order pages show them.
pub fn facts(run: &BenchmarkSuiteRun) -> Vec<Fact> {
    let machine = json(run);
    let fact = |place: &Place| Fact {
        area: area(place.path),
        name: place.name.to_owned(),
        value: read(&machine, place.path).map(|text| readable(&text, place.unit)),
    };
    PLACES.iter().map(fact).collect()
}

/// What differs between the machines, the software and the settings of two runs. Facts that neither record has are left
/// out; a fact that only one has is a difference to an unknown value only when a machine was recorded on both sides.
pub fn differences(a: &BenchmarkSuiteRun, b: &BenchmarkSuiteRun) -> Vec<Difference> {
    let mut differences = Vec::new();
    if machine(a).is_some() && machine(b).is_some() {
        let (of_a, of_b) = (json(a), json(b));
        for place in PLACES {
            let (one, other) = (read(&of_a, place.path), read(&of_b, place.path));
            if one != other && !within(&one, &other, place.tolerance) {
                differences.push(Difference {
                    area: area(place.path),
                    name: place.name.to_owned(),
                    a: one.map(|text| readable(&text, place.unit)),
                    b: other.map(|text| readable(&text, place.unit)),
                    affects: place.affects.to_vec(),
                });
            }
        }
    } else {
        let known = |run| if machine(run).is_some() { "recorded" } else { "not recorded" };
        differences.push(Difference {
            area: "host".to_owned(),
            name: "machine".to_owned(),
            a: Some(known(a).to_owned()),
            b: Some(known(b).to_owned()),
            affects: Vec::new(),
        });
    }
    differences.extend(settings(a, b));
    differences
}

/// Differences in how the two runs were made.
fn settings(a: &BenchmarkSuiteRun, b: &BenchmarkSuiteRun) -> Vec<Difference> {
    const KEYS: [&str; 5] =
        ["warpt_version", "isolated", "duration_seconds", "burnin_seconds", "target_precision"];
    let value = |run: &BenchmarkSuiteRun, key: &str| {
        run.metadata.as_ref().and_then(|metadata| metadata.get(key)).map(|text| shortened(text))
    };
    let of_key = |key: &&str| {
        let (one, other) = (value(a, key), value(b, key));
        (one != other).then(|| Difference {
            area: "run".to_owned(),
            name: key.replace('_', " "),
            a: one,
            b: other,
            affects: Vec::new(),
        })
    };
    KEYS.iter().filter_map(of_key).collect()
}

/// The differences that can change the speed of these components.
pub(super) fn relevant(all: &[Difference], components: &[BenchmarkComponent]) -> Vec<String> {
    let concerns = |difference: &&Difference| {
        difference.affects.is_empty()
            || components.is_empty()
            || difference.affects.iter().any(|part| components.contains(part))
    };
    all.iter().filter(concerns).map(Difference::sentence).collect()
}

/// What went on while the two were measured, where it differs enough to explain a change.
pub fn conditions(a: &BenchmarkRunResult, b: &BenchmarkRunResult) -> Vec<String> {
    let (Some(of_a), Some(of_b)) = (&a.conditions, &b.conditions) else { return Vec::new() };
    let mut found = Vec::new();
    let mut look = |name: &str, one: Option<f64>, other: Option<f64>, least: f64, unit: &str| {
        if let (Some(one), Some(other)) = (one, other)
            && (one - other).abs() >= least
        {
            found.push(format!("{name}: {one:.1}{unit} -> {other:.1}{unit}"));
        }
    };
    look("stolen CPU time", of_a.steal_percent, of_b.steal_percent, 1.0, "%");
    look("CPU use of others", of_a.other_busy_percent, of_b.other_busy_percent, 5.0, "%");
    look("waiting for a CPU", of_a.cpu_pressure_percent, of_b.cpu_pressure_percent, 10.0, "%");
    look("load average", of_a.load_1m, of_b.load_1m, 1.0, "");
    let clock = |ratio: Option<f64>| ratio.map(|ratio| ratio * 100.0);
    look(
        "clock as a share of the highest",
        clock(of_a.frequency_ratio),
        clock(of_b.frequency_ratio),
        3.0,
        "%",
    );
    let held = |conditions: &warpt_machine::conditions::Conditions| {
        let share = conditions.throttled_seconds? / conditions.wall_seconds;
        share.is_finite().then_some(share * 100.0)
    };
    look("held back by the CPU limit", held(of_a), held(of_b), 1.0, "%");
    found
}

fn json(run: &BenchmarkSuiteRun) -> Value {
    machine(run).and_then(|machine| serde_json::to_value(machine).ok()).unwrap_or(Value::Null)
}

fn area(path: &str) -> String {
    path.split('/').next().unwrap_or_default().to_owned()
}

/// The value at a path as text; nothing when it is null or an empty list.
fn read(value: &Value, path: &str) -> Option<String> {
    let text = match path.split_once('/') {
        None => text(value.get(path)?),
        Some(("*", rest)) => {
            let parts: Vec<String> =
                value.as_array()?.iter().filter_map(|entry| read(entry, rest)).collect();
            (!parts.is_empty()).then(|| parts.join(", "))
        }
        Some((first, rest)) => return read(value.get(first)?, rest),
    };
    text.map(|text| shortened(&text))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(entries) => {
            let parts: Vec<String> = entries.iter().filter_map(text).collect();
            (!parts.is_empty()).then(|| parts.join(", "))
        }
        Value::Object(fields) => {
            // A library is its name and version; anything else its fields. Where it lies is no property of its speed.
            let hidden = ["path", "note", "absent"];
            let named: Vec<String> = ["name", "version"]
                .iter()
                .filter_map(|key| fields.get(*key).and_then(text))
                .collect();
            if !named.is_empty() {
                return Some(named.join(" "));
            }
            let parts: Vec<String> = fields
                .iter()
                .filter(|(key, _)| !hidden.contains(&key.as_str()))
                .filter_map(|(key, value)| Some(format!("{key}={}", text(value)?)))
                .collect();
            (!parts.is_empty()).then(|| parts.join(", "))
        }
        other => Some(other.to_string()),
    }
}

/// Numbers in units that people read; anything else as it is.
fn readable(text: &str, unit: Unit) -> String {
    let number = |part: &str| {
        let Ok(value) = part.parse::<f64>() else { return part.to_owned() };
        match unit {
            Unit::None => part.to_owned(),
            Unit::Hertz => format!("{:.2} GHz", value / 1e9),
            Unit::Bytes if value < 1024.0 * 1024.0 => format!("{} KiB", value / 1024.0),
            Unit::Bytes if value < 1024.0 * 1024.0 * 1024.0 => {
                format!("{:.1} MiB", value / 1024.0 / 1024.0)
            }
            Unit::Bytes => format!("{:.2} GiB", value / 1024.0 / 1024.0 / 1024.0),
        }
    };
    text.split(", ").map(number).collect::<Vec<_>>().join(", ")
}

fn within(a: &Option<String>, b: &Option<String>, tolerance: f64) -> bool {
    let number = |text: &Option<String>| text.as_ref().and_then(|text| text.parse::<f64>().ok());
    match (number(a), number(b)) {
        (Some(a), Some(b)) => (a - b).abs() <= tolerance * a.abs().max(b.abs()),
        _ => false,
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_CHARS {
        return text.to_owned();
    }
    text.chars().take(MAX_CHARS - 1).chain(['…']).collect()
}

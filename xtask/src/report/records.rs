//! Records made up for looking at reports: any number of benchmarks with plausible samples, seeded so that they are the same
//! every time, and one whose every text tries something.

use serde_json::{Value, json};
use warpt_bench::BenchmarkSuiteRun;
use warpt_bench::record::{SampleData, parse_record};
use warpt_stats::Summary;
use warpt_stats::random::Random;

const FAMILIES: [(&str, &str, &str, bool); 6] = [
    ("matmul", "gflops", "GFLOP/s", true),
    ("attention", "time", "ms", false),
    ("layer_norm", "bandwidth", "GB/s", true),
    ("convolution", "gflops", "GFLOP/s", true),
    ("embedding", "latency", "µs", false),
    ("all_reduce", "bandwidth", "Gbit/s", true),
];

/// A run of `count` benchmarks; `seed` makes it another run of the same machine, `change` makes every seventh slower by
/// that share.
pub(super) fn run(count: usize, seed: u64, change: f64) -> BenchmarkSuiteRun {
    let mut random = Random::new(seed.wrapping_mul(77) + 5);
    let start = format!("2026-03-{:02}T06:00:00Z", 1 + seed % 28);
    let mut benchmarks: Vec<Value> = (0..count)
        .map(|index| {
            let (family, metric, unit, higher) = FAMILIES[index % FAMILIES.len()];
            let size = 64 << (index / FAMILIES.len() % 8);
            let name = format!("{family}_{size}_{:03}", index / FAMILIES.len());
            let typical = 10.0 + (index * 37 % 211) as f64;
            let slowdown = if index.is_multiple_of(7) { 1.0 + change } else { 1.0 };
            let level = if higher { typical / slowdown } else { typical * slowdown };
            let metrics: Vec<Value> = ["f32", "bf16"]
                .iter()
                .map(|dtype| sampled(metric, unit, higher, dtype, level, &mut random))
                .collect();
            let (outcome, reason) = match index % 97 {
                41 => ("failed", Some("the sum differs: expected 4096, found 4095.9")),
                42 | 43 => {
                    ("skipped", Some("no GPU found: the PCI bus lists no display controller"))
                }
                _ => ("passed", None),
            };
            let metrics = if outcome == "passed" { metrics } else { Vec::new() };
            result(&name, outcome, reason, &metrics, &start, seed)
        })
        .collect();
    if count > 1 {
        benchmarks.extend(ceilings(&start, seed));
    }
    finish(&json!({
        "suite": "sample", "components": ["cpu", "ram"], "benchmarks": benchmarks,
        "run_id": format!("sample-{count}-{seed}-{change}"), "state": "complete",
        "metadata": { "warpt_version": "0.1.0", "note": "made up" },
        "start_time": start, "end_time": start.replace("T06:00", "T06:41"),
        "preflight": { "findings": [{ "code": "load", "severity": "warning", "message":
            "the load average is 1.8 on 2 CPUs", "advice": "wait until other work has ended" }] },
    }))
}

/// A run whose every text is hostile.
pub(super) fn hostile(level: f64) -> BenchmarkSuiteRun {
    const TEXTS: [&str; 8] = [
        "<script>alert(1)</script><img src=x onerror=alert(1)>",
        "\u{1b}[2J\u{1b}]0;title\u{7}red",
        "=HYPERLINK(\"http://x\")",
        "+1+cmd|' /C calc'!A0",
        "@SUM(1+1)\t\r\nfake 1\n# EOF\n",
        "a\u{202e}gpj.exe\u{2066}",
        "`| [x](javascript:alert(1)) @user ]]></failure> :::MLLOG {}",
        "\u{85}\u{2028}\u{fffe}\"'\\",
    ];
    let long = "x".repeat(10_000);
    let mut random = Random::new(3);
    let texts = TEXTS.iter().copied().chain([long.as_str()]);
    let benchmarks: Vec<Value> = texts
        .flat_map(|text| {
            let mut one = sampled(text, "ms", false, text, level, &mut random);
            one["tags"][text] = text.into();
            let mut other = sampled("rate", "GB/s", true, text, level, &mut random);
            other["ceiling"] = json!({ "value": level * 2.0, "fraction": 0.5, "source": text });
            let third = sampled("size", text, true, "f32", level, &mut random);
            let start = "2026-03-01T06:00:00Z";
            let mut passed = result(text, "passed", None, &[one, other, third], start, 0);
            passed["warnings"] = json!([{ "code": text, "message": text }]);
            passed["spec"]["suite"] = text.into();
            passed["system"]["host"] = json!({ "hostname": text });
            let name = format!("{text} that fails");
            [passed, result(&name, "failed", Some(text), &[], start, 0)]
        })
        .collect();
    finish(&json!({
        "suite": TEXTS[0], "components": ["cpu"], "benchmarks": benchmarks,
        "metadata": { TEXTS[0]: TEXTS[1], TEXTS[2]: long },
        "start_time": "2026-03-01T06:00:00Z",
    }))
}

fn finish(run: &Value) -> BenchmarkSuiteRun {
    let mut run = parse_record(run.to_string().as_bytes()).expect("a record made here parses");
    for metric in run.benchmarks.iter_mut().flat_map(|result| &mut result.metrics) {
        if let Some(SampleData::Inline { values }) = &metric.samples {
            metric.summary = Summary::of(values);
            metric.value = metric.summary.as_ref().map_or(metric.value, |summary| summary.median);
        }
    }
    run
}

fn sampled(
    name: &str,
    unit: &str,
    higher_is_better: bool,
    dtype: &str,
    level: f64,
    random: &mut Random,
) -> Value {
    // Noise only ever adds time; a run has luck of its own.
    let luck = 1.0 + 0.004 * random.normal();
    let values: Vec<f64> = (0..40)
        .map(|_| {
            let slow = 1.0 + (0.008 * random.normal()).abs();
            let spike = if random.below(25) == 0 { 1.15 } else { 1.0 };
            let factor = luck * slow * spike;
            if higher_is_better { level / factor } else { level * factor }
        })
        .collect();
    json!({
        "name": name, "value": level, "unit": unit, "higher_is_better": higher_is_better, "verified": true,
        "tags": { "dtype": dtype, "threads": "2" }, "samples": { "values": values },
        "ceiling": { "value": level * 1.3, "fraction": 0.77, "source": "a made-up limit" },
    })
}

fn result(
    name: &str,
    outcome: &str,
    reason: Option<&str>,
    metrics: &[Value],
    start: &str,
    seed: u64,
) -> Value {
    let steal = if seed == 0 { 0.1 } else { 3.4 };
    json!({
        "spec": {
            "id": { "suite": "sample", "name": name }, "components": ["cpu", "ram"], "kind": "synthetic",
            "description": "A made-up benchmark for looking at reports", "params": { "size": 64, "warm": true },
        },
        "metrics": metrics, "success": outcome == "passed", "outcome": outcome, "error_message": reason,
        "start_time": start, "end_time": start.replace("00:00Z", "00:05Z"),
        "checks": [{ "name": "sum", "passed": outcome != "failed", "detail": "within 2 units in the last place" }],
        "conditions": { "wall_seconds": 5.0, "steal_percent": steal, "load_1m": 1.2, "other_busy_percent": 2.5 },
        "system": {
            "schema_version": 1,
            "host": { "hostname": "sample" },
            "cpu": { "model": "Sample CPU 9000", "architecture": "x86_64", "cores": 2, "threads": 2,
                "microcode": if seed == 0 { "0x1" } else { "0x2b000603" }, "usable_cpus": "0-1", "usable_count": 2,
                "clocks": { "current_hz": 2_100_000_000u64, "governor": "performance" }, "hypervisor": "KVM" },
            "memory": { "total_bytes": 25_275_125_760u64, "transparent_huge_pages": "madvise" },
            "software": { "kernel": { "release": if seed == 0 { "6.1.0" } else { "6.5.0" } },
                "libc": { "name": "glibc", "version": "2.36" }, "operating_system": { "name": "Debian 12" },
                "blas": [{ "name": "OpenBLAS", "version": "0.3.21" }] },
        },
    })
}

/// What a roofline is drawn from, and a timeline.
fn ceilings(start: &str, seed: u64) -> Vec<Value> {
    let rate = |name: &str, unit: &str, value: f64, tags: Value| json!({ "name": name, "value": value, "unit": unit, "higher_is_better": true, "verified": true, "tags": tags });
    let flops = |dtype: &str, isa: &str, kernel: &str, value: f64| {
        rate(
            "gflops",
            "GFLOP/s",
            value,
            json!({ "dtype": dtype, "isa": isa, "kernel": kernel, "threads": "2" }),
        )
    };
    let stream = |kernel: &str, value: f64| {
        rate("bandwidth", "GB/s", value, json!({ "kernel": kernel, "threads": "2" }))
    };
    let mut processor = result(
        "cpu_flops",
        "passed",
        None,
        &[
            flops("f32", "avx512", "registers", 310.0),
            flops("f64", "avx512", "registers", 155.0),
            flops("bf16", "amx", "registers", 2300.0),
            flops("f32", "avx512", "gemm", 270.0),
        ],
        start,
        seed,
    );
    processor["spec"]["params"] = json!({ "gemm_size": 2048 });
    let records: Vec<Value> = (0..120)
        .map(|second| {
            let time = start.replace("00:00Z", &format!("{:02}:{:02}Z", second / 60, second % 60));
            json!({ "timestamp": time, "cpu_utilization_percent": 70.0 + f64::from(second % 17),
                "steal_percent": f64::from(second % 5), "memory_utilization_percent": 30.0 + f64::from(second) / 10.0 })
        })
        .collect();
    processor["timeline"] = json!({ "interval_seconds": 1.0, "records": records });
    let memory = result(
        "mem_bandwidth",
        "passed",
        None,
        &[stream("triad", 44.0), stream("copy", 47.0), stream("read", 41.0)],
        start,
        seed,
    );
    vec![processor, memory]
}

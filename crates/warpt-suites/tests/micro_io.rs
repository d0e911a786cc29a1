//! The disk, network, spawn, synchronization and GPU benchmarks, each taken through the life a runner gives it with the
//! fewest samples: prepare, enter, two samples, verify, annotate, conclude.
#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;
use std::sync::Arc;

use warpt_bench::sampler::Overhead;
use warpt_bench::{
    Benchmark, BenchmarkMetric, Cancel, CaseError, Check, Context, MetricSource, MonotonicClock,
    Params, Sampler, Unready,
};
use warpt_machine::inventory::Machine;
use warpt_suites::micro::disk::DiskIo;
use warpt_suites::micro::gpu::{GpuBandwidth, GpuFlops};
use warpt_suites::micro::net::{LocalServer, NetBandwidth, NetLatency};
use warpt_suites::micro::process::ProcessSpawn;
use warpt_suites::micro::sync::ThreadSync;

fn context(benchmark: &dyn Benchmark, directory: &Path, given: &[(&str, &str)]) -> Context {
    let specs = benchmark.spec().parameters;
    let mut params = Params::defaults(&specs);
    for (key, value) in given {
        params.set(&specs, key, value).unwrap();
    }
    Context {
        params,
        cpus: warpt_machine::topology::usable_cpus(),
        machine: Arc::new(Machine::default()),
        working_directory: directory.to_owned(),
        memory_limit_bytes: 1 << 30,
        duration_seconds: 1.0,
        cancel: Cancel::default(),
    }
}

/// Two samples of every case; the metrics as a record would hold them, and the checks.
fn take(
    benchmark: &dyn Benchmark,
    context: &Context,
) -> Result<(Vec<BenchmarkMetric>, Vec<Check>), CaseError> {
    let clock = MonotonicClock::default();
    let (mut all, mut checks) = (Vec::new(), Vec::new());
    for mut case in
        benchmark.prepare(context).map_err(|unready| CaseError::Failed(unready.to_string()))?
    {
        assert!(!case.label().is_empty());
        match case.enter() {
            Err(CaseError::Skipped(reason)) => {
                assert!(!reason.is_empty());
                continue;
            }
            other => other?,
        }
        let mut metrics = Vec::new();
        for _ in 0..2 {
            let mut sampler = Sampler::new(&clock, Overhead::default(), 1);
            case.iterate(&mut sampler)?;
            metrics = case.metrics().iter().map(|spec| metric(benchmark, spec, &sampler)).collect();
        }
        checks.extend(case.verify());
        case.annotate(&mut metrics);
        all.extend(metrics);
    }
    benchmark.conclude(context, &mut all);
    Ok((all, checks))
}

fn metric(
    benchmark: &dyn Benchmark,
    spec: &warpt_bench::MetricSpec,
    sampler: &Sampler<'_>,
) -> BenchmarkMetric {
    let value = match spec.source {
        MetricSource::Rate { amount } => amount * 1e9 / sampler.iteration_ns().unwrap(),
        MetricSource::Time { scale } => sampler.iteration_ns().unwrap() * 1e-9 * scale,
        MetricSource::Observed => sampler.observed(spec.name).unwrap(),
    };
    assert!(value.is_finite() && value > 0.0, "{} is {value}", spec.name);
    BenchmarkMetric {
        name: spec.name.into(),
        value,
        unit: spec.unit.into(),
        higher_is_better: spec.higher_is_better,
        tags: Some(spec.tags.clone()),
        id: Some(spec.id(&benchmark.spec().id)),
        summary: None,
        samples: None,
        ceiling: None,
        verified: None,
        supporting: spec.supporting,
        extra: serde_json::Map::new(),
    }
}

/// What must hold of every benchmark's result.
fn assert_sound(benchmark: &dyn Benchmark, metrics: &[BenchmarkMetric], checks: &[Check]) {
    let spec = benchmark.spec();
    assert!(spec.description.is_some() && spec.check.is_some() && spec.ceiling.is_some());
    assert!(spec.default_duration_seconds.is_some());
    assert!(!metrics.is_empty() && !checks.is_empty());
    for check in checks {
        assert!(check.passed, "{}: {}", check.name, check.detail);
    }
    let mut ids: Vec<&str> = metrics.iter().map(|metric| metric.id.as_deref().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), metrics.len(), "identifiers are unique: {ids:?}");
    for metric in metrics {
        let ceiling =
            metric.ceiling.as_ref().unwrap_or_else(|| panic!("{:?} has no ceiling", metric.id));
        assert!(ceiling.value > 0.0 && ceiling.fraction > 0.0 && !ceiling.source.is_empty());
    }
}

#[test]
fn disk_io_measures_and_verifies_with_either_engine() {
    let directory = tempfile::tempdir().unwrap();
    for engine in ["auto", "pread"] {
        let context = context(&DiskIo, directory.path(), &[("size", "16M"), ("engine", engine)]);
        let (metrics, checks) = take(&DiskIo, &context).unwrap();
        assert_eq!(metrics.len(), 4 * 2 * 4);
        assert_sound(&DiskIo, &metrics, &checks);
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn disk_io_blames_the_surroundings_for_a_bad_place() {
    for place in ["/dev/null", "/nonexistent"] {
        let context = context(&DiskIo, Path::new("."), &[("directory", place)]);
        let error = take(&DiskIo, &context).unwrap_err();
        assert!(matches!(error, CaseError::Environment(_)), "{error}");
    }
    let context = context(&DiskIo, Path::new("."), &[("seq_block", "12288")]);
    assert!(matches!(DiskIo.prepare(&context), Err(Unready::Failed(_))));
}

#[test]
fn net_benchmarks_measure_over_loopback() {
    let here = Path::new(".");
    let one = context(&NetBandwidth, here, &[]);
    let (metrics, checks) = take(&NetBandwidth, &one).unwrap();
    assert_eq!(metrics.len(), 2);
    assert_sound(&NetBandwidth, &metrics, &checks);
    let several = context(&NetBandwidth, here, &[("streams", "3"), ("direction", "receive")]);
    let (metrics, checks) = take(&NetBandwidth, &several).unwrap();
    assert_sound(&NetBandwidth, &metrics, &checks);
    let latency = context(&NetLatency, here, &[]);
    let (metrics, checks) = take(&NetLatency, &latency).unwrap();
    assert_eq!(metrics.len(), 4);
    assert_sound(&NetLatency, &metrics, &checks);
}

#[test]
fn a_missing_or_foreign_peer_is_a_matter_of_the_surroundings() {
    // A port that was free a moment ago.
    let free =
        std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let server = LocalServer::start().unwrap();
    let foreign = server.address().to_string();
    for (peer, words) in [(free, "serve-net"), (foreign, "token")] {
        let context = context(&NetLatency, Path::new("."), &[("peer", &peer)]);
        match take(&NetLatency, &context).unwrap_err() {
            CaseError::Environment(message) => assert!(message.contains(words), "{message}"),
            other => panic!("{other:?}"),
        }
    }
    let context = context(&NetLatency, Path::new("."), &[("peer", "host:0")]);
    assert!(matches!(NetLatency.prepare(&context), Err(Unready::Failed(_))));
}

#[test]
fn process_spawn_and_thread_sync_measure_and_verify() {
    for benchmark in [&ProcessSpawn as &dyn Benchmark, &ThreadSync] {
        let context = context(benchmark, Path::new("."), &[]);
        let (metrics, checks) = take(benchmark, &context).unwrap();
        assert_sound(benchmark, &metrics, &checks);
    }
}

#[test]
fn thread_sync_on_one_cpu_measures_what_one_cpu_can() {
    let mut context = context(&ThreadSync, Path::new("."), &[]);
    context.cpus.truncate(1);
    let (metrics, checks) = take(&ThreadSync, &context).unwrap();
    assert_eq!(metrics.len(), 1);
    assert_sound(&ThreadSync, &metrics, &checks);
}

#[test]
fn gpu_benchmarks_skip_with_a_reason() {
    for benchmark in [&GpuFlops as &dyn Benchmark, &GpuBandwidth] {
        let context = context(benchmark, Path::new("."), &[]);
        match benchmark.prepare(&context) {
            Err(Unready::Skipped(reason)) => assert!(reason.contains("GPU"), "{reason}"),
            _ => panic!("no GPU kernels exist"),
        }
    }
}

//! Google Benchmark's JSON, so that its `compare.py` and everything that reads it can be used. Each sample is a repetition,
//! so the U test works; the median, mean and standard deviation are aggregates. Metrics that are no times are written as
//! described in [`super::cost`]; the value itself is a counter.

use serde_json::{Map, Value, json};
use warpt_bench::record::{BenchmarkMetric, BenchmarkRunResult, BenchmarkSuiteRun, Outcome};

use super::cost::Cost;
use super::{file, number};
use crate::report::{Report, UniqueNames, identifier, samples, start};
use crate::text::inert;

/// Repetitions written per metric; of more samples, as many evenly spaced ones.
const MAX_REPETITIONS: usize = 100;

pub(super) fn render(report: &Report) -> String {
    let mut names = UniqueNames::default();
    let mut entries = Vec::new();
    for named in &report.runs {
        for result in &named.run.benchmarks {
            let prefix = report.prefix(named);
            if result.outcome != Outcome::Passed {
                let name =
                    names.take(&format!("{prefix}{}", inert(&result.spec.id.to_string(), 500)));
                entries.push(error(&name, result));
                continue;
            }
            for metric in result.metrics.iter().filter(|metric| !metric.supporting) {
                let Some(cost) = Cost::of(metric) else { continue };
                let name = names.take(&format!("{prefix}{}", identifier(result, metric)));
                let family = entries.len();
                entries.extend(metric_entries(&name, family, metric, cost));
            }
        }
    }
    file(&json!({ "context": context(report), "benchmarks": entries }))
}

fn context(report: &Report) -> Value {
    let run = report.runs.first().map(|named| &named.run);
    let machine = run.and_then(|run: &BenchmarkSuiteRun| {
        run.benchmarks.iter().find_map(|result| result.system.as_ref())
    });
    let cpu = machine.and_then(|machine| machine.cpu.as_ref());
    let host = machine.and_then(|machine| machine.host.as_ref()?.hostname.clone());
    let clock = cpu.and_then(|cpu| cpu.clocks.as_ref()?.current_hz);
    let caches: Vec<Value> = cpu
        .and_then(|cpu| cpu.caches.as_ref())
        .into_iter()
        .flatten()
        .map(|cache| {
            json!({
                "type": inert(cache.kind.as_deref().unwrap_or("Unified"), 40),
                "level": cache.level,
                "size": cache.size_bytes,
                "num_sharing": cache.shared_by,
            })
        })
        .collect();
    json!({
        "date": run.and_then(start).map(|time| time.to_string()),
        "host_name": host.map(|host| inert(&host, 200)),
        "executable": "warpt",
        "num_cpus": cpu.and_then(|cpu| cpu.usable_count),
        "mhz_per_cpu": clock.map(|hertz| hertz / 1_000_000),
        "cpu_scaling_enabled": cpu.and_then(|cpu| cpu.clocks.as_ref()?.governor.as_ref()).is_some(),
        "caches": caches,
        "load_avg": [],
        "library_build_type": "release",
        "json_schema_version": 1,
    })
}

fn error(name: &str, result: &BenchmarkRunResult) -> Value {
    let reason = result.error_message.as_deref().unwrap_or("no reason given");
    json!({
        "name": name,
        "run_name": name,
        "run_type": "iteration",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "error_occurred": true,
        "error_message": inert(reason, 1000),
        "iterations": 0,
        "real_time": 0.0,
        "cpu_time": 0.0,
        "time_unit": "ns",
    })
}

fn metric_entries(name: &str, family: usize, metric: &BenchmarkMetric, cost: Cost) -> Vec<Value> {
    let kept = samples(metric);
    let step = kept.len().div_ceil(MAX_REPETITIONS).max(1);
    let mut values: Vec<f64> = kept.iter().step_by(step).copied().collect();
    if values.is_empty() {
        values.push(metric.value);
    }
    let values: Vec<(f64, f64)> =
        values.into_iter().filter_map(|value| Some((value, cost.seconds(value)? * 1e9))).collect();
    let entry = |run_type: &str, suffix: &str, time: f64, value: f64| {
        let mut entry = Map::new();
        let mut set = |key: &str, value: Value| entry.insert(key.to_owned(), value);
        set("name", format!("{name}{suffix}").into());
        set("family_index", family.into());
        set("per_family_instance_index", 0.into());
        set("run_name", name.into());
        set("run_type", run_type.into());
        set("repetitions", values.len().into());
        set("threads", 1.into());
        set("iterations", 1.into());
        set("real_time", number(time));
        set("cpu_time", number(time));
        set("time_unit", "ns".into());
        set("label", inert(&cost.describe(&metric.unit), 100).into());
        set("value", number(value));
        entry
    };
    let mut entries: Vec<Value> = Vec::new();
    for (index, (value, time)) in values.iter().enumerate() {
        let mut entry = entry("iteration", "", *time, *value);
        entry.insert("repetition_index".into(), index.into());
        entries.push(Value::Object(entry));
    }
    let summary = metric.summary.as_ref().filter(|_| values.len() > 1);
    let Some(summary) = summary else { return entries };
    let times: Vec<f64> = values.iter().map(|(_, time)| *time).collect();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    let deviation = (squares / (times.len() as f64 - 1.0)).sqrt();
    let median = cost.seconds(summary.median).map_or(f64::NAN, |seconds| seconds * 1e9);
    for (kind, time, value) in [
        ("mean", mean, summary.mean),
        ("median", median, summary.median),
        ("stddev", deviation, summary.standard_deviation),
    ] {
        if time.is_finite() {
            let mut entry = entry("aggregate", &format!("_{kind}"), time, value);
            entry.insert("aggregate_name".into(), kind.into());
            entry.insert("aggregate_unit".into(), "time".into());
            entries.push(Value::Object(entry));
        }
    }
    entries
}

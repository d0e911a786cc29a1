//! What the CPU and memory benchmarks share: samples on pinned threads with the clock read around them, cases
//! that exist only to say why they cannot run, and the choice of thread counts.

use warpt_bench::{Case, CaseError, Check, Context, MetricSpec, ParamSpec, Sampler};

use crate::error::SuiteError;
use crate::kernels::clock;
use crate::kernels::workers::run_pinned;

/// The name of the metric that holds the clock measured around each sample.
pub(super) const CLOCK: &str = "clock_ghz";

/// A failure of the machinery as a failure of the case.
pub(super) fn failed(error: &SuiteError) -> CaseError {
    CaseError::Failed(error.to_string())
}

/// The parameter that chooses the thread counts.
pub(super) fn threads_parameter() -> ParamSpec {
    ParamSpec::list("threads", "all", &["one", "every"], "on one CPU, on every usable CPU, or both")
}

/// The CPUs of each thread count that was asked for: the first one, and all of them when there are several.
pub(super) fn cpu_sets(context: &Context) -> Vec<Vec<usize>> {
    let every = if context.cpus.is_empty() { vec![0] } else { context.cpus.clone() };
    let mut sets = Vec::new();
    if context.params.lists("threads", "one") || every.len() == 1 {
        sets.push(every[..1].to_vec());
    }
    if every.len() > 1 && context.params.lists("threads", "every") {
        sets.push(every);
    }
    sets
}

/// How a number of threads is said on a progress line.
pub(super) fn threads_label(count: usize) -> String {
    if count == 1 { "1 thread".into() } else { format!("{count} threads") }
}

/// What a timed run on pinned threads gave.
pub(super) struct Timed<R> {
    /// From the first start to the last end.
    pub(super) elapsed_ns: f64,
    /// The mean over workers of the clock just before and just after; `None` where it cannot be measured.
    pub(super) clock_ghz: Option<f64>,
    /// One result per worker.
    pub(super) results: Vec<R>,
}

/// Runs `body` on each CPU with its own item, all released together, and reads the clock on each core around it.
pub(super) fn timed<T: Send, R: Send>(
    cpus: &[usize],
    items: Vec<T>,
    body: impl Fn(usize, T) -> R + Sync,
) -> Result<Timed<R>, CaseError> {
    let read = |_: usize| clock::measure_ghz();
    let run = run_pinned(cpus, items, read, body, read).map_err(|error| failed(&error))?;
    let mut clocks = Vec::with_capacity(cpus.len() * 2);
    let mut results = Vec::with_capacity(cpus.len());
    for (before, result, after) in run.results {
        clocks.extend([before, after]);
        results.push(result);
    }
    let clocks: Option<Vec<f64>> = clocks.into_iter().collect();
    let clock_ghz = clocks.map(|clocks| clocks.iter().sum::<f64>() / clocks.len() as f64);
    Ok(Timed { elapsed_ns: run.elapsed_ns, clock_ghz, results })
}

/// The clock's metric with the tags of the metric it stands beside, where the clock can be measured.
pub(super) fn clock_metric(beside: &MetricSpec) -> Option<MetricSpec> {
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return None;
    }
    let mut metric = MetricSpec::observed(CLOCK, "GHz", true).supporting();
    metric.tags.clone_from(&beside.tags);
    Some(metric)
}

/// The samples of a metric that are in the record itself.
pub(super) fn samples(metric: &warpt_bench::BenchmarkMetric) -> &[f64] {
    match &metric.samples {
        Some(warpt_bench::record::SampleData::Inline { values }) => values,
        _ => &[],
    }
}

/// The median, or `None` of nothing.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// How many execution units explain a rate per cycle: a rate slightly above a whole number is that number
/// measured with an error, one clearly above needs another unit.
pub(super) fn units(per_cycle: f64) -> f64 {
    (per_cycle - 0.1).ceil().clamp(1.0, 4.0)
}

/// A case that cannot run here; its reason becomes part of the record.
pub(super) struct Absent {
    pub(super) label: String,
    pub(super) reason: String,
}

impl Case for Absent {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        Vec::new()
    }

    fn enter(&mut self) -> Result<(), CaseError> {
        Err(CaseError::Skipped(self.reason.clone()))
    }

    fn iterate(&mut self, _sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        Err(CaseError::Skipped(self.reason.clone()))
    }

    fn verify(&mut self) -> Vec<Check> {
        Vec::new()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::sync::Arc;
    use warpt_bench::sampler::Overhead;
    use warpt_bench::{Benchmark, BenchmarkMetric, Cancel, MetricSource, MonotonicClock, Params};
    use warpt_machine::inventory::Machine;

    /// A context with the defaults of a benchmark and some parameters changed.
    pub(in crate::micro) fn context(
        benchmark: &dyn Benchmark,
        changes: &[(&str, &str)],
    ) -> Context {
        let specs = benchmark.spec().parameters;
        let mut params = Params::defaults(&specs);
        for (key, text) in changes {
            params.set(&specs, key, text).unwrap();
        }
        Context {
            params,
            cpus: warpt_machine::topology::usable_cpus(),
            machine: Arc::new(Machine::default()),
            working_directory: PathBuf::from("."),
            memory_limit_bytes: 256 << 20,
            duration_seconds: 0.01,
            cancel: Cancel::default(),
        }
    }

    /// Takes two samples of every case, as the runner would, and returns the metrics; checks must hold.
    pub(in crate::micro) fn run(
        benchmark: &dyn Benchmark,
        context: &Context,
    ) -> Vec<BenchmarkMetric> {
        let clock = MonotonicClock::default();
        let mut metrics = Vec::new();
        for mut case in benchmark.prepare(context).unwrap() {
            match case.enter() {
                Err(CaseError::Skipped(reason)) => {
                    assert!(!reason.is_empty());
                    continue;
                }
                other => other.unwrap(),
            }
            let specs = case.metrics();
            let mut taken: Vec<Vec<f64>> = vec![Vec::new(); specs.len()];
            for iterations in [1, 2] {
                let mut sampler = Sampler::new(&clock, Overhead::default(), iterations);
                case.iterate(&mut sampler).unwrap();
                for (spec, taken) in specs.iter().zip(&mut taken) {
                    taken.push(match spec.source {
                        MetricSource::Rate { amount } => {
                            amount * 1e9 / sampler.iteration_ns().unwrap()
                        }
                        MetricSource::Time { scale } => {
                            sampler.iteration_ns().unwrap() * 1e-9 * scale
                        }
                        MetricSource::Observed => sampler.observed(spec.name).unwrap(),
                    });
                }
            }
            let checks = case.verify();
            assert!(!checks.is_empty(), "{}", case.label());
            for check in checks {
                assert!(check.passed, "{}: {}: {}", case.label(), check.name, check.detail);
            }
            let first = metrics.len();
            for (spec, values) in specs.into_iter().zip(taken) {
                metrics.push(BenchmarkMetric {
                    name: spec.name.into(),
                    value: median(&values).unwrap(),
                    unit: spec.unit.into(),
                    higher_is_better: spec.higher_is_better,
                    id: Some(spec.id(&benchmark.spec().id)),
                    tags: Some(spec.tags),
                    summary: None,
                    samples: Some(warpt_bench::record::SampleData::Inline { values }),
                    ceiling: None,
                    verified: Some(true),
                    supporting: spec.supporting,
                    extra: serde_json::Map::new(),
                });
            }
            case.annotate(&mut metrics[first..]);
        }
        benchmark.conclude(context, &mut metrics);
        let mut ids: Vec<_> = metrics.iter().map(|metric| metric.id.clone()).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), metrics.len(), "identifiers are unique");
        metrics
    }

    #[test]
    fn units_explain_rates() {
        for (rate, expected) in
            [(0.4, 1.0), (1.0, 1.0), (1.05, 1.0), (1.6, 2.0), (2.04, 2.0), (9.0, 4.0)]
        {
            assert_eq!(units(rate), expected, "{rate}");
        }
    }

    #[test]
    fn medians_ignore_what_is_not_a_number() {
        assert_eq!(median(&[3.0, f64::NAN, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }
}

//! `mem_latency`: how long a load takes that must wait for the one before: in each cache and in main memory, and how
//! large the caches are by that measure.

mod sizes;

use warpt_bench::{
    Benchmark, BenchmarkComponent, BenchmarkId, BenchmarkKind, BenchmarkMetric, BenchmarkSpec,
    Case, CaseError, Ceiling, Check, Context, MetricSpec, ParamSpec, Sampler, Unready,
};

use super::caches::Caches;
use super::pinned::{Absent, CLOCK, clock_metric, failed, median, samples, timed};
use crate::kernels::chase::{Chase, LINE_BYTES};
use crate::kernels::clock;

/// The load-to-use latency of the first cache on the quickest cores built, in cycles.
const FIRST_CACHE_CYCLES: f64 = 4.0;
/// The working set for main memory is at least this many times the last cache.
const TIMES_LAST_CACHE: u64 = 4;

/// The benchmark.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemLatency;

impl Benchmark for MemLatency {
    fn spec(&self) -> BenchmarkSpec {
        BenchmarkSpec {
            id: BenchmarkId::new("micro", "mem_latency"),
            components: vec![BenchmarkComponent::Ram],
            kind: BenchmarkKind::Synthetic,
            description: Some(
                "Time of one dependent load, by a random pointer chase over half of each cache and over four times the \
                 last one, on huge pages; and the size of each cache as the step in latency shows it"
                    .into(),
            ),
            default_duration_seconds: Some(10),
            external_tool: None,
            params: None,
            parameters: vec![
                ParamSpec::int(
                    "dram_bytes",
                    0,
                    0,
                    1 << 40,
                    "working set for main memory; 0 takes four times the last cache",
                ),
                ParamSpec::flag("sizes", true, "find the cache sizes"),
            ],
            check: Some(
                "the chase meets every line of its working set exactly once and ends where the chain says it must"
                    .into(),
            ),
            ceiling: Some(
                "L1: 4 cycles at the clock measured around each sample; other levels: the fastest sample of this run; \
                 cache sizes: the size the kernel reports"
                    .into(),
            ),
            extra: serde_json::Map::new(),
        }
    }

    fn prepare(&self, context: &Context) -> Result<Vec<Box<dyn Case>>, Unready> {
        let caches = Caches::of(&context.machine);
        let cpu = context.cpus.first().copied().unwrap_or(0);
        let limit = context.memory_limit_bytes;
        let mut cases: Vec<Box<dyn Case>> = Vec::new();
        for (level, bytes) in caches.levels() {
            cases.push(chase_case(level, bytes / 2, cpu, limit));
        }
        let asked = context.params.int("dram_bytes") as u64;
        let wanted = if asked > 0 { asked } else { TIMES_LAST_CACHE * caches.last_bytes() };
        let bytes = wanted.min(limit / 2);
        if bytes < 2 * caches.last_bytes() && asked == 0 {
            let reason = format!(
                "a working set beyond the last cache ({} MiB, {}) does not fit into the {} MiB that may be used",
                caches.last_bytes() >> 20,
                caches.origin(),
                limit >> 20
            );
            cases.push(Box::new(Absent { label: "latency of dram".into(), reason }));
        } else {
            cases.push(chase_case("dram".into(), bytes, cpu, limit));
        }
        if context.params.flag("sizes") {
            cases.extend(sizes::cases(&caches, cpu, limit));
        }
        Ok(cases)
    }
}

/// Turns of 16 loads in one iteration: about 2 ms in the level a set of this size is meant for, so that a sample is
/// long against the start of its thread whatever batch the runner chooses.
fn turns(bytes: usize) -> u64 {
    match bytes {
        0..=0x1_ffff => 1 << 16,
        0x2_0000..=0x1f_ffff => 1 << 14,
        _ => 1 << 11,
    }
}

/// A chase over `bytes`, or the reason why there is none.
fn chase_case(level: String, bytes: u64, cpu: usize, limit: u64) -> Box<dyn Case> {
    if bytes > limit {
        let reason = format!(
            "a working set of {} MiB does not fit into the {} MiB that may be used",
            bytes >> 20,
            limit >> 20
        );
        return Box::new(Absent { label: format!("latency of {level}"), reason });
    }
    Box::new(Latency { level, bytes: bytes as usize, cpu, chase: None, steps: 0 })
}

/// The latency of one level.
struct Latency {
    level: String,
    bytes: usize,
    cpu: usize,
    chase: Option<Chase>,
    steps: u64,
}

impl Case for Latency {
    fn label(&self) -> String {
        let size = if self.bytes < 1 << 20 {
            format!("{} KiB", self.bytes >> 10)
        } else {
            format!("{} MiB", self.bytes >> 20)
        };
        format!("latency of {}, {size}", self.level)
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        let latency = MetricSpec::time("latency", "ns", 1e9 / (turns(self.bytes) * 16) as f64)
            .tag("level", &self.level);
        let clock = clock_metric(&latency);
        std::iter::once(latency).chain(clock).collect()
    }

    fn enter(&mut self) -> Result<(), CaseError> {
        self.chase = Some(Chase::new(self.bytes, 0x5eed).map_err(|error| failed(&error))?);
        Ok(())
    }

    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        let chase = self
            .chase
            .as_mut()
            .ok_or_else(|| CaseError::Failed("the chain was not built".into()))?;
        let (iterations, turns) = (sampler.iterations(), turns(self.bytes));
        let run =
            timed(&[self.cpu], vec![chase], |_, chase: &mut Chase| chase.run(iterations * turns))?;
        sampler.elapsed(run.elapsed_ns, iterations);
        if let Some(clock) = run.clock_ghz {
            sampler.observe(CLOCK, clock);
        }
        self.steps += run.results.iter().sum::<u64>();
        Ok(())
    }

    fn verify(&mut self) -> Vec<Check> {
        let name = format!("{}: one cycle", self.label());
        let Some(chase) = &self.chase else {
            return vec![Check::new(name, false, "nothing was measured")];
        };
        let (found, expected) = (chase.line(), chase.expected_line(self.steps));
        let verdict = match chase.check() {
            Ok(()) if found == expected => Ok(()),
            Ok(()) => {
                Err(format!("{} steps should end on line {expected}, not on {found}", self.steps))
            }
            Err(fault) => Err(fault),
        };
        let detail = verdict.clone().err().unwrap_or_else(|| {
            let pages = match chase.huge_pages() {
                Ok(()) => "huge pages advised (MADV_HUGEPAGE)".to_owned(),
                Err(reason) => format!("without huge pages: {reason}"),
            };
            format!(
                "{} lines of {LINE_BYTES} bytes, each met once; {} steps ended on line {found} as they must; {pages}",
                chase.lines(),
                self.steps
            )
        });
        vec![Check::new(name, verdict.is_ok(), detail)]
    }

    fn annotate(&self, metrics: &mut [BenchmarkMetric]) {
        let Some((latency, rest)) = metrics.split_first_mut() else { return };
        if self.level == "L1"
            && let Some(clocks) = rest.first()
        {
            let pairs = samples(latency).iter().zip(samples(clocks));
            let fractions: Vec<f64> =
                pairs.map(|(ns, clock)| FIRST_CACHE_CYCLES / clock / ns).collect();
            let source = format!(
                "{FIRST_CACHE_CYCLES} cycles, the load latency of the quickest first caches built, at {:.2} GHz measured \
                 around each sample with {}",
                clocks.value,
                clock::METHOD
            );
            let mut ceiling = Ceiling::above(latency, FIRST_CACHE_CYCLES / clocks.value, source);
            ceiling.fraction = median(&fractions).unwrap_or(ceiling.fraction);
            latency.ceiling = Some(ceiling);
            return;
        }
        let fastest =
            samples(latency).iter().copied().filter(|ns| *ns > 0.0).min_by(f64::total_cmp);
        if let Some(fastest) = fastest {
            let source =
                "the fastest sample of this run: what the level gives when nobody interferes";
            latency.ceiling = Some(Ceiling::above(latency, fastest, source));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::micro::pinned::tests::{context, run};

    #[test]
    fn every_level_measures_checks_and_states_a_ceiling() {
        let context = context(&MemLatency, &[("dram_bytes", "4M"), ("sizes", "no")]);
        let metrics = run(&MemLatency, &context);
        let levels: Vec<&str> = metrics
            .iter()
            .filter(|metric| metric.name == "latency")
            .map(|metric| metric.tags.as_ref().unwrap()["level"].as_str())
            .collect();
        assert_eq!(levels, ["L1", "L2", "L3", "dram"]);
        for metric in metrics.iter().filter(|metric| metric.name == "latency") {
            assert!(
                metric.value > 0.0 && metric.ceiling.as_ref().unwrap().value > 0.0,
                "{:?}",
                metric.id
            );
        }
    }

    #[test]
    fn a_set_that_does_not_fit_says_so() {
        let mut context = context(&MemLatency, &[("sizes", "no")]);
        context.memory_limit_bytes = 8 << 20;
        let mut reasons = Vec::new();
        for mut case in MemLatency.prepare(&context).unwrap() {
            if case.label() == "latency of L3" || case.label() == "latency of dram" {
                reasons.push(case.enter().unwrap_err().to_string());
            }
        }
        assert!(
            reasons.len() == 2 && reasons.iter().all(|reason| reason.contains("does not fit")),
            "{reasons:?}"
        );
    }
}

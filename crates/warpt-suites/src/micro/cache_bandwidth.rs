//! `cache_bandwidth`: what each cache gives one core per second: sweeps that read, write and copy half of it.

use warpt_bench::{
    Benchmark, BenchmarkComponent, BenchmarkId, BenchmarkKind, BenchmarkMetric, BenchmarkSpec,
    Case, CaseError, Ceiling, Check, Context, MetricSpec, ParamSpec, Sampler, Unready,
};

use super::caches::Caches;
use super::pinned::{Absent, CLOCK, clock_metric, failed, median, samples, timed, units};
use crate::kernels::buffer::Buffer;
use crate::kernels::clock;
use crate::kernels::sweep::{Sweep, TURN_BYTES};

/// Bytes one iteration goes through at least: a millisecond or more, so that a sample is long against the start of
/// its thread whatever batch the runner chooses.
const ITERATION_BYTES: usize = 256 << 20;
/// Short runs from which the number of ports is inferred.
const BURSTS: usize = 30;

/// The benchmark.
#[derive(Debug, Clone, Copy, Default)]
pub struct CacheBandwidth;

impl Benchmark for CacheBandwidth {
    fn spec(&self) -> BenchmarkSpec {
        BenchmarkSpec {
            id: BenchmarkId::new("micro", "cache_bandwidth"),
            components: vec![BenchmarkComponent::Cpu, BenchmarkComponent::Ram],
            kind: BenchmarkKind::Synthetic,
            description: Some(
                "Bandwidth of each cache as one core sees it: reads, writes and copies over half of its size with the \
                 widest vectors"
                    .into(),
            ),
            default_duration_seconds: Some(8),
            external_tool: None,
            params: None,
            parameters: vec![
                ParamSpec::list("kernels", "all", &["read", "write", "copy"], "what the sweeps do"),
                ParamSpec::list("levels", "all", &["L1", "L2", "L3", "L4"], "caches to measure"),
            ],
            check: Some(
                "the sum of everything read must be exact, and written and copied memory must hold what it should".into(),
            ),
            ceiling: Some(
                "L1: accesses per cycle x vector width x the clock measured around each sample; other levels: L1 in the \
                 same run"
                    .into(),
            ),
            extra: serde_json::Map::new(),
        }
    }

    fn prepare(&self, context: &Context) -> Result<Vec<Box<dyn Case>>, Unready> {
        let cpu = context.cpus.first().copied().unwrap_or(0);
        let way = Sweep::available()[0];
        let mut cases: Vec<Box<dyn Case>> = Vec::new();
        for (level, bytes) in Caches::of(&context.machine).levels() {
            if !context.params.lists("levels", &level) {
                continue;
            }
            for action in [Action::Read, Action::Write, Action::Copy] {
                if !context.params.lists("kernels", action.name()) {
                    continue;
                }
                if bytes > context.memory_limit_bytes {
                    let reason = format!(
                        "half of {} MiB does not fit into the {} MiB that may be used",
                        bytes >> 20,
                        context.memory_limit_bytes >> 20
                    );
                    cases.push(Box::new(Absent {
                        label: format!("{level} {}", action.name()),
                        reason,
                    }));
                    continue;
                }
                let half = (bytes / 2) as usize / (2 * TURN_BYTES) * (2 * TURN_BYTES);
                cases.push(Box::new(SweepCase::new(
                    level.clone(),
                    action,
                    way,
                    half.max(2 * TURN_BYTES),
                    cpu,
                )));
            }
        }
        if cases.is_empty() {
            return Err(Unready::Skipped("this machine has none of the caches asked for".into()));
        }
        Ok(cases)
    }

    fn conclude(&self, _context: &Context, metrics: &mut Vec<BenchmarkMetric>) {
        let tags = |metric: &BenchmarkMetric| {
            let tag = |key: &str| {
                metric.tags.as_ref().and_then(|tags| tags.get(key)).cloned().unwrap_or_default()
            };
            (tag("level"), tag("kernel"))
        };
        let first: Vec<(String, f64)> = metrics
            .iter()
            .filter(|metric| metric.name == "bandwidth" && tags(metric).0 == "L1")
            .map(|metric| (tags(metric).1, metric.value))
            .collect();
        for metric in metrics.iter_mut().filter(|metric| metric.name == "bandwidth") {
            let (level, kernel) = tags(metric);
            let limit = first.iter().find(|(of, _)| *of == kernel);
            if let (false, Some((_, limit))) = (level == "L1", limit) {
                let source = format!("the {kernel} bandwidth of L1 measured in this run");
                metric.ceiling = Some(Ceiling::above(metric, *limit, source));
            }
        }
    }
}

/// What a sweep does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Read,
    Write,
    Copy,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Copy => "copy",
        }
    }

    /// What counts as one access when accesses per cycle are counted, and its width in vectors.
    fn access(self) -> (&'static str, f64) {
        match self {
            Self::Read => ("load", 1.0),
            Self::Write => ("store", 1.0),
            Self::Copy => ("load and store", 2.0),
        }
    }
}

struct SweepCase {
    level: String,
    action: Action,
    way: Sweep,
    bytes: usize,
    cpu: usize,
    memory: Option<Buffer>,
    accesses: Option<f64>,
    sum: u64,
    fault: Option<String>,
    passes: u64,
}

impl SweepCase {
    fn new(level: String, action: Action, way: Sweep, bytes: usize, cpu: usize) -> Self {
        Self {
            level,
            action,
            way,
            bytes,
            cpu,
            memory: None,
            accesses: None,
            sum: 0,
            fault: None,
            passes: 0,
        }
    }

    /// The value a write leaves.
    const WRITTEN: u64 = 0x0123_4567_89ab_cdef;

    /// Bytes per cycle as accesses per cycle.
    fn accesses_per_cycle(&self, passes: u64, elapsed_ns: f64, clock_ghz: f64) -> f64 {
        let bytes = self.bytes as f64 * passes as f64;
        bytes / (elapsed_ns * clock_ghz) / (self.way.width_bytes() as f64 * self.action.access().1)
    }

    fn passes_per_iteration(&self) -> u64 {
        (ITERATION_BYTES / self.bytes).max(1) as u64
    }

    /// Passes of about 20 µs in the first cache.
    fn burst_passes(&self) -> u64 {
        ((2 << 20) / self.bytes as u64).max(1)
    }
}

/// Runs passes over the working set; the sum of a read.
fn sweep(action: Action, way: Sweep, memory: &mut [u64], passes: u64) -> u64 {
    match action {
        Action::Read => return way.read(memory, passes),
        Action::Write => way.write(memory, SweepCase::WRITTEN, passes),
        Action::Copy => {
            let (from, to) = memory.split_at_mut(memory.len() / 2);
            way.copy(from, to, passes);
        }
    }
    0
}

impl Case for SweepCase {
    fn label(&self) -> String {
        format!("{} {}, {} KiB", self.level, self.action.name(), self.bytes >> 10)
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        // A copy reads one half of the set and writes the other: the set once, either way.
        let bytes = self.bytes as f64 * self.passes_per_iteration() as f64;
        let bandwidth = MetricSpec::rate("bandwidth", "GB/s", bytes * 1e-9)
            .tag("kernel", self.action.name())
            .tag("level", &self.level);
        let clock = clock_metric(&bandwidth);
        std::iter::once(bandwidth).chain(clock).collect()
    }

    fn enter(&mut self) -> Result<(), CaseError> {
        let mut memory = Buffer::new(self.bytes).map_err(|error| failed(&error))?;
        let mut random = fastrand::Rng::with_seed(0x5eed);
        memory.as_mut_slice::<u64>().fill_with(|| random.u64(..));
        self.sum = memory.as_slice::<u64>().iter().fold(0, |sum, word| sum.wrapping_add(*word));
        if self.level == "L1" {
            let (action, way, passes) = (self.action, self.way, self.burst_passes());
            let bursts =
                timed(&[self.cpu], vec![memory.as_mut_slice::<u64>()], |_, memory: &mut [u64]| {
                    let mut readings = Vec::with_capacity(BURSTS);
                    for _ in 0..BURSTS {
                        let start = std::time::Instant::now();
                        std::hint::black_box(sweep(action, way, memory, passes));
                        readings.push((start.elapsed().as_nanos() as f64, clock::measure_ghz()));
                    }
                    readings
                })?;
            let readings = bursts.results.iter().flatten();
            let rates = readings.filter_map(|(elapsed_ns, clock_ghz)| {
                Some(self.accesses_per_cycle(passes, *elapsed_ns, (*clock_ghz)?))
            });
            self.accesses = rates.max_by(f64::total_cmp).map(units);
        }
        self.memory = Some(memory);
        Ok(())
    }

    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        let passes = sampler.iterations() * self.passes_per_iteration();
        let (action, way) = (self.action, self.way);
        let memory = self
            .memory
            .as_mut()
            .ok_or_else(|| CaseError::Failed("the set was not allocated".into()))?;
        let run =
            timed(&[self.cpu], vec![memory.as_mut_slice::<u64>()], |_, memory: &mut [u64]| {
                sweep(action, way, memory, passes)
            })?;
        sampler.elapsed(run.elapsed_ns, sampler.iterations());
        if let Some(clock) = run.clock_ghz {
            sampler.observe(CLOCK, clock);
        }
        self.passes += passes;
        let expected = if action == Action::Read { self.sum.wrapping_mul(passes) } else { 0 };
        if run.results != [expected] && self.fault.is_none() {
            self.fault = Some(format!(
                "{passes} passes: expected the sum {expected:#x}, found {:#x?}",
                run.results
            ));
        }
        Ok(())
    }

    fn verify(&mut self) -> Vec<Check> {
        let memory = self.memory.as_ref().map_or(&[][..], |memory| memory.as_slice::<u64>());
        let (from, to) = memory.split_at(memory.len() / 2);
        let right = !memory.is_empty()
            && match self.action {
                Action::Read => true,
                Action::Write => memory.iter().all(|word| *word == Self::WRITTEN),
                Action::Copy => from == to,
            };
        let detail = match (&self.fault, right) {
            (Some(fault), _) => fault.clone(),
            (None, false) => "the memory does not hold what was written".into(),
            (None, true) => {
                format!("{} passes over {} bytes with {}", self.passes, self.bytes, self.way.name())
            }
        };
        vec![Check::new(
            format!("{}: contents", self.label()),
            right && self.fault.is_none(),
            detail,
        )]
    }

    fn annotate(&self, metrics: &mut [BenchmarkMetric]) {
        let (Some(accesses), [bandwidth, clocks, ..]) = (self.accesses, metrics) else { return };
        let (access, vectors) = self.action.access();
        let per_ghz = accesses * self.way.width_bytes() as f64 * vectors;
        let pairs = samples(bandwidth).iter().zip(samples(clocks));
        let fractions: Vec<f64> = pairs.map(|(rate, clock)| rate / (per_ghz * clock)).collect();
        let source = format!(
            "{accesses} {access} per cycle (inferred from the rate of short bursts) of {} bytes x {:.2} GHz measured around \
             each sample with {}",
            self.way.width_bytes(),
            clocks.value,
            clock::METHOD
        );
        let mut ceiling = Ceiling::above(bandwidth, per_ghz * clocks.value, source);
        ceiling.fraction = median(&fractions).unwrap_or(ceiling.fraction);
        bandwidth.ceiling = Some(ceiling);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::micro::pinned::tests::{context, run};

    #[test]
    fn every_level_and_kernel_measures_checks_and_states_a_ceiling() {
        let metrics = run(&CacheBandwidth, &context(&CacheBandwidth, &[]));
        let rates: Vec<&BenchmarkMetric> =
            metrics.iter().filter(|metric| metric.name == "bandwidth").collect();
        assert_eq!(rates.len(), 9);
        for metric in rates {
            assert!(
                metric.value > 0.0 && metric.ceiling.as_ref().unwrap().value > 0.0,
                "{:?}",
                metric.id
            );
        }
    }

    #[test]
    fn levels_and_kernels_are_chosen_and_absent_ones_said() {
        let narrow = context(&CacheBandwidth, &[("levels", "L2"), ("kernels", "copy")]);
        assert_eq!(CacheBandwidth.prepare(&narrow).unwrap().len(), 1);
        let none = context(&CacheBandwidth, &[("levels", "L4")]);
        assert!(matches!(CacheBandwidth.prepare(&none), Err(Unready::Skipped(_))));
    }
}

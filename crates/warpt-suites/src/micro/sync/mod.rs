//! `thread_sync`: what it costs threads to meet: over a cache line, through the kernel, at a lock, at a barrier.

mod exchange;

use warpt_bench::{
    Benchmark, BenchmarkComponent, BenchmarkId, BenchmarkKind, BenchmarkMetric, BenchmarkSpec,
    Case, CaseError, Ceiling, Check, Context, MetricSpec, Sampler, Unready,
};
use warpt_machine::topology;

use exchange::{
    Outcome, atomic_addition_ns, atomic_round_trips, barriers, can_pin, condvar_round_trips, locks,
};

/// The benchmark.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThreadSync;

impl Benchmark for ThreadSync {
    fn spec(&self) -> BenchmarkSpec {
        BenchmarkSpec {
            id: BenchmarkId::new("micro", "thread_sync"),
            components: vec![BenchmarkComponent::Cpu],
            kind: BenchmarkKind::Synthetic,
            description: Some(
                "Cost of synchronizing threads: a cache line passed between two cores, a wake-up through the kernel, a \
                 lock alone and fought over, a barrier of all CPUs"
                    .into(),
            ),
            default_duration_seconds: Some(4),
            external_tool: None,
            params: None,
            parameters: Vec::new(),
            check: Some("the shared counters hold exactly what the threads did".into()),
            ceiling: Some(
                "measured in this run: atomic additions on a line the core holds for the cache line and the free \
                 lock, the cache-line round trip for wake-ups and barriers, the free lock for the contended one"
                    .into(),
            ),
            extra: serde_json::Map::new(),
        }
    }

    fn prepare(&self, context: &Context) -> Result<Vec<Box<dyn Case>>, Unready> {
        if context.cpus.is_empty() {
            return Err(Unready::Failed("no usable CPU is known".into()));
        }
        // Two cores rather than two threads of one, where there are two.
        let mut cores = topology::one_cpu_per_core();
        cores.retain(|cpu| context.cpus.contains(cpu));
        let pair = if cores.len() >= 2 { &cores } else { &context.cpus };
        let pair: Vec<usize> = pair.iter().copied().take(2).collect();
        let cases = [
            (Meeting::CacheLine, pair.clone()),
            (Meeting::WakeUp, pair),
            (Meeting::FreeLock, context.cpus[..1].to_vec()),
            (Meeting::ContendedLock, context.cpus.clone()),
            (Meeting::Barrier, context.cpus.clone()),
        ];
        Ok(cases
            .into_iter()
            .map(|(meeting, cpus)| -> Box<dyn Case> {
                Box::new(SyncCase { meeting, cpus, counted: 0, expected: 0, floor: None })
            })
            .collect())
    }

    fn conclude(&self, _context: &Context, metrics: &mut Vec<BenchmarkMetric>) {
        let value = |name: &str| {
            metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value)
        };
        let (line_ns, lock_ns) = (value("cache_line_round_trip"), value("lock_time"));
        for metric in metrics.iter_mut() {
            let limit = match metric.name.as_str() {
                "wake_up_round_trip" | "barrier_time" => {
                    line_ns.map(|ns| (ns / 1e3, "the cache-line round trip of this run"))
                }
                "lock_rate" => lock_ns
                    .map(|ns| (1e3 / ns, "the rate of the lock nobody else wants, in this run")),
                _ => None,
            };
            if let Some((limit, source)) = limit.filter(|(limit, _)| *limit > 0.0) {
                metric.ceiling = Some(Ceiling::above(metric, limit, source));
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meeting {
    CacheLine,
    WakeUp,
    FreeLock,
    ContendedLock,
    Barrier,
}

struct SyncCase {
    meeting: Meeting,
    cpus: Vec<usize>,
    counted: u64,
    expected: u64,
    /// The ceiling this case measures itself: nanoseconds, and what they are of.
    floor: Option<(f64, &'static str)>,
}

impl SyncCase {
    fn run(&self, rounds: u64) -> Result<Outcome, CaseError> {
        let pair = || -> Result<[usize; 2], String> {
            self.cpus.as_slice().try_into().map_err(|_| "two CPUs are needed".to_owned())
        };
        match self.meeting {
            Meeting::CacheLine => pair().and_then(|pair| atomic_round_trips(&pair, rounds)),
            Meeting::WakeUp => pair().and_then(|pair| condvar_round_trips(&pair, rounds)),
            Meeting::FreeLock | Meeting::ContendedLock => locks(&self.cpus, rounds),
            Meeting::Barrier => barriers(&self.cpus, rounds),
        }
        .map_err(CaseError::Failed)
    }
}

impl Case for SyncCase {
    fn label(&self) -> String {
        match self.meeting {
            Meeting::CacheLine => "cache line".into(),
            Meeting::WakeUp => "wake-up".into(),
            Meeting::FreeLock => "free lock".into(),
            Meeting::ContendedLock => format!("lock, {} threads", self.cpus.len()),
            Meeting::Barrier => format!("barrier, {} threads", self.cpus.len()),
        }
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        let threads = self.cpus.len();
        vec![
            match self.meeting {
                Meeting::CacheLine => MetricSpec::time("cache_line_round_trip", "ns", 1e9),
                Meeting::WakeUp => MetricSpec::time("wake_up_round_trip", "µs", 1e6),
                Meeting::FreeLock => MetricSpec::time("lock_time", "ns", 1e9),
                Meeting::ContendedLock => {
                    MetricSpec::rate("lock_rate", "M/s", threads as f64 * 1e-6)
                }
                Meeting::Barrier => MetricSpec::time("barrier_time", "µs", 1e6),
            }
            .tag("threads", threads),
        ]
    }

    fn enter(&mut self) -> Result<(), CaseError> {
        if self.meeting != Meeting::FreeLock && self.cpus.len() < 2 {
            return Err(CaseError::Skipped("it takes two CPUs, and this run may use one".into()));
        }
        can_pin(&self.cpus).map_err(CaseError::Skipped)
    }

    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        let rounds = sampler.iterations();
        let outcome = self.run(rounds)?;
        self.counted += outcome.counted;
        self.expected += outcome.expected;
        sampler.elapsed(outcome.nanoseconds as f64, rounds);
        Ok(())
    }

    fn verify(&mut self) -> Vec<Check> {
        self.floor = match self.meeting {
            Meeting::CacheLine => Some((
                2.0 * atomic_addition_ns(),
                "two atomic additions on a line the core holds, measured in this run",
            )),
            Meeting::FreeLock => Some((
                atomic_addition_ns(),
                "one atomic addition on a line the core holds, measured in this run",
            )),
            _ => None,
        };
        vec![Check::new(
            format!("{}: count", self.label()),
            self.counted == self.expected && self.expected > 0,
            format!("counted {} where {} were done", self.counted, self.expected),
        )]
    }

    fn annotate(&self, metrics: &mut [BenchmarkMetric]) {
        if let Some((floor, source)) = self.floor {
            for metric in metrics {
                metric.ceiling = Some(Ceiling::above(metric, floor, source));
            }
        }
    }
}

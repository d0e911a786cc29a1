//! `process_spawn`: what starting a program and starting a thread cost, each from the call to the known end.

mod clone;

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use warpt_bench::{
    Benchmark, BenchmarkComponent, BenchmarkId, BenchmarkKind, BenchmarkMetric, BenchmarkSpec,
    Case, CaseError, Ceiling, Check, Context, MetricSpec, Sampler, Unready,
};

use clone::Cloner;

const PROGRAMS: [&str; 2] = ["/bin/true", "/usr/bin/true"];
/// Fewer repeats than this give no floor worth stating.
const FLOOR_REPEATS: usize = 300;

/// The benchmark.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessSpawn;

impl Benchmark for ProcessSpawn {
    fn spec(&self) -> BenchmarkSpec {
        BenchmarkSpec {
            id: BenchmarkId::new("micro", "process_spawn"),
            components: vec![BenchmarkComponent::System],
            kind: BenchmarkKind::Synthetic,
            description: Some(
                "Time to start the program true and to see it end, and to start a thread and join it".into(),
            ),
            default_duration_seconds: Some(4),
            external_tool: None,
            params: None,
            parameters: Vec::new(),
            check: Some("every program ends with status 0, and every thread has counted itself".into()),
            ceiling: Some(
                "the kernel's part alone, measured in this run: an empty process (clone sharing the memory, then \
                 wait) for programs, a bare kernel thread for threads"
                    .into(),
            ),
            extra: serde_json::Map::new(),
        }
    }

    fn prepare(&self, _context: &Context) -> Result<Vec<Box<dyn Case>>, Unready> {
        let threads: Box<dyn Case> = Box::new(SpawnCase::new(Kind::Thread));
        let program = PROGRAMS.into_iter().find(|program| Path::new(program).is_file());
        let missing = "neither /bin/true nor /usr/bin/true exists";
        let programs = Box::new(SpawnCase::new(match program {
            Some(program) => Kind::Program(program),
            None => Kind::Missing(missing),
        }));
        Ok(vec![programs, threads])
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Program(&'static str),
    Missing(&'static str),
    Thread,
}

struct SpawnCase {
    kind: Kind,
    started: u64,
    ended_well: u64,
    /// In microseconds.
    floor: Option<f64>,
}

impl SpawnCase {
    fn new(kind: Kind) -> Self {
        Self { kind, started: 0, ended_well: 0, floor: None }
    }

    fn measure_floor(&self) -> io::Result<f64> {
        let mut cloner = Cloner::new();
        let mut times = Vec::with_capacity(FLOOR_REPEATS);
        for _ in 0..FLOOR_REPEATS {
            let start = std::time::Instant::now();
            match self.kind {
                Kind::Thread => cloner.thread()?,
                Kind::Program(_) | Kind::Missing(_) => cloner.process()?,
            }
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        Ok(warpt_stats::order::median(&times))
    }
}

/// Runs a program to its end; whether it succeeded.
fn run(program: &str) -> io::Result<bool> {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().map(|status| status.success())
}

/// Starts a thread that counts itself, and joins it.
fn spawn_thread(count: &AtomicU64) -> io::Result<bool> {
    std::thread::scope(|scope| {
        let body = || {
            count.fetch_add(1, Ordering::Relaxed);
        };
        Ok(std::thread::Builder::new().spawn_scoped(scope, body)?.join().is_ok())
    })
}

impl Case for SpawnCase {
    fn label(&self) -> String {
        match self.kind {
            Kind::Thread => "thread".into(),
            Kind::Program(_) | Kind::Missing(_) => "program".into(),
        }
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        vec![match self.kind {
            Kind::Thread => MetricSpec::time("thread_spawn", "µs", 1e6),
            Kind::Program(_) | Kind::Missing(_) => {
                MetricSpec::time("spawn_time", "µs", 1e6).tag("program", "true")
            }
        }]
    }

    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        let count = AtomicU64::new(0);
        let mut good = 0;
        let mut failure = None;
        let kind = self.kind;
        if let Kind::Missing(reason) = kind {
            return Err(CaseError::Skipped(reason.into()));
        }
        sampler.time(|| {
            let outcome = match kind {
                Kind::Program(program) => run(program),
                Kind::Thread | Kind::Missing(_) => spawn_thread(&count),
            };
            match outcome {
                Ok(well) => good += u64::from(well),
                Err(error) => failure = Some(error),
            }
        });
        if let Some(error) = failure {
            return Err(CaseError::Environment(format!(
                "cannot start a {}: {error}; is a limit on processes or memory reached?",
                self.label()
            )));
        }
        if matches!(kind, Kind::Thread) {
            good = good.min(count.load(Ordering::Relaxed));
        }
        self.started += sampler.iterations();
        self.ended_well += good;
        Ok(())
    }

    fn verify(&mut self) -> Vec<Check> {
        self.floor = self.measure_floor().ok();
        let what = match self.kind {
            Kind::Thread => "threads counted themselves and were joined",
            Kind::Program(_) | Kind::Missing(_) => "programs ended with status 0",
        };
        vec![Check::new(
            format!("{}: all ended well", self.label()),
            self.started > 0 && self.ended_well == self.started,
            format!("{} of {} {what}", self.ended_well, self.started),
        )]
    }

    fn annotate(&self, metrics: &mut [BenchmarkMetric]) {
        let Some(floor) = self.floor else { return };
        let source = match self.kind {
            Kind::Thread => "a bare kernel thread, started and waited for, median in this run",
            Kind::Program(_) | Kind::Missing(_) => {
                "an empty process sharing the memory, started and waited for, median in this run"
            }
        };
        for metric in metrics {
            metric.ceiling = Some(Ceiling::above(metric, floor, source));
        }
    }

    fn sample_ns(&self) -> u64 {
        20_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_threads_are_seen_to_end() {
        assert!(run("/bin/true").unwrap());
        assert!(!run("/bin/false").unwrap());
        assert!(run("/nonexistent").is_err());
        let count = AtomicU64::new(0);
        for _ in 0..5 {
            assert!(spawn_thread(&count).unwrap());
        }
        assert_eq!(count.into_inner(), 5);
    }
}

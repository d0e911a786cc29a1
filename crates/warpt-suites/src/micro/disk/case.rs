//! One access pattern at one queue depth as a case. The first case to run creates and fills the scratch file; the
//! others find it filled.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use warpt_bench::{Case, CaseError, Check, MetricSpec, Sampler};

use super::access::{Batch, Cursor, Goal, Pattern};
use super::engine::{Choice, Engine, lay_out};
use super::scratch::Scratch;
use super::verify::verify;
use crate::error::SuiteError;
use crate::micro::latencies::quantile_us;

/// How long the requests of a sample are counted.
const COUNT_FOR: Duration = Duration::from_millis(100);

/// What all cases of a run share.
pub(super) struct Place {
    pub(super) directory: PathBuf,
    pub(super) bytes: u64,
    pub(super) direct: bool,
    /// `auto`, `io_uring` or `pread`.
    pub(super) engine: String,
    pub(super) state: Option<(Scratch, Choice)>,
}

impl Place {
    fn prepared(&mut self) -> Result<&mut (Scratch, Choice), SuiteError> {
        if self.state.is_none() {
            let mut scratch = Scratch::create(&self.directory, self.bytes, self.direct)?;
            let choice = lay_out(&mut scratch, &self.engine)
                .map_err(|error| scratch.failed("cannot fill the scratch file", &error))?;
            self.state = Some((scratch, choice));
        }
        Ok(self.state.as_mut().expect("set just above"))
    }
}

/// A pattern, a block size and a queue depth.
pub(super) struct DiskCase {
    place: Rc<RefCell<Place>>,
    pattern: Pattern,
    block: usize,
    depth: usize,
    running: Option<Running>,
    latencies: Vec<u64>,
    requests: u64,
    wrong: u64,
}

struct Running {
    engine: Engine,
    cursor: Cursor,
    /// What this case writes; a number no other case wrote.
    generation: Option<u8>,
}

impl DiskCase {
    pub(super) fn new(
        place: Rc<RefCell<Place>>,
        pattern: Pattern,
        block: usize,
        depth: usize,
    ) -> Self {
        Self {
            place,
            pattern,
            block,
            depth,
            running: None,
            latencies: Vec::new(),
            requests: 0,
            wrong: 0,
        }
    }

    fn block_name(&self) -> String {
        match self.block {
            block if block >= 1 << 20 => format!("{}MiB", block >> 20),
            block => format!("{}KiB", block >> 10),
        }
    }

    fn tagged(&self, metric: MetricSpec) -> MetricSpec {
        let place = self.place.borrow();
        let engine = place.state.as_ref().map_or("io_uring", |(_, choice)| choice.name());
        let metric = metric
            .tag("pattern", self.pattern.name())
            .tag("block", self.block_name())
            .tag("queue_depth", self.depth)
            .tag("engine", engine);
        match &place.state {
            Some((scratch, _)) if scratch.buffered.is_some() => metric.tag("cache", "page_cache"),
            _ => metric,
        }
    }
}

fn environment(error: impl std::fmt::Display) -> CaseError {
    CaseError::Environment(error.to_string())
}

impl Case for DiskCase {
    fn label(&self) -> String {
        format!("{}, {} blocks, depth {}", self.pattern.name(), self.block_name(), self.depth)
    }

    fn metrics(&self) -> Vec<MetricSpec> {
        let bandwidth = MetricSpec::rate("bandwidth", "MB/s", self.block as f64 * 1e-6);
        let rate = MetricSpec::rate("iops", "1/s", 1.0);
        let first = if self.pattern.sequential() {
            [bandwidth, rate.supporting()]
        } else {
            [rate, bandwidth.supporting()]
        };
        let middle = MetricSpec::observed("latency_p50", "µs", false).supporting();
        let tail = MetricSpec::observed("latency_p99", "µs", false);
        first.into_iter().chain([middle, tail]).map(|metric| self.tagged(metric)).collect()
    }

    fn enter(&mut self) -> Result<(), CaseError> {
        let mut place = self.place.borrow_mut();
        let (scratch, choice) = place.prepared().map_err(environment)?;
        let engine = Engine::new(choice, self.depth, self.block)
            .map_err(|error| environment(scratch.failed("cannot start the I/O engine", &error)))?;
        let generation = self.pattern.writes().then(|| scratch.new_generation());
        let cursor = Cursor::new(self.pattern, scratch.bytes, self.block);
        self.running = Some(Running { engine, cursor, generation });
        Ok(())
    }

    fn iterate(&mut self, sampler: &mut Sampler<'_>) -> Result<(), CaseError> {
        let place = self.place.borrow();
        let (Some((scratch, _)), Some(running)) = (&place.state, &mut self.running) else {
            return Err(CaseError::Failed("the case was not entered".into()));
        };
        self.latencies.clear();
        let done = running
            .engine
            .run(&mut Batch {
                file: &scratch.file,
                write: self.pattern.writes(),
                goal: Goal::Time(COUNT_FOR),
                cursor: &mut running.cursor,
                generation: running.generation.unwrap_or(0),
                noise: &scratch.noise,
                ledger: &scratch.ledger,
                latencies: &mut self.latencies,
            })
            .map_err(|error| {
                let action = if self.pattern.writes() { "cannot write" } else { "cannot read" };
                environment(scratch.failed(action, &error))
            })?;
        self.requests += done.issued;
        self.wrong += done.wrong;
        sampler.elapsed(done.nanoseconds as f64, done.counted);
        sampler.observe("latency_p50", quantile_us(&mut self.latencies, 0.50));
        sampler.observe("latency_p99", quantile_us(&mut self.latencies, 0.99));
        Ok(())
    }

    fn verify(&mut self) -> Vec<Check> {
        let generation = self.running.take().and_then(|running| running.generation);
        let place = self.place.borrow();
        let Some((scratch, choice)) = &place.state else { return Vec::new() };
        let name = format!("{}: content", self.label());
        let content = match verify(scratch, generation) {
            Err(error) => Check::new(name, false, format!("reading back: {error}")),
            Ok(seen) => {
                let passed = self.wrong == 0 && seen.wrong == 0 && seen.pages > 0;
                let what = if self.pattern.writes() { "written" } else { "read and stamped right" };
                let blocks = self.requests - self.wrong;
                Check::new(
                    name,
                    passed,
                    format!(
                        "{blocks} of {} blocks {what}; {} of {} pages read back hold every byte written",
                        self.requests,
                        seen.pages - seen.wrong,
                        seen.pages
                    ),
                )
            }
        };
        let engine = match choice {
            Choice::Uring => "io_uring".to_owned(),
            Choice::Threads(reason) => format!("pread and pwrite ({reason})"),
        };
        let cache = match &scratch.buffered {
            None => "O_DIRECT".to_owned(),
            Some(reason) => format!("the page cache ({reason}; these are not the disk's numbers)"),
        };
        let mut path = format!("{engine} through {cache} on a file of {} MiB", scratch.bytes >> 20);
        for remark in &scratch.remarks {
            path.push_str("; ");
            path.push_str(remark);
        }
        vec![content, Check::new(format!("{}: path", self.label()), true, path)]
    }

    fn sample_ns(&self) -> u64 {
        // A sample lasts as long as it counts, whatever the batch: below that, one step finds it long enough.
        COUNT_FOR.as_nanos() as u64 / 2
    }
}

//! Watching the machine over time: a background thread that takes a sample at every multiple of the interval
//! after the start, so that intervals never add up their delays. [`Sampler`] does the same on the caller's thread.

mod record;
mod sampler;
mod timeline;

#[cfg(test)]
mod tests;

pub use record::MonitorRecord;
pub use sampler::Sampler;
pub use timeline::{MonitorCost, Recording, Timeline};

use crate::MachineError;
use crate::gpu::Gpus;
use crate::source::SystemRoot;
use jiff::Timestamp;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The shortest interval: the kernel counts processor time no finer.
pub const MINIMUM_INTERVAL: Duration = Duration::from_millis(10);

/// The longest interval, a day; energy counters wrap long before.
pub const MAXIMUM_INTERVAL: Duration = Duration::from_secs(86_400);

/// Records kept at most, whatever their size.
const MAXIMUM_RECORDS: usize = 100_000;

/// Values kept at most over all records, about 160 MB.
const MAXIMUM_VALUES: usize = 20_000_000;

/// A last record shorter than this would say nothing.
const SHORTEST_LAST_RECORD: Duration = Duration::from_millis(20);

/// How to watch.
#[derive(Debug, Clone)]
pub struct MonitorConfig {
    /// Time between samples.
    pub interval: Duration,
    /// Whether graphics processors are sampled.
    pub gpus: bool,
    /// Records kept at most; reaching it halves the resolution.
    pub maximum_records: usize,
    /// The machine to watch.
    pub root: SystemRoot,
}

impl Default for MonitorConfig {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            gpus: true,
            maximum_records: MAXIMUM_RECORDS,
            root: SystemRoot::live(),
        }
    }
}

impl MonitorConfig {
    /// The default configuration with another interval, refused when it cannot be kept.
    pub fn every(seconds: f64) -> Result<Self, MachineError> {
        let refused = || MachineError::MonitorInterval {
            found_seconds: seconds,
            minimum_seconds: MINIMUM_INTERVAL.as_secs_f64(),
            maximum_seconds: MAXIMUM_INTERVAL.as_secs_f64(),
        };
        let interval = Duration::try_from_secs_f64(seconds).map_err(|_| refused())?;
        let config = Self { interval, ..Self::default() };
        config.check().map(|()| config)
    }

    fn check(&self) -> Result<(), MachineError> {
        if (MINIMUM_INTERVAL..=MAXIMUM_INTERVAL).contains(&self.interval) {
            return Ok(());
        }
        Err(MachineError::MonitorInterval {
            found_seconds: self.interval.as_secs_f64(),
            minimum_seconds: MINIMUM_INTERVAL.as_secs_f64(),
            maximum_seconds: MAXIMUM_INTERVAL.as_secs_f64(),
        })
    }

    /// A sampler of the configured machine.
    pub fn sampler(&self) -> Sampler {
        Sampler::open_with(&self.root, self.gpus.then(|| Gpus::open(&self.root)))
    }

    /// An empty recording whose cap suits the size of the sampler's records.
    pub fn recording(&self, sampler: &Sampler) -> Recording {
        let fitting = MAXIMUM_VALUES / sampler.values_per_record();
        Recording::new(self.interval, self.maximum_records.min(MAXIMUM_RECORDS).min(fitting))
    }
}

/// A running monitor. Dropping it ends it; [`Monitor::stop`] also hands over what it saw.
#[derive(Debug)]
pub struct Monitor {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<Timeline>>,
    recording: Arc<Mutex<Recording>>,
    interval: Duration,
}

impl Monitor {
    /// Starts watching. What can be watched is found out before this returns, so that differences and totals
    /// begin here.
    pub fn start(config: &MonitorConfig) -> Result<Self, MachineError> {
        config.check()?;
        let interval = config.interval;
        let sampler = config.sampler();
        let recording = Arc::new(Mutex::new(config.recording(&sampler)));
        let (stop, stopped) = sync_channel(1);
        let shared = Arc::clone(&recording);
        let thread = std::thread::Builder::new()
            .name("warpt-monitor".into())
            .spawn(move || watch(sampler, &shared, &stopped))
            .map_err(MachineError::MonitorThread)?;
        Ok(Self { stop: Some(stop), thread: Some(thread), recording, interval })
    }

    /// The newest record, for display while monitoring goes on.
    pub fn latest(&self) -> Option<MonitorRecord> {
        lock(&self.recording).records().last().cloned()
    }

    /// What was seen between two moments, both included, while monitoring goes on; the cost is stated by
    /// [`Monitor::stop`] for the whole.
    pub fn between(&self, from: Timestamp, to: Timestamp) -> Timeline {
        let recording = lock(&self.recording);
        let within = |record: &&MonitorRecord| (from..=to).contains(&record.timestamp);
        Timeline {
            interval_seconds: recording.interval().as_secs_f64(),
            records: recording.records().iter().filter(within).cloned().collect(),
            ..Timeline::default()
        }
    }

    /// Ends the monitor and returns what it saw; a last record is taken, so that even a run shorter than the
    /// interval has one.
    pub fn stop(mut self) -> Timeline {
        self.end().unwrap_or_else(|| {
            let mut timeline =
                Timeline { interval_seconds: self.interval.as_secs_f64(), ..Timeline::default() };
            timeline.absent.note("records", "the monitor thread ended unexpectedly");
            timeline
        })
    }

    fn end(&mut self) -> Option<Timeline> {
        // A closed channel wakes the thread at once.
        drop(self.stop.take());
        self.thread.take()?.join().ok()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock(recording: &Mutex<Recording>) -> MutexGuard<'_, Recording> {
    recording.lock().unwrap_or_else(PoisonError::into_inner)
}

fn watch(mut sampler: Sampler, recording: &Mutex<Recording>, stopped: &Receiver<()>) -> Timeline {
    let mut origin = sampler.started();
    let mut due = 1;
    let mut last = origin;
    loop {
        let deadline = deadline(origin, lock(recording).interval(), due);
        let wait = deadline.saturating_duration_since(Instant::now());
        let stopping = !matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
        let recorded = !lock(recording).records().is_empty();
        if stopping && last.elapsed() < SHORTEST_LAST_RECORD && recorded {
            break;
        }
        let record = sampler.sample();
        last = Instant::now();
        let mut recording = lock(recording);
        let doubled = recording.push(record);
        if stopping {
            break;
        }
        if doubled {
            origin = deadline;
            due = 1;
        } else {
            let next = next_due(due, last.saturating_duration_since(origin), recording.interval());
            recording.miss(next - due - 1);
            due = next;
        }
    }
    let empty = Recording::new(lock(recording).interval(), 2);
    let finished = std::mem::replace(&mut *lock(recording), empty);
    let mut timeline = finished.finish(&sampler);
    // The thread did nothing else, so its whole processor time is the cost, waiting included.
    let whole = sampler::cost(
        sampler::thread_cpu_time(),
        timeline.cost.wall_seconds,
        timeline.cost.samples,
    );
    timeline.cost.cpu_seconds = whole.cpu_seconds;
    timeline.cost.cpu_percent = whole.cpu_percent;
    timeline
}

fn deadline(origin: Instant, interval: Duration, number: u64) -> Instant {
    let nanoseconds = interval.as_nanos().saturating_mul(u128::from(number));
    let offset = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
    origin.checked_add(offset).unwrap_or(origin)
}

/// The number of the first deadline after `elapsed`, and later than the one just served.
fn next_due(served: u64, elapsed: Duration, interval: Duration) -> u64 {
    let passed = elapsed.as_nanos() / interval.as_nanos().max(1);
    u64::try_from(passed).unwrap_or(u64::MAX - 1).max(served).saturating_add(1)
}

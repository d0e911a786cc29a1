//! The threads that kernels run on: one pool for the library's kernels and our own.
//!
//! What always holds: [`Pool::run`] returns only when every task it handed out has ended, so tasks may borrow; a task that
//! runs on a pool sees `run` of any pool as a plain loop; every thread has the floating-point mode of the thread that made
//! the pool. The thread that calls `run` works too, so a pool of `n` has `n - 1` threads of its own.

mod float_mode;
mod job;
mod placement;

use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

pub use self::placement::{Placement, allowed_cpus};

use self::float_mode::FloatMode;
use self::job::{Shared, inside_task};
use crate::EngineError;

/// Threads that wait for work.
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool of `threads`, the calling one included, at least one.
    pub fn new(threads: usize, placement: &Placement) -> Result<Self, EngineError> {
        let shared = Arc::new(Shared::new(threads.max(1)));
        let mode = FloatMode::current();
        let mut pool = Self { shared, workers: Vec::new() };
        placement.apply(0)?;
        for index in 1..threads.max(1) {
            let shared = Arc::clone(&pool.shared);
            let placement = placement.clone();
            let worker = std::thread::Builder::new()
                .name(format!("warpforge-{index}"))
                .spawn(move || {
                    // A thread that cannot be placed works wherever it is; the first one has reported the reason.
                    let _ = placement.apply(index);
                    mode.apply();
                    shared.work(index);
                })
                .map_err(|error| EngineError::Threads(format!("no thread {index}: {error}")))?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    /// A pool of the calling thread alone.
    pub fn single() -> Self {
        Self { shared: Arc::new(Shared::new(1)), workers: Vec::new() }
    }

    /// The number of threads, the calling one included.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls `body` with each number below `tasks`, on all threads, and returns when all calls have ended. Which thread
    /// takes which number is not fixed; nothing computed may depend on it. A panic in a task goes on in the caller.
    pub fn run(&self, tasks: usize, body: &(dyn Fn(usize) + Sync)) {
        if tasks <= 1 || self.workers.is_empty() || inside_task() {
            self.shared.alone(tasks, body);
            return;
        }
        if let Err(panic) = self.shared.run(tasks, self.workers.len(), body) {
            resume_unwind(panic);
        }
    }

    /// How long each thread was at work on tasks since this was asked last; the caller's is the first. From the first time
    /// it is asked on, it is counted.
    pub fn take_busy(&self) -> Vec<Duration> {
        self.shared.take_busy()
    }

    /// Calls `body` with parts of `0..length` that are multiples of `grain` but for the last, about `per_thread` for each
    /// thread.
    pub fn run_ranges(
        &self,
        length: usize,
        grain: usize,
        per_thread: usize,
        body: &(dyn Fn(std::ops::Range<usize>) + Sync),
    ) {
        let grain = grain.max(1);
        let pieces = (self.threads() * per_thread.max(1)).min(length.div_ceil(grain)).max(1);
        let part = length.div_ceil(grain).div_ceil(pieces) * grain;
        if part == 0 {
            return;
        }
        self.run(length.div_ceil(part), &|index| {
            body(index * part..((index + 1) * part).min(length));
        });
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

/// Whether this thread is at work on a task of some pool.
pub fn inside() -> bool {
    inside_task()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn pool(threads: usize) -> Pool {
        Pool::new(threads, &Placement::Anywhere).unwrap()
    }

    #[test]
    fn every_number_is_called_once() {
        for threads in [1, 2, 3, 8] {
            let pool = pool(threads);
            assert_eq!(pool.threads(), threads);
            for tasks in [0, 1, 2, 7, 1000] {
                let calls: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
                for _ in 0..20 {
                    pool.run(tasks, &|index| {
                        calls[index].fetch_add(1, Ordering::Relaxed);
                    });
                }
                assert!(calls.iter().all(|calls| calls.load(Ordering::Relaxed) == 20));
            }
        }
    }

    #[test]
    fn ranges_cover_all_and_begin_at_the_grain() {
        let pool = pool(2);
        for length in [0, 1, 15, 16, 17, 1000] {
            let covered = AtomicUsize::new(0);
            pool.run_ranges(length, 16, 3, &|range| {
                assert_eq!(range.start % 16, 0);
                covered.fetch_add(range.len(), Ordering::Relaxed);
            });
            assert_eq!(covered.into_inner(), length);
        }
    }

    #[test]
    fn a_task_may_run_tasks() {
        let pool = pool(3);
        let total = AtomicUsize::new(0);
        pool.run(4, &|_| {
            assert!(inside());
            pool.run(5, &|_| {
                total.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert!(!inside());
        assert_eq!(total.into_inner(), 20);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_goes_on() {
        let pool = pool(2);
        for _ in 0..10 {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                pool.run(8, &|index| assert_ne!(index, 5, "planted"));
            }));
            assert!(outcome.is_err());
            let calls = AtomicUsize::new(0);
            pool.run(8, &|_| {
                calls.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(calls.into_inner(), 8);
        }
    }

    #[test]
    fn several_callers_take_turns() {
        let pool = pool(2);
        let total = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        pool.run(6, &|_| {
                            total.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 4 * 50 * 6);
    }
}

//! Threads kept on their CPUs and released together. The time of a run goes from the first start to the last
//! end, so a thread that starts late or finishes late counts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::SuiteError;

/// What a run of workers took and gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Run<R> {
    /// From the first start to the last end.
    pub elapsed_ns: f64,
    /// One result per worker, in the order of the CPUs.
    pub results: Vec<R>,
}

/// Holds every thread until all have arrived, without sleeping, so that all leave within a microsecond.
#[derive(Debug)]
struct SpinBarrier {
    arrived: AtomicUsize,
    expected: usize,
}

impl SpinBarrier {
    fn wait(&self) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        let mut turns = 0u32;
        while self.arrived.load(Ordering::Acquire) < self.expected {
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(4096) {
                // Someone else may be on the CPU that a late thread needs.
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// Keeps the calling thread on one CPU.
pub fn pin_current_thread(cpu: usize) -> Result<(), SuiteError> {
    let pin = |source: rustix::io::Errno| SuiteError::Pin { cpu, source: source.into() };
    if cpu >= CpuSet::MAX_CPU {
        return Err(pin(rustix::io::Errno::INVAL));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(pin)
}

/// Keeps the calling thread on one CPU until dropped, then lets it go where it could before.
#[derive(Debug)]
pub struct Pinned {
    before: Option<CpuSet>,
}

impl Pinned {
    /// Pins the calling thread.
    pub fn to(cpu: usize) -> Result<Self, SuiteError> {
        let before = sched_getaffinity(None).ok();
        pin_current_thread(cpu)?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // A thread that stays pinned still computes the right thing.
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// Runs `body` once per CPU, each on a thread pinned there with its own item: `before` first, then all bodies
/// released together and timed, then `after`. One CPU uses a thread too, so that one and many are the same code.
pub fn run_pinned<T, A, B, C>(
    cpus: &[usize],
    items: Vec<T>,
    before: impl Fn(usize) -> A + Sync,
    body: impl Fn(usize, T) -> B + Sync,
    after: impl Fn(usize) -> C + Sync,
) -> Result<Run<(A, B, C)>, SuiteError>
where
    T: Send,
    A: Send,
    B: Send,
    C: Send,
{
    assert_eq!(cpus.len(), items.len(), "one item per worker");
    let barrier = SpinBarrier { arrived: AtomicUsize::new(0), expected: cpus.len() };
    let origin = Instant::now();
    let work = |index: usize, cpu: usize, item: T| {
        let pinned = pin_current_thread(cpu);
        let first = before(index);
        // Arrive even when pinning failed: the others are waiting.
        barrier.wait();
        let start = origin.elapsed();
        let result = std::hint::black_box(body(index, item));
        let end = origin.elapsed();
        pinned.map(|()| (start, end, (first, result, after(index))))
    };
    let work = &work;
    let finished = std::thread::scope(|scope| {
        let mut handles = Vec::with_capacity(cpus.len());
        for (index, (cpu, item)) in cpus.iter().zip(items).enumerate() {
            let builder = std::thread::Builder::new().name(format!("warpt-worker-{index}"));
            match builder.spawn_scoped(scope, move || work(index, *cpu, item)) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    // Stand in for the threads that will not come, so that those started can leave.
                    barrier.arrived.fetch_add(cpus.len() - index, Ordering::AcqRel);
                    return Err(SuiteError::Thread(error));
                }
            }
        }
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Result<Vec<_>, SuiteError>>()
    })?;
    let first = finished.iter().map(|(start, ..)| *start).min().unwrap_or_default();
    let last = finished.iter().map(|(_, end, _)| *end).max().unwrap_or_default();
    Ok(Run {
        elapsed_ns: last.saturating_sub(first).as_nanos() as f64,
        results: finished.into_iter().map(|(.., result)| result).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usable() -> Vec<usize> {
        let set = sched_getaffinity(None).unwrap();
        (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
    }

    #[test]
    fn every_worker_runs_on_its_cpu_with_its_item() {
        let cpus = usable();
        let items: Vec<usize> = cpus.iter().map(|cpu| cpu * 10).collect();
        let run = run_pinned(
            &cpus,
            items,
            |index| index,
            |_, item| (item, rustix::thread::sched_getcpu()),
            |index| index + 1,
        )
        .unwrap();
        for (index, (before, (item, cpu), after)) in run.results.into_iter().enumerate() {
            assert_eq!(
                (before, item, cpu, after),
                (index, cpus[index] * 10, cpus[index], index + 1)
            );
        }
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error_and_the_others_leave() {
        let cpus = vec![usable()[0], CpuSet::MAX_CPU + 1];
        let result = run_pinned(&cpus, vec![(), ()], |_| (), |_, ()| (), |_| ());
        assert!(matches!(result, Err(SuiteError::Pin { .. })));
    }

    #[test]
    fn a_pin_ends_with_its_guard() {
        let before = usable();
        drop(Pinned::to(before[0]).unwrap());
        assert_eq!(usable(), before);
    }
}

//! The ways threads meet, each as a body that runs a number of rounds on given CPUs and says how long they took and
//! what was counted. Threads live for one call; the clock runs inside them, after all have arrived.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, Condvar, Mutex, PoisonError};
use std::time::Instant;

use warpt_machine::topology::pin_current_thread;

/// What came out of a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) nanoseconds: u64,
    /// What the threads counted together.
    pub(super) counted: u64,
    /// What they must have counted.
    pub(super) expected: u64,
}

/// A word with a cache line, and its neighbour which some processors fetch along, to itself.
#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

/// Runs `body` on one pinned thread per CPU, started together; the time from the first start to the last end.
fn together(cpus: &[usize], body: impl Fn(usize) + Sync) -> Result<u64, String> {
    let arrived = Barrier::new(cpus.len());
    let (arrived, body) = (&arrived, &body);
    let spans: Result<Vec<(Instant, Instant)>, String> = std::thread::scope(|scope| {
        let threads: Vec<_> = cpus
            .iter()
            .enumerate()
            .map(|(index, cpu)| {
                scope.spawn(move || {
                    let pinned = pin_current_thread(*cpu);
                    // Everybody arrives, pinned or not, so that nobody waits for ever.
                    arrived.wait();
                    pinned?;
                    let start = Instant::now();
                    body(index);
                    Ok((start, Instant::now()))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("bodies do not panic")).collect()
    });
    let spans = spans?;
    let start = spans.iter().map(|span| span.0).min();
    let end = spans.iter().map(|span| span.1).max();
    Ok(start.zip(end).map_or(0, |(start, end)| (end - start).as_nanos() as u64))
}

/// Whether the threads can all be pinned, so that no body waits for one that gave up.
pub(super) fn can_pin(cpus: &[usize]) -> Result<(), String> {
    together(cpus, |_| ()).map(|_| ())
}

/// Two threads pass a number to and fro in one cache line, spinning.
pub(super) fn atomic_round_trips(cpus: &[usize; 2], rounds: u64) -> Result<Outcome, String> {
    let line = Line::default();
    let await_value = |wanted: u64| {
        while line.0.load(Ordering::Acquire) != wanted {
            spin_loop();
        }
    };
    let nanoseconds = together(cpus, |index| {
        for round in 0..rounds {
            if index == 0 {
                line.0.store(2 * round + 1, Ordering::Release);
                await_value(2 * round + 2);
            } else {
                await_value(2 * round + 1);
                line.0.store(2 * round + 2, Ordering::Release);
            }
        }
    })?;
    Ok(Outcome { nanoseconds, counted: line.0.into_inner(), expected: 2 * rounds })
}

/// Two threads wake each other through a condition variable, sleeping in between.
pub(super) fn condvar_round_trips(cpus: &[usize; 2], rounds: u64) -> Result<Outcome, String> {
    let turn = Mutex::new(0u64);
    let changed = Condvar::new();
    let nanoseconds = together(cpus, |index| {
        let mut value = turn.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..rounds {
            while *value % 2 != index as u64 {
                value = changed.wait(value).unwrap_or_else(PoisonError::into_inner);
            }
            *value += 1;
            changed.notify_one();
        }
    })?;
    let counted = turn.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Outcome { nanoseconds, counted, expected: 2 * rounds })
}

/// Each CPU's thread takes one lock and adds one, `rounds` times.
pub(super) fn locks(cpus: &[usize], rounds: u64) -> Result<Outcome, String> {
    let counter = Mutex::new(0u64);
    let nanoseconds = together(cpus, |_| {
        for _ in 0..rounds {
            *counter.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
    })?;
    let counted = counter.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Outcome { nanoseconds, counted, expected: rounds * cpus.len() as u64 })
}

/// All CPUs' threads meet at a barrier, `rounds` times; each time exactly one of them is told it came last.
pub(super) fn barriers(cpus: &[usize], rounds: u64) -> Result<Outcome, String> {
    let barrier = Barrier::new(cpus.len());
    let leaders = AtomicU64::new(0);
    let nanoseconds = together(cpus, |_| {
        for _ in 0..rounds {
            if barrier.wait().is_leader() {
                leaders.fetch_add(1, Ordering::Relaxed);
            }
        }
    })?;
    Ok(Outcome { nanoseconds, counted: leaders.into_inner(), expected: rounds })
}

/// The nanoseconds of an atomic addition to a line this core holds: the best of several short attempts.
pub(super) fn atomic_addition_ns() -> f64 {
    const ADDITIONS: u64 = 10_000;
    let line = Line::default();
    (0..50)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..ADDITIONS {
                black_box(&line).0.fetch_add(1, Ordering::AcqRel);
            }
            start.elapsed().as_nanos() as f64 / ADDITIONS as f64
        })
        .fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exchange_counts_exactly() {
        let usable = warpt_machine::topology::usable_cpus();
        // On a machine with one CPU the two share it, slowly but correctly.
        let pair = [usable[0], *usable.last().unwrap()];
        let rounds = 25;
        for outcome in [
            atomic_round_trips(&pair, rounds),
            condvar_round_trips(&pair, rounds),
            locks(&pair, rounds),
            locks(&usable[..1], rounds),
            barriers(&usable, rounds),
        ] {
            let outcome = outcome.unwrap();
            assert_eq!(outcome.counted, outcome.expected);
            assert!(outcome.nanoseconds > 0);
        }
        assert!(atomic_addition_ns() > 0.0);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error() {
        assert!(can_pin(&[1 << 20]).is_err());
    }
}

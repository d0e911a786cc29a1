//! What measuring adds: an empty body must read as nothing, a body of a microsecond as a microsecond.

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use warpt_bench::sampler::{Overhead, Sampler};
use warpt_bench::{Clock, MonotonicClock};

use crate::Verdict;

/// The bars: nanoseconds for the empty body, share for the microsecond.
const EMPTY_NS: f64 = 5.0;
const MICROSECOND_SHARE: f64 = 0.02;

/// Rounds of the empty body.
const ROUNDS: usize = 11;

/// Reads an empty body and a body of a microsecond, one iteration per sample and in batches.
pub(super) fn overhead() -> Result<Verdict> {
    let clock = MonotonicClock::default();
    let overhead = Overhead::measure(&clock);
    println!(
        "overhead taken away: {:.1} ns per sample, {:.2} ns per iteration",
        overhead.sample_ns, overhead.iteration_ns
    );
    let mut met = true;
    for iterations in [1, 100, 10_000] {
        // A neighbour on the same core changes what a clock read costs from one millisecond to the next: each round
        // measures its overhead anew, as a run does for each benchmark, and the middle one counts.
        let mut rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| {
                let overhead = Overhead::measure(&clock);
                median(2001, || read(&clock, overhead, iterations, || ()))
            })
            .collect();
        rounds.sort_by(f64::total_cmp);
        let (reading, low, high) = (rounds[ROUNDS / 2], rounds[0], rounds[ROUNDS - 1]);
        met &= reading.abs() <= EMPTY_NS;
        println!(
            "empty body, {iterations} per sample: {reading:.2} ns, rounds from {low:.2} to {high:.2} (bar: 0 +- {EMPTY_NS} ns)"
        );
    }
    let steps = calibrate();
    for iterations in [1, 100, 10_000] {
        // The truth is taken beside each reading, so that a change of the clock speed moves both.
        let mut ratios = Vec::new();
        for _ in 0..if iterations == 10_000 { 41 } else { 401 } {
            let mut state = 1;
            let reading = read(&clock, overhead, iterations, || state = work(steps, state));
            ratios.push(reading / truth(steps, iterations.max(200)));
        }
        ratios.sort_by(f64::total_cmp);
        let ratio = ratios[ratios.len() / 2];
        met &= (ratio - 1.0).abs() <= MICROSECOND_SHARE;
        println!(
            "1 us body, {iterations} per sample: {:+.2}% (bar: +-{}%)",
            (ratio - 1.0) * 100.0,
            MICROSECOND_SHARE * 100.0
        );
    }
    Ok(Verdict::clean_if(met))
}

fn read<R>(clock: &dyn Clock, overhead: Overhead, iterations: u64, body: impl FnMut() -> R) -> f64 {
    let mut sampler = Sampler::new(clock, overhead, iterations);
    sampler.time(body);
    sampler.iteration_ns().unwrap_or(f64::NAN)
}

fn median(count: usize, mut take: impl FnMut() -> f64) -> f64 {
    let mut values: Vec<f64> = (0..count).map(|_| take()).collect();
    values.sort_by(f64::total_cmp);
    values[count / 2]
}

/// A chain of multiplications: its length is its time. Calls are chained through `state`, or the processor would begin
/// the next call before the one before has ended.
#[inline(never)]
fn work(steps: u64, mut state: u64) -> u64 {
    for _ in 0..steps {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    state
}

/// The steps that take a microsecond.
fn calibrate() -> u64 {
    let nanoseconds_per_step = truth(100_000, 20) / 100_000.0;
    (1000.0 / nanoseconds_per_step).round() as u64
}

/// Nanoseconds per call over so many calls at once: what one clock pair and a loop add is nothing against it.
fn truth(steps: u64, calls: u64) -> f64 {
    let start = Instant::now();
    let mut state = 1;
    for _ in 0..calls {
        state = black_box(work(steps, state));
    }
    start.elapsed().as_nanos() as f64 / calls as f64
}

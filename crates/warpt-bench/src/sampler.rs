//! Takes one sample: runs the body a batch of times between two clock reads, and takes away what the loop and the
//! clock themselves cost, as measured with an empty body on this machine just before.

use std::hint::black_box;

use crate::clock::Clock;

/// What measuring costs: a fixed part per sample (two clock reads) and a part per iteration (the loop).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Overhead {
    /// Nanoseconds per sample.
    pub sample_ns: f64,
    /// Nanoseconds per iteration.
    pub iteration_ns: f64,
}

impl Overhead {
    /// Measures the cost with an empty body. Takes a few milliseconds.
    pub fn measure(clock: &dyn Clock) -> Self {
        let cost = |iterations: u64, repeats: usize| -> f64 {
            let mut costs: Vec<f64> =
                (0..repeats).map(|_| timed(clock, iterations, || ()) as f64).collect();
            costs.sort_by(f64::total_cmp);
            // The lower quartile: what it costs when nothing interferes, without leaning on one lucky read.
            costs[repeats / 4]
        };
        let (short, long) = (1, 4096);
        let one = cost(short, 4001);
        let many = cost(long, 401);
        let iteration_ns = ((many - one) / (long - short) as f64).max(0.0);
        Self { sample_ns: (one - iteration_ns).max(0.0), iteration_ns }
    }

    /// The cost of a sample of so many iterations.
    pub fn of(&self, iterations: u64) -> f64 {
        self.sample_ns + self.iteration_ns * iterations as f64
    }
}

/// The one timing loop; the overhead is measured through the same code.
#[inline(always)]
fn timed<R>(clock: &dyn Clock, iterations: u64, mut body: impl FnMut() -> R) -> u64 {
    let start = clock.now_ns();
    for _ in 0..iterations {
        black_box(body());
    }
    clock.now_ns() - start
}

/// Handed to a case for one sample.
pub struct Sampler<'run> {
    clock: &'run dyn Clock,
    overhead: Overhead,
    iterations: u64,
    elapsed_ns: Option<(f64, u64)>,
    observed: Vec<(&'static str, f64)>,
}

impl<'run> Sampler<'run> {
    /// A sampler for one sample of `iterations` iterations.
    pub fn new(clock: &'run dyn Clock, overhead: Overhead, iterations: u64) -> Self {
        Self { clock, overhead, iterations, elapsed_ns: None, observed: Vec::new() }
    }

    /// How many iterations this sample should hold.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Times `body` over the batch; its result is kept from the optimizer.
    pub fn time<R>(&mut self, body: impl FnMut() -> R) {
        let raw = timed(self.clock, self.iterations, body) as f64;
        self.elapsed_ns = Some((raw - self.overhead.of(self.iterations), self.iterations));
    }

    /// Times one call that runs the batch itself: kernels with a loop of their own, threads started together.
    pub fn time_batch<R>(&mut self, body: impl FnOnce(u64) -> R) -> R {
        let start = self.clock.now_ns();
        let result = black_box(body(self.iterations));
        let raw = (self.clock.now_ns() - start) as f64;
        self.elapsed_ns = Some((raw - self.overhead.sample_ns, self.iterations));
        result
    }

    /// Takes over a time measured elsewhere: inside worker threads or by another program.
    pub fn elapsed(&mut self, nanoseconds: f64, iterations: u64) {
        self.elapsed_ns = Some((nanoseconds, iterations.max(1)));
    }

    /// Records a number of the case's own under a metric's name.
    pub fn observe(&mut self, metric: &'static str, value: f64) {
        self.observed.push((metric, value));
    }

    /// Nanoseconds per iteration, if the case timed anything.
    pub fn iteration_ns(&self) -> Option<f64> {
        self.elapsed_ns.map(|(elapsed, iterations)| elapsed / iterations as f64)
    }

    /// What was observed under a metric's name.
    pub fn observed(&self, metric: &str) -> Option<f64> {
        self.observed.iter().rev().find(|(name, _)| *name == metric).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Every read advances by a fixed step; a body can advance it too.
    struct FakeClock {
        now: Cell<u64>,
        step: u64,
    }

    impl Clock for FakeClock {
        fn now_ns(&self) -> u64 {
            self.now.set(self.now.get() + self.step);
            self.now.get()
        }
    }

    #[test]
    fn the_cost_of_reading_the_clock_is_taken_away() {
        let clock = FakeClock { now: Cell::new(0), step: 25 };
        let overhead = Overhead::measure(&clock);
        assert_eq!(overhead, Overhead { sample_ns: 25.0, iteration_ns: 0.0 });
        let mut sampler = Sampler::new(&clock, overhead, 10);
        sampler.time(|| clock.now.set(clock.now.get() + 1000));
        assert_eq!(sampler.iteration_ns(), Some(1000.0));
    }
}

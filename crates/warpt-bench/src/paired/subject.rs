//! What can be compared: anything that can be started afresh and asked for the cost of one sample. A cost is positive,
//! lower is better, and both sides of a comparison give it in the same unit (nanoseconds per unit of work).

use std::hint::black_box;

use crate::clock::Clock;
use crate::error::BenchError;
use crate::sampler::{Overhead, Sampler};

/// One side of a paired comparison.
pub trait Subject {
    /// What it is called in messages.
    fn name(&self) -> &str;

    /// Starts afresh: new process, new memory layout. Called before the first sample and at each restart of
    /// the schedule; whatever warms up does so here, never inside a sample.
    fn restart(&mut self) -> Result<(), BenchError>;

    /// Runs one sample and returns its cost.
    fn sample(&mut self) -> Result<f64, BenchError>;
}

/// A sample of a [`Body`] lasts about so long by default: far above the clock's grain, far below a scheduler slice.
pub const BODY_SAMPLE_NS: u64 = 1_000_000;

/// A closure in this process, batched and timed like a benchmark body. A restart cannot give it a new process; it
/// only runs one sample whose time is thrown away.
pub struct Body<'clock, F> {
    name: String,
    clock: &'clock dyn Clock,
    overhead: Overhead,
    sample_ns: u64,
    iterations: Option<u64>,
    body: F,
}

impl<'clock, F, R> Body<'clock, F>
where
    F: FnMut() -> R,
{
    /// A body timed by `clock`, whose own cost is measured here and subtracted later.
    pub fn new(name: impl Into<String>, clock: &'clock dyn Clock, body: F) -> Self {
        let overhead = Overhead::measure(clock);
        Self {
            name: name.into(),
            clock,
            overhead,
            sample_ns: BODY_SAMPLE_NS,
            iterations: None,
            body,
        }
    }

    /// The same with samples of about `sample_ns`.
    #[must_use]
    pub fn sample_ns(mut self, sample_ns: u64) -> Self {
        self.sample_ns = sample_ns.max(1);
        self
    }

    /// Iterations per sample, once calibrated.
    pub fn iterations(&self) -> Option<u64> {
        self.iterations
    }

    fn timed(&mut self, iterations: u64) -> f64 {
        let mut sampler = Sampler::new(self.clock, self.overhead, iterations);
        sampler.time(&mut self.body);
        black_box(sampler.iteration_ns().unwrap_or(f64::NAN))
    }
}

impl<F, R> Subject for Body<'_, F>
where
    F: FnMut() -> R,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn restart(&mut self) -> Result<(), BenchError> {
        if let Some(iterations) = self.iterations {
            self.timed(iterations);
            return Ok(());
        }
        let mut iterations: u64 = 1;
        loop {
            let elapsed = (self.timed(iterations) * iterations as f64).max(1.0);
            if elapsed >= self.sample_ns as f64 || iterations >= 1 << 40 {
                break;
            }
            // At most tenfold a step: a first call slowed by page faults must not settle the batch.
            let factor = (self.sample_ns as f64 / elapsed * 1.1).clamp(1.5, 10.0);
            iterations = (iterations as f64 * factor).ceil() as u64;
        }
        self.iterations = Some(iterations);
        Ok(())
    }

    fn sample(&mut self) -> Result<f64, BenchError> {
        let iterations = match self.iterations {
            Some(iterations) => iterations,
            None => {
                self.restart()?;
                self.iterations.unwrap_or(1)
            }
        };
        let cost = self.timed(iterations);
        super::positive(&self.name, cost)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    struct FakeClock {
        now: Cell<u64>,
    }

    impl Clock for FakeClock {
        fn now_ns(&self) -> u64 {
            self.now.set(self.now.get() + 20);
            self.now.get()
        }
    }

    #[test]
    fn a_body_is_batched_to_the_sample_time_and_costs_what_it_costs() {
        let clock = FakeClock { now: Cell::new(0) };
        let mut body =
            Body::new("body", &clock, || clock.now.set(clock.now.get() + 100)).sample_ns(50_000);
        body.restart().unwrap();
        let iterations = body.iterations().unwrap();
        assert!((500..=1000).contains(&iterations), "{iterations}");
        assert_eq!(body.sample().unwrap(), 100.0);
        body.restart().unwrap();
        assert_eq!(body.iterations(), Some(iterations));
    }

    #[test]
    fn a_body_that_takes_no_time_cannot_be_compared() {
        let clock = FakeClock { now: Cell::new(0) };
        let mut body = Body::new("nothing", &clock, || ()).sample_ns(1);
        let message = body.sample().unwrap_err().to_string();
        assert!(message.contains("nothing"), "{message}");
    }
}

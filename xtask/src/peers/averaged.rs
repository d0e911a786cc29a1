//! A subject whose sample is the average of many short ones, to stand beside a program that reports an average over
//! seconds.

use std::time::{Duration, Instant};

use warpt_bench::BenchError;
use warpt_bench::paired::Subject;

/// Samples the inner subject for a while. The samples last equally long (each counts for a fixed time), so that the mean
/// of their rates is the total work over the total time, which is what the other program reports.
pub(super) struct Averaged<'a> {
    inner: &'a mut dyn Subject,
    duration: Duration,
}

impl<'a> Averaged<'a> {
    pub(super) fn new(inner: &'a mut dyn Subject, duration: Duration) -> Self {
        Self { inner, duration }
    }
}

impl Subject for Averaged<'_> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn restart(&mut self) -> Result<(), BenchError> {
        self.inner.restart()
    }

    fn sample(&mut self) -> Result<f64, BenchError> {
        let start = Instant::now();
        let (mut rates, mut count) = (0.0, 0.0);
        loop {
            rates += 1.0 / self.inner.sample()?;
            count += 1.0;
            if start.elapsed() >= self.duration {
                return Ok(count / rates);
            }
        }
    }
}

//! Time as the runner sees it. Injectable, so that runner tests are deterministic.

use std::time::Instant;

/// A monotonic clock in nanoseconds.
pub trait Clock {
    /// Nanoseconds since an arbitrary fixed moment.
    fn now_ns(&self) -> u64;
}

/// The system's monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct MonotonicClock {
    origin: Instant,
}

impl Default for MonotonicClock {
    fn default() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        // A u64 of nanoseconds lasts 584 years.
        self.origin.elapsed().as_nanos() as u64
    }
}

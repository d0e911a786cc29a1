//! Two ways to the same result, of which one machine is faster in this, another in that: they are tried in turns, then the faster
//! one is kept.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often each way is tried: its fastest run counts, since the first ones touch memory for the first time.
const EACH: usize = 3;

/// What is known of two ways.
#[derive(Debug)]
pub(super) struct Trial {
    /// How many runs have begun, as far as they matter.
    begun: AtomicUsize,
    /// The nanoseconds of each way's fastest run.
    fastest: [AtomicU64; 2],
}

impl Trial {
    /// With nothing known.
    pub(super) fn new() -> Self {
        Self { begun: AtomicUsize::new(0), fastest: [const { AtomicU64::new(u64::MAX) }; 2] }
    }

    /// Runs the way whose turn it is, or the faster one.
    pub(super) fn run(&self, run: impl FnOnce(usize)) {
        if self.begun.load(Ordering::Relaxed) >= 2 * EACH {
            return run(self.faster());
        }
        let way = self.begun.fetch_add(1, Ordering::Relaxed) % 2;
        let start = Instant::now();
        run(way);
        self.took(way, start.elapsed());
    }

    fn took(&self, way: usize, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.fastest[way].fetch_min(nanoseconds, Ordering::Relaxed);
    }

    fn faster(&self) -> usize {
        let [first, second] = [0, 1].map(|way: usize| self.fastest[way].load(Ordering::Relaxed));
        usize::from(second < first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_are_tried_and_the_faster_is_kept() {
        for slow in [0, 1] {
            let trial = Trial::new();
            let mut runs = [0; 2];
            for _ in 0..2 * EACH + 5 {
                trial.run(|way| {
                    runs[way] += 1;
                    std::thread::sleep(Duration::from_millis(if way == slow { 20 } else { 1 }));
                });
            }
            assert_eq!(runs[slow], EACH);
            assert_eq!(runs[1 - slow], EACH + 5);
        }
    }
}

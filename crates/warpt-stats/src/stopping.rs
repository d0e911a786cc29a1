//! Are there enough samples? Sampling goes on until the confidence interval of the median is narrow enough. The check
//! uses the order-statistic interval at the effective count, so dependence between samples counts against stopping.
//!
//! Looking often and stopping at the first narrow interval makes the final one optimistic: a nominal 95% interval then
//! covers less often (the tests hold it to 88%). Nothing is decided by it, so that is accepted, and said here.

use crate::autocorrelation::effective_count;
use crate::interval::order_statistic;
use crate::order::{quantile, sorted};
use crate::summary::CONFIDENCE;

/// Below this many samples the answer is always "not enough": there is no 95% interval.
pub const FEWEST: usize = 6;

/// Whether the median of `samples` is known to within `± target_relative_half_width` of itself. False below
/// `min_samples` (at least [`FEWEST`]), with non-finite values, and with a zero median that has spread.
///
/// Cost: one sort, and only if the interval would be narrow enough for independent samples one pass per lag (usually
/// two lags): O(n log n), below a millisecond for 10^4 samples. Call it every few samples while there are few; for long
/// series use [`Stopping`], which spaces its looks.
#[must_use]
pub fn enough(samples: &[f64], target_relative_half_width: f64, min_samples: usize) -> bool {
    if samples.len() < min_samples.max(FEWEST) || !samples.iter().all(|s| s.is_finite()) {
        return false;
    }
    let ascending = sorted(samples);
    let median = quantile(&ascending, 0.5);
    let narrow = |effective: f64| {
        let interval = order_statistic(&ascending, effective, CONFIDENCE);
        interval.method == "order_statistic"
            && (interval.high - interval.low) / 2.0 <= target_relative_half_width * median.abs()
    };
    // The dependence is only looked at when the width without it would do.
    narrow(samples.len() as f64) && narrow(effective_count(samples))
}

/// The same question asked over and over about a growing series, at a total cost of O(n log n): after a "no" it does
/// not look again until the series has grown by a twentieth.
#[derive(Debug, Clone)]
pub struct Stopping {
    target_relative_half_width: f64,
    min_samples: usize,
    next_look: usize,
    satisfied: bool,
}

impl Stopping {
    /// Stops at the given relative half width, never before `min_samples`.
    #[must_use]
    pub fn new(target_relative_half_width: f64, min_samples: usize) -> Self {
        let min_samples = min_samples.max(FEWEST);
        Self { target_relative_half_width, min_samples, next_look: min_samples, satisfied: false }
    }

    /// Whether the series so far is enough. Once true, it stays true.
    pub fn enough(&mut self, samples: &[f64]) -> bool {
        if !self.satisfied && samples.len() >= self.next_look {
            self.satisfied = enough(samples, self.target_relative_half_width, self.min_samples);
            self.next_look = samples.len() + (samples.len() / 20).max(1);
        }
        self.satisfied
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn stops_when_narrow_and_not_before() {
        let mut random = Random::new(5);
        let mut stopping = Stopping::new(0.01, 10);
        let mut samples = Vec::new();
        while !stopping.enough(&samples) {
            samples.push(100.0 + 5.0 * random.normal());
            assert!(samples.len() < 1000);
        }
        // Half width 1.96 · 1.2533 · 5 / √n <= 1 at n ≈ 150.
        assert!((60..400).contains(&samples.len()), "{}", samples.len());
        assert!(enough(&samples, 0.011, 10));
    }

    #[test]
    fn stopping_early_keeps_most_of_the_coverage() {
        let mut random = Random::new(8);
        let trials = 300;
        let covered = (0..trials)
            .filter(|_| {
                let mut stopping = Stopping::new(0.02, 10);
                let mut samples = Vec::new();
                while !stopping.enough(&samples) && samples.len() < 1000 {
                    samples.push(100.0 * (0.05 * random.normal()).exp());
                }
                let interval = order_statistic(&sorted(&samples), samples.len() as f64, CONFIDENCE);
                interval.low <= 100.0 && 100.0 <= interval.high
            })
            .count();
        assert!(covered * 100 >= trials * 88, "{covered} of {trials}");
    }

    #[test]
    fn refuses_what_cannot_be_known() {
        assert!(!enough(&[], 1.0, 0));
        assert!(!enough(&[1.0; 5], 1.0, 0));
        assert!(enough(&[1.0; 6], 0.0, 0));
        assert!(!enough(&[f64::NAN; 20], 1.0, 0));
        assert!(enough(&[0.0; 20], 0.1, 0));
        assert!(!enough(&[-1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0], 0.1, 0));
    }

    #[test]
    fn dependence_counts_against_stopping() {
        let mut random = Random::new(6);
        let mut state = 0.0;
        let dependent: Vec<f64> = (0..400)
            .map(|_| {
                state = 0.95 * state + random.normal();
                100.0 + state
            })
            .collect();
        let mut shuffled = dependent.clone();
        random.shuffle(&mut shuffled);
        let width = |values: &[f64]| {
            (1..200).map(|i| f64::from(i) / 10_000.0).find(|target| enough(values, *target, 10))
        };
        assert!(width(&dependent).unwrap() > 2.0 * width(&shuffled).unwrap());
    }
}

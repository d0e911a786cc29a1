//! Has the warm-up ended? An online detector over a sliding window. It looks at medians and rank trends only, so single
//! spikes neither prolong the warm-up nor end it. Once decided, the answer stays.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::order::median;
use crate::warning::trend;

/// Trends less certain than this are taken for noise.
const TREND_P_VALUE: f64 = 0.05;

/// When a warm-up counts as over.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SteadyConfig {
    /// Samples looked at together; 6 to 256 (clamped).
    pub window: usize,
    /// Change across a window, relative to its median, that is still called steady.
    pub tolerance: f64,
    /// Samples after which waiting ends without a steady state.
    pub max_samples: usize,
}

impl Default for SteadyConfig {
    fn default() -> Self {
        Self { window: 12, tolerance: 0.02, max_samples: 2000 }
    }
}

/// Where the warm-up is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Still changing, or not yet known.
    Warming,
    /// Two overlapping windows in a row without a trend.
    Steady,
    /// `max_samples` passed without that.
    GaveUp,
}

/// The detector. A window is calm when the medians of its first and last third differ by no more than the tolerance,
/// or when the difference is not a trend (Mann-Kendall p ≥ 0.05: noise wider than the tolerance is still a steady
/// state). Windows are looked at every third of their length; two calm ones in a row end the warm-up.
/// Memory is one window; the cost is O(window) amortized per sample.
#[derive(Debug, Clone)]
pub struct SteadyState {
    config: SteadyConfig,
    recent: VecDeque<f64>,
    seen: usize,
    calm: usize,
    phase: Phase,
}

impl SteadyState {
    /// A detector that has seen nothing.
    #[must_use]
    pub fn new(config: SteadyConfig) -> Self {
        let config = SteadyConfig { window: config.window.clamp(6, 256), ..config };
        Self {
            recent: VecDeque::with_capacity(config.window),
            config,
            seen: 0,
            calm: 0,
            phase: Phase::Warming,
        }
    }

    /// Takes the next sample and says where the warm-up is. Non-finite values count as seen and are otherwise ignored.
    pub fn push(&mut self, value: f64) -> Phase {
        if self.phase != Phase::Warming {
            return self.phase;
        }
        self.seen += 1;
        if value.is_finite() {
            if self.recent.len() == self.config.window {
                self.recent.pop_front();
            }
            self.recent.push_back(value);
            let third = (self.config.window / 3).max(1);
            if self.recent.len() == self.config.window && self.seen.is_multiple_of(third) {
                self.calm = if self.is_calm() { self.calm + 1 } else { 0 };
            }
        }
        if self.calm >= 2 {
            self.phase = Phase::Steady;
        } else if self.seen >= self.config.max_samples {
            self.phase = Phase::GaveUp;
        }
        self.phase
    }

    /// Where the warm-up is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Samples seen until the decision, or so far.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.seen
    }

    fn is_calm(&mut self) -> bool {
        let window = &*self.recent.make_contiguous();
        let third = (window.len() / 3).max(1);
        let (first, last) = (median(&window[..third]), median(&window[window.len() - third..]));
        let change = (last - first).abs();
        let scale = median(window).abs();
        change <= self.config.tolerance * scale
            || trend(window).is_none_or(|trend| trend.p_value >= TREND_P_VALUE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn run(values: impl Iterator<Item = f64>, config: SteadyConfig) -> (Phase, usize) {
        let mut detector = SteadyState::new(config);
        for value in values {
            if detector.push(value) != Phase::Warming {
                break;
            }
        }
        (detector.phase(), detector.seen())
    }

    #[test]
    fn a_flat_series_is_steady_soon() {
        let (phase, seen) = run(std::iter::repeat(5.0), SteadyConfig::default());
        assert_eq!(phase, Phase::Steady);
        assert!(seen <= 20, "{seen}");
    }

    #[test]
    fn waits_for_a_decay_to_end_despite_spikes() {
        let mut random = Random::new(9);
        let mut early = 0;
        for _ in 0..100 {
            let series: Vec<f64> = (0..500)
                .map(|i| {
                    let spike = if random.uniform() < 0.05 { 3.0 } else { 0.0 };
                    1.0 + (-f64::from(i) / 40.0).exp() + 0.003 * random.normal().abs() + spike
                })
                .collect();
            let (phase, seen) = run(series.iter().copied(), SteadyConfig::default());
            assert_eq!(phase, Phase::Steady);
            early += usize::from(seen < 80);
        }
        assert!(early <= 5, "{early} of 100 ended before two time constants");
    }

    #[test]
    fn noise_wider_than_the_tolerance_still_ends() {
        let mut random = Random::new(2);
        let (phase, seen) =
            run(std::iter::repeat_with(|| 1.0 + 0.2 * random.uniform()), SteadyConfig::default());
        assert_eq!(phase, Phase::Steady);
        assert!(seen < 100, "{seen}");
    }

    #[test]
    fn gives_up_on_an_endless_ramp_and_stays_there() {
        let config = SteadyConfig { max_samples: 100, ..SteadyConfig::default() };
        let mut detector = SteadyState::new(config);
        let last = (0..150).map(|i| detector.push(1.02f64.powi(i))).last();
        assert_eq!(last, Some(Phase::GaveUp));
        assert_eq!(detector.seen(), 100);
    }
}

//! Where did a history change? Steps and drifts in a series of results over time, one value per run.
//!
//! The plan is Hunter's (Fleming et al. 2023): many weak candidates first, then a strict test of each against the levels
//! beside it, the weakest removed until all hold. What differs is what makes it hold on real histories:
//!
//! 1. **Candidates** ([`seeded`]): in every interval of a fixed, overlapping set (seeded binary segmentation) the split
//!    that separates two means best, of values clipped at three noise widths from the interval's median. O(n log n).
//! 2. **Test** ([`levels`]): Mann-Whitney of the two neighbouring levels, so that neither outliers nor the shape of the noise
//!    nor ties matter; its z is divided by √τ, `τ = (1 + ρ) / (1 - ρ)` with ρ the lag-one correlation of what the levels
//!    leave over, so that neighbours which resemble each other do not count twice; its p value is multiplied by the number of
//!    places the change could have been at. What remains is below `alpha` for the series as a whole.
//! 3. **Kind** ([`drift`]): a step, or steps of one direction, that a ramp explains better become one drift.
//! 4. **Many series** ([`discovery`]): the rate of false discoveries is held over all of them.
//!
//! There are no random numbers: the same series always gives the same answer. A series of n points costs O(n log n) time and
//! O(n) memory. Values that are not finite are gaps: they are left out and the places reported are those of the full
//! series. No input panics.

mod discovery;
mod drift;
mod levels;
mod seeded;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use discovery::{Discovery, detect_many, false_discovery_threshold};

use levels::Levels;

/// What counts as a change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ChangePointConfig {
    /// How often a series without a change may be said to have one.
    pub alpha: f64,
    /// Over many series: the share of the reported changes that may be false.
    pub discovery_rate: f64,
    /// Points a level has to last; at least 3.
    pub shortest: usize,
    /// Changes below this share of the level before are not reported.
    pub smallest_relative: f64,
}

impl Default for ChangePointConfig {
    fn default() -> Self {
        Self { alpha: 0.02, discovery_rate: 0.05, shortest: 5, smallest_relative: 0.01 }
    }
}

impl ChangePointConfig {
    fn shortest(&self) -> usize {
        self.shortest.max(3)
    }
}

/// How a series went from one level to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// From one point to the next.
    Step,
    /// Little by little, over many points.
    Drift,
}

/// One change of a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePoint {
    /// A step's first point at the new level; a drift's first point.
    pub index: usize,
    /// The first point that is wholly at the new level: `index` for a step.
    pub settled: usize,
    /// Step or drift.
    pub kind: ChangeKind,
    /// The level before: a median.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// The change as a share of |before|; null when that is zero.
    #[serde(with = "crate::nullable::undefined")]
    #[schemars(with = "Option<f64>")]
    pub relative: f64,
    /// How often noise of this kind would give such a change anywhere in the series.
    pub p_value: f64,
}

/// The changes of one series, oldest first. Fewer than ten values have none.
#[must_use]
pub fn detect(values: &[f64], config: &ChangePointConfig) -> Vec<ChangePoint> {
    Levels::of(values, config).changes(config.alpha)
}

/// The change as a share of the level before; NaN when that is zero.
fn relative(before: f64, after: f64) -> f64 {
    let change = (after - before) / before.abs();
    if change.is_finite() { change } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const NONE: [usize; 0] = [];

    fn noisy(levels: &[(usize, f64)], seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let level = levels.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count));
        level.map(|level| level + random.normal()).collect()
    }

    fn places(values: &[f64]) -> Vec<usize> {
        detect(values, &ChangePointConfig::default()).iter().map(|point| point.index).collect()
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let found = detect(&noisy(&[(40, 100.0), (30, 104.0), (50, 98.0)], 1), &Default::default());
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].index.abs_diff(40) <= 1 && found[1].index.abs_diff(70) <= 1, "{found:?}");
        assert!((found[0].relative - 0.04).abs() < 0.01, "{found:?}");
        assert!(found.iter().all(|point| point.kind == ChangeKind::Step && point.p_value < 1e-3));
    }

    #[test]
    fn quiet_series_have_none() {
        for seed in 0..40 {
            assert_eq!(places(&noisy(&[(20 + 10 * seed as usize, 100.0)], seed)), NONE, "{seed}");
        }
    }

    #[test]
    fn constant_series_have_none_and_their_steps_are_exact() {
        assert_eq!(places(&[7.0; 200]), NONE);
        assert_eq!(places(&[0.0; 12]), NONE);
        let step: Vec<f64> = (0..24).map(|i| if i < 13 { 7.0 } else { 8.0 }).collect();
        assert_eq!(places(&step), [13]);
        let mut spike = vec![7.0; 60];
        spike[30] = 9.0;
        assert_eq!(places(&spike), NONE);
        let from_zero: Vec<f64> = (0..30).map(|i| if i < 12 { 0.0 } else { 3.0 }).collect();
        let found = detect(&from_zero, &ChangePointConfig::default());
        assert!(found.len() == 1 && found[0].relative.is_nan(), "{found:?}");
    }

    #[test]
    fn ten_points_show_a_plain_step_and_fewer_show_nothing() {
        let values = [100.0, 101.0, 99.5, 100.2, 100.1, 150.0, 151.0, 149.0, 150.3, 150.1];
        assert_eq!(places(&values), [5]);
        assert_eq!(places(&values[..9]), NONE);
        assert_eq!(places(&[]), NONE);
    }

    #[test]
    fn outliers_are_not_changes() {
        for seed in 0..20 {
            let mut values = noisy(&[(120, 100.0)], seed);
            for at in [10, 47, 48, 90] {
                values[at] += 500.0;
            }
            values[119] = 0.0;
            assert_eq!(places(&values), NONE, "{seed}");
        }
    }

    #[test]
    fn gaps_keep_the_places() {
        let mut values = noisy(&[(40, 100.0), (40, 106.0)], 3);
        for gap in [5, 6, 7, 20, 55] {
            values[gap] = f64::NAN;
        }
        values.splice(0..0, [f64::INFINITY; 3]);
        let found = places(&values);
        assert!(found.len() == 1 && found[0].abs_diff(43) <= 1, "{found:?}");
    }

    #[test]
    fn a_slow_ramp_is_one_drift() {
        let mut values = noisy(&[(200, 100.0)], 9);
        for (i, value) in values.iter_mut().enumerate() {
            *value += 10.0 * ((i as f64 - 60.0) / 80.0).clamp(0.0, 1.0);
        }
        let found = detect(&values, &ChangePointConfig::default());
        assert_eq!(found.len(), 1, "{found:?}");
        let drift = found[0];
        assert_eq!(drift.kind, ChangeKind::Drift);
        assert!(drift.index.abs_diff(60) <= 12 && drift.settled.abs_diff(140) <= 12, "{drift:?}");
        assert!((drift.relative - 0.1).abs() < 0.02, "{drift:?}");
    }

    #[test]
    fn small_changes_are_left_out() {
        let mut values = noisy(&[(100, 1000.0), (100, 1005.0)], 4);
        assert_eq!(places(&values), NONE);
        let config = ChangePointConfig { smallest_relative: 0.0, ..ChangePointConfig::default() };
        assert_eq!(detect(&values, &config).len(), 1);
        values.reverse();
        assert_eq!(detect(&values, &config).len(), 1);
    }

    #[test]
    fn extreme_numbers_do_not_panic() {
        let large = [f64::MAX, -f64::MAX, f64::MIN_POSITIVE, 0.0, -0.0, 1e300];
        let values: Vec<f64> = (0..100).map(|i| large[i % large.len()]).collect();
        let _ = detect(&values, &ChangePointConfig::default());
        let config = ChangePointConfig { alpha: f64::NAN, shortest: 0, ..Default::default() };
        let _ = detect(&values, &config);
        let _ = detect(&values, &ChangePointConfig { shortest: usize::MAX, ..Default::default() });
    }
}

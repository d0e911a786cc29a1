//! Confidence intervals of a median. Three methods, chosen by what the data allow, and always named in the result:
//!
//! * `range`: fewer than six (effective) samples. Minimum to maximum, with the confidence that really has,
//!   `1 - 2 (1/2)^n`.
//! * `bootstrap_bca`: six to [`BOOTSTRAP_LIMIT`] independent samples. Bias-corrected and accelerated bootstrap
//!   (Efron 1987), [`RESAMPLES`] resamples, O(n) each.
//! * `order_statistic`: more samples, or dependent ones. The interval between two order statistics whose ranks come
//!   from Binomial(m, 1/2), m the effective count; free of any assumption on the distribution. O(1) on sorted values.

use crate::distribution::{half_binomial_lower, normal_cdf, normal_quantile};
use crate::order::{median_in_place, quantile};
use crate::random::Random;
use crate::summary::Interval;

/// Largest count for which the bootstrap is used.
pub const BOOTSTRAP_LIMIT: usize = 200;
/// Resamples of one bootstrap.
pub const RESAMPLES: usize = 1000;

/// The interval of the median of ascending `sorted` values worth `effective` independent ones.
#[must_use]
pub fn median_interval(sorted: &[f64], effective: f64, confidence: f64, seed: u64) -> Interval {
    let independent = effective >= 0.95 * sorted.len() as f64;
    if independent && (6..=BOOTSTRAP_LIMIT).contains(&sorted.len()) {
        let (low, high) = bootstrap_median(sorted, confidence, seed);
        return Interval { low, high, confidence, method: "bootstrap_bca".to_owned() };
    }
    order_statistic(sorted, effective, confidence)
}

/// The order-statistic interval; the whole range when the effective count is too small for `confidence`.
#[must_use]
pub fn order_statistic(sorted: &[f64], effective: f64, confidence: f64) -> Interval {
    let worth = (effective.floor() as usize).clamp(1, sorted.len().max(1));
    match half_binomial_lower(worth, (1.0 - confidence) / 2.0) {
        Some((below, tail)) if !sorted.is_empty() => {
            let share = (below as f64 + 0.5) / worth as f64;
            let index = ((share * sorted.len() as f64) as usize).min((sorted.len() - 1) / 2);
            Interval {
                low: sorted[index],
                high: sorted[sorted.len() - 1 - index],
                confidence: 1.0 - 2.0 * tail,
                method: "order_statistic".to_owned(),
            }
        }
        _ => Interval {
            low: sorted.first().copied().unwrap_or(f64::NAN),
            high: sorted.last().copied().unwrap_or(f64::NAN),
            confidence: 1.0 - 0.5f64.powi(i32::try_from(worth).unwrap_or(i32::MAX) - 1),
            method: "range".to_owned(),
        },
    }
}

/// BCa interval of the median of ascending values; exactly that value when all are equal.
#[must_use]
pub fn bootstrap_median(sorted: &[f64], confidence: f64, seed: u64) -> (f64, f64) {
    let count = sorted.len();
    if count == 0 {
        return (f64::NAN, f64::NAN);
    }
    let mut random = Random::stream(seed, 1);
    let mut resample = vec![0.0; count];
    let mut replicates: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            resample.fill_with(|| sorted[random.below(count)]);
            median_in_place(&mut resample)
        })
        .collect();
    replicates.sort_unstable_by(f64::total_cmp);
    let acceleration = acceleration(&jackknife_medians(sorted));
    bca(&replicates, quantile(sorted, 0.5), acceleration, confidence)
}

/// The BCa interval from ascending bootstrap replicates of an estimate: quantiles of the replicates at
/// `Φ(z₀ + (z₀ + z) / (1 - a (z₀ + z)))` for `z = ±Φ⁻¹((1 + confidence) / 2)`, where `z₀ = Φ⁻¹` of the share of
/// replicates below the estimate (ties count half) and `a` is the acceleration.
#[must_use]
pub fn bca(replicates: &[f64], estimate: f64, acceleration: f64, confidence: f64) -> (f64, f64) {
    let count = replicates.len() as f64;
    let below = replicates.partition_point(|&value| value < estimate) as f64;
    let at_most = replicates.partition_point(|&value| value <= estimate) as f64;
    let share = ((below + at_most) / (2.0 * count)).clamp(0.5 / count, 1.0 - 0.5 / count);
    let bias = normal_quantile(share);
    let z = normal_quantile(f64::midpoint(1.0, confidence));
    let edge = |z: f64| {
        let shifted = bias + z;
        quantile(replicates, normal_cdf(bias + shifted / (1.0 - acceleration * shifted)))
    };
    (edge(-z), edge(z))
}

/// `Σ(m - x)³ / (6 (Σ(m - x)²)^1.5)` over jackknife values x with mean m; 0 without spread.
#[must_use]
pub fn acceleration(jackknife: &[f64]) -> f64 {
    let mean = jackknife.iter().sum::<f64>() / jackknife.len() as f64;
    let scale = jackknife.iter().fold(0.0f64, |scale, value| scale.max((mean - value).abs()));
    if !(scale > 0.0 && scale.is_finite()) {
        return 0.0;
    }
    let (squares, cubes) = jackknife.iter().fold((0.0, 0.0), |(squares, cubes), value| {
        let deviation = (mean - value) / scale;
        (squares + deviation * deviation, cubes + deviation * deviation * deviation)
    });
    cubes / (6.0 * squares.powf(1.5))
}

/// The medians left when each value in turn is removed from an ascending slice.
fn jackknife_medians(sorted: &[f64]) -> Vec<f64> {
    let middle = sorted.len() / 2;
    let at = |index: usize| sorted[index.min(sorted.len() - 1)];
    (0..sorted.len())
        .map(|removed| {
            if sorted.len().is_multiple_of(2) {
                if removed < middle { at(middle) } else { at(middle - 1) }
            } else {
                let low = if removed < middle { middle } else { middle.saturating_sub(1) };
                let high = if removed <= middle { middle + 1 } else { middle };
                at(low) / 2.0 + at(high) / 2.0
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::{median, sorted};

    #[test]
    fn jackknife_agrees_with_removing() {
        for values in [vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0], vec![1.0, 2.0, 4.0, 8.0, 16.0]] {
            let direct: Vec<f64> = (0..values.len())
                .map(|removed| {
                    let mut rest = values.clone();
                    rest.remove(removed);
                    median(&rest)
                })
                .collect();
            assert_eq!(jackknife_medians(&values), direct);
        }
    }

    #[test]
    fn few_samples_state_the_confidence_they_have() {
        let interval = median_interval(&[1.0, 2.0, 3.0], 3.0, 0.95, 0);
        assert_eq!((interval.low, interval.high, interval.confidence), (1.0, 3.0, 0.75));
        assert_eq!(interval.method, "range");
        assert_eq!(median_interval(&[5.0], 1.0, 0.95, 0).confidence, 0.0);
    }

    #[test]
    fn covers_at_the_stated_rate() {
        let mut random = Random::new(11);
        for count in [12, 40, 250] {
            let trials = 300;
            let covered = (0..trials)
                .filter(|_| {
                    // Skewed on purpose: the median of exp(Z) is 1.
                    let values: Vec<f64> = (0..count).map(|_| random.normal().exp()).collect();
                    let interval = median_interval(&sorted(&values), count as f64, 0.95, 5);
                    interval.low <= 1.0 && 1.0 <= interval.high
                })
                .count();
            let rate = covered as f64 / f64::from(trials);
            assert!((0.90..=0.99).contains(&rate), "{count}: {rate}");
        }
    }
}

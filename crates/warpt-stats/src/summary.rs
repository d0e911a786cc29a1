//! What one series of samples says about itself. Every number is finite unless its field says otherwise; the
//! order of the samples is the order they were measured in and matters only for the dependence fields.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::autocorrelation::{effective_count, lag1};
use crate::distribution::student_quantile;
use crate::interval::median_interval;
use crate::order::{mad_around, quantile, sorted};

/// Confidence of [`Summary::interval`].
pub const CONFIDENCE: f64 = 0.95;
/// Largest magnitude a sample may have: beyond it squares and sums would overflow.
pub const LARGEST_MAGNITUDE: f64 = 1e150;
/// The bootstrap of a summary is seeded with this, so that equal samples always give equal summaries.
const SEED: u64 = 0x5eed_0001;

/// A confidence interval and how it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability with which such intervals contain the true value, as achieved (few samples allow less).
    pub confidence: f64,
    /// `range`, `bootstrap_bca` or `order_statistic`; see [`crate::interval`].
    pub method: String,
}

/// Samples outside Tukey's fences: mild beyond 1.5, severe beyond 3 interquartile ranges from the quartiles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outliers {
    /// Below p25 - 3 IQR.
    pub low_severe: u64,
    /// Below p25 - 1.5 IQR, not severe.
    pub low_mild: u64,
    /// Above p75 + 1.5 IQR, not severe.
    pub high_mild: u64,
    /// Above p75 + 3 IQR.
    pub high_severe: u64,
}

impl Outliers {
    /// All four classes together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.low_severe + self.low_mild + self.high_mild + self.high_severe
    }
}

/// The summary of one series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Number of samples.
    pub count: u64,
    /// The middle value: what the tools quote.
    pub median: f64,
    /// Smallest sample.
    pub minimum: f64,
    /// Largest sample.
    pub maximum: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (n - 1); 0 for a single sample.
    pub standard_deviation: f64,
    /// Median absolute deviation from the median, scaled by 1.4826 to match the standard deviation of normal data.
    pub mad: f64,
    /// 5th percentile (linear between ranks, like numpy's default).
    pub p5: f64,
    /// 25th percentile.
    pub p25: f64,
    /// 75th percentile.
    pub p75: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 95% confidence interval of the median. Covers noise within this series, not what changes between runs.
    pub interval: Interval,
    /// Half the interval's width over |median|; null (infinite) for a single sample or a zero median with spread.
    #[serde(with = "crate::nullable::unbounded")]
    #[schemars(with = "Option<f64>")]
    pub relative_half_width: f64,
    /// Samples outside Tukey's fences.
    pub outliers: Outliers,
    /// Smallest relative change of the median, between this series and an equally long later one under the same
    /// conditions, that would be noticed with 80% probability at a 5% false-alarm rate; see [`Summary::of`]. Null
    /// (infinite) when no finite change would.
    #[serde(with = "crate::nullable::unbounded")]
    #[schemars(with = "Option<f64>")]
    pub minimum_detectable_effect: f64,
    /// How many independent samples these are worth; see [`crate::autocorrelation::effective_count`].
    pub effective_count: f64,
    /// Rank correlation of neighbouring samples.
    pub lag1_autocorrelation: f64,
}

impl Summary {
    /// Summarizes samples in the order they were measured. `None` when there are none, or when any is not finite or is
    /// beyond [`LARGEST_MAGNITUDE`]: such a series has a fault in it that no number should paper over.
    ///
    /// The minimum detectable effect is `(t(0.975) + t(0.8)) √2 s / |median|`, where `s`, the standard error of the
    /// median, is the interval's half width over `t` at the interval's confidence, and t has `2 (m - 1)` degrees
    /// of freedom for an effective count `m`. With `√2` for the noise of the second measurement.
    ///
    /// O(n log n), plus at most 1000 resamples of at most 200 values.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        let usable = |sample: &f64| sample.abs() <= LARGEST_MAGNITUDE;
        if samples.is_empty() || !samples.iter().all(usable) {
            return None;
        }
        let ascending = sorted(samples);
        let count = samples.len() as f64;
        let median = quantile(&ascending, 0.5);
        let mean = ascending.iter().sum::<f64>() / count;
        let squares: f64 = ascending.iter().map(|sample| (sample - mean).powi(2)).sum();
        let standard_deviation =
            if samples.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 };
        let effective = effective_count(samples);
        let interval = median_interval(&ascending, effective, CONFIDENCE, SEED);
        let half_width =
            if samples.len() > 1 { (interval.high - interval.low) / 2.0 } else { f64::INFINITY };
        Some(Self {
            count: samples.len() as u64,
            median,
            minimum: ascending[0],
            maximum: ascending[ascending.len() - 1],
            mean,
            standard_deviation,
            mad: mad_around(samples, median),
            p5: quantile(&ascending, 0.05),
            p25: quantile(&ascending, 0.25),
            p75: quantile(&ascending, 0.75),
            p95: quantile(&ascending, 0.95),
            p99: quantile(&ascending, 0.99),
            relative_half_width: relative(half_width, median),
            outliers: fences(&ascending),
            minimum_detectable_effect: relative(
                detectable(half_width, interval.confidence, effective),
                median,
            ),
            interval,
            effective_count: effective,
            lag1_autocorrelation: lag1(samples),
        })
    }
}

/// `amount / |reference|`; infinite when the reference cannot carry it.
fn relative(amount: f64, reference: f64) -> f64 {
    if amount == 0.0 {
        return 0.0;
    }
    let ratio = amount / reference.abs();
    if ratio.is_nan() { f64::INFINITY } else { ratio }
}

/// The detectable shift of the median, in its unit; see [`Summary::of`].
fn detectable(half_width: f64, confidence: f64, effective: f64) -> f64 {
    if confidence <= 0.0 {
        return f64::INFINITY;
    }
    let freedom = 2.0 * (effective - 1.0);
    let error = half_width / student_quantile(f64::midpoint(1.0, confidence), freedom);
    let multiple = student_quantile(0.975, freedom) + student_quantile(0.8, freedom);
    multiple * std::f64::consts::SQRT_2 * error
}

fn fences(ascending: &[f64]) -> Outliers {
    let (p25, p75) = (quantile(ascending, 0.25), quantile(ascending, 0.75));
    let range = p75 - p25;
    let below = |fence: f64| ascending.partition_point(|&sample| sample < fence) as u64;
    let above = |fence: f64| (ascending.len() - ascending.partition_point(|&s| s <= fence)) as u64;
    let low_severe = below(p25 - 3.0 * range);
    let high_severe = above(p75 + 3.0 * range);
    Outliers {
        low_severe,
        low_mild: below(p25 - 1.5 * range) - low_severe,
        high_mild: above(p75 + 1.5 * range) - high_severe,
        high_severe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn refuses_what_it_cannot_summarize() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
        assert_eq!(Summary::of(&[1.0, f64::INFINITY]), None);
        assert_eq!(Summary::of(&[1e151]), None);
    }

    #[test]
    fn one_sample_claims_nothing() {
        let summary = Summary::of(&[5.0]).unwrap();
        assert_eq!(summary.median, 5.0);
        assert_eq!(summary.relative_half_width, f64::INFINITY);
        assert_eq!(summary.minimum_detectable_effect, f64::INFINITY);
    }

    #[test]
    fn survives_json_with_infinite_and_unknown_fields() {
        let summary = Summary::of(&[5.0]).unwrap();
        let mut json = serde_json::to_value(&summary).unwrap();
        assert!(json["relative_half_width"].is_null());
        json["later_field"] = 1.into();
        assert_eq!(serde_json::from_value::<Summary>(json).unwrap(), summary);
    }

    #[test]
    fn counts_outliers_by_fence() {
        let mut samples: Vec<f64> = (0..100).map(f64::from).collect();
        samples.extend([-60.0, -400.0, 180.0, 500.0, 501.0]);
        let outliers = Summary::of(&samples).unwrap().outliers;
        assert_eq!(outliers, Outliers { low_severe: 1, low_mild: 1, high_mild: 1, high_severe: 2 });
        assert_eq!(outliers.total(), 5);
    }

    #[test]
    fn detectable_effect_is_detected_about_as_often_as_stated() {
        // Two series of 60; a shift of exactly the stated size, judged by the two intervals' standard errors.
        let mut random = Random::new(21);
        let mut series = |shift: f64| -> Vec<f64> {
            (0..60).map(|_| (1.0 + shift) * (1.0 + 0.02 * random.normal())).collect()
        };
        let trials = 300;
        let mut detected = 0;
        for _ in 0..trials {
            let first = Summary::of(&series(0.0)).unwrap();
            let second = Summary::of(&series(first.minimum_detectable_effect)).unwrap();
            let error = |s: &Summary| (s.interval.high - s.interval.low) / 2.0 / 1.96;
            let noise = error(&first).hypot(error(&second));
            if second.median - first.median > 1.96 * noise {
                detected += 1;
            }
        }
        let rate = f64::from(detected) / f64::from(trials);
        assert!((0.72..0.92).contains(&rate), "{rate}");
    }
}

//! What is suspicious about a series of samples, as data. Each rule is made to stay silent on ordinary noise (normal,
//! skewed, spiky): a warning that everybody has learned to ignore is worse than none. The tests hold each rule to at most
//! a few false alarms in a hundred clean series.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::distribution::normal_two_sided;
use crate::order::{median, quantile, sorted};
use crate::summary::Summary;

/// Fewer samples than this are called few.
pub const FEW_SAMPLES: u64 = 10;
/// A relative half width above this is called wide.
pub const WIDE_INTERVAL: f64 = 0.05;
/// Drift below this share of the median is not worth a word.
pub const DRIFT_FLOOR: f64 = 0.02;
/// Outliers above this share of the samples are too many.
pub const OUTLIER_SHARE: f64 = 0.1;
/// Series are reduced to this many bucket medians before trends are looked for, which bounds the cost.
const TREND_POINTS: usize = 60;

/// One thing a reader should know before trusting a summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Warning {
    /// The values move in one direction over time (Mann-Kendall p < 0.001 and a Theil-Sen change above 2%).
    Drift {
        /// Change from the first to the last sample by the fitted line, over |median|; negative when falling.
        relative_change: f64,
        /// Mann-Kendall two-sided p value.
        p_value: f64,
    },
    /// The values form two separate groups with a valley between them.
    Bimodal {
        /// Centre of the lower group.
        low: f64,
        /// Centre of the upper group.
        high: f64,
        /// Share of the samples in the upper group.
        high_share: f64,
    },
    /// Many samples lie outside Tukey's fences.
    Outliers {
        /// Their share of all samples.
        share: f64,
    },
    /// Too few samples for the spread to be known.
    FewSamples {
        /// Samples there are.
        count: u64,
        /// Samples there should be.
        wanted: u64,
    },
    /// The confidence interval of the median is wide.
    WideInterval {
        /// Half its width over |median|; null when infinite.
        #[serde(with = "crate::nullable::unbounded")]
        #[schemars(with = "Option<f64>")]
        relative_half_width: f64,
    },
    /// Neighbouring samples resemble each other, so there is less information than the count suggests.
    Autocorrelated {
        /// Rank correlation of neighbours.
        lag1: f64,
        /// What the samples are worth.
        effective_count: f64,
    },
    /// Values come in coarse steps, as from a clock or counter of low resolution.
    Quantized {
        /// Different values seen.
        distinct: u64,
        /// Smallest step between them; 0 when all are equal.
        step: f64,
    },
}

impl Warning {
    /// The warning's stable identifier, the same as its `code` in JSON.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Drift { .. } => "drift",
            Self::Bimodal { .. } => "bimodal",
            Self::Outliers { .. } => "outliers",
            Self::FewSamples { .. } => "few_samples",
            Self::WideInterval { .. } => "wide_interval",
            Self::Autocorrelated { .. } => "autocorrelated",
            Self::Quantized { .. } => "quantized",
        }
    }

    /// One sentence for a person.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Drift { relative_change, .. } => {
                let way = if *relative_change > 0.0 { "rise" } else { "fall" };
                let percent = 100.0 * relative_change.abs();
                format!("values {way} by {percent:.1}% over the measurement: not a steady state")
            }
            Self::Bimodal { low, high, high_share } => format!(
                "two groups of values, around {low:.4} and {high:.4} ({:.0}% in the upper): the median stands for one at best",
                100.0 * high_share
            ),
            Self::Outliers { share } => {
                format!(
                    "{:.0}% of the samples are outliers: something else is running",
                    100.0 * share
                )
            }
            Self::FewSamples { count, wanted } => {
                format!("only {count} samples; {wanted} or more are needed to know the spread")
            }
            Self::WideInterval { relative_half_width } if relative_half_width.is_finite() => {
                format!(
                    "the median is only known to within ±{:.1}%; measure longer or on a quieter machine",
                    100.0 * relative_half_width
                )
            }
            Self::WideInterval { .. } => "the median is not known to within any bound".to_owned(),
            Self::Autocorrelated { lag1, effective_count } => format!(
                "neighbouring samples are alike (correlation {lag1:.2}): worth about {effective_count:.0} independent ones"
            ),
            Self::Quantized { distinct: 1, .. } => {
                "all samples are equal: the clock may be too coarse for this body".to_owned()
            }
            Self::Quantized { distinct, step } => format!(
                "only {distinct} different values, {step:.3e} apart: the clock is too coarse for this body"
            ),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message())
    }
}

/// All warnings a series and its own summary give rise to, most serious first. Non-finite values give none.
/// O(n log n).
#[must_use]
pub fn warnings(samples: &[f64], summary: &Summary) -> Vec<Warning> {
    if samples.is_empty() || !samples.iter().all(|sample| sample.is_finite()) {
        return Vec::new();
    }
    let ascending = sorted(samples);
    let quantized = quantized(&ascending, summary);
    let bimodal = if quantized.is_none() { bimodal(&ascending) } else { None };
    let few = (summary.count < FEW_SAMPLES)
        .then_some(Warning::FewSamples { count: summary.count, wanted: FEW_SAMPLES });
    let wide = (summary.relative_half_width > WIDE_INTERVAL)
        .then_some(Warning::WideInterval { relative_half_width: summary.relative_half_width });
    let share = summary.outliers.total() as f64 / summary.count.max(1) as f64;
    let outliers =
        (summary.count >= 20 && share > OUTLIER_SHARE).then_some(Warning::Outliers { share });
    [drift(samples, summary), bimodal, few, wide, outliers, autocorrelated(summary), quantized]
        .into_iter()
        .flatten()
        .collect()
}

fn autocorrelated(summary: &Summary) -> Option<Warning> {
    let count = summary.count as f64;
    let (lag1, worth) = (summary.lag1_autocorrelation, summary.effective_count);
    let strong = summary.count >= 20 && lag1 > 0.3 && lag1 > 3.0 / count.sqrt();
    (strong && worth < count / 2.0)
        .then_some(Warning::Autocorrelated { lag1, effective_count: worth })
}

/// Mann-Kendall and Theil-Sen over medians of consecutive buckets.
fn drift(samples: &[f64], summary: &Summary) -> Option<Warning> {
    if samples.len() < 10 || summary.median == 0.0 {
        return None;
    }
    let points = bucket_medians(samples, TREND_POINTS);
    let trend = trend(&points)?;
    let relative_change = trend.slope * (points.len() - 1) as f64 / summary.median.abs();
    (trend.p_value < 0.001 && relative_change.abs() > DRIFT_FLOOR)
        .then_some(Warning::Drift { relative_change, p_value: trend.p_value })
}

fn bucket_medians(samples: &[f64], points: usize) -> Vec<f64> {
    let points = points.min(samples.len());
    (0..points)
        .map(|i| {
            let (start, end) = (i * samples.len() / points, (i + 1) * samples.len() / points);
            median(&samples[start..end])
        })
        .collect()
}

/// A monotone trend in a short series.
pub(crate) struct Trend {
    /// Theil-Sen: the median slope over all pairs, per step.
    pub(crate) slope: f64,
    /// Mann-Kendall: two-sided p value of the number of rising minus falling pairs.
    pub(crate) p_value: f64,
}

/// O(k²) for k points; `None` below three.
pub(crate) fn trend(points: &[f64]) -> Option<Trend> {
    if points.len() < 3 {
        return None;
    }
    let mut slopes = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
    let mut score = 0i64;
    for (i, early) in points.iter().enumerate() {
        for (j, late) in points.iter().enumerate().skip(i + 1) {
            slopes.push((late - early) / (j - i) as f64);
            score += i64::from(late > early) - i64::from(late < early);
        }
    }
    let n = points.len() as f64;
    let (_, ties) = crate::order::mid_ranks(points);
    // Σ t(t-1)(2t+5) differs from 2 Σ(t³-t) only in the order t²; the smaller correction is the careful one.
    let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - 2.0 * ties) / 18.0;
    let corrected = (score.abs() as f64 - 1.0).max(0.0);
    let p_value = if variance > 0.0 { normal_two_sided(corrected / variance.sqrt()) } else { 1.0 };
    Some(Trend { slope: crate::order::median_in_place(&mut slopes), p_value })
}

/// Splits ascending values where the within-group squares are least, then asks for a real valley: in three windows of
/// equal width, at the two group medians and midway, the middle one must hold less than a quarter of the emptier outer
/// one. The outermost 2% at each end are left out so that a stray spike is no group.
fn bimodal(ascending: &[f64]) -> Option<Warning> {
    let trim = ascending.len() / 50;
    let core = &ascending[trim..ascending.len() - trim];
    if core.len() < 20 {
        return None;
    }
    let split = best_split(core)?;
    let share = (core.len() - split) as f64 / core.len() as f64;
    if !(0.1..=0.9).contains(&share) {
        return None;
    }
    let (low, high) = (quantile(&core[..split], 0.5), quantile(&core[split..], 0.5));
    let gap = high - low;
    let middle = quantile(core, 0.5).abs();
    if gap.is_nan() || gap <= 0.01 * middle {
        return None;
    }
    let inside = |center: f64| {
        let upto = |edge: f64| core.partition_point(|&value| value < edge);
        (upto(center + gap / 6.0) - upto(center - gap / 6.0)) as f64
    };
    let valley = inside(f64::midpoint(low, high));
    let peak = inside(low).min(inside(high));
    // Three standard deviations of the counts keep chance gaps in small samples from looking like valleys.
    let clear = peak - valley > 3.0 * (peak + valley).sqrt() && valley < 0.25 * peak;
    clear.then_some(Warning::Bimodal { low, high, high_share: share })
}

/// The split index with the largest between-group sum of squares, `k (n - k) (mean₁ - mean₂)²`.
fn best_split(core: &[f64]) -> Option<usize> {
    let center = core[core.len() / 2];
    let total: f64 = core.iter().map(|value| value - center).sum();
    let n = core.len() as f64;
    let mut below = 0.0;
    let mut best = (0.0, None);
    for (index, value) in core.iter().enumerate().take(core.len() - 1) {
        below += value - center;
        let k = (index + 1) as f64;
        let distance = below / k - (total - below) / (n - k);
        let score = k * (n - k) * distance * distance;
        if score > best.0 {
            best = (score, Some(index + 1));
        }
    }
    best.1
}

/// Few different values whose step is a visible share of the median.
fn quantized(ascending: &[f64], summary: &Summary) -> Option<Warning> {
    if ascending.len() < 30 {
        return None;
    }
    let steps = ascending.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0);
    let (distinct, step) =
        steps.fold((1u64, f64::INFINITY), |(count, least), step| (count + 1, least.min(step)));
    let step = if step.is_finite() { step } else { 0.0 };
    let coarse = distinct == 1 || step >= 0.002 * summary.median.abs();
    (distinct <= (ascending.len() as u64 / 10).max(3) && coarse)
        .then_some(Warning::Quantized { distinct, step })
}

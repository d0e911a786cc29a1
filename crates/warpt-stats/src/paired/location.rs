//! The location statistic: is the typical cost different? Works on units, one number `ln(A / B)` per restart.

use super::observations::BlockObservation;
use super::{PairedConfig, Regime};
use crate::distribution::{
    half_binomial_lower, normal_quantile, student_quantile, student_two_sided,
};
use crate::order::{median, median_in_place, quantile, sorted};
use crate::random::Random;
use crate::rank::signed_rank;

/// Below this many restarts no exact 95% interval exists and the cluster bootstrap stands in.
pub const FEW_UNITS: usize = 6;
/// Resamples of the cluster bootstrap.
const RESAMPLES: usize = 400;
/// Walsh averages grow with the square of the units; above this many the normal limit of their ranks is used.
const MOST_WALSH_UNITS: usize = 1000;

/// The outcome, on the logarithmic scale.
pub(crate) struct Location {
    pub(crate) effect: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) p_value: f64,
    pub(crate) standard_error: f64,
    /// Degrees of freedom behind the standard error.
    pub(crate) freedom: f64,
    pub(crate) method: &'static str,
}

/// `ln(A / B)` of a block.
fn block_effect(block: &BlockObservation, regime: Regime) -> f64 {
    let reduce = |costs: &[f64]| match regime {
        Regime::Short => costs.iter().copied().fold(f64::INFINITY, f64::min),
        Regime::Long => median(costs),
    };
    // A difference of logarithms: the quotient of extreme costs could overflow.
    reduce(&block.a).ln() - reduce(&block.b).ln()
}

/// Measures the effect. `None` without a single complete block.
pub(crate) fn locate(
    restarts: &[Vec<BlockObservation>],
    config: &PairedConfig,
    alpha: f64,
) -> Option<Location> {
    let effects: Vec<Vec<f64>> = restarts
        .iter()
        .map(|blocks| blocks.iter().map(|block| block_effect(block, config.regime)).collect())
        .collect();
    let units: Vec<f64> = effects.iter().map(|blocks| median(blocks)).collect();
    match units.len() {
        0 => None,
        1..FEW_UNITS => Some(from_few(&effects, &units, config)),
        _ => Some(from_units(&units, config, alpha)),
    }
}

fn from_units(units: &[f64], config: &PairedConfig, alpha: f64) -> Location {
    let confidence = config.usable_confidence();
    let (effect, low, high, method) = match config.regime {
        Regime::Short if units.len() <= MOST_WALSH_UNITS => {
            let averages = walsh_averages(units);
            let skip = walsh_rank(units.len(), (1.0 - confidence) / 2.0);
            let (low, high) = (averages[skip], averages[averages.len() - 1 - skip]);
            (quantile(&averages, 0.5), low, high, "signed_rank")
        }
        _ => {
            let ascending = sorted(units);
            let skip = half_binomial_lower(units.len(), (1.0 - confidence) / 2.0)
                .map_or(0, |(below, _)| below);
            let (low, high) = (ascending[skip], ascending[ascending.len() - 1 - skip]);
            (quantile(&ascending, 0.5), low, high, "order_statistic")
        }
    };
    let freedom = (units.len() - 1) as f64;
    let standard_error =
        (high - low) / 2.0 / student_quantile(f64::midpoint(1.0, confidence), freedom);
    // The smallest p of n units is 2^(1-n). Where that cannot reach alpha, Student's t on the units decides instead;
    // the choice depends on the plan alone, never on the data.
    let attainable = 0.5f64.powi(i32::try_from(units.len()).unwrap_or(i32::MAX) - 1);
    let p_value = if attainable > alpha { student(units) } else { signed_rank(units).p_value };
    Location { effect, low, high, p_value, standard_error, freedom, method }
}

/// With few restarts: t on the units when there are three or more, otherwise the block effects themselves (which cannot
/// see luck that lasts a restart; the judge says so). The interval is a two-level bootstrap's standard error times
/// Student's t.
fn from_few(effects: &[Vec<f64>], units: &[f64], config: &PairedConfig) -> Location {
    let blocks: Vec<f64> = effects.iter().flatten().copied().collect();
    let by_unit = units.len() >= 3;
    let effect = if by_unit { median_of_means(units) } else { median(&blocks) };
    let p_value = if by_unit { student(units) } else { signed_rank(&blocks).p_value };
    let freedom = if by_unit { units.len() - 1 } else { blocks.len().saturating_sub(1) }.max(1);
    let freedom = freedom as f64;
    let standard_error =
        if blocks.len() < 2 { f64::INFINITY } else { cluster_bootstrap(effects, config.seed) };
    let half =
        standard_error * student_quantile(f64::midpoint(1.0, config.usable_confidence()), freedom);
    let (low, high) = (effect - half, effect + half);
    Location { effect, low, high, p_value, standard_error, freedom, method: "cluster_bootstrap" }
}

/// Hodges-Lehmann: the median of all pairwise averages.
fn median_of_means(units: &[f64]) -> f64 {
    quantile(&walsh_averages(units), 0.5)
}

/// All averages of two units, a unit with itself included, ascending.
fn walsh_averages(units: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(units.len() * (units.len() + 1) / 2);
    for (index, first) in units.iter().enumerate() {
        averages.extend(units[index..].iter().map(|second| f64::midpoint(*first, *second)));
    }
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

/// How many of the smallest Walsh averages lie below the interval: the largest k with P(W <= k) <= tail, exact up to 50.
/// `W <= k` in the test corresponds to the centre lying below the (k + 1)-th average.
fn walsh_rank(count: usize, tail: f64) -> usize {
    let n = count as f64;
    let largest = count * (count + 1) / 2;
    if count > 50 {
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        let edge = n * (n + 1.0) / 4.0 + normal_quantile(tail) * deviation - 0.5;
        return (edge.max(0.0) as usize).min(largest / 2);
    }
    let mut probability = vec![0.0; largest + 1];
    probability[0] = 1.0;
    let mut reached = 0;
    for rank in 1..=count {
        for sum in (0..=reached).rev() {
            probability[sum] /= 2.0;
            probability[sum + rank] += probability[sum];
        }
        reached += rank;
    }
    let mut sum = 0.0;
    let within = probability.iter().take_while(|step| {
        sum += **step;
        sum <= tail
    });
    within.count()
}

/// Student's t that the units' mean is zero.
fn student(units: &[f64]) -> f64 {
    let n = units.len() as f64;
    let mean = units.iter().sum::<f64>() / n;
    let variance = units.iter().map(|unit| (unit - mean).powi(2)).sum::<f64>() / (n - 1.0);
    if variance > 0.0 {
        student_two_sided(mean / (variance / n).sqrt(), n - 1.0).max(f64::MIN_POSITIVE)
    } else {
        1.0
    }
}

/// Standard deviation of the median of blocks when restarts, and blocks within them, are drawn again.
fn cluster_bootstrap(effects: &[Vec<f64>], seed: u64) -> f64 {
    let mut random = Random::stream(seed, u64::MAX);
    let mut drawn = Vec::new();
    let replicates: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            drawn.clear();
            for _ in 0..effects.len() {
                let blocks = &effects[random.below(effects.len())];
                drawn.extend((0..blocks.len()).map(|_| blocks[random.below(blocks.len())]));
            }
            median_in_place(&mut drawn)
        })
        .collect();
    let n = replicates.len() as f64;
    let mean = replicates.iter().sum::<f64>() / n;
    (replicates.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}

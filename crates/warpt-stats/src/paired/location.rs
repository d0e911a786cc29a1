//! The location statistic: is the typical cost different? Works on units, one number `ln(A / B)` per restart.

use super::observations::BlockObservation;
use super::{PairedConfig, Regime};
use crate::distribution::{
    half_binomial_lower, normal_quantile, student_quantile, student_two_sided,
};
use crate::order::{median, median_in_place, quantile, sorted};
use crate::random::Random;
use crate::rank::{sign_test, signed_rank};

/// Below this many restarts no exact 95% interval exists and the cluster bootstrap stands in.
pub const FEW_UNITS: usize = 6;
/// Resamples of the cluster bootstrap.
const RESAMPLES: usize = 400;
/// Walsh averages grow with the square of the units; above this many the normal limit of their ranks is used.
const MOST_WALSH_UNITS: usize = 500;
/// Redraws behind the minimum detectable effect, and the most units in one.
const DETECTABLE_REDRAWS: usize = 200;
const MOST_REDRAWN_UNITS: usize = 60;

/// The outcome, on the logarithmic scale.
pub(crate) struct Location {
    pub(crate) effect: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) p_value: f64,
    /// Effect that would be detected with 80% probability.
    pub(crate) detectable: f64,
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
    let tail = (1.0 - config.usable_confidence()) / 2.0;
    let walsh = config.regime == Regime::Short && units.len() <= MOST_WALSH_UNITS;
    let (effect, low, high, method) = if walsh {
        let averages = sorted(&walsh_averages(units));
        let skip = walsh_rank(units.len(), tail);
        let (low, high) = (averages[skip], averages[averages.len() - 1 - skip]);
        (quantile(&averages, 0.5), low, high, "signed_rank")
    } else {
        let ascending = sorted(units);
        let skip = half_binomial_lower(units.len(), tail).map_or(0, |(below, _)| below);
        let (low, high) = (ascending[skip], ascending[ascending.len() - 1 - skip]);
        (quantile(&ascending, 0.5), low, high, "order_statistic")
    };
    let p_value = match config.regime {
        _ if by_student(units.len(), config.regime, alpha) => student(units),
        Regime::Short => signed_rank(units).p_value,
        // Either test may speak; doubling pays for the choice.
        Regime::Long => (2.0 * signed_rank(units).p_value.min(sign_test(units).p_value)).min(1.0),
    };
    let detectable = detectable_by_units(units, effect, config);
    Location { effect, low, high, p_value, detectable, method }
}

/// The smallest p of n units is 2^(1-n), twice that for long bodies. Where that cannot reach alpha, Student's t on the units decides instead; the
/// choice depends on the plan alone, never on the data.
fn by_student(units: usize, regime: Regime, alpha: f64) -> bool {
    let doubled = i32::from(regime == Regime::Long);
    0.5f64.powi(i32::try_from(units).unwrap_or(i32::MAX) - 1 - doubled) > alpha
}

/// With few restarts: t on the units when there are three or more, otherwise the block effects themselves (which cannot
/// see luck that lasts a restart; the judge says so). The interval is a two-level bootstrap's standard error times
/// Student's t.
fn from_few(effects: &[Vec<f64>], units: &[f64], config: &PairedConfig) -> Location {
    let blocks: Vec<f64> = effects.iter().flatten().copied().collect();
    let by_unit = units.len() >= 3;
    let effect = if by_unit { hodges_lehmann(units) } else { median(&blocks) };
    let p_value = if by_unit { student(units) } else { signed_rank(&blocks).p_value };
    let freedom = if by_unit { units.len() - 1 } else { blocks.len().saturating_sub(1) }.max(1);
    let freedom = freedom as f64;
    let standard_error =
        if blocks.len() < 2 { f64::INFINITY } else { cluster_bootstrap(effects, config.seed) };
    let half =
        standard_error * student_quantile(f64::midpoint(1.0, config.usable_confidence()), freedom);
    let (low, high) = (effect - half, effect + half);
    let t = |p: f64| student_quantile(p, freedom);
    let clear_floor = config.log_floor() + t(0.8) * standard_error;
    let clear_alpha = (t(1.0 - config.location_alpha(1) / 2.0) + t(0.8)) * standard_error;
    let detectable = clear_floor.max(clear_alpha);
    Location { effect, low, high, p_value, detectable, method: "cluster_bootstrap" }
}

/// The effect that this noise would let through with 80% probability, found by asking the rule itself: units are drawn
/// again around zero, in both mirror images, and each draw says how large an effect it would have needed to clear both the
/// test (the lower end of its interval at the look's alpha above zero) and the floor. The 80% quantile is the answer.
/// Residuals are widened by √(n / (n - 1)), since a drawn sample spreads less than what it came from.
fn detectable_by_units(units: &[f64], effect: f64, config: &PairedConfig) -> f64 {
    let (alpha, floor) = (config.location_alpha(1), config.log_floor());
    let n = units.len();
    let widen = (n as f64 / (n as f64 - 1.0)).sqrt();
    let residuals: Vec<f64> = units.iter().map(|unit| widen * (unit - effect)).collect();
    // Longer lists of units are cut: the needed effect then shrinks with the root of the count.
    let drawn = n.min(MOST_REDRAWN_UNITS);
    let shrink = (drawn as f64 / n as f64).sqrt();
    let student_multiple = by_student(n, config.regime, alpha)
        .then(|| student_quantile(1.0 - alpha / 2.0, (n - 1) as f64) / (n as f64).sqrt());
    // The tail probability of one end of an interval that belongs to the test.
    let tail = if config.regime == Regime::Short { alpha / 2.0 } else { alpha / 4.0 };
    let skip = walsh_rank(drawn, tail);
    let sign_skip = half_binomial_lower(drawn, tail).map(|(below, _)| below);
    let mut random = Random::stream(config.seed, u64::MAX - 2);
    let mut needed = Vec::with_capacity(2 * DETECTABLE_REDRAWS);
    for _ in 0..DETECTABLE_REDRAWS {
        let mut draw: Vec<f64> = (0..drawn).map(|_| residuals[random.below(n)]).collect();
        let mut averages = walsh_averages(&draw);
        let last = averages.len() - 1;
        let center = match config.regime {
            Regime::Short => median_in_place(&mut averages),
            Regime::Long => median(&draw),
        };
        let (mut low, mut high) = if let Some(multiple) = student_multiple {
            let (mean, deviation) = mean_and_deviation(&draw);
            (mean - multiple * deviation, mean + multiple * deviation)
        } else {
            (nth(&mut averages, skip), nth(&mut averages, last - skip))
        };
        if let (Regime::Long, None, Some(skip)) = (config.regime, student_multiple, sign_skip) {
            low = low.max(nth(&mut draw, skip));
            high = high.min(nth(&mut draw, drawn - 1 - skip));
        }
        needed.push((-low * shrink).max(floor - center * shrink));
        needed.push((high * shrink).max(floor + center * shrink));
    }
    quantile(&sorted(&needed), 0.8)
}

fn nth(values: &mut [f64], index: usize) -> f64 {
    *values.select_nth_unstable_by(index, f64::total_cmp).1
}

/// Hodges-Lehmann: the median of all pairwise averages.
fn hodges_lehmann(units: &[f64]) -> f64 {
    median_in_place(&mut walsh_averages(units))
}

/// All averages of two units, a unit with itself included.
fn walsh_averages(units: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(units.len() * (units.len() + 1) / 2);
    for (index, first) in units.iter().enumerate() {
        averages.extend(units[index..].iter().map(|second| f64::midpoint(*first, *second)));
    }
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
    let (mean, deviation) = mean_and_deviation(units);
    if mean == 0.0 {
        return 1.0;
    }
    // Without any spread t is infinite and p vanishes: a cost that is always exactly the same is no noise.
    student_two_sided(mean / deviation * n.sqrt(), n - 1.0).max(f64::MIN_POSITIVE)
}

/// The mean and the sample standard deviation.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
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
    mean_and_deviation(&replicates).1
}

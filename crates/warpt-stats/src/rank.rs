//! Rank and permutation tests. All are two-sided and total: no input panics, data that cannot show anything give
//! a p value of one, and non-finite values are left out.

use crate::distribution::normal_two_sided;
use crate::order::mid_ranks;
use crate::random::Random;

/// Largest count for which the signed-rank null distribution is summed exactly (ties included).
pub const EXACT_SIGNED_RANK: usize = 50;
/// Largest product of counts for which the U distribution is counted exactly (without ties).
pub const EXACT_MANN_WHITNEY: usize = 2500;
/// Largest count for which every sign pattern is tried.
pub const EXACT_SIGN_FLIP: usize = 16;

/// How a p value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// From the complete null distribution.
    Exact,
    /// From the normal limit, corrected for ties and continuity.
    Normal,
    /// From random permutations.
    MonteCarlo,
}

/// The outcome of a test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTest {
    /// Signed rank: the sum of ranks of positive differences. Mann-Whitney: U of the first sample. Sign flip: the sum.
    pub statistic: f64,
    /// Two-sided p value in (0, 1].
    pub p_value: f64,
    /// How the p value was found.
    pub method: Method,
    /// Values used: zeros (signed rank) and non-finite values are left out.
    pub count: usize,
}

/// Wilcoxon's signed-rank test that differences are symmetric about zero. Zeros are dropped (Wilcoxon's rule); ties
/// share mid-ranks, and up to [`EXACT_SIGNED_RANK`] values the null distribution over all sign patterns of the
/// observed ranks is exact, ties or not. Above, `z = (W - n(n+1)/4) / √(n(n+1)(2n+1)/24 - Σ(t³-t)/48)`, with W
/// moved by 1/2 towards its mean.
#[must_use]
pub fn signed_rank(differences: &[f64]) -> RankTest {
    let used: Vec<f64> =
        differences.iter().copied().filter(|d| d.is_finite() && *d != 0.0).collect();
    let magnitudes: Vec<f64> = used.iter().map(|d| d.abs()).collect();
    let (ranks, ties) = mid_ranks(&magnitudes);
    let statistic: f64 =
        used.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank).sum();
    let count = used.len();
    let n = count as f64;
    if count <= EXACT_SIGNED_RANK {
        let p_value = exact_signed_rank(&ranks, statistic);
        return RankTest { statistic, p_value, method: Method::Exact, count };
    }
    let mean = n * (n + 1.0) / 4.0;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ties / 48.0;
    let p_value = corrected_normal(statistic - mean, variance);
    RankTest { statistic, p_value, method: Method::Normal, count }
}

/// The sign test that differences have median zero: two-sided binomial with one half, zeros dropped. Less sharp than the
/// signed-rank test on clean data and indifferent to how far out an outlier lies. The statistic counts positives.
#[must_use]
pub fn sign_test(differences: &[f64]) -> RankTest {
    let positive = differences.iter().filter(|d| d.is_finite() && **d > 0.0).count();
    let negative = differences.iter().filter(|d| d.is_finite() && **d < 0.0).count();
    let count = positive + negative;
    let fewer = positive.min(negative);
    let statistic = positive as f64;
    if count > 1000 {
        let n = count as f64;
        let p_value = corrected_normal(statistic - n / 2.0, n / 4.0);
        return RankTest { statistic, p_value, method: Method::Normal, count };
    }
    let mut probability = (-(count as f64) * std::f64::consts::LN_2).exp();
    let mut tail = probability;
    for k in 0..fewer {
        probability *= (count - k) as f64 / (k + 1) as f64;
        tail += probability;
    }
    let p_value = (2.0 * tail).clamp(f64::MIN_POSITIVE, 1.0);
    RankTest { statistic, p_value, method: Method::Exact, count }
}

/// Probability, over all 2^n sign patterns, of a rank sum at least as far from its mean. Mid-ranks are halves,
/// so doubled ranks are whole numbers and the distribution is a convolution over their sums.
fn exact_signed_rank(ranks: &[f64], statistic: f64) -> f64 {
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank).round() as usize).collect();
    let total: usize = doubled.iter().sum();
    let mut probability = vec![0.0; total + 1];
    probability[0] = 1.0;
    let mut reached = 0;
    for &rank in &doubled {
        for sum in (0..=reached).rev() {
            let half = probability[sum] / 2.0;
            probability[sum] = half;
            probability[sum + rank] += half;
        }
        reached += rank;
    }
    let observed = (2.0 * statistic).round() as usize;
    let smaller = observed.min(total - observed.min(total));
    let tail: f64 = probability[..=smaller].iter().sum();
    (2.0 * tail).min(1.0)
}

/// The Mann-Whitney U test that two samples come from one distribution. Exact without ties up to
/// [`EXACT_MANN_WHITNEY`] pairs; otherwise `z = (U - nm/2) / √(nm/12 ((N+1) - Σ(t³-t)/(N(N-1))))` with continuity
/// correction.
#[must_use]
pub fn mann_whitney(first: &[f64], second: &[f64]) -> RankTest {
    let mut pooled: Vec<f64> = first.iter().copied().filter(|v| v.is_finite()).collect();
    let n = pooled.len();
    pooled.extend(second.iter().copied().filter(|v| v.is_finite()));
    let m = pooled.len() - n;
    let (ranks, ties) = mid_ranks(&pooled);
    let (count, pairs, all) = (pooled.len(), n as f64 * m as f64, pooled.len() as f64);
    let statistic = ranks[..n].iter().sum::<f64>() - n as f64 * (n as f64 + 1.0) / 2.0;
    if n == 0 || m == 0 {
        return RankTest { statistic: 0.0, p_value: 1.0, method: Method::Exact, count };
    }
    if ties == 0.0 && n.saturating_mul(m) <= EXACT_MANN_WHITNEY {
        let p_value = exact_mann_whitney(n, m, statistic);
        return RankTest { statistic, p_value, method: Method::Exact, count };
    }
    let variance = pairs / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    let p_value = corrected_normal(statistic - pairs / 2.0, variance);
    RankTest { statistic, p_value, method: Method::Normal, count }
}

/// Counts, as probabilities, the ways each U can arise: the distribution of U for (n, m) is the product of the factors
/// `(1 - q^(m+i)) / (1 - q^i)`, i = 1..n, normalized.
fn exact_mann_whitney(n: usize, m: usize, statistic: f64) -> f64 {
    let (n, m) = (n.min(m), n.max(m));
    let total = n * m;
    let mut ways = vec![0.0f64; total + 1];
    ways[0] = 1.0;
    for i in 1..=n {
        for sum in (m + i..=total).rev() {
            ways[sum] -= ways[sum - m - i];
        }
        for sum in i..=total {
            ways[sum] += ways[sum - i];
        }
        let scale = i as f64 / (m + i) as f64;
        ways.iter_mut().for_each(|way| *way *= scale);
    }
    let smaller = (statistic.min(total as f64 - statistic)).max(0.0) as usize;
    let tail: f64 = ways[..=smaller].iter().sum();
    (2.0 * tail).clamp(f64::MIN_POSITIVE, 1.0)
}

/// The sign-flip permutation test that differences are symmetric about zero, on the sum of the differences. Tries all
/// 2^n patterns up to [`EXACT_SIGN_FLIP`] values; above, `permutations` random ones and `p = (1 + hits) / (1 + permutations)`.
#[must_use]
pub fn sign_flip(differences: &[f64], permutations: usize, random: &mut Random) -> RankTest {
    let used: Vec<f64> = differences.iter().copied().filter(|d| d.is_finite()).collect();
    let count = used.len();
    let scale = used.iter().fold(0.0f64, |scale, d| scale.max(d.abs()));
    let statistic: f64 = used.iter().sum();
    if scale == 0.0 {
        return RankTest { statistic: 0.0, p_value: 1.0, method: Method::Exact, count };
    }
    // Scaled so that huge values cannot overflow; the margin absorbs rounding between equal sums.
    let used: Vec<f64> = used.iter().map(|d| d / scale).collect();
    let threshold = used.iter().sum::<f64>().abs() - 1e-9;
    if count <= EXACT_SIGN_FLIP {
        let patterns = 1u32 << count;
        let hits = (0..patterns)
            .filter(|pattern| {
                let flipped = |(i, d): (usize, &f64)| if pattern >> i & 1 == 1 { -d } else { *d };
                used.iter().enumerate().map(flipped).sum::<f64>().abs() >= threshold
            })
            .count();
        let p_value = hits as f64 / f64::from(patterns);
        return RankTest { statistic, p_value, method: Method::Exact, count };
    }
    let hits = (0..permutations)
        .filter(|_| {
            used.iter().map(|d| if random.coin() { -d } else { *d }).sum::<f64>().abs() >= threshold
        })
        .count();
    let p_value = (1 + hits) as f64 / (1 + permutations) as f64;
    RankTest { statistic, p_value, method: Method::MonteCarlo, count }
}

fn corrected_normal(distance: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    let corrected = (distance.abs() - 0.5).max(0.0);
    normal_two_sided(corrected / variance.sqrt()).max(f64::MIN_POSITIVE)
}

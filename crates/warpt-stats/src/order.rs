//! Order statistics: what can be said from the sorted values alone. Functions that take `sorted` trust the caller;
//! those that take `values` copy and sort by total order, so NaN never breaks them. An empty slice gives NaN.

use std::cmp::Ordering;

/// Makes the median absolute deviation an estimate of the standard deviation of normal data: 1 / Φ⁻¹(3/4).
pub const MAD_SCALE: f64 = 1.4826;

/// The values in ascending total order.
#[must_use]
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut copy = values.to_vec();
    copy.sort_unstable_by(f64::total_cmp);
    copy
}

/// The `q` quantile of ascending values, linear between the two nearest ranks (R type 7, numpy's default):
/// position `q (n - 1)`. `q` outside `[0, 1]` is clamped; NaN for an empty slice or a NaN `q`.
#[must_use]
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let (Some(last), false) = (sorted.len().checked_sub(1), q.is_nan()) else { return f64::NAN };
    let position = q.clamp(0.0, 1.0) * last as f64;
    let below = (position.floor() as usize).min(last);
    let above = (below + 1).min(last);
    between(sorted[below], sorted[above], position - below as f64)
}

/// The median of values in any order. O(n).
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    median_in_place(&mut values.to_vec())
}

/// The median, reordering the slice. O(n), no allocation.
pub fn median_in_place(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return upper;
    }
    let lower = below.iter().copied().max_by(f64::total_cmp).unwrap_or(upper);
    between(lower, upper, 0.5)
}

/// The median absolute deviation from the median, times [`MAD_SCALE`].
#[must_use]
pub fn mad(values: &[f64]) -> f64 {
    mad_around(values, median(values))
}

/// The median absolute deviation from a known centre, times [`MAD_SCALE`].
#[must_use]
pub fn mad_around(values: &[f64], center: f64) -> f64 {
    let mut deviations: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
    MAD_SCALE * median_in_place(&mut deviations)
}

/// Ranks from 1, ties sharing the mean of their ranks, in the order of `values`. Also the tie sum Σ(t³ - t).
#[must_use]
pub fn mid_ranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut ties = 0.0;
    let mut start = 0;
    while start < order.len() {
        let mut end = start + 1;
        while end < order.len() && same(values[order[start]], values[order[end]]) {
            end += 1;
        }
        let shared = (start + 1 + end) as f64 / 2.0;
        for &index in &order[start..end] {
            ranks[index] = shared;
        }
        let size = (end - start) as f64;
        ties += size * (size * size - 1.0);
        start = end;
    }
    (ranks, ties)
}

/// Equal as numbers (so -0 ties with 0), or both NaN.
fn same(a: f64, b: f64) -> bool {
    a == b || a.total_cmp(&b) == Ordering::Equal
}

/// Linear between two values, exact at both ends and when they are equal (also when both are infinite).
fn between(low: f64, high: f64, fraction: f64) -> f64 {
    if fraction <= 0.0 || low == high {
        low
    } else if fraction >= 1.0 {
        high
    } else {
        low * (1.0 - fraction) + high * fraction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_few() {
        assert!(median(&[]).is_nan());
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert_eq!(median(&[9.0, 1.0, 4.0]), 4.0);
        assert_eq!(median(&[9.0, 1.0, 4.0, 2.0]), 3.0);
    }

    #[test]
    fn ranks_share_ties() {
        let (ranks, ties) = mid_ranks(&[3.0, 1.0, 3.0, 2.0]);
        assert_eq!(ranks, [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(ties, 6.0);
    }

    #[test]
    fn quantile_clamps() {
        assert_eq!(quantile(&[1.0, 2.0], 7.0), 2.0);
        assert_eq!(quantile(&[1.0, 2.0], -1.0), 1.0);
        assert!(quantile(&[1.0], f64::NAN).is_nan());
    }
}

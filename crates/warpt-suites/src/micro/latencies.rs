//! Quantiles of the times within one sample.

/// The `quantile` (0 to 1) of times in nanoseconds, in microseconds; reorders them. NaN when there are none.
pub(super) fn quantile_us(times: &mut [u64], quantile: f64) -> f64 {
    let Some(last) = times.len().checked_sub(1) else { return f64::NAN };
    let rank = ((last as f64 * quantile).round() as usize).min(last);
    let (_, value, _) = times.select_nth_unstable(rank);
    *value as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
        let mut times: Vec<u64> = (0..=100).rev().map(|n| n * 1000).collect();
        assert_eq!(quantile_us(&mut times, 0.5), 50.0);
        assert_eq!(quantile_us(&mut times, 0.99), 99.0);
        assert!(quantile_us(&mut [], 0.5).is_nan());
    }
}

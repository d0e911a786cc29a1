//! How much neighbours in time resemble each other, and how many independent samples a series is therefore worth.
//! Both work on ranks or signs, so a few huge spikes neither hide nor fake dependence.

use crate::order::{median, mid_ranks};

/// Longest lag looked at when summing autocorrelations.
const LONGEST_LAG: usize = 500;

/// Correlation of neighbouring ranks (Spearman at lag one), in `[-1, 1]`; 0 below three samples or without spread.
#[must_use]
pub fn lag1(values: &[f64]) -> f64 {
    if values.len() < 3 {
        return 0.0;
    }
    let (ranks, _) = mid_ranks(values);
    centered(&ranks).map_or(0.0, |(series, power)| at_lag(&series, power, 1).clamp(-1.0, 1.0))
}

/// How many independent samples would pin the median down as well as these: `n / τ` with
/// `τ = 1 + 2 Σ ρ(k)`, where ρ is the autocorrelation of the signs of `x - median` (the series that governs the
/// variance of a median), summed over Geyer's initial positive sequence. Dependence that chance alone would show
/// (ρ(1) and ρ(2) both below 1.645/√n) counts as none. Always within `[1, n]`.
#[must_use]
pub fn effective_count(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    if values.len() < 8 {
        return count;
    }
    let center = median(values);
    let signs: Vec<f64> = values
        .iter()
        .map(|&value| f64::from(i8::from(value > center) - i8::from(value < center)))
        .collect();
    let Some((series, power)) = centered(&signs) else { return count };
    let chance = 1.645 / count.sqrt();
    if at_lag(&series, power, 1) < chance && at_lag(&series, power, 2) < chance {
        return count;
    }
    let longest = (values.len() / 2).min(LONGEST_LAG);
    let mut sum = 0.0;
    let mut lag = 0;
    while lag < longest {
        let pair = at_lag(&series, power, lag) + at_lag(&series, power, lag + 1);
        if pair <= 0.0 {
            break;
        }
        sum += pair;
        lag += 2;
    }
    let inflation = (2.0 * sum - 1.0).max(1.0);
    (count / inflation).clamp(1.0, count)
}

/// The series minus its mean, and its sum of squares; `None` without spread.
fn centered(values: &[f64]) -> Option<(Vec<f64>, f64)> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let series: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let power: f64 = series.iter().map(|value| value * value).sum();
    (power > 0.0).then_some((series, power))
}

fn at_lag(series: &[f64], power: f64, lag: usize) -> f64 {
    series.iter().zip(series.iter().skip(lag)).map(|(a, b)| a * b).sum::<f64>() / power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn independent_noise_keeps_its_count() {
        let mut random = Random::new(3);
        let mut worth = 0.0;
        for _ in 0..50 {
            let values: Vec<f64> = (0..400).map(|_| random.normal()).collect();
            worth += effective_count(&values) / 400.0 / 50.0;
        }
        assert!(worth > 0.9, "{worth}");
    }

    #[test]
    fn autoregressive_noise_is_worth_less() {
        // AR(1) with 0.8: the sign series has ρ(k) = (2/π) asin(0.8^k), τ ≈ 6.
        let mut random = Random::new(4);
        let mut state = 0.0;
        let values: Vec<f64> = (0..20_000)
            .map(|_| {
                state = 0.8 * state + random.normal();
                state
            })
            .collect();
        let inflation = 20_000.0 / effective_count(&values);
        assert!((4.5..8.0).contains(&inflation), "{inflation}");
        assert!((lag1(&values) - 0.78).abs() < 0.03);
    }

    #[test]
    fn constant_series_has_no_dependence() {
        assert_eq!(lag1(&[1.0; 20]), 0.0);
        assert_eq!(effective_count(&[1.0; 20]), 20.0);
    }
}

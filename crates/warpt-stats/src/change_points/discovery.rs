//! Many series at once: each may have changed by chance, so the certainty asked of one grows with their number.
//!
//! The rule is Benjamini and Yekutieli's, which holds under any dependence. Benjamini and Hochberg's would need the metrics of one
//! run to lean the same way; a slow run lowers its throughputs and raises its times, so they do not. The price is a
//! factor of about `ln m` in the p value, which for the sizes worth reporting is a fraction of a standard error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::levels::Levels;
use super::{ChangePoint, ChangePointConfig};

/// What was found in many series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Discovery {
    /// The changes of each series, in the order given.
    pub changes: Vec<Vec<ChangePoint>>,
    /// The p value that was asked for after the correction; 0 when nothing could be kept.
    pub threshold: f64,
}

/// The changes of many series, with at most `discovery_rate` of them false in the long run.
#[must_use]
pub fn detect_many<S: AsRef<[f64]>>(series: &[S], config: &ChangePointConfig) -> Discovery {
    let prepared: Vec<Levels> =
        series.iter().map(|values| Levels::of(values.as_ref(), config)).collect();
    let first: Vec<Vec<ChangePoint>> =
        prepared.iter().map(|levels| levels.changes(config.alpha)).collect();
    // A series counts once for each change found in it, and once when none was.
    let p_values: Vec<f64> = first
        .iter()
        .flat_map(|changes| {
            let nothing = changes.is_empty().then_some(1.0);
            changes.iter().map(|change| change.p_value).chain(nothing)
        })
        .collect();
    let threshold = false_discovery_threshold(&p_values, config.discovery_rate).min(config.alpha);
    let changes = prepared
        .iter()
        .zip(first)
        .map(|(levels, first)| {
            let all_hold = first.iter().all(|change| change.p_value <= threshold);
            if all_hold { first } else { levels.changes(threshold) }
        })
        .collect();
    Discovery { changes, threshold }
}

/// The largest p value that may be called a discovery: `p₍ₖ₎ ≤ rate k / (m (1 + 1/2 + … + 1/m))` for the largest such k of
/// m ascending p values (Benjamini and Yekutieli 2001). 0 when there is none.
#[must_use]
pub fn false_discovery_threshold(p_values: &[f64], rate: f64) -> f64 {
    let ascending = crate::order::sorted(p_values);
    let count = ascending.len() as f64;
    let harmonic: f64 = (1..=ascending.len()).map(|k| 1.0 / k as f64).sum();
    let holds = |(i, p): &(usize, f64)| *p <= rate * (i + 1) as f64 / (count * harmonic);
    ascending.into_iter().enumerate().rev().find(holds).map_or(0.0, |(_, p)| p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_threshold_is_the_published_one() {
        // m = 4: Σ1/k = 25/12, so the lines are rate · k · 0.12.
        let p = [0.001, 0.011, 0.5, 0.02];
        assert_eq!(false_discovery_threshold(&p, 0.05), 0.011);
        assert_eq!(false_discovery_threshold(&p, 0.005), 0.0);
        assert_eq!(false_discovery_threshold(&p, 0.2), 0.02);
        assert_eq!(false_discovery_threshold(&[], 0.05), 0.0);
    }

    #[test]
    fn real_changes_stay_and_a_thousand_quiet_series_stay_quiet() {
        let mut random = Random::new(5);
        let series: Vec<Vec<f64>> = (0..400)
            .map(|i| {
                let step = if i % 40 == 0 { 4.0 } else { 0.0 };
                (0..60).map(|t| 100.0 + random.normal() + if t < 30 { 0.0 } else { step }).collect()
            })
            .collect();
        let found = detect_many(&series, &ChangePointConfig::default());
        let changed: Vec<usize> =
            (0..series.len()).filter(|&i| !found.changes[i].is_empty()).collect();
        assert_eq!(changed, (0..400).step_by(40).collect::<Vec<_>>());
        assert!(found.threshold > 0.0 && found.threshold <= 0.02);
    }
}

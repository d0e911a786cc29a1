//! Puts location and tail together into one verdict. Deterministic: the same observations, configuration and look
//! always give the same comparison. Never panics and never claims a difference on data it had to guess about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::location::{FEW_UNITS, Location, locate};
use super::tail::{TailComparison, compare_tails};
use super::{Observations, PairedConfig, Verdict};

/// The outcome of judging a comparison once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// What is said about B relative to A, tail included.
    pub verdict: Verdict,
    /// What the typical cost alone says.
    pub location_verdict: Verdict,
    /// Cost of A over cost of B: above 1 means B is better. Null without data.
    #[serde(with = "crate::nullable::undefined")]
    #[schemars(with = "Option<f64>")]
    pub ratio: f64,
    /// Lower end of the ratio's interval. Null without data.
    #[serde(with = "crate::nullable::undefined")]
    #[schemars(with = "Option<f64>")]
    pub low: f64,
    /// Upper end of the ratio's interval; null when unbounded.
    #[serde(with = "crate::nullable::unbounded")]
    #[schemars(with = "Option<f64>")]
    pub high: f64,
    /// Confidence of the interval.
    pub confidence: f64,
    /// How the interval was made: `signed_rank`, `order_statistic`, `cluster_bootstrap` or `none`.
    pub interval_method: String,
    /// p value of the location test.
    pub p_value: f64,
    /// The p value a location difference needed at this look.
    pub alpha: f64,
    /// False-alarm probability used up to this look, of the configured total.
    pub alpha_spent: f64,
    /// Smallest relative difference worth a verdict.
    pub effect_floor: f64,
    /// Smallest relative difference that a comparison with this plan and this noise calls `better` or `worse` with 80%
    /// probability; see [`judge`]. Null when none would be.
    #[serde(with = "crate::nullable::unbounded")]
    #[schemars(with = "Option<f64>")]
    pub minimum_detectable_effect: f64,
    /// The 95th percentiles.
    pub tail: TailComparison,
    /// Complete blocks used.
    pub blocks: u64,
    /// Restarts used.
    pub restarts: u64,
    /// Looks taken, this one included.
    pub looks: u64,
    /// Why the verdict is what it is, and what limits it; for people.
    pub reasons: Vec<String>,
}

impl Comparison {
    /// Whether more data are allowed and could decide: inconclusive with looks left.
    #[must_use]
    pub fn wants_more(&self, config: &PairedConfig) -> bool {
        self.verdict == Verdict::Inconclusive && self.looks < config.max_looks.max(1) as u64
    }
}

/// Judges the observations at look number `look` (from 1; 0 is taken as 1). See the [module](super) for the rules.
///
/// The minimum detectable effect is found by asking the rule itself: the units are drawn again around zero, each draw says
/// how large an effect it would have needed to clear both this plan's alpha per look and the floor, and the 80% quantile
/// of that is stated. With fewer than [`FEW_UNITS`] restarts it is `max(f + t(0.8) s, (t(1 - α/2) + t(0.8)) s)`
/// instead, with the floor f, the bootstrap's standard error s and Student's t. Extensions can only add to the power.
#[must_use]
pub fn judge(observations: &Observations, config: &PairedConfig, look: usize) -> Comparison {
    let look = look.max(1);
    let alpha = config.location_alpha(look);
    let usable = observations.usable();
    let tail = compare_tails(&usable.restarts, config, look);
    let mut comparison = Comparison {
        verdict: Verdict::Inconclusive,
        location_verdict: Verdict::Inconclusive,
        ratio: f64::NAN,
        low: f64::NAN,
        high: f64::INFINITY,
        confidence: config.usable_confidence(),
        interval_method: "none".to_owned(),
        p_value: 1.0,
        alpha,
        alpha_spent: config.alpha_spent(look),
        effect_floor: config.log_floor().exp_m1(),
        minimum_detectable_effect: f64::INFINITY,
        tail,
        blocks: usable.restarts.iter().map(Vec::len).sum::<usize>() as u64,
        restarts: usable.restarts.len() as u64,
        looks: look as u64,
        reasons: Vec::new(),
    };
    if usable.dropped_samples > 0 {
        let count = usable.dropped_samples;
        comparison
            .reasons
            .push(format!("{count} samples that are not positive numbers were left out"));
    }
    if usable.dropped_blocks > 0 {
        let count = usable.dropped_blocks;
        comparison
            .reasons
            .push(format!("{count} blocks without samples of both sides were left out"));
    }
    let Some(location) = locate(&usable.restarts, config, alpha) else {
        comparison.reasons.push("no complete block to compare".to_owned());
        return comparison;
    };
    comparison.ratio = location.effect.exp();
    comparison.low = location.low.exp();
    comparison.high = location.high.exp();
    comparison.p_value = location.p_value;
    location.method.clone_into(&mut comparison.interval_method);
    comparison.minimum_detectable_effect = location.detectable.exp_m1();
    comparison.location_verdict = location_verdict(&location, config, alpha);
    comparison.verdict = overall(comparison.location_verdict, comparison.tail.verdict);
    explain(&mut comparison, config, &location);
    comparison
}

fn location_verdict(location: &Location, config: &PairedConfig, alpha: f64) -> Verdict {
    let floor = config.log_floor();
    if location.p_value <= alpha && location.effect.abs() >= floor {
        if location.effect > 0.0 { Verdict::Better } else { Verdict::Worse }
    } else if -floor < location.low && location.high < floor {
        Verdict::Same
    } else {
        Verdict::Inconclusive
    }
}

fn overall(location: Verdict, tail: Verdict) -> Verdict {
    match (location, tail) {
        (Verdict::Same | Verdict::Inconclusive, Verdict::Worse) => Verdict::Worse,
        (Verdict::Better, Verdict::Worse) => Verdict::Inconclusive,
        _ => location,
    }
}

fn explain(comparison: &mut Comparison, config: &PairedConfig, location: &Location) {
    let percent = |x: f64| format!("{:.2}%", 100.0 * x);
    let floor = percent(config.log_floor().exp_m1());
    let significant = location.p_value <= comparison.alpha;
    let reason = match comparison.location_verdict {
        Verdict::Better | Verdict::Worse => {
            let way = if location.effect > 0.0 { "less" } else { "more" };
            let size = percent((-location.effect).exp_m1().abs());
            format!("B costs {size} {way} than A (p = {:.2e})", location.p_value)
        }
        Verdict::Same if significant => {
            format!("a difference can be seen, but it is below the effect floor of {floor}")
        }
        Verdict::Same => format!("any difference is below the effect floor of {floor}"),
        Verdict::Inconclusive if significant => {
            format!(
                "a difference can be seen, but not whether it reaches the effect floor of {floor}"
            )
        }
        Verdict::Inconclusive => format!(
            "too noisy to tell: the interval reaches beyond the effect floor of {floor} (p = {:.2e})",
            location.p_value
        ),
    };
    comparison.reasons.push(reason);
    if comparison.restarts < FEW_UNITS as u64 {
        let count = comparison.restarts;
        comparison.reasons.push(format!(
            "only {count} restarts: differences that last for one restart are poorly covered, plan {FEW_UNITS} or more"
        ));
    }
    if comparison.looks > config.max_looks.max(1) as u64 {
        comparison
            .reasons
            .push("all planned looks were used before: no difference can be claimed".to_owned());
    }
    let size = percent((1.0 / comparison.tail.ratio - 1.0).abs());
    match (comparison.tail.verdict, comparison.location_verdict) {
        (Verdict::Worse, Verdict::Better) => comparison.reasons.push(format!(
            "typically better, but the 95th percentile of B is {size} higher: not called better"
        )),
        (Verdict::Worse, _) => {
            comparison.reasons.push(format!("the 95th percentile of B is {size} higher than A's"));
        }
        (Verdict::Better, _) => {
            comparison.reasons.push(format!("the 95th percentile of B is {size} lower than A's"));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::Side;
    use crate::random::Random;

    /// Costs around 1 for A and `scale` for B; a share of B's samples is `tail` times as long.
    fn observe(restarts: usize, scale: f64, tail: (f64, f64)) -> Observations {
        let mut random = Random::new(17);
        let mut observations = Observations::new();
        for restart in 0..restarts {
            for block in 0..8 {
                let mut draw = |base: f64, tail: (f64, f64)| -> Vec<f64> {
                    (0..12)
                        .map(|_| {
                            let late = if random.uniform() < tail.0 { tail.1 } else { 1.0 };
                            base * late * (1.0 + 0.01 * random.normal().abs())
                        })
                        .collect()
                };
                observations.push(restart, block, Side::A, &draw(1.0, (0.0, 1.0)));
                observations.push(restart, block, Side::B, &draw(scale, tail));
            }
        }
        observations
    }

    #[test]
    fn nothing_observed_is_inconclusive() {
        let comparison = judge(&Observations::new(), &PairedConfig::short(), 1);
        assert_eq!(comparison.verdict, Verdict::Inconclusive);
        assert!(comparison.ratio.is_nan());
        assert!(comparison.wants_more(&PairedConfig::short()));
        let json = serde_json::to_string(&comparison).unwrap();
        let back: Comparison = serde_json::from_str(&json).unwrap();
        assert!(back.ratio.is_nan() && back.minimum_detectable_effect == f64::INFINITY);
    }

    #[test]
    fn ratio_above_one_means_b_is_better() {
        let comparison = judge(&observe(12, 0.9, (0.0, 1.0)), &PairedConfig::short(), 1);
        assert_eq!(comparison.verdict, Verdict::Better);
        assert!((comparison.ratio - 1.0 / 0.9).abs() < 0.01, "{}", comparison.ratio);
        assert!(comparison.low < comparison.ratio && comparison.ratio < comparison.high);
        assert_eq!((comparison.restarts, comparison.blocks), (12, 96));
        assert_eq!(comparison.interval_method, "signed_rank");
    }

    #[test]
    fn a_gain_with_a_longer_tail_is_not_called_better() {
        let comparison = judge(&observe(12, 0.9, (0.1, 2.0)), &PairedConfig::short(), 1);
        assert_eq!(comparison.location_verdict, Verdict::Better);
        assert_eq!(comparison.tail.verdict, Verdict::Worse);
        assert_eq!(comparison.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn no_difference_is_claimed_beyond_the_planned_looks() {
        let config = PairedConfig::short();
        let comparison = judge(&observe(12, 1.2, (0.0, 1.0)), &config, 5);
        assert_eq!(comparison.verdict, Verdict::Inconclusive);
        assert!(!comparison.wants_more(&config));
        assert!(comparison.alpha_spent <= config.alpha);
        assert!(comparison.reasons.iter().any(|reason| reason.contains("planned looks")));
    }

    #[test]
    fn few_restarts_are_judged_and_say_so() {
        for restarts in 2..6 {
            let config = PairedConfig { restarts, ..PairedConfig::short() };
            let comparison = judge(&observe(restarts, 1.1, (0.0, 1.0)), &config, 1);
            assert_eq!(comparison.verdict, Verdict::Worse, "{comparison:?}");
            assert_eq!(comparison.interval_method, "cluster_bootstrap");
            assert!(comparison.low < 1.0 / 1.1 && 1.0 / 1.1 < comparison.high, "{comparison:?}");
            assert!(comparison.reasons.iter().any(|reason| reason.contains("restarts")));
        }
    }

    #[test]
    fn unusable_samples_are_left_out_and_counted() {
        let mut observations = observe(12, 1.0, (0.0, 1.0));
        observations.push(3, 2, Side::A, &[0.0, -1.0, f64::NAN]);
        observations.push(99, 0, Side::B, &[1.0]);
        let comparison = judge(&observations, &PairedConfig::short(), 1);
        assert_eq!(comparison.verdict, Verdict::Same);
        assert!(comparison.reasons[0].starts_with("3 samples"), "{:?}", comparison.reasons);
        assert!(comparison.reasons[1].starts_with("1 blocks"), "{:?}", comparison.reasons);
        let json = serde_json::to_string(&observe(2, 1.0, (0.0, 1.0))).unwrap();
        let back: Observations = serde_json::from_str(&json).unwrap();
        assert_eq!(back, observe(2, 1.0, (0.0, 1.0)));
    }

    #[test]
    fn equal_constant_costs_are_the_same_and_unequal_ones_differ() {
        let mut observations = Observations::new();
        let mut slower = Observations::new();
        for restart in 0..12 {
            observations.push(restart, 0, Side::A, &[5.0]);
            observations.push(restart, 0, Side::B, &[5.0]);
            slower.push(restart, 0, Side::A, &[5.0]);
            slower.push(restart, 0, Side::B, &[6.0]);
        }
        let same = judge(&observations, &PairedConfig::short(), 1);
        assert_eq!((same.verdict, same.p_value), (Verdict::Same, 1.0));
        assert!((same.minimum_detectable_effect - 0.01).abs() < 1e-9);
        assert_eq!(judge(&slower, &PairedConfig::short(), 1).verdict, Verdict::Worse);
    }
}

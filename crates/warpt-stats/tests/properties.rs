//! Nothing panics on any input, and answers do not depend on what they must not depend on: scale, order, labels.
#![allow(clippy::unwrap_used)]

use proptest::collection::vec;
use proptest::prelude::*;
use warpt_stats::paired::{
    Observations, PairedConfig, Regime, Schedule, Side, Step, Verdict, judge,
};
use warpt_stats::random::Random;
use warpt_stats::rank::{mann_whitney, sign_flip, sign_test, signed_rank};
use warpt_stats::{
    Phase, SteadyConfig, SteadyState, Summary, mad, median, order, quantile, stopping, warnings,
};

/// Any float there is, with the awkward ones made common.
fn anything() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<f64>(),
        2 => -1e3..1e3,
        1 => prop::sample::select(vec![
            0.0, -0.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN,
            f64::MIN_POSITIVE, 5e-324, 1e150, -1e150,
        ]),
    ]
}

/// What a clock gives.
fn costs() -> impl Strategy<Value = Vec<f64>> {
    vec(1.0..1e6, 1..60)
}

fn config() -> impl Strategy<Value = PairedConfig> {
    let plan = (any::<bool>(), 0usize..9, 0usize..4, 0usize..4, 0usize..5, any::<u64>());
    (plan, vec(anything(), 4)).prop_map(|((long, restarts, blocks, samples, looks, seed), odd)| {
        PairedConfig {
            regime: if long { Regime::Long } else { Regime::Short },
            restarts,
            blocks_per_restart: blocks,
            samples_per_segment: samples,
            alpha: odd[0],
            effect_floor: odd[1],
            tail_effect_floor: odd[2],
            max_looks: looks,
            confidence: odd[3],
            seed,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics_on_any_series(values in vec(anything(), 0..120), q in anything(), other in vec(anything(), 0..40)) {
        let _ = (median(&values), mad(&values), quantile(&order::sorted(&values), q));
        let summary = Summary::of(&values);
        let fit = !values.is_empty() && values.iter().all(|value| value.abs() <= 1e150);
        prop_assert_eq!(summary.is_some(), fit);
        if let Some(summary) = summary {
            let json = serde_json::to_string(&summary).unwrap();
            let back: Summary = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(&back, &summary);
            prop_assert!(summary.minimum <= summary.interval.low);
            prop_assert!(summary.interval.low <= summary.interval.high);
            prop_assert!(summary.interval.high <= summary.maximum);
            prop_assert!(summary.effective_count <= summary.count as f64);
            for warning in warnings(&values, &summary) {
                prop_assert!(!warning.message().is_empty());
                let json = serde_json::to_value(&warning).unwrap();
                prop_assert_eq!(json["code"].as_str(), Some(warning.code()));
            }
        }
        for test in [
            signed_rank(&values),
            sign_test(&values),
            mann_whitney(&values, &other),
            sign_flip(&values, 20, &mut Random::new(1)),
        ] {
            prop_assert!(test.p_value > 0.0 && test.p_value <= 1.0, "{:?}", test);
        }
        let _ = stopping::enough(&values, q, 0);
        let config = SteadyConfig { window: other.len(), tolerance: q, max_samples: 50 };
        let mut steady = SteadyState::new(config);
        let last = values.iter().map(|&value| steady.push(value)).last();
        if values.len() >= 50 {
            prop_assert_ne!(last, Some(Phase::Warming));
        }
    }

    #[test]
    fn no_comparison_panics(
        config in config(),
        look in 0usize..6,
        segments in vec((0usize..9, 0usize..4, any::<bool>(), vec(anything(), 0..6)), 0..80),
    ) {
        let mut observations = Observations::new();
        for (restart, block, is_a, values) in &segments {
            observations.push(*restart, *block, if *is_a { Side::A } else { Side::B }, values);
        }
        let comparison = judge(&observations, &config, look);
        let json = serde_json::to_string(&comparison).unwrap();
        let back: warpt_stats::paired::Comparison = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(back.verdict, comparison.verdict);
        prop_assert!(comparison.p_value > 0.0 && comparison.p_value <= 1.0);
        prop_assert!(!comparison.reasons.is_empty());
        let mut schedule = Schedule::new(&config);
        let first = schedule.by_ref().count();
        let planned = config.restarts.max(1) * (1 + 2 * config.blocks_per_restart.max(1));
        prop_assert_eq!(first, planned);
    }

    #[test]
    fn summaries_scale_with_their_samples(values in costs(), power in -20i32..20) {
        // Powers of two scale without rounding, so equality is exact.
        let factor = 2f64.powi(power);
        let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
        let (one, two) = (Summary::of(&values).unwrap(), Summary::of(&scaled).unwrap());
        prop_assert_eq!(one.median * factor, two.median);
        prop_assert_eq!(one.mad * factor, two.mad);
        prop_assert_eq!(one.interval.low * factor, two.interval.low);
        prop_assert_eq!(one.interval.high * factor, two.interval.high);
        prop_assert_eq!(one.relative_half_width, two.relative_half_width);
        prop_assert_eq!(one.minimum_detectable_effect, two.minimum_detectable_effect);
        prop_assert_eq!(one.outliers, two.outliers);
    }

    #[test]
    fn order_statistics_ignore_order(values in costs(), seed in any::<u64>()) {
        let mut shuffled = values.clone();
        Random::new(seed).shuffle(&mut shuffled);
        let (one, two) = (Summary::of(&values).unwrap(), Summary::of(&shuffled).unwrap());
        prop_assert_eq!(one.median, two.median);
        prop_assert_eq!(one.mad, two.mad);
        prop_assert_eq!(one.p95, two.p95);
        prop_assert_eq!(one.outliers, two.outliers);
        prop_assert_eq!(signed_rank(&values), signed_rank(&shuffled));
    }

    #[test]
    fn swapping_the_sides_mirrors_the_comparison(seed in any::<u64>(), shift in 0.9..1.1f64, noise in 0.0..0.1f64) {
        let config = PairedConfig { seed, restarts: 12, blocks_per_restart: 2, samples_per_segment: 3, ..PairedConfig::short() };
        let mut random = Random::new(seed);
        let (mut straight, mut mirrored, mut scaled) =
            (Observations::new(), Observations::new(), Observations::new());
        for step in Schedule::new(&config) {
            if let Step::Segment { restart, block, side, samples } = step {
                let base = if side == Side::A { 1.0 } else { shift };
                let values: Vec<f64> =
                    (0..samples).map(|_| base * (1.0 + noise * random.normal().abs())).collect();
                let larger: Vec<f64> = values.iter().map(|value| value * 1024.0).collect();
                straight.push(restart, block, side, &values);
                mirrored.push(restart, block, side.other(), &values);
                scaled.push(restart, block, side, &larger);
            }
        }
        let one = judge(&straight, &config, 1);
        let two = judge(&mirrored, &config, 1);
        prop_assert!((one.ratio * two.ratio - 1.0).abs() < 1e-9);
        prop_assert!((one.low * two.high - 1.0).abs() < 1e-9);
        prop_assert!((one.p_value - two.p_value).abs() < 1e-9);
        let mirror = match one.location_verdict {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            other => other,
        };
        prop_assert_eq!(two.location_verdict, mirror);
        let three = judge(&scaled, &config, 1);
        prop_assert_eq!(three.verdict, one.verdict);
        prop_assert!((three.ratio - one.ratio).abs() < 1e-9);
    }
}

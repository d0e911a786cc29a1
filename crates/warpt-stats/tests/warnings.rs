//! Each warning speaks when its cause is there, and all of them together stay silent on ordinary noise.
#![allow(clippy::unwrap_used)]

use warpt_stats::random::Random;
use warpt_stats::{Summary, Warning, warnings};

fn codes(samples: &[f64]) -> Vec<&'static str> {
    let summary = Summary::of(samples).unwrap();
    warnings(samples, &summary).iter().map(Warning::code).collect()
}

fn series(count: usize, mut value: impl FnMut(usize) -> f64) -> Vec<f64> {
    (0..count).map(&mut value).collect()
}

#[test]
fn ordinary_noise_is_met_with_silence() {
    let mut random = Random::new(31);
    let mut alarms = std::collections::BTreeMap::<&str, usize>::new();
    let mut total = 0;
    for count in [20, 50, 200, 1000] {
        for _ in 0..50 {
            for shape in 0..4 {
                let samples = series(count, |_| match shape {
                    0 => 100.0 + random.normal(),
                    1 => 100.0 + 5.0 * random.uniform(),
                    2 => 100.0 - 3.0 * (1.0 - random.uniform()).ln(),
                    _ => {
                        let spike = if random.uniform() < 0.03 { 40.0 } else { 0.0 };
                        100.0 + random.normal().abs() + spike * random.uniform()
                    }
                });
                total += 1;
                for code in codes(&samples) {
                    *alarms.entry(code).or_default() += 1;
                }
            }
        }
    }
    // Exponential noise does have many points beyond Tukey's fences in small samples; the rest is held to 1%.
    for (code, count) in &alarms {
        let limit = if *code == "outliers" { total / 33 } else { total / 100 };
        assert!(*count <= limit, "{alarms:?} of {total}");
    }
}

#[test]
fn drift_is_named_with_its_direction() {
    let mut random = Random::new(1);
    let samples = series(300, |i| 100.0 * (1.0 - 0.1 * i as f64 / 300.0) + random.normal());
    let summary = Summary::of(&samples).unwrap();
    let drift = warnings(&samples, &summary).into_iter().find_map(|warning| match warning {
        Warning::Drift { relative_change, .. } => Some(relative_change),
        _ => None,
    });
    assert!((drift.unwrap() + 0.105).abs() < 0.02, "{drift:?}");
}

#[test]
fn two_modes_are_found_at_any_mixture() {
    let mut random = Random::new(2);
    for share in [0.2, 0.5, 0.8] {
        for _ in 0..20 {
            let samples = series(200, |_| {
                let mode = if random.uniform() < share { 110.0 } else { 100.0 };
                mode + random.normal()
            });
            let found = codes(&samples);
            assert!(found.contains(&"bimodal"), "{share} {found:?}");
        }
    }
}

#[test]
fn a_coarse_clock_is_noticed_and_is_not_called_bimodal() {
    let mut random = Random::new(3);
    let samples = series(100, |_| if random.coin() { 1.0 } else { 2.0 });
    assert!(codes(&samples).contains(&"quantized"));
    assert!(!codes(&samples).contains(&"bimodal"));
    assert!(codes(&[7.0; 40]).contains(&"quantized"));
}

#[test]
fn dependence_width_and_number_are_noticed() {
    let mut random = Random::new(4);
    let mut state = 0.0;
    let dependent = series(400, |_| {
        state = 0.9 * state + random.normal();
        100.0 + state
    });
    assert!(codes(&dependent).contains(&"autocorrelated"));
    assert_eq!(codes(&[1.0, 2.0, 3.0]), ["few_samples", "wide_interval"]);
    assert_eq!(codes(&[1.0]), ["few_samples", "wide_interval"]);
    let spiky =
        series(100, |i| if i % 6 == 0 { 500.0 + i as f64 } else { 100.0 + random.normal() });
    assert!(codes(&spiky).contains(&"outliers"));
}

#[test]
fn json_is_tagged_by_code() {
    let warning = Warning::FewSamples { count: 3, wanted: 10 };
    let json = serde_json::to_value(&warning).unwrap();
    assert_eq!(json, serde_json::json!({"code": "few_samples", "count": 3, "wanted": 10}));
    assert_eq!(serde_json::from_value::<Warning>(json).unwrap(), warning);
}

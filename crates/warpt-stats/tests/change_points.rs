//! The promises of change-point detection, on synthetic histories of several kinds of noise. `cargo xtask points` runs
//! more of them, beside Hunter.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod histories;

use std::collections::BTreeMap;

use histories::{History, LENGTHS, Noise, Score, history};
use warpt_stats::change_points::{ChangePointConfig, detect};

fn reports(history: &History) -> Vec<(usize, usize)> {
    let config = ChangePointConfig { smallest_relative: 0.0, ..ChangePointConfig::default() };
    detect(&history.values, &config).iter().map(|change| (change.index, change.settled)).collect()
}

fn scores(numbers: impl Iterator<Item = u64>) -> (Score, BTreeMap<Noise, Score>) {
    let (mut all, mut kinds) = (Score::default(), BTreeMap::<Noise, Score>::new());
    for number in numbers {
        let history = history(number);
        let reported = reports(&history);
        all.add(&history, &reported);
        kinds.entry(history.noise).or_default().add(&history, &reported);
    }
    (all, kinds)
}

#[test]
fn steps_are_found_and_noise_is_not() {
    let (all, _) = scores(0..180);
    assert!(all.steps > 60 && all.found() >= 0.95, "{all:?}");
    assert!(all.false_per_thousand() <= 1.0, "{all:?}");
    // 95% of drifts are found in the long run (docs/statistics.md); of these few it may be two less.
    assert!(all.drifts_found as f64 >= 0.90 * all.drifts as f64, "{all:?}");
}

#[test]
#[ignore = "a table for people; run: cargo test --release -p warpt-stats --test change_points -- --ignored --nocapture"]
fn table() {
    let count = std::env::var("HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(5000);
    let (all, kinds) = scores(10_000..10_000 + count);
    for length in LENGTHS {
        let of_length = |number: &u64| history(*number).values.len() == length;
        let (score, _) = scores((10_000..10_000 + count).filter(of_length));
        let (steps, found) = (score.steps, 100.0 * score.found());
        let wrong = score.false_per_thousand();
        println!("{length:<10} steps {steps:>5} {found:>6.2}%  false {wrong:>6.3}/1000");
    }
    for (name, score) in
        kinds.iter().map(|(noise, score)| (noise.name(), score)).chain([("all", &all)])
    {
        println!(
            "{name:<10} steps {:>5} {:>6.2}%  drifts {:>4} {:>6.1}%  false {:>6.3}/1000  quiet {:>6.3}/1000",
            score.steps,
            100.0 * score.found(),
            score.drifts,
            100.0 * score.drifts_found as f64 / score.drifts as f64,
            score.false_per_thousand(),
            1000.0 * score.quiet_false as f64 / score.quiet_points as f64,
        );
    }
}

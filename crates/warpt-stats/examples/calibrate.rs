//! The big sweep behind the numbers in `docs/statistics.md`: false alarms, power and honesty of the stated minimum
//! detectable effect on the model machine. Run with
//! `cargo run --release -p warpt-stats --example calibrate -- 1000`.
#![allow(clippy::print_stdout)]

#[path = "../tests/noise/mod.rs"]
mod noise;

use noise::{BUSY, Injected, LUCKY, QUIET, SWAMPED, Tally, compare, tally};
use warpt_stats::paired::{PairedConfig, Verdict};

fn main() {
    let trials = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(300);
    let plans = [("short", PairedConfig::short()), ("long", PairedConfig::long())];
    let noises = [("quiet", QUIET), ("lucky", LUCKY), ("busy", BUSY), ("swamped", SWAMPED)];
    println!(
        "regime  noise    injected   better worse  same  incon  tail  looks   (% of {trials})"
    );
    for (regime, config) in &plans {
        for (name, noise) in noises {
            for (label, injected) in [
                ("none", Injected::default()),
                ("+2%", Injected { slowdown: 0.02, ..Injected::default() }),
                ("+5%", Injected { slowdown: 0.05, ..Injected::default() }),
                ("tail 10%x1.5", Injected { tail: (0.1, 0.5), ..Injected::default() }),
            ] {
                row(
                    &format!("{regime:7} {name:8} {label:12}"),
                    &tally(noise, injected, config, trials),
                );
            }
            honesty(regime, name, noise, config, trials);
        }
    }
}

fn row(label: &str, tally: &Tally) {
    let percent = |count| 100.0 * tally.share(count);
    println!(
        "{label} {:5.1} {:5.1} {:5.1} {:5.1} {:5.1} {:5.2}",
        percent(tally.better),
        percent(tally.worse),
        percent(tally.same),
        percent(tally.inconclusive),
        percent(tally.tail_flags),
        tally.looks as f64 / tally.trials as f64
    );
}

/// Takes the stated effect from one A/A comparison and injects exactly that into another.
fn honesty(regime: &str, name: &str, noise: noise::Noise, config: &PairedConfig, trials: u64) {
    let (mut detected, mut stated, mut finite) = (0, 0.0, 0);
    for seed in 0..trials {
        let effect =
            compare(noise, Injected::default(), config, 1_000_000 + seed).minimum_detectable_effect;
        if effect.is_finite() {
            finite += 1;
            stated += effect;
            let injected = Injected { slowdown: effect, ..Injected::default() };
            let comparison = compare(noise, injected, config, 2_000_000 + seed);
            detected += usize::from(comparison.verdict == Verdict::Worse);
        }
    }
    println!(
        "{regime:7} {name:8} stated effect {:.2}%, detected {:.1}%",
        100.0 * stated / f64::from(finite.max(1)),
        100.0 * detected as f64 / f64::from(finite.max(1))
    );
}

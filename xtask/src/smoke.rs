//! Checks of the whole that take minutes and are run by hand: a quiet machine matters, and chance has a part.

mod kills;
mod overhead;

use std::hint::black_box;
use std::time::Duration;

use clap::{Args, Subcommand};
use warpt_bench::MonotonicClock;
use warpt_bench::paired::{Body, PairedConfig, Verdict as Paired, compare};

use crate::{Verdict, interrupt};

/// Options of `cargo xtask smoke`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    check: Check,
}

#[derive(Debug, Subcommand)]
enum Check {
    /// Compare a body with itself: at most 1 of 100 comparisons may see a difference, at least 80 must say "same".
    Aa {
        /// How many comparisons.
        #[arg(long, default_value_t = 100)]
        count: u32,
        /// How long a sample takes, in microseconds.
        #[arg(long, default_value_t = 200)]
        sample_us: u64,
        /// The seed of the first comparison.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Kill a suite run at random moments: every record left behind must parse and hold what was finished.
    Kills {
        /// How many kills.
        #[arg(long, default_value_t = 200)]
        count: u32,
        /// The seed of the moments.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// An empty body must read 0 +- 5 ns, a body of a microsecond within 2%.
    Overhead,
}

/// Runs a check.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    match arguments.check {
        Check::Aa { count, sample_us, seed } => same_with_itself(count, sample_us, seed),
        Check::Kills { count, seed } => kills::kills(count, seed),
        Check::Overhead => overhead::overhead(),
    }
}

/// About a microsecond of arithmetic that depends on itself.
fn body() -> u64 {
    let mut state = black_box(1_u64);
    for _ in 0..500 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    state
}

fn same_with_itself(count: u32, sample_us: u64, seed: u64) -> anyhow::Result<Verdict> {
    let cancel = interrupt::install()?;
    let clock = MonotonicClock::default();
    let (mut same, mut flagged, mut open, mut looks) = (0_u32, 0_u32, 0_u32, 0_u64);
    for number in 0..count {
        let sample_ns = sample_us.saturating_mul(1000);
        let mut a = Body::new("a", &clock, body).sample_ns(sample_ns);
        let mut b = Body::new("b", &clock, body).sample_ns(sample_ns);
        let config =
            PairedConfig { seed: seed.wrapping_add(u64::from(number)), ..PairedConfig::short() };
        let limit = Duration::from_secs(120);
        let compared = compare(&mut a, &mut b, &config, limit, &clock, &cancel, &mut |_| ())?;
        let found = &compared.comparison;
        looks += found.looks;
        match found.verdict {
            Paired::Same => same += 1,
            Paired::Better | Paired::Worse => flagged += 1,
            Paired::Inconclusive => open += 1,
        }
        if found.verdict != Paired::Same {
            println!(
                "{number}: {} {:.4} ({:.4}-{:.4}); {}",
                found.verdict,
                found.ratio,
                found.low,
                found.high,
                found.reasons.join("; ")
            );
        }
    }
    // The bar of 100 comparisons, scaled.
    let (most, least) = (f64::from(count) * 0.01, f64::from(count) * 0.80);
    let met = f64::from(flagged) <= most.max(1.0) && f64::from(same) >= least;
    println!(
        "{count} comparisons of a body with itself: {same} same, {open} inconclusive, {flagged} flagged, \
         {:.1} looks each; {}",
        looks as f64 / f64::from(count.max(1)),
        if met { "as it should be" } else { "NOT as it should be (at most 1%, at least 80% same)" }
    );
    Ok(Verdict::clean_if(met))
}

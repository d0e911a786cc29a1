//! A driver in its smallest form: compares a loop with itself, or with a slower copy, on this machine, again and again,
//! and counts the verdicts. `cargo run --release -p warpt-stats --example live -- 20 1.02`
//! makes 20 comparisons against a loop 2% longer. A third argument `memory` sums memory instead of counting.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use warpt_stats::paired::{Observations, PairedConfig, Schedule, Side, Step, judge};

/// A chain of dependent multiplications: its time is its length.
fn arithmetic(length: usize) {
    let mut value = black_box(3u64);
    for _ in 0..length {
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    black_box(value);
}

/// A pass over memory.
fn traverse(memory: &[u64], length: usize) {
    let mut sum = 0u64;
    for value in &black_box(memory)[..length] {
        sum = sum.wrapping_add(*value).rotate_left(1);
    }
    black_box(sum);
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let trials: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(10);
    let factor: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let in_memory = arguments.next().is_some_and(|text| text == "memory");
    let base = if in_memory { 1_000_000 } else { 100_000usize };
    let slow = (base as f64 * factor) as usize;
    for seed in 0..trials {
        let start = Instant::now();
        let config = PairedConfig { seed, ..PairedConfig::short() };
        let mut schedule = Schedule::new(&config);
        let mut observations = Observations::new();
        let mut memory = Vec::new();
        let comparison = loop {
            for step in schedule.by_ref() {
                let Step::Segment { restart, block, side, samples } = step else {
                    memory = vec![1; base.max(slow)];
                    continue;
                };
                let length = if side == Side::A { base } else { slow };
                let costs: Vec<f64> = (0..samples)
                    .map(|_| {
                        let start = Instant::now();
                        if in_memory {
                            traverse(&memory, length);
                        } else {
                            arithmetic(length);
                        }
                        start.elapsed().as_nanos() as f64
                    })
                    .collect();
                observations.push(restart, block, side, &costs);
            }
            let comparison = judge(&observations, &config, schedule.look());
            if !comparison.wants_more(&config) || !schedule.extend() {
                break comparison;
            }
        };
        println!(
            "{:12} ratio {:.4} [{:.4}, {:.4}] p {:.1e} mde {:.2}% tail {:12} {:.3} looks {} {:.2} s",
            comparison.verdict,
            comparison.ratio,
            comparison.low,
            comparison.high,
            comparison.p_value,
            100.0 * comparison.minimum_detectable_effect,
            comparison.tail.verdict,
            comparison.tail.ratio,
            comparison.looks,
            start.elapsed().as_secs_f64()
        );
    }
}

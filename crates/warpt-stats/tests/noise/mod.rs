//! A model of a noisy machine, for tests and for the calibration example: one-sided jitter, lognormal spikes, a
//! clock that wanders and is shared by neighbours in time, bursts of steal that cover whole segments, and luck that
//! lasts for one restart. Deterministic in its seed.
#![allow(dead_code, unreachable_pub, missing_docs)]

use warpt_stats::paired::{
    Comparison, Observations, PairedConfig, Schedule, Side, Step, Verdict, judge,
};
use warpt_stats::random::Random;

/// How noisy the machine is. All sizes are relative to a body of cost 1.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// Scale of the half-normal jitter on every sample.
    pub jitter: f64,
    /// Probability of a spike, and its median size (lognormal, sigma 1).
    pub spike: (f64, f64),
    /// Standard deviation and persistence per sample of the wandering clock.
    pub clock: (f64, f64),
    /// Bursts: probability to start at a sample, mean length in samples, slowdown.
    pub burst: (f64, f64, f64),
    /// Standard deviation of the log-ratio of the sides that lasts for one restart.
    pub restart: f64,
}

pub const QUIET: Noise = Noise {
    jitter: 0.01,
    spike: (0.03, 0.1),
    clock: (0.01, 0.995),
    burst: (0.001, 30.0, 0.3),
    restart: 0.003,
};

/// The upper end of restart luck on an otherwise quiet machine.
pub const LUCKY: Noise = Noise { restart: 0.005, ..QUIET };

/// Two busy neighbours on two cores: half the time the sibling slows us, and we are preempted now and then.
pub const BUSY: Noise = Noise {
    jitter: 0.02,
    spike: (0.15, 1.0),
    clock: (0.03, 0.99),
    burst: (0.02, 50.0, 0.35),
    restart: 0.005,
};

/// Eight busy neighbours: most samples are hit, bursts cover blocks.
pub const SWAMPED: Noise = Noise {
    jitter: 0.05,
    spike: (0.45, 3.0),
    clock: (0.06, 0.98),
    burst: (0.02, 150.0, 0.5),
    restart: 0.005,
};

/// What distinguishes B from A.
#[derive(Clone, Copy, Debug, Default)]
pub struct Injected {
    /// Relative slowdown of every sample of B.
    pub slowdown: f64,
    /// Probability and relative size of an extra delay of B.
    pub tail: (f64, f64),
}

/// The machine at work.
pub struct Machine {
    noise: Noise,
    random: Random,
    clock: f64,
    burst_left: f64,
    luck: f64,
}

impl Machine {
    pub fn new(noise: Noise, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let clock = noise.clock.0 * random.normal();
        Self { noise, random, clock, burst_left: 0.0, luck: 0.0 }
    }

    pub fn restart(&mut self) {
        self.luck = self.noise.restart * self.random.normal();
    }

    pub fn sample(&mut self, side: Side, injected: Injected) -> f64 {
        let (deviation, persistence) = self.noise.clock;
        let innovation = deviation * (1.0 - persistence * persistence).sqrt();
        self.clock = persistence * self.clock + innovation * self.random.normal();
        let (start, length, slowdown) = self.noise.burst;
        if self.burst_left <= 0.0 && self.random.uniform() < start {
            self.burst_left = -length * (1.0 - self.random.uniform()).ln();
        }
        self.burst_left -= 1.0;
        let mut cost = 1.0 + self.noise.jitter * self.random.normal().abs();
        if self.burst_left > 0.0 {
            cost *= 1.0 + slowdown;
        }
        if self.random.uniform() < self.noise.spike.0 {
            cost += self.noise.spike.1 * self.random.normal().exp();
        }
        cost *= self.clock.exp();
        match side {
            Side::A => cost * (self.luck / 2.0).exp(),
            Side::B => {
                if self.random.uniform() < injected.tail.0 {
                    cost *= 1.0 + injected.tail.1;
                }
                cost * (-self.luck / 2.0).exp() * (1.0 + injected.slowdown)
            }
        }
    }
}

/// Runs a whole comparison, extensions included, on the model machine.
pub fn compare(noise: Noise, injected: Injected, config: &PairedConfig, seed: u64) -> Comparison {
    let mut machine = Machine::new(noise, seed ^ 0xabcd_ef01);
    let config = PairedConfig { seed, ..config.clone() };
    let mut schedule = Schedule::new(&config);
    let mut observations = Observations::new();
    loop {
        for step in schedule.by_ref() {
            match step {
                Step::Restart => machine.restart(),
                Step::Segment { restart, block, side, samples } => {
                    let costs: Vec<f64> =
                        (0..samples).map(|_| machine.sample(side, injected)).collect();
                    observations.push(restart, block, side, &costs);
                }
            }
        }
        let comparison = judge(&observations, &config, schedule.look());
        if !comparison.wants_more(&config) || !schedule.extend() {
            return comparison;
        }
    }
}

/// How often each verdict came, over many seeds.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub better: usize,
    pub worse: usize,
    pub same: usize,
    pub inconclusive: usize,
    pub looks: u64,
    pub tail_flags: usize,
    pub trials: usize,
}

impl Tally {
    pub fn add(&mut self, comparison: &Comparison) {
        self.trials += 1;
        self.looks += comparison.looks;
        self.tail_flags += usize::from(comparison.tail.verdict.is_difference());
        match comparison.verdict {
            Verdict::Better => self.better += 1,
            Verdict::Worse => self.worse += 1,
            Verdict::Same => self.same += 1,
            Verdict::Inconclusive => self.inconclusive += 1,
        }
    }

    pub fn share(&self, count: usize) -> f64 {
        count as f64 / self.trials.max(1) as f64
    }
}

pub fn tally(noise: Noise, injected: Injected, config: &PairedConfig, trials: u64) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..trials {
        tally.add(&compare(noise, injected, config, seed));
    }
    tally
}

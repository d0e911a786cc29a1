//! Synthetic histories with known changes: kinds of noise, lengths, and what was planted where. Seeds are fixed by the
//! number of the history, so history 17 is the same everywhere. Each user leaves some of it unused.
#![allow(dead_code)]

use warpt_stats::random::Random;

/// How results vary from run to run; each with a standard deviation of one, spikes aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Noise {
    /// The normal bell.
    Gaussian,
    /// Skewed to the right, as times are.
    Lognormal,
    /// A fast and a slow state of the machine, one run in three slow.
    Bimodal,
    /// Neighbours alike: AR(1) with 0.3.
    Correlated,
    /// Whole numbers with many ties.
    Integers,
    /// Normal with one run in thirty far off to one side.
    Spiky,
}

impl Noise {
    /// All kinds.
    pub(crate) const ALL: [Self; 6] = [
        Self::Gaussian,
        Self::Lognormal,
        Self::Bimodal,
        Self::Correlated,
        Self::Integers,
        Self::Spiky,
    ];

    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Lognormal => "lognormal",
            Self::Bimodal => "bimodal",
            Self::Correlated => "AR(1) 0.3",
            Self::Integers => "integers",
            Self::Spiky => "spiky",
        }
    }

    fn draw(self, last: f64, random: &mut Random) -> f64 {
        match self {
            Self::Gaussian | Self::Integers => random.normal(),
            Self::Lognormal => {
                // exp(0.5 z) has mean e^(1/8) and this standard deviation.
                let spread = ((0.25_f64).exp_m1() * 0.25_f64.exp()).sqrt();
                ((0.5 * random.normal()).exp() - 0.125_f64.exp()) / spread
            }
            Self::Bimodal => {
                let slow = random.uniform() < 1.0 / 3.0;
                let within = 0.35 * random.normal();
                // Two thirds at -d, one third at 2d: variance 2d², with what is left within the states.
                let d = ((1.0 - 0.35 * 0.35) / 2.0_f64).sqrt();
                within + if slow { 2.0 * d } else { -d }
            }
            Self::Correlated => 0.3 * last + (1.0 - 0.09_f64).sqrt() * random.normal(),
            Self::Spiky => {
                let spike = random.uniform() < 1.0 / 30.0;
                random.normal() + if spike { 12.0 } else { 0.0 }
            }
        }
    }
}

/// What was planted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Planted {
    /// Nothing.
    Nothing,
    /// Steps of three standard deviations at these points.
    Steps(Vec<usize>),
    /// A ramp from the first to the second point.
    Drift(usize, usize),
}

/// One history.
#[derive(Debug, Clone)]
pub(crate) struct History {
    pub(crate) noise: Noise,
    pub(crate) planted: Planted,
    pub(crate) values: Vec<f64>,
}

/// The lengths of histories, in turn.
pub(crate) const LENGTHS: [usize; 6] = [30, 50, 100, 200, 400, 1000];
/// Every planted level lasts at least so many points.
pub(crate) const SHORTEST_LEVEL: usize = 10;
/// The level histories start from; one standard deviation is one per cent of it, two for whole numbers.
const BASE: f64 = 100.0;

/// The history of a number: noise and length go round, two in five hold nothing, two in five steps, one in five a drift.
pub(crate) fn history(number: u64) -> History {
    let mut random = Random::stream(20_240, number);
    let noise = Noise::ALL[number as usize % Noise::ALL.len()];
    let turn = number as usize / Noise::ALL.len();
    let length = LENGTHS[turn % LENGTHS.len()];
    let planted = match (turn / LENGTHS.len() + turn) % 5 {
        0 | 1 => Planted::Nothing,
        2 | 3 => Planted::Steps(steps(length, &mut random)),
        _ => {
            let width = (length / 4 + random.below(length / 4)).min(length - 2 * SHORTEST_LEVEL);
            let from = SHORTEST_LEVEL + random.below(length - width - 2 * SHORTEST_LEVEL + 1);
            Planted::Drift(from, from + width)
        }
    };
    let values = values(noise, &planted, length, &mut random);
    History { noise, planted, values }
}

/// One step, or up to four in long histories, each level at least [`SHORTEST_LEVEL`] long.
fn steps(length: usize, random: &mut Random) -> Vec<usize> {
    let most = (length / 50).clamp(1, 4);
    let count = 1 + random.below(most);
    let slack = length - (count + 1) * SHORTEST_LEVEL;
    let mut cuts: Vec<usize> = (0..count).map(|_| random.below(slack + 1)).collect();
    cuts.sort_unstable();
    cuts.iter().enumerate().map(|(i, cut)| cut + (i + 1) * SHORTEST_LEVEL).collect()
}

fn values(noise: Noise, planted: &Planted, length: usize, random: &mut Random) -> Vec<f64> {
    let scale = if noise == Noise::Integers { 2.0 } else { 1.0 };
    let signs: Vec<f64> = (0..8).map(|_| if random.coin() { 1.0 } else { -1.0 }).collect();
    let tall = 3.0 + 3.0 * random.uniform();
    let mut last = 0.0;
    (0..length)
        .map(|i| {
            last = noise.draw(last, random);
            let level = match planted {
                Planted::Nothing => 0.0,
                Planted::Steps(at) => {
                    at.iter().zip(&signs).filter(|(at, _)| i >= **at).map(|(_, s)| 3.0 * s).sum()
                }
                Planted::Drift(from, to) => {
                    let done = (i as f64 - *from as f64) / (to - from) as f64;
                    signs[0] * tall * done.clamp(0.0, 1.0)
                }
            };
            let value = BASE + scale * (level + last);
            if noise == Noise::Integers { value.round() } else { value }
        })
        .collect()
}

/// What a detector got right and wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Score {
    pub(crate) points: usize,
    pub(crate) steps: usize,
    /// Steps with a report within two points.
    pub(crate) steps_found: usize,
    pub(crate) drifts: usize,
    /// Drifts with a report within them.
    pub(crate) drifts_found: usize,
    /// Reports that belong to nothing planted.
    pub(crate) false_points: usize,
    /// Reports in histories where nothing was planted, and the points of those.
    pub(crate) quiet_false: usize,
    pub(crate) quiet_points: usize,
}

/// How far a report may be from its step.
pub(crate) const NEAR: usize = 2;

impl Score {
    /// Adds the reports about one history, each from its first point to the first settled one.
    pub(crate) fn add(&mut self, history: &History, reported: &[(usize, usize)]) {
        self.points += history.values.len();
        let belongs = |&(start, settled): &(usize, usize)| match &history.planted {
            Planted::Nothing => false,
            Planted::Steps(at) => at.iter().any(|step| step.abs_diff(start) <= NEAR),
            Planted::Drift(from, to) => start <= to + NEAR && settled + NEAR >= *from,
        };
        let wrong = reported.iter().filter(|report| !belongs(report)).count();
        self.false_points += wrong;
        match &history.planted {
            Planted::Nothing => {
                self.quiet_false += wrong;
                self.quiet_points += history.values.len();
            }
            Planted::Steps(at) => {
                self.steps += at.len();
                let found =
                    |step: &&usize| reported.iter().any(|report| step.abs_diff(report.0) <= NEAR);
                self.steps_found += at.iter().filter(found).count();
            }
            Planted::Drift(..) => {
                self.drifts += 1;
                self.drifts_found += usize::from(reported.iter().any(belongs));
            }
        }
    }

    /// Both together.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            points: self.points + other.points,
            steps: self.steps + other.steps,
            steps_found: self.steps_found + other.steps_found,
            drifts: self.drifts + other.drifts,
            drifts_found: self.drifts_found + other.drifts_found,
            false_points: self.false_points + other.false_points,
            quiet_false: self.quiet_false + other.quiet_false,
            quiet_points: self.quiet_points + other.quiet_points,
        }
    }

    /// The share of the steps that were found.
    pub(crate) fn found(&self) -> f64 {
        self.steps_found as f64 / self.steps as f64
    }

    /// Wrong reports per thousand points.
    pub(crate) fn false_per_thousand(&self) -> f64 {
        1000.0 * self.false_points as f64 / self.points as f64
    }
}

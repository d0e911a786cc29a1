//! How large a comparison to plan: a first reading says how long a restart and a sample take, and the plan is the
//! largest useful one whose looks fit the time. The plan depends on durations and the budget alone, never on which side
//! was faster, so choosing it costs no false-alarm probability.

use std::time::Duration;

use warpt_stats::paired::{PairedConfig, Regime};

use super::subject::Subject;
use crate::clock::Clock;
use crate::context::Cancel;
use crate::error::BenchError;

/// Bodies longer than this are compared by pairs instead of minima of segments.
pub const LONG_BODY: Duration = Duration::from_millis(100);
/// Samples of each side in a first reading, beyond the one that warms up.
const READING_SAMPLES: usize = 3;
/// A first reading stops early once it took this share of the budget.
const READING_SHARE: f64 = 0.05;
/// Restarts of a look over short bodies, and the pairs of samples a restart needs at least before fewer looks are planned.
const SHORT_RESTARTS: usize = 12;
const FEWEST_PAIRS: usize = 6;
/// More than this in a segment or a restart adds time and little else.
const MOST_SAMPLES: usize = 12;
const MOST_BLOCKS: usize = 8;
const MOST_SHORT_LOOKS: usize = 8;
/// Pairs of samples in a restart, where restarts are costly.
const MOST_COSTLY_PAIRS: usize = 36;
/// Pairs of a look over long bodies.
const LONG_PAIRS: usize = 15;
const MOST_LONG_PAIRS: usize = 40;
const MOST_LONG_LOOKS: usize = 8;
const MOST_LONG_BLOCKS: usize = 4;

/// How long things take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// A restart of both sides.
    pub restart_ns: f64,
    /// A sample of A and one of B.
    pub pair_ns: f64,
    /// The longer of the two.
    pub sample_ns: f64,
    /// What the reading itself took.
    pub spent_ns: f64,
}

/// Starts both sides and takes a few samples whose costs are not used.
pub fn first_reading(
    a: &mut dyn Subject,
    b: &mut dyn Subject,
    budget: Duration,
    clock: &dyn Clock,
    cancel: &Cancel,
) -> Result<Reading, BenchError> {
    let begin = clock.now_ns();
    let since = |moment: u64| clock.now_ns().saturating_sub(moment) as f64;
    a.restart()?;
    b.restart()?;
    let restart_ns = since(begin);
    let enough_ns = READING_SHARE * budget.as_nanos() as f64;
    let (mut of_a, mut of_b) = (f64::INFINITY, f64::INFINITY);
    for round in 0..=READING_SAMPLES {
        if cancel.is_cancelled() {
            return Err(BenchError::Interrupted);
        }
        let start = clock.now_ns();
        a.sample()?;
        let taken_a = since(start);
        let start = clock.now_ns();
        b.sample()?;
        let taken_b = since(start);
        // The first round warms up; its times serve only if there is no time for a second.
        if round <= 1 {
            (of_a, of_b) = (taken_a, taken_b);
        } else {
            (of_a, of_b) = (of_a.min(taken_a), of_b.min(taken_b));
        }
        if since(begin) >= enough_ns {
            break;
        }
    }
    Ok(Reading {
        restart_ns,
        pair_ns: (of_a + of_b).max(1.0),
        sample_ns: of_a.max(of_b),
        spent_ns: since(begin),
    })
}

impl Reading {
    /// The plan for the time that is left of `budget` after the reading; what `like` says of alpha, floors, confidence and
    /// seed is kept.
    #[must_use]
    pub fn plan(&self, budget: Duration, like: &PairedConfig) -> PairedConfig {
        let left_ns = (budget.as_nanos() as f64 - self.spent_ns).max(0.0);
        if self.sample_ns > LONG_BODY.as_nanos() as f64 {
            self.long(left_ns, like)
        } else {
            self.short(left_ns, like)
        }
    }

    fn long(&self, left_ns: f64, like: &PairedConfig) -> PairedConfig {
        // Where starting takes longer than running, a start serves several pairs.
        let blocks = ((self.restart_ns / self.pair_ns) as usize).clamp(1, MOST_LONG_BLOCKS);
        let pairs = (left_ns / (self.restart_ns + self.pair_ns * blocks as f64)) as usize;
        let max_looks = (pairs / LONG_PAIRS).clamp(1, MOST_LONG_LOOKS);
        let restarts = match max_looks {
            1 => pairs.clamp(1, LONG_PAIRS),
            MOST_LONG_LOOKS => (pairs / MOST_LONG_LOOKS).min(MOST_LONG_PAIRS),
            _ => LONG_PAIRS,
        };
        PairedConfig {
            regime: Regime::Long,
            restarts,
            blocks_per_restart: blocks,
            samples_per_segment: 1,
            max_looks,
            ..like.clone()
        }
    }

    fn short(&self, left_ns: f64, like: &PairedConfig) -> PairedConfig {
        let pairs = |looks: usize| {
            let restart_ns = left_ns / (looks * SHORT_RESTARTS) as f64;
            ((restart_ns - self.restart_ns) / self.pair_ns).max(0.0) as usize
        };
        let fitting = (1..=MOST_SHORT_LOOKS).rev().find(|looks| pairs(*looks) >= FEWEST_PAIRS);
        let (restarts, pairs, max_looks) = match fitting {
            Some(looks) => (SHORT_RESTARTS, pairs(looks), looks),
            None => {
                // Starting takes most of the time: as much again for samples, as many restarts as fit, and a second
                // look should starting turn out quicker than the first time.
                let pairs = ((self.restart_ns / self.pair_ns) as usize).clamp(1, MOST_COSTLY_PAIRS);
                let restart_ns = self.restart_ns + self.pair_ns * pairs as f64;
                (((left_ns / restart_ns) as usize).clamp(1, SHORT_RESTARTS), pairs, 2)
            }
        };
        let samples_per_segment = pairs.isqrt().clamp(1, MOST_SAMPLES);
        PairedConfig {
            regime: Regime::Short,
            restarts,
            blocks_per_restart: (pairs / samples_per_segment).clamp(1, MOST_BLOCKS),
            samples_per_segment,
            max_looks,
            ..like.clone()
        }
    }

    /// About how long one block of a plan takes.
    #[must_use]
    pub fn block(&self, config: &PairedConfig) -> Duration {
        Duration::from_nanos((self.pair_ns * config.samples_per_segment as f64) as u64)
    }

    /// About how long one look of a plan takes.
    #[must_use]
    pub fn look(&self, config: &PairedConfig) -> Duration {
        let pairs = config.blocks_per_restart * config.samples_per_segment;
        let restart_ns = self.restart_ns + self.pair_ns * pairs as f64;
        Duration::from_nanos((restart_ns * config.restarts as f64) as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const MS: f64 = 1e6;

    fn reading(restart_ms: f64, sample_ms: f64) -> Reading {
        Reading {
            restart_ns: restart_ms * MS,
            pair_ns: 2.0 * sample_ms * MS,
            sample_ns: sample_ms * MS,
            spent_ns: 0.0,
        }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn every_plan_fits_its_time() {
        for restart_ms in [0.0, 1.0, 300.0] {
            for sample_ms in [0.01, 1.0, 30.0, 99.0, 101.0, 2000.0] {
                for budget in [5, 10, 60, 600] {
                    let reading = reading(restart_ms, sample_ms);
                    let plan = reading.plan(seconds(budget), &PairedConfig::short());
                    let looks = if restart_ms > sample_ms { 1 } else { plan.max_looks };
                    let whole = reading.look(&plan) * u32::try_from(looks).unwrap();
                    let smallest = Duration::from_nanos(
                        (2.0 * reading.restart_ns + 2.0 * reading.pair_ns) as u64,
                    );
                    assert!(whole <= seconds(budget).max(smallest), "{plan:?} {whole:?}");
                    assert!(plan.restarts >= 1 && plan.max_looks >= 1, "{plan:?}");
                }
            }
        }
    }

    #[test]
    fn costly_restarts_are_used_well() {
        let plan = reading(1500.0, 5.0).plan(seconds(15), &PairedConfig::short());
        assert_eq!((plan.restarts, plan.max_looks), (8, 2));
        assert_eq!(plan.blocks_per_restart * plan.samples_per_segment, 36);
        let plan = reading(700.0, 150.0).plan(seconds(60), &PairedConfig::short());
        assert_eq!((plan.regime, plan.blocks_per_restart, plan.restarts), (Regime::Long, 2, 15));
    }

    #[test]
    fn quick_bodies_do_not_use_time_they_do_not_need() {
        let quick = reading(0.0, 1.0);
        let plan = quick.plan(seconds(600), &PairedConfig::short());
        assert_eq!((plan.restarts, plan.blocks_per_restart, plan.samples_per_segment), (12, 8, 12));
        assert!(quick.look(&plan) < seconds(3));
    }

    #[test]
    fn the_regime_follows_the_body_and_the_rest_is_kept() {
        let like = PairedConfig { seed: 9, effect_floor: 0.03, ..PairedConfig::long() };
        let short = reading(0.0, 99.0).plan(seconds(60), &like);
        assert_eq!((short.regime, short.seed, short.effect_floor), (Regime::Short, 9, 0.03));
        let long = reading(0.0, 101.0).plan(seconds(60), &like);
        assert_eq!((long.regime, long.restarts, long.max_looks), (Regime::Long, 37, 8));
        let few = reading(0.0, 3000.0).plan(seconds(60), &like);
        assert_eq!((few.restarts, few.max_looks), (10, 1));
        let none = reading(0.0, 60_000.0).plan(seconds(60), &like);
        assert_eq!((none.restarts, none.max_looks), (1, 1));
    }

    struct Fake<'clock> {
        times_ns: Vec<u64>,
        taken: usize,
        now: &'clock Cell<u64>,
    }

    impl Subject for Fake<'_> {
        fn name(&self) -> &str {
            "fake"
        }

        fn restart(&mut self) -> Result<(), BenchError> {
            self.now.set(self.now.get() + 7);
            Ok(())
        }

        fn sample(&mut self) -> Result<f64, BenchError> {
            let time = self.times_ns[self.taken.min(self.times_ns.len() - 1)];
            self.taken += 1;
            self.now.set(self.now.get() + time);
            Ok(time as f64)
        }
    }

    struct Shared<'clock>(&'clock Cell<u64>);

    impl Clock for Shared<'_> {
        fn now_ns(&self) -> u64 {
            self.0.get()
        }
    }

    #[test]
    fn a_reading_leaves_the_warm_up_out_and_is_short() {
        let now = Cell::new(0);
        let clock = Shared(&now);
        let fake = |times_ns: &[u64]| Fake { times_ns: times_ns.to_vec(), taken: 0, now: &now };
        let read = |a: &mut Fake<'_>, b: &mut Fake<'_>, budget| {
            first_reading(a, b, Duration::from_nanos(budget), &clock, &Cancel::default()).unwrap()
        };
        let (mut a, mut b) = (fake(&[90, 30, 20, 25]), fake(&[50]));
        let reading = read(&mut a, &mut b, 1_000_000);
        assert_eq!((reading.restart_ns, reading.pair_ns, reading.sample_ns), (14.0, 70.0, 50.0));
        let (mut a, mut b) = (fake(&[90, 30, 20, 25]), fake(&[50]));
        assert_eq!(read(&mut a, &mut b, 100).pair_ns, 140.0);
        assert_eq!((a.taken, b.taken), (1, 1));
    }
}

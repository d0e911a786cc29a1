//! Runs a comparison: follows the schedule, keeps every cost, judges at each look, and goes on while the answer is
//! open and the time allows.

use std::time::Duration;

use warpt_stats::paired::{
    Comparison, Observations, PairedConfig, Regime, Schedule, Side, Step, Verdict, judge,
};

use super::subject::Subject;
use crate::clock::Clock;
use crate::context::Cancel;
use crate::error::BenchError;

/// An extension that can only run for less than so many quarters of a look is not worth its share of alpha.
const FEWEST_LOOK_QUARTERS: u64 = 1;

/// Where a comparison stands, after each segment.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The look being worked towards, from 1.
    pub look: usize,
    /// Segments run so far.
    pub segments_done: usize,
    /// Segments until the next look.
    pub segments_left: usize,
    /// The verdict of the last look, once there was one.
    pub verdict: Option<Verdict>,
}

/// A finished comparison with everything behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// The judgement.
    pub comparison: Comparison,
    /// Every cost, so that the judgement can be redone.
    pub observations: Observations,
    /// How segments were reduced.
    pub regime: Regime,
}

impl Compared {
    /// The typical cost of a side: the median over the blocks of what the judgement reduces a segment to.
    /// For the eye; the ratio of two of these is not the comparison's ratio.
    pub fn cost(&self, side: Side) -> f64 {
        let segments: Vec<f64> = self
            .observations
            .blocks()
            .iter()
            .map(|block| match side {
                Side::A => &block.a,
                Side::B => &block.b,
            })
            .filter(|costs| !costs.is_empty())
            .map(|costs| match self.regime {
                Regime::Short => costs.iter().copied().fold(f64::INFINITY, f64::min),
                Regime::Long => warpt_stats::median(costs),
            })
            .collect();
        warpt_stats::median(&segments)
    }
}

/// Compares `b` with the baseline `a`.
///
/// At least one block of each side is run. After `budget` no new block begins. An extension is started when at least a
/// quarter of it fits at the pace so far, and judged with what it has when the time is over: the
/// clock does not know which side is which, so stopping by it costs no false-alarm probability. A comparison left open
/// by the time says so in its reasons. A failing subject ends it.
pub fn compare(
    a: &mut dyn Subject,
    b: &mut dyn Subject,
    config: &PairedConfig,
    budget: Duration,
    clock: &dyn Clock,
    cancel: &Cancel,
    observe: &mut dyn FnMut(&Progress),
) -> Result<Compared, BenchError> {
    let budget_ns = u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX);
    let start = clock.now_ns();
    let mut schedule = Schedule::new(config);
    let mut observations = Observations::new();
    let mut segments_done = 0;
    let mut verdict = None;
    loop {
        let look = schedule.look();
        let pace = Pace { clock, start, budget_ns, cancel };
        let complete =
            run_look(a, b, &mut schedule, &mut observations, &pace, &mut |segments_left| {
                segments_done += 1;
                observe(&Progress { look, segments_done, segments_left, verdict });
            })?;
        let mut comparison = judge(&observations, config, look);
        verdict = Some(comparison.verdict);
        let used_ns = clock.now_ns().saturating_sub(start);
        let look_ns = used_ns / look as u64;
        let needed_ns = look_ns / 4 * FEWEST_LOOK_QUARTERS;
        let fits = complete && used_ns.saturating_add(needed_ns) <= budget_ns;
        if comparison.wants_more(config) && fits && schedule.extend() {
            continue;
        }
        let open = comparison.verdict == Verdict::Inconclusive;
        if (!complete && (open || look == 1)) || (comparison.wants_more(config) && !fits) {
            let seconds = budget.as_secs_f64();
            comparison.reasons.push(format!("the time limit of {seconds:.0} s ended it early"));
        }
        return Ok(Compared { comparison, observations, regime: config.regime });
    }
}

struct Pace<'run> {
    clock: &'run dyn Clock,
    start: u64,
    budget_ns: u64,
    cancel: &'run Cancel,
}

impl Pace<'_> {
    fn is_over(&self) -> bool {
        self.clock.now_ns().saturating_sub(self.start) >= self.budget_ns
    }
}

/// Runs the steps up to the next look; false when the time was over before.
fn run_look(
    a: &mut dyn Subject,
    b: &mut dyn Subject,
    schedule: &mut Schedule,
    observations: &mut Observations,
    pace: &Pace<'_>,
    done: &mut dyn FnMut(usize),
) -> Result<bool, BenchError> {
    let mut open = None;
    while let Some(step) = schedule.next() {
        if pace.cancel.is_cancelled() {
            return Err(BenchError::Interrupted);
        }
        let Step::Segment { restart, block, side, samples } = step else {
            if !observations.is_empty() && pace.is_over() {
                return Ok(false);
            }
            a.restart()?;
            b.restart()?;
            continue;
        };
        // Only a whole block is of use, so the time is looked at where one begins.
        let begins = open != Some((restart, block));
        if begins && !observations.is_empty() && pace.is_over() {
            return Ok(false);
        }
        open = Some((restart, block));
        let subject: &mut dyn Subject = match side {
            Side::A => &mut *a,
            Side::B => &mut *b,
        };
        let mut costs = Vec::with_capacity(samples);
        for _ in 0..samples {
            if pace.cancel.is_cancelled() {
                return Err(BenchError::Interrupted);
            }
            costs.push(subject.sample()?);
        }
        observations.push(restart, block, side, &costs);
        done(schedule.segments_left());
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use warpt_stats::random::Random;

    use super::*;

    #[derive(Default)]
    struct FakeClock(Cell<u64>);

    impl Clock for FakeClock {
        fn now_ns(&self) -> u64 {
            self.0.get()
        }
    }

    /// Costs `level` with noise that only ever adds, and takes as long.
    struct Fake<'clock> {
        level: f64,
        noise: f64,
        random: Random,
        clock: &'clock FakeClock,
        restarts: usize,
        samples: usize,
        fails_at: Option<usize>,
    }

    impl<'clock> Fake<'clock> {
        fn new(level: f64, noise: f64, stream: u64, clock: &'clock FakeClock) -> Self {
            let random = Random::stream(7, stream);
            Self { level, noise, random, clock, restarts: 0, samples: 0, fails_at: None }
        }
    }

    impl Subject for Fake<'_> {
        fn name(&self) -> &str {
            "fake"
        }

        fn restart(&mut self) -> Result<(), BenchError> {
            self.restarts += 1;
            Ok(())
        }

        fn sample(&mut self) -> Result<f64, BenchError> {
            if self.fails_at == Some(self.samples) {
                return Err(BenchError::Child {
                    program: "fake".into(),
                    detail: "fell over".into(),
                });
            }
            self.samples += 1;
            let cost = self.level * (1.0 + self.noise * self.random.uniform());
            self.clock.0.set(self.clock.0.get() + cost as u64);
            Ok(cost)
        }
    }

    fn run(
        a: &mut Fake<'_>,
        b: &mut Fake<'_>,
        clock: &FakeClock,
        config: &PairedConfig,
        budget: Duration,
    ) -> Result<Compared, BenchError> {
        compare(a, b, config, budget, clock, &Cancel::default(), &mut |_| ())
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_faster_candidate_is_better_at_the_first_look() {
        let clock = FakeClock::default();
        let (mut a, mut b) = (Fake::new(1e6, 0.05, 1, &clock), Fake::new(8e5, 0.05, 2, &clock));
        let config = PairedConfig::short();
        let compared = run(&mut a, &mut b, &clock, &config, LONG).unwrap();
        assert_eq!(compared.comparison.verdict, Verdict::Better);
        assert!((compared.comparison.ratio - 1.25).abs() < 0.01, "{}", compared.comparison.ratio);
        assert_eq!((a.restarts, b.restarts), (config.restarts, config.restarts));
        assert_eq!(
            a.samples,
            config.restarts * config.blocks_per_restart * config.samples_per_segment
        );
        assert!((compared.cost(Side::A) / 1e6 - 1.0).abs() < 0.02);
        assert!((compared.cost(Side::B) / 8e5 - 1.0).abs() < 0.02);
    }

    #[test]
    fn equal_subjects_are_the_same_and_it_does_not_go_on() {
        let clock = FakeClock::default();
        let (mut a, mut b) = (Fake::new(1e6, 0.01, 1, &clock), Fake::new(1e6, 0.01, 2, &clock));
        let compared = run(&mut a, &mut b, &clock, &PairedConfig::short(), LONG).unwrap();
        assert_eq!((compared.comparison.verdict, compared.comparison.looks), (Verdict::Same, 1));
    }

    #[test]
    fn an_open_answer_extends_to_the_last_look_or_the_time_limit() {
        let clock = FakeClock::default();
        let config =
            PairedConfig { samples_per_segment: 1, blocks_per_restart: 1, ..PairedConfig::short() };
        let noisy = |stream| Fake::new(1e6, 3.0, stream, &clock);
        let (mut a, mut b) = (noisy(1), noisy(2));
        let compared = run(&mut a, &mut b, &clock, &config, LONG).unwrap();
        assert_eq!(compared.comparison.looks, config.max_looks as u64);
        assert_eq!(a.restarts, config.restarts * config.max_looks);

        // About 60 ms per look: two looks fit, and a part of the third; of the fourth nothing would.
        let (mut a, mut b) = (noisy(1), noisy(2));
        let compared = run(&mut a, &mut b, &clock, &config, Duration::from_millis(150)).unwrap();
        assert_eq!(compared.comparison.looks, 3);
        assert!((2 * config.restarts + 1..3 * config.restarts).contains(&a.restarts));
        assert!(compared.comparison.reasons.iter().any(|reason| reason.contains("time limit")));
    }

    #[test]
    fn the_time_limit_ends_a_look_between_blocks() {
        let clock = FakeClock::default();
        let (mut a, mut b) = (Fake::new(1e6, 0.0, 1, &clock), Fake::new(1e6, 0.0, 2, &clock));
        let config = PairedConfig::long();
        let compared = run(&mut a, &mut b, &clock, &config, Duration::from_millis(5)).unwrap();
        assert_eq!((a.samples, b.samples), (3, 3));
        assert!(compared.comparison.reasons.iter().any(|reason| reason.contains("time limit")));
        // Even no time at all gives one block.
        let compared = run(&mut a, &mut b, &clock, &config, Duration::ZERO).unwrap();
        assert_eq!(compared.observations.blocks().len(), 1);
    }

    #[test]
    fn a_failing_subject_and_a_request_to_stop_end_it() {
        let clock = FakeClock::default();
        let (mut a, mut b) = (Fake::new(1e6, 0.0, 1, &clock), Fake::new(1e6, 0.0, 2, &clock));
        b.fails_at = Some(3);
        let error = run(&mut a, &mut b, &clock, &PairedConfig::short(), LONG).unwrap_err();
        assert!(error.to_string().contains("fell over"));
        let cancel = Cancel::default();
        let mut seen = 0;
        let stop = cancel.clone();
        b.fails_at = None;
        let result = compare(
            &mut a,
            &mut b,
            &PairedConfig::short(),
            LONG,
            &clock,
            &cancel,
            &mut |progress| {
                seen = progress.segments_done;
                if seen == 5 {
                    stop.cancel();
                }
            },
        );
        assert!(matches!(result, Err(BenchError::Interrupted)));
        assert_eq!(seen, 5);
    }
}

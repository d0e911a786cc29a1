//! What the driver has to run, in order. The order of sides in every block is a coin toss that depends on the seed, the
//! restart and the block alone, so an extended schedule is the longer version of the same schedule.

use super::{PairedConfig, Side};
use crate::random::Random;

/// One thing for the driver to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Start afresh: a new process, or at least new memory, for both sides.
    Restart,
    /// Run one side.
    Segment {
        /// Restart number, from 0.
        restart: usize,
        /// Block number within the restart, from 0.
        block: usize,
        /// Which side.
        side: Side,
        /// Samples to take.
        samples: usize,
    },
}

/// An endless-looking list of steps that ends after each look and can be extended.
#[derive(Debug, Clone)]
pub struct Schedule {
    restarts_per_look: usize,
    blocks: usize,
    samples: usize,
    max_looks: usize,
    seed: u64,
    looks: usize,
    restart: usize,
    // Within a restart: 0 is the restart itself, then two segments per block.
    position: usize,
    coins: Random,
    first: Side,
}

impl Schedule {
    /// The steps up to the first look.
    #[must_use]
    pub fn new(config: &PairedConfig) -> Self {
        Self {
            restarts_per_look: config.restarts.max(1),
            blocks: config.blocks_per_restart.max(1),
            samples: config.samples_per_segment.max(1),
            max_looks: config.max_looks.max(1),
            seed: config.seed,
            looks: 1,
            restart: 0,
            position: 0,
            coins: Random::stream(config.seed, 0),
            first: Side::A,
        }
    }

    /// Adds the steps up to the next look. False, and nothing added, when `max_looks` are planned already.
    pub fn extend(&mut self) -> bool {
        let more = self.looks < self.max_looks;
        self.looks += usize::from(more);
        more
    }

    /// The look the planned steps lead up to, from 1; what [`judge`](super::judge) wants to know.
    #[must_use]
    pub fn look(&self) -> usize {
        self.looks
    }

    /// Segments still to be run before the planned look, for progress bars.
    #[must_use]
    pub fn segments_left(&self) -> usize {
        let planned = self.restarts_per_look.saturating_mul(self.looks);
        let here = self.position.saturating_sub(1);
        planned.saturating_sub(self.restart).saturating_mul(2 * self.blocks).saturating_sub(here)
    }
}

impl Iterator for Schedule {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.restart >= self.restarts_per_look.saturating_mul(self.looks) {
            return None;
        }
        if self.position == 0 {
            self.position = 1;
            self.coins = Random::stream(self.seed, self.restart as u64);
            return Some(Step::Restart);
        }
        let segment = self.position - 1;
        let block = segment / 2;
        let side = if segment.is_multiple_of(2) {
            self.first = if self.coins.coin() { Side::A } else { Side::B };
            self.first
        } else {
            self.first.other()
        };
        let step = Step::Segment { restart: self.restart, block, side, samples: self.samples };
        self.position += 1;
        if self.position > 2 * self.blocks {
            self.position = 0;
            self.restart += 1;
        }
        Some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_runs_both_sides_once() {
        let config = PairedConfig { seed: 42, ..PairedConfig::short() };
        let steps: Vec<Step> = Schedule::new(&config).collect();
        assert_eq!(steps.len(), 12 * (1 + 16));
        assert_eq!(steps.iter().filter(|step| **step == Step::Restart).count(), 12);
        let mut first_sides = 0;
        for chunk in steps.chunks(17) {
            assert_eq!(chunk[0], Step::Restart);
            for pair in chunk[1..].chunks(2) {
                let [
                    Step::Segment { restart: r1, block: b1, side: s1, .. },
                    Step::Segment { restart: r2, block: b2, side: s2, .. },
                ] = pair
                else {
                    panic!("{pair:?}")
                };
                assert_eq!((r1, b1, *s1), (r2, b2, s2.other()));
                first_sides += usize::from(*s1 == Side::A);
            }
        }
        assert!((30..66).contains(&first_sides), "{first_sides} of 96 start with A");
    }

    #[test]
    fn extension_continues_the_same_sequence() {
        let config = PairedConfig { restarts: 2, max_looks: 2, seed: 5, ..PairedConfig::short() };
        let mut schedule = Schedule::new(&config);
        assert_eq!(schedule.segments_left(), 32);
        let mut steps: Vec<Step> = schedule.by_ref().collect();
        assert_eq!((schedule.segments_left(), schedule.look()), (0, 1));
        assert!(schedule.extend());
        assert_eq!((schedule.segments_left(), schedule.look()), (32, 2));
        steps.extend(schedule.by_ref());
        assert!(!schedule.extend());
        assert_eq!(schedule.next(), None);
        let whole: Vec<Step> = Schedule::new(&PairedConfig { restarts: 4, ..config }).collect();
        assert_eq!(steps, whole);
        let other: Vec<Step> =
            Schedule::new(&PairedConfig { restarts: 4, seed: 6, ..config }).collect();
        assert_ne!(steps, other);
    }
}

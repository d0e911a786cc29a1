//! Which of two codes of a whole tile is the faster on this core at present.
//!
//! Cores of shared machines work for somebody else at times: the other half of a core is another tenant's, and for seconds or
//! hours half of the instructions are all that is left. Then the code with the fewest instructions is the fastest; while a core is
//! alone it is the one that reads least. Each thread sees for itself: some of its work is done in turns by both codes, and all else
//! by the one that was faster lately.
//!
//! What always holds: both codes compute the same bits, so nothing but time depends on what is seen here.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The code of a whole tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// Each number of a row is read once, and what comes next is asked for.
    Full,
    /// Fewer instructions: some numbers of rows are read by the multiplications themselves, and the processor fetches what comes next
    /// by itself.
    Short,
}

impl Code {
    /// The one that was faster on this core lately.
    pub(super) fn present() -> Self {
        CORE.get().code()
    }
}

thread_local! {
    static CORE: Cell<Seen> = const { Cell::new(Seen { works: 0, ratio: 1.0 }) };
}

/// What a thread has seen.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Pieces of work that both codes could have shared.
    works: u32,
    /// The time of the short code as a share of the full one's; the newest counts most.
    ratio: f64,
}

impl Seen {
    /// The short code has to be faster by more than what two measurements differ.
    fn code(self) -> Code {
        const CLEARLY: f64 = 0.98;
        if self.ratio < CLEARLY { Code::Short } else { Code::Full }
    }

    /// With what both codes took for a turn, on average.
    fn with(self, [full, short]: [f64; 2]) -> Self {
        const NEWEST: f64 = 0.125;
        // Codes differ by less; a turn that was interrupted differs by more.
        const FARTHEST: f64 = 1.2;
        let ratio = (short / full).clamp(1.0 / FARTHEST, FARTHEST);
        let ratio = if ratio.is_finite() { ratio } else { self.ratio };
        Self { ratio: self.ratio + NEWEST * (ratio - self.ratio), ..self }
    }
}

/// Work in turns that are alike.
pub(super) struct Turns {
    present: Code,
    both: Option<Both>,
}

/// Both codes at work in turns.
struct Both {
    /// Turns that are not done yet.
    left: usize,
    done: usize,
    /// The turn at hand, if it counts.
    begun: Option<(Code, Instant)>,
    /// For each code, how often and how long it was at work.
    took: [(u32, Duration); 2],
}

impl Turns {
    /// Begins work that consists of so many turns which are alike, and of others after them.
    pub(super) fn begin(count: usize) -> Self {
        /// The first does not count, and of each code there has to be one.
        const LEAST: usize = 3;
        /// One piece of work of so many is shared.
        const EVERY: u32 = 16;
        let seen = CORE.get();
        let present = seen.code();
        if count < LEAST {
            return Self { present, both: None };
        }
        CORE.set(Seen { works: seen.works.wrapping_add(1), ..seen });
        let shares = seen.works.is_multiple_of(EVERY);
        let both =
            shares.then(|| Both { left: count, done: 0, begun: None, took: Default::default() });
        Self { present, both }
    }

    /// The code of the next turn.
    #[inline]
    pub(super) fn next(&mut self) -> Code {
        match &mut self.both {
            Some(both) => both.next(self.present),
            None => self.present,
        }
    }

    /// After the last turn.
    pub(super) fn end(self) {
        let Some(mut both) = self.both else { return };
        both.stop(Instant::now());
        if let Some(took) = both.each() {
            CORE.set(CORE.get().with(took));
        }
    }
}

impl Both {
    fn next(&mut self, present: Code) -> Code {
        let now = Instant::now();
        self.stop(now);
        let turn = self.done;
        self.done += 1;
        if self.left == 0 {
            return present;
        }
        self.left -= 1;
        // Operands come from afar in the first turn. Two and two after it, so that what grows or fades meets both alike.
        let code = if (turn / 2).is_multiple_of(2) { Code::Full } else { Code::Short };
        self.begun = (turn > 0).then_some((code, now));
        code
    }

    /// Ends the turn at hand.
    fn stop(&mut self, now: Instant) {
        if let Some((code, begun)) = self.begun.take() {
            let (count, time) = &mut self.took[code as usize];
            *count += 1;
            *time += now - begun;
        }
    }

    /// What a turn of each took on average, where there was one.
    fn each(&self) -> Option<[f64; 2]> {
        let known = self.took.iter().all(|(count, time)| *count > 0 && !time.is_zero());
        known.then(|| self.took.map(|(count, time)| time.as_secs_f64() / f64::from(count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_faster_lately_is_taken() {
        let mut seen = Seen { works: 0, ratio: 1.0 };
        assert_eq!(seen.code(), Code::Full);
        for _ in 0..3 {
            seen = seen.with([1.0, 0.9]);
        }
        assert_eq!(seen.code(), Code::Short);
        for _ in 0..16 {
            seen = seen.with([1.0, 1.03]);
        }
        assert_eq!(seen.code(), Code::Full);
        // A turn that was interrupted once changes nothing.
        assert_eq!(seen.with([1000.0, 1.0]).code(), Code::Full);
        assert!(seen.with([0.0, 0.0]).ratio.is_finite());
    }

    #[test]
    fn both_codes_have_turns_and_what_follows_them_has_none() {
        let begin = || Both { left: 7, done: 0, begun: None, took: Default::default() };
        let mut both = begin();
        let codes: Vec<Code> = (0..9).map(|_| both.next(Code::Short)).collect();
        let [full, short] = [Code::Full, Code::Short];
        assert_eq!(codes, [full, full, short, short, full, full, short, short, short]);
        // The first did not count, nor did the last two.
        assert_eq!(both.took.map(|(count, _)| count), [3, 3]);
        let mut both = begin();
        both.next(Code::Full);
        assert_eq!(both.each(), None);
    }

    #[test]
    fn a_thread_looks_at_some_of_its_work() {
        std::thread::spawn(|| {
            let shared = |count: usize| Turns::begin(count).both.is_some();
            assert!(!shared(2));
            let works: Vec<bool> = (0..33).map(|_| shared(4)).collect();
            let number = works.iter().filter(|shared| **shared).count();
            assert_eq!((number, works[0], works[1]), (3, true, false));
        })
        .join()
        .unwrap();
    }
}

//! What a series of requests looks like: pattern, block, depth, and the offsets in their order.

use std::time::{Duration, Instant};

use super::pattern::{Ledger, Noise};

/// A kind of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    SequentialRead,
    SequentialWrite,
    RandomRead,
    RandomWrite,
}

impl Pattern {
    /// Reads first: they leave what the later ones find.
    pub(super) const ALL: [Self; 4] =
        [Self::SequentialRead, Self::RandomRead, Self::SequentialWrite, Self::RandomWrite];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SequentialRead => "seq_read",
            Self::SequentialWrite => "seq_write",
            Self::RandomRead => "rand_read",
            Self::RandomWrite => "rand_write",
        }
    }

    pub(super) fn writes(self) -> bool {
        matches!(self, Self::SequentialWrite | Self::RandomWrite)
    }

    pub(super) fn sequential(self) -> bool {
        matches!(self, Self::SequentialRead | Self::SequentialWrite)
    }
}

/// The offsets of a series: one after another with a wrap at the end of the file, or uniformly random.
#[derive(Debug)]
pub(super) struct Cursor {
    blocks: u64,
    block: usize,
    next: u64,
    random: Option<fastrand::Rng>,
}

impl Cursor {
    pub(super) fn new(pattern: Pattern, file_bytes: u64, block: usize) -> Self {
        let random = (!pattern.sequential()).then(fastrand::Rng::new);
        Self { blocks: (file_bytes / block as u64).max(1), block, next: 0, random }
    }

    /// The offset of the next request.
    pub(super) fn advance(&mut self) -> u64 {
        let index = match &mut self.random {
            Some(random) => random.u64(..self.blocks),
            None => {
                let index = self.next;
                self.next = (self.next + 1) % self.blocks;
                index
            }
        };
        index * self.block as u64
    }
}

/// How far a batch goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Goal {
    /// So many requests, all of them counted.
    Requests(u64),
    /// Requests for so long, counted between the moments at which the queue was full and at which it starts to
    /// run empty, as if the series had neither beginning nor end.
    Time(Duration),
}

/// Decides which requests are started and which are counted.
#[derive(Debug)]
pub(super) struct Pace {
    goal: Goal,
    /// Completions still to come before the count starts.
    ramp: usize,
    /// Counted at least, however slow the device is.
    minimum: u64,
    closed: bool,
    start: Instant,
    last: Instant,
    issued: u64,
    counted: u64,
}

impl Pace {
    pub(super) fn start(goal: Goal, depth: usize) -> Self {
        let now = Instant::now();
        // With one request at a time there is no queue to fill.
        let ramp = if depth > 1 && matches!(goal, Goal::Time(_)) { depth } else { 0 };
        Self {
            goal,
            ramp,
            minimum: depth as u64,
            closed: false,
            start: now,
            last: now,
            issued: 0,
            counted: 0,
        }
    }

    /// Whether another request is to be started; if so it counts as started.
    pub(super) fn issue(&mut self) -> bool {
        let more = !self.closed
            && match self.goal {
                Goal::Requests(requests) => self.issued < requests,
                Goal::Time(_) => true,
            };
        self.issued += u64::from(more);
        more
    }

    /// Takes note of a completion; whether it counts.
    pub(super) fn complete(&mut self, now: Instant) -> bool {
        if self.ramp > 0 {
            self.ramp -= 1;
            (self.start, self.last) = (now, now);
            return false;
        }
        if self.closed {
            return false;
        }
        self.counted += 1;
        self.last = self.last.max(now);
        if let Goal::Time(duration) = self.goal {
            self.closed = self.counted >= self.minimum && self.last - self.start >= duration;
        }
        true
    }

    /// Starts nothing more: something failed.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn done(&self, wrong: u64) -> Done {
        Done {
            nanoseconds: (self.last - self.start).as_nanos() as u64,
            counted: self.counted,
            issued: self.issued,
            wrong,
        }
    }
}

/// One batch of requests, as both engines take it.
pub(super) struct Batch<'a> {
    pub(super) file: &'a std::fs::File,
    pub(super) write: bool,
    pub(super) goal: Goal,
    pub(super) cursor: &'a mut Cursor,
    /// What writes write.
    pub(super) generation: u8,
    pub(super) noise: &'a Noise,
    pub(super) ledger: &'a Ledger,
    /// The latency of each counted request, in nanoseconds, is appended here.
    pub(super) latencies: &'a mut Vec<u64>,
}

/// How a batch went.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Done {
    /// The time the counted requests took.
    pub(super) nanoseconds: u64,
    /// Requests the time is of.
    pub(super) counted: u64,
    /// All requests.
    pub(super) issued: u64,
    /// Blocks read whose stamps were not those written.
    pub(super) wrong: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_offsets_wrap_and_random_ones_stay_inside() {
        let mut cursor = Cursor::new(Pattern::SequentialRead, 3 << 20, 1 << 20);
        let offsets: Vec<u64> = (0..4).map(|_| cursor.advance() >> 20).collect();
        assert_eq!(offsets, [0, 1, 2, 0]);
        let mut cursor = Cursor::new(Pattern::RandomWrite, 1 << 20, 4096);
        assert!(
            (0..1000)
                .map(|_| cursor.advance())
                .all(|offset| offset % 4096 == 0 && offset < 1 << 20)
        );
    }

    #[test]
    fn only_the_time_with_a_full_queue_is_counted() {
        let mut pace = Pace::start(Goal::Time(Duration::from_millis(10)), 2);
        let origin = Instant::now();
        let at = |milliseconds| origin + Duration::from_millis(milliseconds);
        assert!(pace.issue() && pace.issue());
        assert!(!pace.complete(at(100)) && !pace.complete(at(105)), "the queue was filling");
        assert!(pace.issue() && pace.issue() && pace.issue());
        assert!(pace.complete(at(110)) && pace.complete(at(115)));
        assert!(!pace.issue() && !pace.complete(at(500)), "the queue runs empty");
        let done = pace.done(0);
        assert_eq!((done.nanoseconds, done.counted, done.issued), (10_000_000, 2, 5));
    }

    #[test]
    fn a_number_of_requests_is_counted_whole() {
        let mut pace = Pace::start(Goal::Requests(2), 8);
        assert!(pace.issue() && pace.issue() && !pace.issue());
        assert!(pace.complete(Instant::now()) && pace.complete(Instant::now()));
        assert_eq!(pace.done(0).counted, 2);
    }
}

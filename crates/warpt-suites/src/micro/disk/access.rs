//! What a series of requests looks like: pattern, block, depth, and the offsets in their order.

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

/// One batch of requests, as both engines take it.
pub(super) struct Batch<'a> {
    pub(super) file: &'a std::fs::File,
    pub(super) write: bool,
    /// How many requests.
    pub(super) requests: u64,
    pub(super) cursor: &'a mut Cursor,
    /// What writes write.
    pub(super) generation: u8,
    pub(super) noise: &'a Noise,
    pub(super) ledger: &'a Ledger,
    /// The latency of each request, in nanoseconds, is appended here.
    pub(super) latencies: &'a mut Vec<u64>,
}

/// How a batch went.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Done {
    /// From the first submission to the last completion.
    pub(super) nanoseconds: u64,
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
}

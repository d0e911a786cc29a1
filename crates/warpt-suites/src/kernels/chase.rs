//! Pointer chases: a working set whose cache lines form one random cycle, so that each load waits for the one
//! before and nothing can guess the next address. Every chain is one cycle through all lines by construction.
#![allow(unsafe_code)]

use crate::error::SuiteError;
use crate::kernels::buffer::Buffer;

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;
/// Words of a cache line.
const LINE_WORDS: usize = LINE_BYTES / size_of::<usize>();
/// Loads per turn of the chase.
const UNROLL: u64 = 16;

/// One random cycle through the lines of a buffer; the first word of a line holds the index of the next line's
/// first word.
#[derive(Debug)]
pub struct Chase {
    memory: Buffer,
    lines: usize,
    position: usize,
}

impl Chase {
    /// A cycle through `bytes` (at least two lines), shuffled by `seed`.
    pub fn new(bytes: usize, seed: u64) -> Result<Self, SuiteError> {
        let lines = (bytes / LINE_BYTES).clamp(2, u32::MAX as usize);
        let mut memory = Buffer::new(lines * LINE_BYTES)?;
        let words = memory.as_mut_slice::<usize>();
        let mut random = fastrand::Rng::with_seed(seed);
        // Sattolo's shuffle of the identity is a uniformly random single cycle.
        for line in 0..lines {
            words[line * LINE_WORDS] = line * LINE_WORDS;
        }
        for line in (1..lines).rev() {
            let other = random.usize(..line);
            words.swap(line * LINE_WORDS, other * LINE_WORDS);
        }
        Ok(Self { memory, lines, position: 0 })
    }

    /// The lines in the cycle.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Where the chase is: the index of a line.
    pub fn line(&self) -> usize {
        self.position / LINE_WORDS
    }

    /// Whether huge pages were granted, or why not.
    pub fn huge_pages(&self) -> Result<(), &str> {
        self.memory.huge_pages()
    }

    /// Follows the chain for `turns` times 16 steps and returns how many steps that were.
    pub fn run(&mut self, turns: u64) -> u64 {
        let words = self.memory.as_slice::<usize>();
        let mut position = self.position;
        for _ in 0..turns {
            // The array length keeps the loop unrolled; the check that the index is in bounds is on no
            // dependency path, yet it costs slots, so it is left out.
            for _ in 0..UNROLL {
                // SAFETY: every stored index is the first word of a line of this buffer, by construction.
                position = unsafe { *words.get_unchecked(position) };
            }
        }
        self.position = std::hint::black_box(position);
        turns * UNROLL
    }

    /// Walks the cycle once from where it is, marking lines: whether every line was met exactly once and the
    /// walk ended where it began; what went wrong if not.
    pub fn check(&self) -> Result<(), String> {
        let words = self.memory.as_slice::<usize>();
        let mut met = vec![false; self.lines];
        let mut position = self.position;
        for step in 0..self.lines {
            let line = position / LINE_WORDS;
            if std::mem::replace(&mut met[line], true) {
                return Err(format!("line {line} met twice within {step} of {} steps", self.lines));
            }
            position = words[position];
        }
        if position == self.position {
            Ok(())
        } else {
            Err(format!(
                "the cycle of {} lines ended on line {}",
                self.lines,
                position / LINE_WORDS
            ))
        }
    }

    /// Where `steps` steps from line 0 end: the slow way, for comparison with where a run ended.
    pub fn expected_line(&self, steps: u64) -> usize {
        let words = self.memory.as_slice::<usize>();
        let rest = steps % self.lines as u64;
        (0..rest).fold(0, |position, _| words[position]) / LINE_WORDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_is_one_cycle_and_a_run_ends_where_it_should() {
        for bytes in [0, 64, 128, 192, 4096, 100_000] {
            let mut chase = Chase::new(bytes, 5).unwrap();
            assert_eq!(chase.check(), Ok(()), "{bytes}");
            let mut steps = 0;
            for turns in [0, 1, 7, 100] {
                steps += chase.run(turns);
                assert_eq!(chase.line(), chase.expected_line(steps), "{bytes} after {steps}");
            }
            assert_eq!(chase.check(), Ok(()), "{bytes} from the middle");
        }
    }

    #[test]
    fn a_broken_chain_is_noticed() {
        let mut chase = Chase::new(4096, 9).unwrap();
        let second = chase.memory.as_slice::<usize>()[0];
        chase.memory.as_mut_slice::<usize>()[second] = 0;
        assert!(chase.check().is_err());
    }
}

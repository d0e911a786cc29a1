//! Pointer chases: a working set whose cache lines form one random cycle, so that each load waits for the one
//! before and nothing can guess the next address. Every chain is one cycle through all lines by construction.
#![allow(unsafe_code)]

use crate::error::SuiteError;
use crate::kernels::buffer::Buffer;

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;
/// Words of a cache line.
const LINE_WORDS: usize = LINE_BYTES / size_of::<usize>();
/// Walkers that check a chain side by side; more would not make memory answer faster.
const WALKERS: usize = 16;
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
            // A constant count is unrolled, so that nothing but the loads is on the path.
            for _ in 0..UNROLL {
                // SAFETY: every stored index is the first word of a line of this buffer, by construction.
                position = unsafe { *words.get_unchecked(position) };
            }
        }
        self.position = std::hint::black_box(position);
        turns * UNROLL
    }

    /// Reads every line once in order, so that as much of the set as fits is in the caches.
    pub fn touch(&self) -> usize {
        let words = self.memory.as_slice::<usize>();
        words.iter().step_by(LINE_WORDS).fold(0, |sum, word| sum.wrapping_add(*word))
    }

    /// Whether the chain is one cycle that meets every line exactly once; what is wrong if not. Several walkers
    /// start at different lines and walk side by side until each meets another's start: the pieces must cover all
    /// lines, and strung together they must close only after all of them.
    pub fn check(&self) -> Result<(), String> {
        let words = self.memory.as_slice::<usize>();
        let count = WALKERS.min(self.lines);
        let starts: Vec<usize> = (0..count).map(|walker| walker * self.lines / count).collect();
        let mut met = vec![false; self.lines];
        starts.iter().for_each(|line| met[*line] = true);
        let mut covered = count;
        let mut active: Vec<(usize, usize)> = starts.iter().copied().enumerate().collect();
        let mut following = vec![0; count];
        while !active.is_empty() {
            let mut fault = None;
            active.retain_mut(|(walker, line)| {
                let next = words[*line * LINE_WORDS];
                if !next.is_multiple_of(LINE_WORDS) || next / LINE_WORDS >= self.lines {
                    fault =
                        Some(format!("line {line} points to word {next}, which starts no line"));
                    return false;
                }
                let next = next / LINE_WORDS;
                if !std::mem::replace(&mut met[next], true) {
                    covered += 1;
                    *line = next;
                    return true;
                }
                match starts.binary_search(&next) {
                    Ok(other) => following[*walker] = other,
                    Err(_) => {
                        fault = Some(format!("line {next} follows two lines, one of them {line}"));
                    }
                }
                false
            });
            if let Some(fault) = fault {
                return Err(fault);
            }
        }
        let mut pieces = 1;
        let mut walker = following[0];
        while walker != 0 && pieces <= count {
            walker = following[walker];
            pieces += 1;
        }
        if covered == self.lines && pieces == count {
            Ok(())
        } else {
            Err(format!(
                "a cycle of {pieces} of {count} pieces; {covered} of {} lines met",
                self.lines
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
        for (from, to) in [(0, 0), (5, 5), (3, 60), (63, 1), (7, usize::MAX / LINE_WORDS), (9, 64)]
        {
            let mut chase = Chase::new(4096, 9).unwrap();
            let words = chase.memory.as_mut_slice::<usize>();
            if words[from * LINE_WORDS] == to * LINE_WORDS {
                continue;
            }
            words[from * LINE_WORDS] = to.wrapping_mul(LINE_WORDS);
            assert!(chase.check().is_err(), "{from} to {to}");
        }
    }

    #[test]
    fn two_cycles_are_not_one() {
        let mut chase = Chase::new(4096, 9).unwrap();
        // Exchanging the successors of two lines splits a cycle in two.
        chase.memory.as_mut_slice::<usize>().swap(0, 40 * LINE_WORDS);
        assert!(chase.check().is_err());
    }
}

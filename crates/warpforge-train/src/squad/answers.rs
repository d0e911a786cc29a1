//! From what a model says of each place to an answer in words.

use super::windows::{Examples, Window};

/// Which answers are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// So many of the likeliest beginnings and ends of each row.
    pub best: usize,
    /// The most tokens of an answer.
    pub longest_answer: usize,
}

/// The best answer to each question so far.
#[derive(Debug, Clone)]
pub struct Answers<'a> {
    examples: &'a Examples,
    limits: Limits,
    found: Vec<Option<Found>>,
}

#[derive(Debug, Clone, Copy)]
struct Found {
    score: f64,
    window: Window,
    start: usize,
    end: usize,
}

impl<'a> Answers<'a> {
    /// None yet.
    pub fn new(examples: &'a Examples, limits: Limits) -> Self {
        Self { examples, limits, found: vec![None; examples.questions().len()] }
    }

    /// Takes what a model says of one row: for each place how likely an answer begins and ends there. Rows of a question
    /// come in their order.
    pub fn take(&mut self, window: Window, starts: &[f32], ends: &[f32]) {
        let Some(best) = self.found.get_mut(window.question as usize) else { return };
        let text = self.examples.text_places(window);
        let likely = |logits: &[f32]| -> Vec<usize> {
            let mut places: Vec<usize> = (0..logits.len()).collect();
            // Zero has no sign here, and what is no number comes last.
            let key = |place: usize| match logits[place] {
                logit if logit.is_nan() => f32::NEG_INFINITY,
                logit => logit + 0.0,
            };
            places.sort_by(|one, other| key(*other).total_cmp(&key(*one)).then(one.cmp(other)));
            places.truncate(self.limits.best);
            places.retain(|place| text.contains(place));
            places.sort_unstable();
            places
        };
        let ended = likely(ends);
        for start in likely(starts) {
            for end in ended.iter().copied() {
                if end < start || end - start + 1 > self.limits.longest_answer {
                    continue;
                }
                let score = f64::from(starts[start]) + f64::from(ends[end]);
                if best.is_none_or(|best| score > best.score) {
                    *best = Some(Found { score, window, start, end });
                }
            }
        }
    }

    /// The answer to each question; nothing where there is none.
    pub fn words(&self) -> impl Iterator<Item = &'a str> {
        self.found.iter().map(|found| {
            found.map_or("", |found| self.examples.words(found.window, found.start, found.end))
        })
    }
}

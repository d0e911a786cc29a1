//! Rows of tokens: a question, and as much of its text as fits; a long text makes several rows that overlap.

use super::reader::{Question, Squad};
use crate::{Token, TrainError, Vocabulary};

/// `[CLS]`, and `[SEP]` after the question and after the text.
const MARKS: usize = 3;

/// How rows are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Tokens in a row.
    pub sequence: usize,
    /// Tokens of the text that two rows share.
    pub stride: usize,
    /// Tokens of a question; the rest is cut off.
    pub longest_question: usize,
}

/// A question with a part of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The question's number.
    pub question: u32,
    /// The first token of the text.
    pub first: u32,
    /// The one after the last.
    pub end: u32,
}

/// Questions and texts as tokens.
#[derive(Debug, Clone)]
pub struct Examples {
    squad: Squad,
    /// The tokens of each text and of each question.
    texts: Vec<Vec<Token>>,
    questions: Vec<Vec<u32>>,
    windows: Vec<Window>,
    sequence: usize,
    /// The numbers of `[CLS]`, `[SEP]` and `[PAD]`.
    marks: [u32; 3],
}

/// Rows as tensors have them, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// The tokens' numbers.
    pub input_ids: Vec<i64>,
    /// 1 where there is a token, 0 where the row is filled up.
    pub attention_mask: Vec<i64>,
    /// 1 for the text and the mark after it.
    pub token_type_ids: Vec<i64>,
    /// The place of the answer's first token, one a row; 0 where the row does not hold the answer.
    pub start_positions: Vec<i64>,
    /// That of its last.
    pub end_positions: Vec<i64>,
}

impl Examples {
    /// Cuts a set into rows.
    pub fn new(squad: Squad, vocabulary: &Vocabulary, shape: Shape) -> Result<Self, TrainError> {
        let texts: Vec<Vec<Token>> = squad
            .paragraphs
            .iter()
            .map(|paragraph| vocabulary.tokens(&paragraph.context))
            .collect::<Result<_, _>>()?;
        let mut questions = Vec::with_capacity(squad.questions.len());
        let mut windows = Vec::new();
        for (number, question) in squad.questions.iter().enumerate() {
            let tokens = vocabulary.tokens(question.question.trim_start())?;
            let tokens: Vec<u32> =
                tokens.iter().map(|token| token.id).take(shape.longest_question).collect();
            let room = shape.sequence.saturating_sub(tokens.len() + MARKS);
            if room == 0 {
                let (sequence, length) = (shape.sequence, tokens.len());
                return Err(TrainError::Settings(format!(
                    "rows of {sequence} tokens have no room for a text beside a question of {length}"
                )));
            }
            let length = texts[question.paragraph].len();
            windows.extend(cut(length, room, shape.stride).map(|(first, end)| Window {
                question: number as u32,
                first: first as u32,
                end: end as u32,
            }));
            questions.push(tokens);
        }
        let marks = [vocabulary.classify, vocabulary.separate, vocabulary.pad];
        Ok(Self { squad, texts, questions, windows, sequence: shape.sequence, marks })
    }

    /// The rows, in the order of the questions.
    pub fn windows(&self) -> &[Window] {
        &self.windows
    }

    /// The questions.
    pub fn questions(&self) -> &[Question] {
        &self.squad.questions
    }

    /// Tokens in a row.
    pub fn sequence(&self) -> usize {
        self.sequence
    }

    /// Adds a window to rows.
    pub fn push(&self, window: Window, rows: &mut Rows) {
        let question = &self.questions[window.question as usize];
        let text = &self.text(window)[window.first as usize..window.end as usize];
        let [classify, separate, pad] = self.marks.map(i64::from);
        let ids = std::iter::once(classify)
            .chain(question.iter().map(|id| i64::from(*id)))
            .chain([separate])
            .chain(text.iter().map(|token| i64::from(token.id)))
            .chain([separate]);
        let before = question.len() + 2;
        let filled = before + text.len() + 1;
        rows.input_ids.extend(ids.chain(std::iter::repeat(pad)).take(self.sequence));
        for place in 0..self.sequence {
            rows.attention_mask.push(i64::from(place < filled));
            rows.token_type_ids.push(i64::from((before..filled).contains(&place)));
        }
        let (start, end) = self.labels(window);
        rows.start_positions.push(start);
        rows.end_positions.push(end);
    }

    /// The places in the row of the first and last token of the first answer; zeros where it is not wholly in the row.
    fn labels(&self, window: Window) -> (i64, i64) {
        let question = &self.squad.questions[window.question as usize];
        let text = &self.text(window)[window.first as usize..window.end as usize];
        let (Some(answer), [first, .., last] | [first @ last]) = (question.answers.first(), text)
        else {
            return (0, 0);
        };
        let length = u32::try_from(answer.text.chars().count()).unwrap_or(u32::MAX);
        let (start, end) = (answer.start, answer.start.saturating_add(length));
        if first.start > start || last.end < end {
            return (0, 0);
        }
        let start = text.iter().rposition(|token| token.start <= start);
        let end = text.iter().position(|token| token.end >= end);
        let before = self.questions[window.question as usize].len() + 2;
        let place = |found: Option<usize>| found.map_or(0, |at| (before + at) as i64);
        (place(start), place(end))
    }

    /// Where the text begins in a window's row, and how many tokens of it there are.
    pub(crate) fn text_places(&self, window: Window) -> std::ops::Range<usize> {
        let before = self.questions[window.question as usize].len() + 2;
        before..before + (window.end - window.first) as usize
    }

    /// The words from one place of a window's row to another; both are of the text.
    pub(crate) fn words(&self, window: Window, start: usize, end: usize) -> &str {
        let text = self.text(window);
        let before = self.questions[window.question as usize].len() + 2;
        let token = |place: usize| text.get(place - before + window.first as usize);
        let (Some(first), Some(last)) = (token(start), token(end)) else { return "" };
        let paragraph = self.squad.questions[window.question as usize].paragraph;
        self.squad.paragraphs[paragraph].part(first.start, last.end).unwrap_or_default()
    }

    fn text(&self, window: Window) -> &[Token] {
        &self.texts[self.squad.questions[window.question as usize].paragraph]
    }
}

/// The parts of a text of `length` tokens: `room` in each, `stride` shared by neighbours, until one reaches the end.
fn cut(length: usize, room: usize, stride: usize) -> impl Iterator<Item = (usize, usize)> {
    let step = room - stride.min(room - 1);
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let first = next?;
        let end = (first + room).min(length);
        next = (end < length).then_some(first + step);
        Some((first, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_text_and_share_the_stride() {
        let parts = |length, room, stride| cut(length, room, stride).collect::<Vec<_>>();
        assert_eq!(parts(0, 4, 1), [(0, 0)]);
        assert_eq!(parts(4, 4, 1), [(0, 4)]);
        assert_eq!(parts(5, 4, 1), [(0, 4), (3, 5)]);
        assert_eq!(parts(8, 4, 2), [(0, 4), (2, 6), (4, 8)]);
        // No stride may keep a part from moving on.
        assert_eq!(parts(4, 2, 9), [(0, 2), (1, 3), (2, 4)]);
    }
}

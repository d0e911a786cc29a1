//! The JSON of SQuAD v1.1.

use std::path::Path;

use serde::Deserialize;
use warpforge_golden::read_text;

use crate::TrainError;
use crate::error::wrong;

/// The largest file that is read.
const FILE_LIMIT: u64 = 1 << 30;

/// A set of questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Squad {
    /// The texts.
    pub paragraphs: Vec<Paragraph>,
    /// The questions about them, in the order of the file.
    pub questions: Vec<Question>,
}

/// A text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paragraph {
    /// The text itself.
    pub context: String,
    /// Where each character begins, in bytes, and the end.
    places: Vec<u32>,
}

/// A question about a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its name in the set.
    pub id: String,
    /// The question.
    pub question: String,
    /// The number of its text.
    pub paragraph: usize,
    /// The answers that count as right; at least one.
    pub answers: Vec<Answer>,
}

/// An answer: a part of the text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Answer {
    /// Its words.
    pub text: String,
    /// Its first character in the text.
    #[serde(rename = "answer_start")]
    pub start: u32,
}

#[derive(Deserialize)]
struct File {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    paragraphs: Vec<Text>,
}

#[derive(Deserialize)]
struct Text {
    context: String,
    qas: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    id: String,
    question: String,
    answers: Vec<Answer>,
}

impl Squad {
    /// Reads a file.
    pub fn open(path: &Path) -> Result<Self, TrainError> {
        Self::parse(&read_text(path, FILE_LIMIT)?).map_err(|reason| wrong(path, reason))
    }

    /// Reads JSON; the reason where it is not what it should be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: File = serde_json::from_str(text)
            .map_err(|error| format!("not questions in the form of SQuAD v1.1: {error}"))?;
        let (mut paragraphs, mut questions) = (Vec::new(), Vec::new());
        let mut misplaced: Vec<String> = Vec::new();
        for text in file.data.into_iter().flat_map(|article| article.paragraphs) {
            let number = paragraphs.len();
            let paragraph = Paragraph::new(text.context)?;
            for asked in text.qas {
                if asked.answers.is_empty() {
                    return Err(format!("the question {:?} has no answer", short(&asked.id)));
                }
                let wrong = |answer: &Answer| {
                    let end = u64::from(answer.start) + answer.text.chars().count() as u64;
                    let end = u32::try_from(end).unwrap_or(u32::MAX);
                    paragraph.part(answer.start, end) != Some(answer.text.as_str())
                };
                if asked.answers.iter().any(wrong) {
                    misplaced.push(asked.id.clone());
                }
                questions.push(Question {
                    id: asked.id,
                    question: asked.question,
                    paragraph: number,
                    answers: asked.answers,
                });
            }
            paragraphs.push(paragraph);
        }
        if let Some(first) = misplaced.first() {
            let count = misplaced.len();
            return Err(format!(
                "{count} questions have an answer that is not in the text where it should be; the \
                 first is {:?}",
                short(first)
            ));
        }
        if questions.is_empty() {
            return Err("there are no questions".to_owned());
        }
        Ok(Self { paragraphs, questions })
    }
}

impl Paragraph {
    fn new(context: String) -> Result<Self, String> {
        if u32::try_from(context.len()).is_err() {
            return Err("a text of more than 4 GiB".to_owned());
        }
        let mut places: Vec<u32> = context.char_indices().map(|(place, _)| place as u32).collect();
        places.push(context.len() as u32);
        Ok(Self { context, places })
    }

    /// The characters from `start` to before `end`.
    pub fn part(&self, start: u32, end: u32) -> Option<&str> {
        let start = *self.places.get(start as usize)? as usize;
        let end = *self.places.get(end as usize)? as usize;
        self.context.get(start..end)
    }
}

/// As much of a stranger's text as a message needs.
fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(start: u32) -> String {
        serde_json::json!({"version": "1.1", "data": [{"title": "t", "paragraphs": [{
            "context": "Où? 𝄞 here",
            "qas": [{"id": "q", "question": "Where?", "answers": [
                {"answer_start": start, "text": "here"}]}]
        }]}]})
        .to_string()
    }

    #[test]
    fn places_are_characters() {
        let squad = Squad::parse(&set(6)).unwrap();
        assert_eq!(squad.questions.len(), 1);
        assert_eq!(squad.paragraphs[0].part(4, 5), Some("𝄞"));
        assert_eq!(squad.paragraphs[0].part(9, 11), None);
        assert_eq!(squad.paragraphs[0].part(5, 4), None);
        let error = Squad::parse(&set(5)).unwrap_err();
        assert!(error.starts_with("1 questions have an answer that is not in the text"), "{error}");
        assert!(Squad::parse(&set(u32::MAX)).unwrap_err().contains("the first is \"q\""));
    }

    #[test]
    fn what_is_no_set_says_so() {
        let error = Squad::parse("{\"data\": 3}").unwrap_err();
        assert!(error.starts_with("not questions in the form of SQuAD v1.1: "), "{error}");
        assert_eq!(Squad::parse("{\"data\": []}").unwrap_err(), "there are no questions");
    }
}

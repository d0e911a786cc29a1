//! Questions about texts in the form of SQuAD v1.1: the file, rows of tokens, answers, and how well they are answered.
//!
//! `docs/golden.md` defines each of these, so that a run in PyTorch and one here have the same rows and the same measure.

mod answers;
mod metrics;
mod reader;
mod windows;

pub use answers::{Answers, Limits};
pub use metrics::{Score, exact_match, f1, score};
pub use reader::{Answer, Paragraph, Question, Squad};
pub use windows::{Examples, Rows, Shape, Window};

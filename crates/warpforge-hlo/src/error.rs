//! What is wrong with a program, and where in its text.

use std::fmt;

/// The longest part of a line that is shown.
const SHOWN: usize = 100;

/// Why a text is not a program, or a program not a right one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HloError {
    /// The text cannot be read.
    #[error("{0}")]
    Syntax(Box<Diagnostic>),
    /// It can be read, but breaks a rule of the specification.
    #[error("{0}")]
    Invalid(Box<Diagnostic>),
    /// It is not StableHLO at all.
    #[error("{0}")]
    NotStablehlo(String),
    /// It goes beyond a limit.
    #[error("{0}")]
    Limit(Box<Diagnostic>),
}

/// A message with its place in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, and what was expected.
    pub message: String,
    /// The line, from 1; 0 where the program did not come from text.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The part of the line around the place.
    pub excerpt: String,
    /// Where in the excerpt the place is, in characters from 0.
    pub caret: usize,
}

impl Diagnostic {
    /// A message for the byte at `offset` of `text`.
    pub fn new(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let end = text[offset..].find('\n').map_or(text.len(), |at| offset + at);
        let before: Vec<char> = text[start..offset].chars().collect();
        // Long lines are common: what surrounds the place is shown, not their beginning.
        let skipped = before.len().saturating_sub(SHOWN * 2 / 3);
        let mut excerpt: String = before[skipped..].iter().collect();
        let caret = before.len() - skipped;
        excerpt.extend(text[offset..end].trim_end().chars().take(SHOWN - caret.min(SHOWN)));
        let excerpt = excerpt.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        Self {
            message: message.into(),
            line: text[..start].bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before.len() + 1,
            excerpt,
            caret,
        }
    }

    /// A message about something that has no place in a text.
    pub fn placeless(message: impl Into<String>) -> Self {
        Self { message: message.into(), line: 0, column: 0, excerpt: String::new(), caret: 0 }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return formatter.write_str(&self.message);
        }
        let number = self.line.to_string();
        let indent = " ".repeat(number.len());
        writeln!(formatter, "{}:{}: {}", self.line, self.column, self.message)?;
        writeln!(formatter, " {number} | {}", self.excerpt)?;
        write!(formatter, " {indent} | {}^", " ".repeat(self.caret))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_shown() {
        let text = "one\ntwo three\nfour";
        let shown = Diagnostic::new(text, 8, "expected `x`").to_string();
        assert_eq!(shown, "2:5: expected `x`\n 2 | two three\n   |     ^");
        let end = Diagnostic::new(text, 1000, "expected more");
        assert_eq!((end.line, end.column), (3, 5));
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}HERE{}", "a".repeat(500), "b".repeat(500));
        let diagnostic = Diagnostic::new(&text, 500, "expected less");
        assert_eq!(diagnostic.column, 501);
        assert!(diagnostic.excerpt.chars().count() <= SHOWN);
        let shown: String = diagnostic.excerpt.chars().skip(diagnostic.caret).take(4).collect();
        assert_eq!(shown, "HERE");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let diagnostic = Diagnostic::new("a\x1b[31mb", 3, "no");
        assert!(!diagnostic.to_string().contains('\x1b'));
    }
}

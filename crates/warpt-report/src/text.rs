//! Text from outside made safe to show, wrapped and styled.

use anstyle::{AnsiColor, Effects, Style};

/// Headings.
pub const HEADING: Style = Style::new().effects(Effects::BOLD);
/// Things of less weight.
pub const FAINT: Style = Style::new().effects(Effects::DIMMED);
/// What went well.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What deserves a look.
pub const CAUTION: Style = AnsiColor::Yellow.on_default();
/// What went wrong.
pub const BAD: Style = AnsiColor::Red.on_default();

/// Longest text shown from a single field.
const MAX_CHARS: usize = 2000;

/// `text` in a style.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// One line without control characters, so that a name in a record cannot move the cursor or fake a line.
pub fn clean(text: &str) -> String {
    let visible = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(MAX_CHARS).map(visible).collect()
}

/// Breaks text at spaces into lines of at most `width` characters, each after the first indented.
pub fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    let longest = width.saturating_sub(indent.chars().count()).max(8);
    for word in text.split_whitespace().flat_map(|word| pieces(word, longest)) {
        let first = lines.len() == 1;
        let room = width.saturating_sub(if first { 0 } else { indent.chars().count() });
        let line = lines.last_mut().expect("starts with one line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            lines.push(word);
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
    }
    lines.join(&format!("\n{indent}"))
}

/// A word too long for a line, cut; any other as it is.
fn pieces(word: &str, longest: usize) -> Vec<String> {
    let characters: Vec<char> = word.chars().collect();
    characters.chunks(longest).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_visible_and_lines_stay_narrow() {
        assert_eq!(clean("a\x1b[31mb\nc"), "a\u{fffd}[31mb\u{fffd}c");
        let wrapped = wrap("one two three four", 9, "  ");
        assert_eq!(wrapped, "one two\n  three\n  four");
        assert!(wrapped.lines().all(|line| line.chars().count() <= 9));
        assert_eq!(wrap("averyveryverylongword", 10, ""), "averyveryv\nerylongwor\nd");
    }
}

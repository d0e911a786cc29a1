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

/// One line without control characters, so that a name in a record cannot move the cursor, fake a line or turn the
/// reading direction around.
pub fn clean(text: &str) -> String {
    inert(text, MAX_CHARS)
}

/// The same with a length of one's own. What is cut ends in `…` and a digest of the whole, so that two long names that
/// begin alike stay two names.
pub fn inert(text: &str, max_chars: usize) -> String {
    let visible = |c: char| if is_invisible(c) { '\u{fffd}' } else { c };
    if text.chars().nth(max_chars).is_none() {
        return text.chars().map(visible).collect();
    }
    let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let tail = format!("…#{:08x}", (digest ^ (digest >> 32)) as u32);
    let kept = max_chars.saturating_sub(tail.chars().count());
    text.chars().take(kept).map(visible).chain(tail.chars()).collect()
}

/// Characters that act instead of showing: controls, line separators, direction marks and overrides, zero widths, tags,
/// and the codes outside of any text.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
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
        assert_eq!(clean("a\u{202e}b\u{2066}"), "a\u{fffd}b\u{fffd}");
        let (one, other) = ("x".repeat(10_000), format!("{}y", "x".repeat(10_000)));
        assert_eq!(inert(&one, 100).chars().count(), 100);
        assert_ne!(inert(&one, 100), inert(&other, 100));
        let wrapped = wrap("one two three four", 9, "  ");
        assert_eq!(wrapped, "one two\n  three\n  four");
        assert!(wrapped.lines().all(|line| line.chars().count() <= 9));
        assert_eq!(wrap("averyveryverylongword", 10, ""), "averyveryv\nerylongwor\nd");
    }
}

//! The one place where text becomes HTML: everything from a record passes through [`escape`], which leaves no character
//! that a browser could take for markup, in text and in quoted attributes alike.

use crate::text::inert;

/// Longest text shown from one field.
const MAX_CHARS: usize = 600;

/// Text from outside, safe between tags and inside quotes.
pub fn escape(text: &str) -> String {
    escape_within(text, MAX_CHARS)
}

/// The same with a length of one's own.
pub fn escape_within(text: &str, max_chars: usize) -> String {
    let mut escaped = String::with_capacity(text.len().min(max_chars) + 8);
    for c in inert(text, max_chars).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A folded section; `body` is markup, `title` is text.
pub fn fold(title: &str, body: &str, open: bool) -> String {
    let open = if open { " open" } else { "" };
    format!(
        "<details class=\"fold\"{open}><summary>{}</summary><div class=\"inside\">{body}</div></details>\n",
        escape(title)
    )
}

/// A number or word that stands out, with its name; both are words of this program.
pub fn tile(value: &str, name: &str, class: &str) -> String {
    format!(
        "<div class=\"tile\"><b class=\"{class}\">{value}</b><span class=\"soft small\">{name}</span></div>"
    )
}

/// Names and values below each other; values are markup.
pub fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let rows: String = facts
        .into_iter()
        .map(|(name, value)| format!("<tr><th>{}</th><td>{value}</td></tr>", escape(name)))
        .collect();
    format!("<table class=\"fact\"><tbody>{rows}</tbody></table>")
}

/// A section with a heading and an anchor; both are words of this program.
pub(super) fn section(anchor: &str, title: &str, body: &str) -> String {
    format!("<section id=\"{anchor}\">\n<h2>{title}</h2>\n{body}</section>\n")
}

/// A cell of a table that becomes a labelled line on a phone.
pub fn cell(label: &str, class: &str, content: &str) -> String {
    format!("<td class=\"{class}\" data-label=\"{label}\">{content}</td>")
}

/// A table with these column names; `rows` is markup.
pub fn table(columns: &[(&str, &str)], rows: &str) -> String {
    let head: String =
        columns.iter().map(|(name, class)| format!("<th class=\"{class}\">{name}</th>")).collect();
    format!(
        "<div class=\"scroll\"><table class=\"stack\"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>\n"
    )
}

/// The hash a content security policy names an inline script or style by.
pub(super) fn policy_hash(content: &str) -> String {
    use sha2::Digest;
    format!("'sha256-{}'", base64(&sha2::Sha256::digest(content.as_bytes())))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0u8; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            let used = digit <= chunk.len() as u32;
            text.push(if used { char::from(DIGITS[index as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_name_is_markup() {
        assert_eq!(
            escape("<img src=x onerror='alert(\"1\")'>&"),
            "&lt;img src=x onerror=&#39;alert(&quot;1&quot;)&#39;&gt;&amp;"
        );
        assert!(!escape("a\u{202e}\x1b[2Jb").contains(['\u{202e}', '\x1b']));
    }

    #[test]
    fn base64_agrees_with_the_known_examples() {
        let pairs =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, encoded) in pairs {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }
}

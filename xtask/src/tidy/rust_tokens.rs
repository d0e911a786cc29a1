//! Rust source with comments and literals blanked, so that a rule about code does not trip over prose.
//!
//! Every character that is kept stands on the line it stood on; the input need not compile.

/// The code of a source file: comments, strings and characters become spaces.
pub(super) fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    let mut previous = ' ';
    while let Some(next) = rest.chars().next() {
        let skipped = if previous.is_alphanumeric() || previous == '_' {
            // `r` or `'` inside a word starts nothing.
            if next == '"' { string(rest) } else { 0 }
        } else {
            comment(rest).max(raw_string(rest)).max(string(rest)).max(character(rest))
        };
        if skipped == 0 {
            code.push(next);
            previous = next;
            rest = &rest[next.len_utf8()..];
        } else {
            let (literal, after) = rest.split_at(skipped);
            code.push(' ');
            code.extend(literal.chars().filter(|c| *c == '\n'));
            previous = ' ';
            rest = after;
        }
    }
    code
}

/// The code outside the unit tests that end a file.
pub(super) fn without_unit_tests(code: &str) -> &str {
    let end = code
        .match_indices("#[cfg(test)]")
        .find(|(at, attribute)| code[at + attribute.len()..].trim_start().starts_with("mod "));
    end.map_or(code, |(at, _)| &code[..at])
}

/// The lines, from 1, on which `word` stands as a whole identifier and is followed by `after`.
pub(super) fn lines_with<'a>(
    code: &'a str,
    word: &'a str,
    after: &'a str,
) -> impl Iterator<Item = usize> + 'a {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let stands = move |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            let tail = &line[at + word.len()..];
            !line[..at].ends_with(in_word) && !tail.starts_with(in_word) && tail.starts_with(after)
        })
    };
    code.lines().enumerate().filter(move |(_, line)| stands(line)).map(|(index, _)| index + 1)
}

/// The length of the comment that `text` starts with, 0 when it starts with none.
fn comment(text: &str) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if !text.starts_with("/*") {
        return 0;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

fn string(text: &str) -> usize {
    let prefix = usize::from(text.starts_with("b\"") || text.starts_with("c\""));
    if !text[prefix..].starts_with('"') {
        return 0;
    }
    let bytes = text.as_bytes();
    let mut at = prefix + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn raw_string(text: &str) -> usize {
    let body = text.strip_prefix(['b', 'c']).unwrap_or(text);
    let Some(body) = body.strip_prefix('r') else { return 0 };
    let inner = body.trim_start_matches('#');
    let hashes = body.len() - inner.len();
    if !inner.starts_with('"') {
        return 0;
    }
    let closing = format!("\"{}", "#".repeat(hashes));
    let opened = text.len() - inner.len() + 1;
    text[opened..].find(&closing).map_or(text.len(), |at| opened + at + closing.len())
}

/// A character literal; a lifetime is none.
fn character(text: &str) -> usize {
    let prefix = usize::from(text.starts_with("b'"));
    let Some(body) = text[prefix..].strip_prefix('\'') else { return 0 };
    let mut characters = body.char_indices();
    match characters.next() {
        Some((_, '\\')) => {
            // The escaped character may itself be a quote.
            let Some((escaped, c)) = characters.next() else { return 0 };
            let from = escaped + c.len_utf8();
            body[from..].find('\'').map_or(0, |at| prefix + 1 + from + at + 1)
        }
        Some((_, c)) if c != '\'' && body[c.len_utf8()..].starts_with('\'') => {
            prefix + 1 + c.len_utf8() + 1
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_are_blanked() {
        let source = "let a = \"println!(\\\"\"; // unsafe\nlet b = r#\"un\"safe\"#; /* x /* y */\nz */ let c = '\"'; let d: &'static str = b\"q\";";
        assert_eq!(
            code_only(source),
            "let a =  ;  \nlet b =  ;  \n let c =  ; let d: &'static str =  ;"
        );
        assert_eq!(code_only("'\\'' 'a' 'b: loop {} '\\u{1F600}'"), "    'b: loop {}  ");
        assert_eq!(code_only("unfinished \"string"), "unfinished  ");
        assert_eq!(code_only("/* open"), " ");
        assert_eq!(code_only("\"ends in a backslash\\"), " ");
    }

    #[test]
    fn words_are_whole() {
        let code = "unsafe {\n#![allow(unsafe_code)]\nnot_unsafe\n  pub unsafe fn x()\nprintln!(";
        assert_eq!(lines_with(code, "unsafe", "").collect::<Vec<_>>(), [1, 4]);
        assert_eq!(lines_with(code, "println", "!").collect::<Vec<_>>(), [5]);
        assert_eq!(lines_with("eprintln!(1)", "println", "!").count(), 0);
    }

    #[test]
    fn unit_tests_are_cut_off() {
        assert_eq!(without_unit_tests("a\n#[cfg(test)]\nuse b;\nc"), "a\n#[cfg(test)]\nuse b;\nc");
        assert_eq!(without_unit_tests("a\n#[cfg(test)]\nmod tests {}"), "a\n");
    }
}

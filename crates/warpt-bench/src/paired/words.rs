//! A command line as its words, by a shell's rules of quoting and nothing else of a shell: no variables, no globs, no
//! pipes. Any text gives words or a stated reason.

/// Splits `line` into words. Blanks separate; `'...'` is literal; in `"..."` a backslash protects `"`, `\`, `$`, `` ` ``
/// and line ends; elsewhere it protects any character.
pub fn split_words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('\'') => break,
                        Some(character) => word.push(character),
                        None => return Err("a ' is never closed".to_owned()),
                    }
                }
            }
            '"' => quoted(&mut characters, word.get_or_insert_default())?,
            '\\' => match characters.next() {
                Some('\n') => {}
                Some(character) => word.get_or_insert_default().push(character),
                None => return Err("a \\ at the end protects nothing".to_owned()),
            },
            character => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    Ok(words)
}

/// The rest of a `"..."`.
fn quoted(characters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    let open = || "a \" is never closed".to_owned();
    loop {
        match characters.next().ok_or_else(open)? {
            '"' => return Ok(()),
            '\\' => match characters.next().ok_or_else(open)? {
                '\n' => {}
                character @ ('"' | '\\' | '$' | '`') => word.push(character),
                character => word.extend(['\\', character]),
            },
            character => word.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(line: &str) -> Vec<String> {
        split_words(line).unwrap()
    }

    #[test]
    fn words_follow_the_rules_of_a_shell() {
        assert_eq!(split("sort  -k 2\tfile\n"), ["sort", "-k", "2", "file"]);
        assert_eq!(split(r#"a 'b "c' d"e f"g"#), ["a", "b \"c", "de fg"]);
        assert_eq!(split(r#""a\"b\\c\d" e\ f '' """#), ["a\"b\\c\\d", "e f", "", ""]);
        assert_eq!(split("a\\\nb"), ["ab"]);
        assert_eq!(split("  "), Vec::<String>::new());
    }

    #[test]
    fn nothing_is_expanded() {
        assert_eq!(
            split("echo $HOME *.rs | wc > x; `id`"),
            ["echo", "$HOME", "*.rs", "|", "wc", ">", "x;", "`id`"]
        );
    }

    #[test]
    fn an_open_quote_is_an_error() {
        for line in ["'a", "\"a", "a\\", "\"a\\"] {
            assert!(split_words(line).is_err(), "{line}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_words_survive_quoting(words in proptest::collection::vec(".{0,12}", 0..5)) {
            let line: Vec<String> =
                words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
            proptest::prop_assert_eq!(split(&line.join(" ")), words);
        }

        #[test]
        fn any_text_is_split_or_refused(line in ".{0,60}") {
            let _ = split_words(&line);
        }
    }
}

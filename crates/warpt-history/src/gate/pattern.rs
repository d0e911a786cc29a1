//! Patterns over names: `*` stands for any characters, `?` for one. Matching takes at most the product of the two lengths,
//! whatever the pattern.

use std::fmt;

/// A longer pattern is a mistake.
pub(super) const MAX_CHARS: usize = 256;

/// A checked pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern, or what is wrong with it.
    pub fn new(text: &str) -> Result<Self, String> {
        match text.chars().count() {
            0 => Err("an empty pattern matches nothing; `*` matches everything".to_owned()),
            count if count > MAX_CHARS => {
                Err(format!("a pattern of {count} characters; at most {MAX_CHARS}"))
            }
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// Whether the whole of a name matches.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name): (Vec<char>, Vec<char>) =
            (self.0.chars().collect(), name.chars().collect());
        let (mut p, mut n) = (0, 0);
        // Where to go on when the last star has to take one more character.
        let mut star: Option<(usize, usize)> = None;
        while n < name.len() {
            match pattern.get(p) {
                Some('*') => {
                    star = Some((p, n));
                    p += 1;
                }
                Some(c) if *c == '?' || *c == name[n] => {
                    p += 1;
                    n += 1;
                }
                _ => match star {
                    Some((at, taken)) => {
                        star = Some((at, taken + 1));
                        p = at + 1;
                        n = taken + 1;
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|c| *c == '*')
    }

    /// The text it was made from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern).unwrap().matches(name)
    }

    #[test]
    fn stars_and_question_marks() {
        assert!(matches("*", ""));
        assert!(matches("micro/*", "micro/mem_bandwidth"));
        assert!(matches("*band*th", "micro/mem_bandwidth"));
        assert!(matches("gbps{*threads=?}", "gbps{kernel=triad,threads=2}"));
        assert!(!matches("gbps{*threads=?}", "gbps{kernel=triad,threads=12}"));
        assert!(!matches("micro", "micro/x"));
        assert!(!matches("a*b", "acbc"));
        assert!(Pattern::new("").is_err() && Pattern::new(&"x".repeat(300)).is_err());
    }

    #[test]
    fn many_stars_end_soon() {
        assert!(!matches(&"*a".repeat(120), &"a".repeat(119)));
        assert!(!matches(&format!("{}b", "*a".repeat(100)), &"a".repeat(5000)));
    }

    proptest! {
        #[test]
        fn a_name_matches_itself_and_its_ends(name in "[a-z{}=,/_]{1,40}", cut in 0usize..40) {
            let cut = cut.min(name.len());
            prop_assert!(matches(&name, &name));
            let starred = format!("{}*", &name[..cut]);
            let matched = matches(&starred, &name);
            prop_assert!(matched);
        }

        #[test]
        fn no_pattern_panics(pattern in "\\PC{1,60}", name in "\\PC{0,60}") {
            if let Ok(pattern) = Pattern::new(&pattern) {
                let _ = pattern.matches(&name);
            }
        }
    }
}

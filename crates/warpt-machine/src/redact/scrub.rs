//! Finding hidden values in text: the ones that were learned, and anything that has the form of an address or a unique
//! identifier. Scrubbed text holds no learned value of six characters or more anywhere, and no shorter one as a word.

use super::PLACEHOLDER;
use std::net::{IpAddr, SocketAddr};

/// Host names that half the machines of the world have; hidden in their own field, but not hunted elsewhere.
const GENERIC: [&str; 10] = [
    "localhost",
    "debian",
    "ubuntu",
    "fedora",
    "linux",
    "vm",
    "host",
    "server",
    "unknown",
    "(none)",
];
/// Values at least this long are found inside words too.
const FOUND_IN_WORDS: usize = 6;
const MAX_SECRETS: usize = 10_000;

/// Values to hide.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    values: Vec<String>,
}

impl Secrets {
    /// Hide this value from now on, and its parts when it is a qualified host name or an address with a prefix length.
    pub(super) fn learn(&mut self, value: &str) {
        let value = value.trim();
        let mut parts = vec![value];
        match value.split_once('/') {
            Some((address, _)) if address.parse::<IpAddr>().is_ok() => parts.push(address),
            Some(_) => {}
            None if value.parse::<IpAddr>().is_err() => {
                parts.extend(value.split_once('.').into_iter().flat_map(<[_; 2]>::from));
            }
            None => {}
        }
        for part in parts {
            let known = self.values.iter().any(|known| known.eq_ignore_ascii_case(part));
            let generic = GENERIC.iter().any(|word| word.eq_ignore_ascii_case(part));
            if part.len() >= 2
                && !known
                && !generic
                && part != PLACEHOLDER
                && self.values.len() < MAX_SECRETS
            {
                self.values.push(part.to_owned());
            }
        }
        self.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    /// The text without hidden values. Versions of four numbers look like addresses, so numbers with dots are kept
    /// unless `dotted` asks for them.
    pub(super) fn scrub(&self, text: &str, dotted: bool) -> String {
        if text == PLACEHOLDER {
            return text.to_owned();
        }
        let mut scrubbed = text.to_owned();
        for secret in &self.values {
            scrubbed = without(&scrubbed, secret);
        }
        let scrubbed = without_forms(&scrubbed, dotted);
        without_home(&scrubbed)
    }
}

/// The text with every occurrence of the secret replaced, in any case of letters.
fn without(text: &str, secret: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(first) = rest.chars().next() {
        let end = secret.len();
        let matches = rest.get(..end).is_some_and(|head| head.eq_ignore_ascii_case(secret));
        let word_ends = |side: Option<char>| !side.is_some_and(char::is_alphanumeric);
        if matches
            && (end >= FOUND_IN_WORDS
                || (word_ends(before) && word_ends(rest[end..].chars().next())))
        {
            kept.push_str(PLACEHOLDER);
            before = rest[..end].chars().next_back();
            rest = &rest[end..];
        } else {
            kept.push(first);
            before = Some(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    kept
}

/// The text with every word that is an address or a unique identifier replaced.
fn without_forms(text: &str, dotted: bool) -> String {
    let in_word = |character: char| character.is_ascii_alphanumeric() || ".:-_".contains(character);
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let gap = rest.find(in_word).unwrap_or(rest.len());
        kept.push_str(&rest[..gap]);
        rest = &rest[gap..];
        let end = rest.find(|character| !in_word(character)).unwrap_or(rest.len());
        let word = &rest[..end];
        kept.push_str(if is_identifier(word, dotted) { PLACEHOLDER } else { word });
        rest = &rest[end..];
    }
    kept
}

fn is_identifier(word: &str, dotted: bool) -> bool {
    let bare = word.trim_matches(['.', ':', '-', '_']);
    let address = |word: &str| match word.parse::<IpAddr>() {
        Ok(address) => address.is_ipv6() || dotted,
        Err(_) => word.parse::<SocketAddr>().is_ok(),
    };
    address(word)
        || address(bare)
        || is_hardware_address(bare)
        || holds_uuid(bare)
        || holds_long_hexadecimal(bare)
}

/// Six, eight or twenty pairs of hexadecimal digits.
fn is_hardware_address(word: &str) -> bool {
    let pairs = word.split([':', '-']);
    let count = pairs.clone().count();
    matches!(count, 6 | 8 | 20)
        && pairs.clone().all(|pair| pair.len() == 2 && is_hexadecimal(pair.as_bytes()))
}

fn holds_uuid(word: &str) -> bool {
    word.as_bytes().windows(36).any(|window| {
        window.iter().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
    })
}

fn holds_long_hexadecimal(word: &str) -> bool {
    word.as_bytes().windows(32).any(is_hexadecimal)
}

fn is_hexadecimal(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_hexdigit)
}

/// Paths below a home directory name a person.
fn without_home(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find("/home/") {
        let (head, tail) = rest.split_at(place + "/home/".len());
        kept.push_str(head);
        let end = tail
            .find(|character: char| character == '/' || character.is_whitespace())
            .unwrap_or(tail.len());
        if end > 0 {
            kept.push_str(PLACEHOLDER);
        }
        rest = &tail[end..];
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scrub(secrets: &[&str], text: &str) -> String {
        let mut known = Secrets::default();
        secrets.iter().for_each(|secret| known.learn(secret));
        known.scrub(text, true)
    }

    #[test]
    fn learned_values_and_their_parts_go() {
        assert_eq!(
            scrub(&["node17.lab.example"], "on NODE17, at xlab.exampley"),
            "on redacted, at xredactedy"
        );
        assert_eq!(scrub(&["n1"], "n1 n10 an1"), "redacted n10 an1");
        assert_eq!(scrub(&["vm"], "KVM on vm"), "KVM on vm");
        assert_eq!(scrub(&["10.1.2.3/16"], "host=10.1.2.3"), "host=redacted");
    }

    #[test]
    fn forms_go_and_look_alikes_stay() {
        assert_eq!(
            scrub(&[], "tcp://10.0.0.5:2376, fe80::1%eth0"),
            "tcp://redacted, redacted%eth0"
        );
        assert_eq!(scrub(&[], "aa:bb:cc:dd:ee:ff."), "redacted");
        assert_eq!(
            scrub(&[], "/docker/0123456789abcdef0123456789abcdef01234567"),
            "/docker/redacted"
        );
        assert_eq!(scrub(&[], "UUID=8f7a1c2d-0000-1111-2222-333344445555"), "UUID=redacted");
        assert_eq!(
            scrub(&[], "0000:3b:00.0 at 12:34:56, 8:16, 0-3,8"),
            "0000:3b:00.0 at 12:34:56, 8:16, 0-3,8"
        );
        assert_eq!(scrub(&[], "/home/alice/.venv/bin/python3"), "/home/redacted/.venv/bin/python3");
        let none = Secrets::default();
        assert_eq!(none.scrub("535.104.5.12", false), "535.104.5.12");
    }

    proptest! {
        #[test]
        fn no_long_secret_survives(secret in "[A-Za-z0-9-]{6,20}", left in ".{0,20}", right in ".{0,20}") {
            prop_assume!(!PLACEHOLDER.contains(&secret.to_ascii_lowercase()));
            let text = scrub(&[&secret], &format!("{left}{secret}{right}"));
            prop_assert!(!text.contains(&secret) || GENERIC.contains(&secret.as_str()), "{}", text);
        }
    }
}

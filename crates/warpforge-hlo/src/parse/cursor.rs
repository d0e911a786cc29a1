//! A place in the text and the smallest steps from it. Positions are bytes; all steps skip spaces and comments first.

use crate::limits::Limits;

/// What is wrong, and where.
#[derive(Debug, Clone)]
pub(super) struct Fail {
    pub(super) offset: usize,
    pub(super) message: String,
    pub(super) kind: FailKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailKind {
    Syntax,
    Limit,
}

pub(super) type Parse<T> = Result<T, Fail>;

pub(super) struct Cursor<'text> {
    pub(super) text: &'text str,
    pub(super) at: usize,
    /// How many regions, attributes, types and locations are open.
    depth: usize,
    nesting: usize,
    /// How many parts may still come from aliases.
    alias_parts: usize,
}

impl<'text> Cursor<'text> {
    pub(super) fn new(text: &'text str, limits: &Limits) -> Self {
        Self { text, at: 0, depth: 0, nesting: limits.nesting, alias_parts: limits.alias_parts }
    }

    fn bytes(&self) -> &'text [u8] {
        self.text.as_bytes()
    }

    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Parse<T> {
        self.fail_at(self.at, message)
    }

    pub(super) fn fail_at<T>(&self, offset: usize, message: impl Into<String>) -> Parse<T> {
        Err(Fail { offset, message: message.into(), kind: FailKind::Syntax })
    }

    pub(super) fn limit<T>(&self, message: impl Into<String>) -> Parse<T> {
        Err(Fail { offset: self.at, message: message.into(), kind: FailKind::Limit })
    }

    /// Goes one level deeper for as long as `inside` runs.
    pub(super) fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        self.enter()?;
        let result = inside(self);
        self.leave();
        result
    }

    pub(super) fn enter(&mut self) -> Parse<()> {
        if self.depth >= self.nesting {
            return self.limit(format!("nested deeper than {} levels", self.nesting));
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Takes what an alias stands for off what is allowed.
    pub(super) fn expand(&mut self, depth: usize, parts: usize) -> Parse<()> {
        if self.depth + depth > self.nesting {
            return self.limit(format!("nested deeper than {} levels", self.nesting));
        }
        match self.alias_parts.checked_sub(parts) {
            Some(left) => {
                self.alias_parts = left;
                Ok(())
            }
            None => self.limit("the aliases stand for more than can be held"),
        }
    }

    pub(super) fn skip_space(&mut self) {
        let bytes = self.bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                Some(b'/') if bytes.get(self.at + 1) == Some(&b'/') => {
                    while self.at < bytes.len() && bytes[self.at] != b'\n' {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// The next byte that is no space.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.bytes().get(self.at).copied()
    }

    pub(super) fn is_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Takes `token` if it is next.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.bytes()[self.at..].starts_with(token.as_bytes());
        if found {
            self.at += token.len();
        }
        found
    }

    pub(super) fn expect(&mut self, token: &str) -> Parse<()> {
        if self.eat(token) {
            return Ok(());
        }
        let found = self.describe_next();
        self.fail(format!("expected `{token}`, found {found}"))
    }

    /// What is next, for messages.
    pub(super) fn describe_next(&mut self) -> String {
        self.skip_space();
        let word: String =
            self.text[self.floor()..].chars().take_while(|c| !c.is_whitespace()).take(24).collect();
        if word.is_empty() {
            "the end of the text".to_owned()
        } else {
            format!("`{}`", word.escape_debug())
        }
    }

    /// The position, moved back to a character's first byte.
    fn floor(&self) -> usize {
        let mut at = self.at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'text str {
        let (bytes, start) = (self.bytes(), self.at);
        while self.at < bytes.len() && bytes[self.at].is_ascii() && wanted(bytes[self.at]) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// A word such as `stablehlo.add`; empty if none is next.
    pub(super) fn word(&mut self) -> &'text str {
        match self.peek() {
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => self.take_while(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.')
            }),
            _ => "",
        }
    }

    /// Takes `word` if it is the whole next word.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let start = self.at;
        if self.word() == word {
            return true;
        }
        self.at = start;
        false
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parse<()> {
        if self.eat_word(word) {
            return Ok(());
        }
        let found = self.describe_next();
        self.fail(format!("expected `{word}`, found {found}"))
    }

    /// The word that is next, without taking it.
    pub(super) fn peek_word(&mut self) -> &'text str {
        let start = self.at;
        let word = self.word();
        self.at = start;
        word
    }

    /// The name after `%`, `@`, `^`, `#` or `!`; the sign has been taken.
    pub(super) fn suffix(&mut self) -> Parse<&'text str> {
        let name = self.take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'-')
        });
        // `->` may follow without a space.
        let name = match name.strip_suffix('-') {
            Some(shorter) if self.bytes().get(self.at) == Some(&b'>') => {
                self.at -= 1;
                shorter
            }
            _ => name,
        };
        if name.is_empty() { self.fail("expected a name") } else { Ok(name) }
    }

    /// A name after `@`, in quotes or not.
    pub(super) fn symbol(&mut self) -> Parse<String> {
        self.expect("@")?;
        if self.bytes().get(self.at) == Some(&b'"') {
            let bytes = self.string()?;
            String::from_utf8(bytes).or_else(|_| self.fail("a symbol's name must be UTF-8"))
        } else {
            Ok(self.suffix()?.to_owned())
        }
    }

    /// The name of something inside of what the symbol before names, where one follows.
    pub(super) fn inner_symbol(&mut self) -> Parse<Option<String>> {
        if !self.bytes()[self.at..].starts_with(b"::@") {
            return Ok(None);
        }
        self.at += 2;
        self.symbol().map(Some)
    }

    /// Decimal digits.
    pub(super) fn digits(&mut self) -> Parse<u64> {
        self.skip_space();
        let start = self.at;
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(value) => Ok(value),
            Err(_) if digits.is_empty() => {
                let found = self.describe_next();
                self.fail(format!("expected a number, found {found}"))
            }
            Err(_) => self.fail_at(start, format!("{digits} does not fit 64 bits")),
        }
    }

    /// A decimal integer with an optional sign.
    pub(super) fn integer(&mut self) -> Parse<i64> {
        self.skip_space();
        let start = self.at;
        let negative = self.eat("-");
        let size = i128::from(self.digits()?);
        match i64::try_from(if negative { -size } else { size }) {
            Ok(value) => Ok(value),
            Err(_) => self.fail_at(start, "the number does not fit 64 bits"),
        }
    }

    /// The text of a number: sign, digits, fraction, exponent, or hexadecimal.
    pub(super) fn number(&mut self) -> &'text str {
        self.skip_space();
        let (bytes, start) = (self.bytes(), self.at);
        if bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        if bytes[self.at..].starts_with(b"0x")
            && bytes.get(self.at + 2).is_some_and(u8::is_ascii_hexdigit)
        {
            self.at += 2;
            self.take_while(|byte| byte.is_ascii_hexdigit());
            return &self.text[start..self.at];
        }
        self.take_while(|byte| byte.is_ascii_digit());
        if bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.take_while(|byte| byte.is_ascii_digit());
        }
        if matches!(bytes.get(self.at), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(self.at + 1), Some(b'+' | b'-')));
            if bytes.get(self.at + 1 + sign).is_some_and(u8::is_ascii_digit) {
                self.at += 1 + sign;
                self.take_while(|byte| byte.is_ascii_digit());
            }
        }
        &self.text[start..self.at]
    }

    /// A string in quotes.
    pub(super) fn string(&mut self) -> Parse<Vec<u8>> {
        self.expect("\"")?;
        let (bytes, start) = (self.bytes(), self.at);
        let mut content = Vec::new();
        loop {
            match bytes.get(self.at) {
                None | Some(b'\n') => return self.fail_at(start - 1, "the string does not end"),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(content);
                }
                Some(b'\\') => {
                    let escape = bytes.get(self.at + 1).copied().unwrap_or(0);
                    let simple = match escape {
                        b'"' | b'\\' => Some(escape),
                        b'n' => Some(b'\n'),
                        b't' => Some(b'\t'),
                        _ => None,
                    };
                    if let Some(byte) = simple {
                        content.push(byte);
                        self.at += 2;
                        continue;
                    }
                    let hex = bytes.get(self.at + 1..self.at + 3).and_then(|digits| {
                        u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
                    });
                    let Some(byte) = hex else { return self.fail("unknown escape in a string") };
                    content.push(byte);
                    self.at += 3;
                }
                Some(byte) => {
                    content.push(*byte);
                    self.at += 1;
                }
            }
        }
    }

    pub(super) fn utf8_string(&mut self) -> Parse<String> {
        let start = self.at;
        let bytes = self.string()?;
        String::from_utf8(bytes).or_else(|_| self.fail_at(start, "expected a string of UTF-8"))
    }

    /// The text up to the bracket that closes the one just taken; that bracket is taken too.
    pub(super) fn balanced(&mut self, close: u8) -> Parse<&'text str> {
        let (bytes, start) = (self.bytes(), self.at);
        let mut open = vec![close];
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'-' if bytes.get(self.at + 1) == Some(&b'>') => self.at += 1,
                b'<' => open.push(b'>'),
                b'(' => open.push(b')'),
                b'[' => open.push(b']'),
                b'{' => open.push(b'}'),
                b'>' | b')' | b']' | b'}' => {
                    if open.pop() != Some(*byte) {
                        return self.fail("the brackets do not match");
                    }
                    if open.is_empty() {
                        self.at += 1;
                        return Ok(self.text[start..self.at - 1].trim());
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        self.fail_at(start, format!("the closing `{}` is missing", char::from(close)))
    }

    /// `open item, item close`.
    pub(super) fn list<T>(
        &mut self,
        open: &str,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        self.expect(open)?;
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            if !self.eat(",") {
                let found = self.describe_next();
                return self.fail(format!("expected `,` or `{close}`, found {found}"));
            }
        }
    }

    /// `[1, 2]`.
    pub(super) fn integers(&mut self) -> Parse<Vec<i64>> {
        self.list("[", "]", Self::integer)
    }
}

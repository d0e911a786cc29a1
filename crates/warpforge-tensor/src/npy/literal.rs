//! The part of Python's literals that numpy writes into headers: a dict of strings, truths and tuples of sizes.
//!
//! Invariant: nothing nests, so nothing recurses; a list (numpy's records) is recognised and skipped, not read.

/// A value of the dict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    Truth(bool),
    Tuple(Vec<usize>),
    /// A list, whatever is in it.
    List,
}

/// Reads a dict; the message says where it is wrong.
pub(super) fn parse(text: &str) -> Result<Vec<(String, Literal)>, String> {
    let mut scanner = Scanner { rest: text };
    let mut fields: Vec<(String, Literal)> = Vec::new();
    scanner.expect('{')?;
    while !scanner.take('}') {
        let key = scanner.text()?;
        scanner.expect(':')?;
        let value = scanner.value()?;
        if fields.iter().any(|(other, _)| *other == key) {
            return Err(format!("it has {key:?} twice"));
        }
        fields.push((key, value));
        if !scanner.take(',') {
            scanner.expect('}')?;
            break;
        }
    }
    if scanner.rest.trim_matches([' ', '\n', '\0']).is_empty() {
        Ok(fields)
    } else {
        Err("something follows the dict".to_owned())
    }
}

struct Scanner<'a> {
    rest: &'a str,
}

impl Scanner<'_> {
    fn take(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.take(wanted) {
            return Ok(());
        }
        let found: String = self.rest.chars().take(20).collect();
        Err(format!("expected {wanted:?}, found {found:?}"))
    }

    fn text(&mut self) -> Result<String, String> {
        let quote = if self.take('"') { '"' } else { '\'' };
        if quote == '\'' {
            self.expect(quote)?;
        }
        let end = self.rest.find(quote).ok_or("a string does not end")?;
        let inner = &self.rest[..end];
        if inner.contains('\\') {
            return Err("a string has an escape".to_owned());
        }
        self.rest = &self.rest[end + 1..];
        Ok(inner.to_owned())
    }

    fn value(&mut self) -> Result<Literal, String> {
        self.rest = self.rest.trim_start();
        for (word, truth) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(Literal::Truth(truth));
            }
        }
        if self.take('(') {
            return self.sizes().map(Literal::Tuple);
        }
        if self.rest.starts_with('[') {
            return self.skip_list();
        }
        self.text().map(Literal::Text)
    }

    fn sizes(&mut self) -> Result<Vec<usize>, String> {
        let mut sizes = Vec::new();
        while !self.take(')') {
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let size = self.rest[..end].parse().map_err(|_| "a size is not a number".to_owned())?;
            // Python 2 wrote long integers with an L.
            self.rest = &self.rest[end..];
            self.take('L');
            sizes.push(size);
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(sizes)
    }

    /// Goes to the bracket that closes a list; strings in it may hold brackets.
    fn skip_list(&mut self) -> Result<Literal, String> {
        let (mut open, mut quote) = (0_usize, None);
        for (at, character) in self.rest.char_indices() {
            match (quote, character) {
                (Some(end), _) if end == character => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(character),
                (None, '[') => open += 1,
                (None, ']') => open -= 1,
                (None, _) => {}
            }
            if open == 0 && quote.is_none() {
                self.rest = &self.rest[at + 1..];
                return Ok(Literal::List);
            }
        }
        Err("a list does not end".to_owned())
    }
}

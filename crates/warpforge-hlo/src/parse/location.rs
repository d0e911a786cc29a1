//! Locations: `loc("name"(#loc3))` and the aliases that may be defined after their use.
//!
//! While the text is read, locations refer to each other by raw numbers and aliases by name; [`RawLocations::resolve`]
//! puts them in an order in which each refers only to earlier ones.

use std::collections::HashMap;

use super::cursor::{Cursor, Fail, FailKind, Parse};
use crate::ir::{Location, LocationId, Locations};

/// A location as it is read.
enum Raw {
    /// `#loc3`, by its name and where it is used.
    Alias(String, usize),
    /// Anything else; the numbers in it are raw ones.
    Known(Location),
}

#[derive(Default)]
pub(super) struct RawLocations {
    all: Vec<Raw>,
    aliases: HashMap<String, LocationId>,
    /// The raw number of each alias that is used, so that it is kept once.
    uses: HashMap<String, LocationId>,
}

impl RawLocations {
    fn add(&mut self, raw: Raw) -> LocationId {
        self.all.push(raw);
        LocationId((self.all.len() - 1) as u32)
    }

    /// `loc(...)`, if it is next.
    pub(super) fn optional(&mut self, cursor: &mut Cursor<'_>) -> Parse<Option<LocationId>> {
        if !cursor.eat_word("loc") {
            return Ok(None);
        }
        cursor.expect("(")?;
        let location = self.body(cursor)?;
        cursor.expect(")")?;
        Ok(Some(location))
    }

    /// `#loc3 = loc(...)`; the name has been read.
    pub(super) fn define(&mut self, name: &str, cursor: &mut Cursor<'_>) -> Parse<()> {
        let start = cursor.at;
        match self.optional(cursor)? {
            Some(location) => {
                self.aliases.insert(name.to_owned(), location);
                Ok(())
            }
            None => cursor.fail_at(start, "expected `loc(`"),
        }
    }

    fn body(&mut self, cursor: &mut Cursor<'_>) -> Parse<LocationId> {
        cursor.enter()?;
        let location = self.inner(cursor);
        cursor.leave();
        location
    }

    fn inner(&mut self, cursor: &mut Cursor<'_>) -> Parse<LocationId> {
        let start = cursor.at;
        let known = match cursor.peek() {
            Some(b'#') => {
                cursor.at += 1;
                let name = cursor.suffix()?;
                if let Some(used) = self.uses.get(name) {
                    return Ok(*used);
                }
                let id = self.add(Raw::Alias(name.to_owned(), start));
                self.uses.insert(name.to_owned(), id);
                return Ok(id);
            }
            Some(b'"') => self.named(cursor)?,
            _ => match cursor.word() {
                "unknown" => Location::Unknown,
                "callsite" => {
                    cursor.expect("(")?;
                    let callee = self.body(cursor)?;
                    cursor.expect_word("at")?;
                    let caller = self.body(cursor)?;
                    cursor.expect(")")?;
                    Location::CallSite { callee, caller }
                }
                "fused" => {
                    let metadata = if cursor.eat("<") {
                        Some(cursor.balanced(b'>')?.to_owned())
                    } else {
                        None
                    };
                    let parts = cursor.list("[", "]", |cursor| self.body(cursor))?;
                    Location::Fused { metadata, parts }
                }
                _ => return cursor.fail_at(start, "expected a location such as loc(\"name\")"),
            },
        };
        Ok(self.add(Raw::Known(known)))
    }

    fn named(&mut self, cursor: &mut Cursor<'_>) -> Parse<Location> {
        let name = String::from_utf8_lossy(&cursor.string()?).into_owned();
        if cursor.eat("(") {
            let child = self.body(cursor)?;
            cursor.expect(")")?;
            return Ok(Location::Name { name, child: Some(child) });
        }
        if !cursor.eat(":") {
            return Ok(Location::Name { name, child: None });
        }
        let line = cursor.digits()?;
        cursor.expect(":")?;
        let column = cursor.digits()?;
        let end = if cursor.eat_word("to") {
            let end_line = if cursor.peek() == Some(b':') { line } else { cursor.digits()? };
            cursor.expect(":")?;
            Some((end_line, cursor.digits()?))
        } else {
            None
        };
        Ok(Location::File { file: name, line, column, end })
    }

    /// The table of the locations that are used, in the order of `roots`, and for each raw number its place in it.
    pub(super) fn resolve(
        &self,
        roots: &[LocationId],
    ) -> Result<(Locations, Vec<Option<LocationId>>), Fail> {
        let mut table = Locations::default();
        let mut places: Vec<Option<LocationId>> = vec![None; self.all.len()];
        let mut open = vec![false; self.all.len()];
        for root in roots {
            let mut stack = vec![root.0 as usize];
            while let Some(&raw) = stack.last() {
                if places[raw].is_some() {
                    stack.pop();
                    continue;
                }
                let children = self.children(raw)?;
                let missing: Vec<usize> =
                    children.iter().copied().filter(|child| places[*child].is_none()).collect();
                if missing.is_empty() {
                    places[raw] = Some(self.place(raw, &children, &places, &mut table));
                    stack.pop();
                } else if open[raw] {
                    let message = "a location refers to itself".to_owned();
                    return Err(Fail { offset: 0, message, kind: FailKind::Syntax });
                } else {
                    open[raw] = true;
                    stack.extend(missing);
                }
            }
        }
        Ok((table, places))
    }

    /// The raw numbers a location refers to.
    fn children(&self, raw: usize) -> Result<Vec<usize>, Fail> {
        Ok(match &self.all[raw] {
            Raw::Alias(name, offset) => match self.aliases.get(name) {
                Some(target) => vec![target.0 as usize],
                None => {
                    let message = format!("the location #{name} is not defined");
                    return Err(Fail { offset: *offset, message, kind: FailKind::Syntax });
                }
            },
            Raw::Known(Location::Name { child, .. }) => {
                child.iter().map(|id| id.0 as usize).collect()
            }
            Raw::Known(Location::CallSite { callee, caller }) => {
                vec![callee.0 as usize, caller.0 as usize]
            }
            Raw::Known(Location::Fused { parts, .. }) => {
                parts.iter().map(|id| id.0 as usize).collect()
            }
            Raw::Known(Location::Unknown | Location::File { .. }) => Vec::new(),
        })
    }

    fn place(
        &self,
        raw: usize,
        children: &[usize],
        places: &[Option<LocationId>],
        table: &mut Locations,
    ) -> LocationId {
        let mut placed = children.iter().map(|child| places[*child].expect("children come first"));
        let location = match &self.all[raw] {
            Raw::Alias(..) => return placed.next().expect("an alias has one target"),
            Raw::Known(Location::Name { name, .. }) => {
                Location::Name { name: name.clone(), child: placed.next() }
            }
            Raw::Known(Location::CallSite { callee, caller }) => Location::CallSite {
                callee: placed.next().unwrap_or(*callee),
                caller: placed.next().unwrap_or(*caller),
            },
            Raw::Known(Location::Fused { metadata, .. }) => {
                Location::Fused { metadata: metadata.clone(), parts: placed.collect() }
            }
            Raw::Known(other) => other.clone(),
        };
        table.add(location)
    }
}

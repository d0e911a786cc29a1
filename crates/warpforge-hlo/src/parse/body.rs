//! The ops of a region, the names of values, and how a read op becomes one of the program.

use std::collections::HashMap;

use super::attribute;
use super::cursor::Parse;
use super::module::Parser;
use crate::attribute::Attributes;
use crate::ir::{Op, Region, ValueId};
use crate::op_attributes::kind_of;
use crate::types::Type;

/// The names that can be used at the current place. Names of a region are forgotten when it ends.
#[derive(Default)]
pub(super) struct Names<'text> {
    known: HashMap<&'text str, (ValueId, u32)>,
    /// In the order of definition, to be forgotten from the end.
    order: Vec<&'text str>,
}

impl<'text> Names<'text> {
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.order.clear();
    }

    /// False if the name is taken.
    pub(super) fn define(&mut self, name: &'text str, first: ValueId, count: u32) -> bool {
        self.order.push(name);
        self.known.insert(name, (first, count)).is_none()
    }

    fn get(&self, name: &str) -> Option<(ValueId, u32)> {
        self.known.get(name).copied()
    }

    pub(super) fn mark(&self) -> usize {
        self.order.len()
    }

    pub(super) fn forget(&mut self, mark: usize) {
        for name in self.order.drain(mark..) {
            self.known.remove(name);
        }
    }
}

/// A name on the left of an op and how many results it stands for.
pub(super) struct ResultName<'text> {
    name: &'text str,
    count: u32,
    offset: usize,
}

/// An op as it is read, before its kind is known.
#[derive(Default)]
pub(super) struct Read {
    pub(super) operands: Vec<ValueId>,
    pub(super) attributes: Attributes,
    pub(super) regions: Vec<Region>,
    /// The types of the operands, where the text states them.
    pub(super) operand_types: Option<Vec<Type>>,
    pub(super) result_types: Vec<Type>,
}

impl<'text> Parser<'text> {
    /// Ops up to the closing brace, which is taken.
    pub(super) fn ops_until_brace(&mut self) -> Parse<Vec<Op>> {
        let mut ops = Vec::new();
        while !self.cursor.eat("}") {
            if self.cursor.is_end() {
                return self.cursor.fail("the closing `}` is missing");
            }
            if let Some(op) = self.op()? {
                ops.push(op);
            }
        }
        Ok(ops)
    }

    /// One op; none for annotations that have no meaning here.
    fn op(&mut self) -> Parse<Option<Op>> {
        self.cursor.skip_space();
        let Some(left) = self.ops_left.checked_sub(1) else {
            return self.cursor.limit(format!("more than {} ops", self.limits.ops));
        };
        self.ops_left = left;
        let results = self.result_names()?;
        self.cursor.skip_space();
        let offset = self.cursor.at;
        let (name, mut read) = if self.cursor.peek() == Some(b'"') {
            let name = self.cursor.utf8_string()?;
            let read = self.generic_op()?;
            (name, read)
        } else {
            let name = match self.cursor.word() {
                "return" => "func.return",
                "call" => "func.call",
                "" => {
                    let found = self.cursor.describe_next();
                    return self
                        .cursor
                        .fail(format!("expected an op such as stablehlo.add, found {found}"));
                }
                name => name,
            };
            if name.starts_with("sdy.") {
                self.skip_sharding(name, &results, offset)?;
                return Ok(None);
            }
            (name.to_owned(), self.pretty_op(name, offset)?)
        };
        let location = self.location()?;
        self.check_operand_types(&read, &name, offset)?;
        let operand_types: Vec<&Type> =
            read.operands.iter().map(|id| &self.values[id.index()].ty).collect();
        let kind = match kind_of(&name, &mut read.attributes, &operand_types) {
            Ok(kind) => kind,
            Err(message) => return self.cursor.fail_at(offset, message),
        };
        let named: u64 = results.iter().map(|result| u64::from(result.count)).sum();
        if named != read.result_types.len() as u64 {
            let message =
                format!("{name} has {} results, but {named} are named", read.result_types.len());
            return self.cursor.fail_at(offset, message);
        }
        let results = self.define_results(&results, std::mem::take(&mut read.result_types))?;
        Ok(Some(Op {
            kind,
            operands: read.operands,
            results,
            regions: read.regions,
            attributes: read.attributes,
            location,
            offset,
        }))
    }

    /// `%0, %1:2 =`, if there is one.
    fn result_names(&mut self) -> Parse<Vec<ResultName<'text>>> {
        let mut names = Vec::new();
        if self.cursor.peek() != Some(b'%') {
            return Ok(names);
        }
        loop {
            let offset = self.cursor.at;
            self.cursor.expect("%")?;
            let name = self.cursor.suffix()?;
            let count = if self.cursor.eat(":") { self.cursor.digits()? } else { 1 };
            let Ok(count @ 1..=65536) = u32::try_from(count) else {
                return self
                    .cursor
                    .fail_at(offset, "an op has between 1 and 65536 results of one name");
            };
            names.push(ResultName { name, count, offset });
            if self.cursor.eat("=") {
                return Ok(names);
            }
            self.cursor.expect(",")?;
        }
    }

    fn define_results(
        &mut self,
        names: &[ResultName<'text>],
        types: Vec<Type>,
    ) -> Parse<Vec<ValueId>> {
        let mut types = types.into_iter();
        let mut ids = Vec::new();
        for result in names {
            let first = ids.len();
            for (index, ty) in types.by_ref().take(result.count as usize).enumerate() {
                let id = if result.count == 1 {
                    self.new_value(result.name, ty)?
                } else {
                    self.new_value(&format!("{}#{index}", result.name), ty)?
                };
                ids.push(id);
            }
            if !self.names.define(result.name, ids[first], result.count) {
                return self
                    .cursor
                    .fail_at(result.offset, format!("%{} is defined twice", result.name));
            }
        }
        Ok(ids)
    }

    /// `%name` or `%name#1`.
    pub(super) fn operand(&mut self) -> Parse<ValueId> {
        self.cursor.skip_space();
        let start = self.cursor.at;
        if !self.cursor.eat("%") {
            let found = self.cursor.describe_next();
            return self.cursor.fail(format!("expected a value such as %0, found {found}"));
        }
        let name = self.cursor.suffix()?;
        let Some((first, count)) = self.names.get(name) else {
            return self.cursor.fail_at(start, format!("%{name} is not defined before this"));
        };
        let index = if self.cursor.text.as_bytes().get(self.cursor.at) == Some(&b'#') {
            self.cursor.at += 1;
            self.cursor.digits()?
        } else {
            0
        };
        if index >= u64::from(count) {
            let message = format!("%{name} stands for {count} results; there is no #{index}");
            return self.cursor.fail_at(start, message);
        }
        Ok(ValueId(first.0 + index as u32))
    }

    /// The types an op states for its operands must be those the operands have.
    fn check_operand_types(&self, read: &Read, name: &str, offset: usize) -> Parse<()> {
        let Some(stated) = &read.operand_types else { return Ok(()) };
        if stated.len() != read.operands.len() {
            let message = format!(
                "{name} has {} operands, but states {} types for them",
                read.operands.len(),
                stated.len()
            );
            return self.cursor.fail_at(offset, message);
        }
        for (index, (id, stated)) in read.operands.iter().zip(stated).enumerate() {
            let value = &self.values[id.index()];
            if value.ty != *stated {
                let message = format!(
                    "operand {} of {name}, %{}, is a {}, but the op states {stated}",
                    index + 1,
                    value.name,
                    value.ty
                );
                return self.cursor.fail_at(offset, message);
            }
        }
        Ok(())
    }

    /// `(T) -> T`, also as the only form of an op in the generic form.
    pub(super) fn functional(&mut self) -> Parse<(Vec<Type>, Vec<Type>)> {
        let (cursor, scope) = self.scope();
        attribute::functional(cursor, &scope.types())
    }

    /// `sdy.sharding_constraint %0 <...> : T`: its result is its operand.
    fn skip_sharding(
        &mut self,
        name: &str,
        results: &[ResultName<'text>],
        offset: usize,
    ) -> Parse<()> {
        let id = self.operand()?;
        if self.cursor.eat("<") {
            self.cursor.balanced(b'>')?;
        }
        self.cursor.expect(":")?;
        self.ty()?;
        self.location()?;
        self.note(format!("{name} is ignored: programs run on one device"));
        match results {
            [result] if result.count == 1 => {
                if !self.names.define(result.name, id, 1) {
                    return self
                        .cursor
                        .fail_at(offset, format!("%{} is defined twice", result.name));
                }
                Ok(())
            }
            _ => self.cursor.fail_at(offset, format!("{name} has one result")),
        }
    }
}

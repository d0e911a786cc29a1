//! What the forms of ops have in common: lists, operands, attributes in braces, the types after the colon.

use super::body::Read;
use super::cursor::Parse;
use super::module::Parser;
use crate::ir::ValueId;
use crate::types::Type;

impl Parser<'_> {
    /// Items with commas between them, up to the closing token, which is taken.
    pub(super) fn items_until(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Parse<()>,
    ) -> Parse<()> {
        let mut first = true;
        while !self.cursor.eat(close) {
            if !std::mem::take(&mut first) {
                self.cursor.expect(",")?;
            }
            item(self)?;
        }
        Ok(())
    }

    /// `(%0, %1)`.
    pub(super) fn operands(&mut self) -> Parse<Vec<ValueId>> {
        let mut operands = Vec::new();
        self.cursor.expect("(")?;
        self.items_until(")", |parser| {
            operands.push(parser.operand()?);
            Ok(())
        })?;
        Ok(operands)
    }

    /// `T, T`, at least one.
    pub(super) fn types(&mut self) -> Parse<Vec<Type>> {
        let mut types = vec![self.ty()?];
        while self.cursor.eat(",") {
            types.push(self.ty()?);
        }
        Ok(types)
    }

    /// `<{properties}>`, if there are any.
    pub(super) fn properties(&mut self, read: &mut Read) -> Parse<()> {
        if self.cursor.eat("<") {
            read.attributes.0.extend(self.dictionary()?.0);
            self.cursor.expect(">")?;
        }
        Ok(())
    }

    /// `{attributes}`, if there are any.
    pub(super) fn braced_attributes(&mut self, read: &mut Read) -> Parse<()> {
        if self.cursor.peek() == Some(b'{') {
            read.attributes.0.extend(self.dictionary()?.0);
        }
        Ok(())
    }

    /// `{attributes} : (T) -> T`: how most ops end.
    pub(super) fn attributes_and_types(&mut self, read: &mut Read) -> Parse<()> {
        self.braced_attributes(read)?;
        self.cursor.expect(":")?;
        self.functional_types(read)
    }

    /// `(T) -> T`.
    pub(super) fn functional_types(&mut self, read: &mut Read) -> Parse<()> {
        let (operands, results) = self.functional()?;
        read.operand_types = Some(operands);
        read.result_types = results;
        Ok(())
    }
}

//! Regions: a block of ops with arguments, whose names end with it.

use super::cursor::Parse;
use super::module::Parser;
use crate::ir::{Region, ValueId};

impl<'text> Parser<'text> {
    /// `^bb0(%a: T): ops }`; the opening brace has been taken.
    pub(super) fn region_rest(&mut self) -> Parse<Region> {
        self.cursor.enter()?;
        let mark = self.names.mark();
        let mut arguments = Vec::new();
        if self.cursor.eat("^") {
            self.cursor.suffix()?;
            if self.cursor.peek() == Some(b'(') {
                arguments = self.block_arguments()?;
            }
            self.cursor.expect(":")?;
        }
        let ops = self.ops_until_brace()?;
        self.names.forget(mark);
        self.cursor.leave();
        Ok(Region { arguments, ops })
    }

    /// `(%a: T, %b: T)`, each of which becomes a value.
    pub(super) fn block_arguments(&mut self) -> Parse<Vec<ValueId>> {
        self.cursor.expect("(")?;
        let mut arguments = Vec::new();
        self.items_until(")", |parser| {
            parser.cursor.skip_space();
            let start = parser.cursor.at;
            parser.cursor.expect("%")?;
            let name = parser.cursor.suffix()?;
            parser.cursor.expect(":")?;
            let ty = parser.ty()?;
            arguments.push(parser.define(name, ty, start)?);
            parser.location()?;
            Ok(())
        })?;
        Ok(arguments)
    }

    /// A region in braces whose arguments have already been read, as the pretty forms have them.
    pub(super) fn braced_region(
        &mut self,
        arguments: impl FnOnce(&mut Self) -> Parse<Vec<ValueId>>,
    ) -> Parse<Region> {
        self.cursor.enter()?;
        let mark = self.names.mark();
        let arguments = arguments(self)?;
        self.cursor.expect("{")?;
        let ops = self.ops_until_brace()?;
        self.names.forget(mark);
        self.cursor.leave();
        Ok(Region { arguments, ops })
    }
}

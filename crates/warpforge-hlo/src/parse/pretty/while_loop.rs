//! `stablehlo.while(%iterArg = %0, ...) : T, ... cond { ... } do { ... }`.

use crate::parse::body::Read;
use crate::parse::cursor::Parse;
use crate::parse::module::Parser;

impl<'text> Parser<'text> {
    /// What follows the name.
    pub(super) fn while_loop(&mut self) -> Parse<Read> {
        let mut read = Read::default();
        let mut names: Vec<(&'text str, usize)> = Vec::new();
        self.cursor.expect("(")?;
        self.items_until(")", |parser| {
            parser.cursor.skip_space();
            let start = parser.cursor.at;
            parser.cursor.expect("%")?;
            names.push((parser.cursor.suffix()?, start));
            parser.cursor.expect("=")?;
            read.operands.push(parser.operand()?);
            Ok(())
        })?;
        let types = if self.cursor.eat(":") { self.types()? } else { Vec::new() };
        if types.len() != names.len() {
            return self.cursor.fail(format!(
                "the loop carries {} values, but states {} types",
                names.len(),
                types.len()
            ));
        }
        if self.cursor.eat_word("attributes") {
            read.attributes = self.dictionary()?;
        }
        for word in ["cond", "do"] {
            self.cursor.expect_word(word)?;
            let region = self.braced_region(|parser| {
                names
                    .iter()
                    .zip(&types)
                    .map(|((name, at), ty)| parser.define(name, ty.clone(), *at))
                    .collect()
            })?;
            read.regions.push(region);
        }
        read.operand_types = Some(types.clone());
        read.result_types = types;
        Ok(read)
    }
}

//! Ops in the generic form: `"stablehlo.add"(%0, %1) <{...}> ({...}) {...} : (T, T) -> T`.

use super::body::Read;
use super::cursor::Parse;
use super::module::Parser;

impl Parser<'_> {
    /// What follows the name in quotes.
    pub(super) fn generic_op(&mut self) -> Parse<Read> {
        let mut read = Read { operands: self.operands()?, ..Read::default() };
        self.properties(&mut read)?;
        if self.cursor.eat("(") {
            loop {
                self.cursor.expect("{")?;
                read.regions.push(self.region_rest()?);
                if self.cursor.eat(")") {
                    break;
                }
                self.cursor.expect(",")?;
            }
        }
        self.attributes_and_types(&mut read)?;
        Ok(read)
    }
}

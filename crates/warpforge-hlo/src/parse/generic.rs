//! Ops in the generic form: `"stablehlo.add"(%0, %1) <{...}> ({...}) {...} : (T, T) -> T`.

use super::body::Read;
use super::cursor::Parse;
use super::module::Parser;

impl Parser<'_> {
    /// What follows the name in quotes.
    pub(super) fn generic_op(&mut self) -> Parse<Read> {
        let mut read = Read::default();
        self.cursor.expect("(")?;
        while !self.cursor.eat(")") {
            if !read.operands.is_empty() {
                self.cursor.expect(",")?;
            }
            read.operands.push(self.operand()?);
        }
        if self.cursor.eat("<") {
            read.attributes = self.dictionary()?;
            self.cursor.expect(">")?;
        }
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
        if self.cursor.peek() == Some(b'{') {
            read.attributes.0.extend(self.dictionary()?.0);
        }
        self.cursor.expect(":")?;
        let (operands, results) = self.functional()?;
        read.operand_types = Some(operands);
        read.result_types = results;
        Ok(read)
    }
}

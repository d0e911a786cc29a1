//! The types after the colon, of which the pretty form leaves out what the others say.

use crate::parse::attribute;
use crate::parse::body::Read;
use crate::parse::cursor::Parse;
use crate::parse::module::Parser;

impl Parser<'_> {
    /// The types after the colon: all of them, or those that say the others.
    pub(super) fn signature(&mut self, name: &str, offset: usize, read: &mut Read) -> Parse<()> {
        if self.cursor.peek() == Some(b'(') {
            return self.functional_types(read);
        }
        let mut types = self.types()?;
        if self.cursor.eat("->") {
            let (cursor, scope) = self.scope();
            read.result_types = attribute::results(cursor, &scope.types())?;
            read.operand_types = Some(types);
            return Ok(());
        }
        match name {
            "stablehlo.return" | "func.return" => read.operand_types = Some(types),
            "stablehlo.optimization_barrier" => {
                read.operand_types = Some(types.clone());
                read.result_types = types;
            }
            "stablehlo.select" if types.len() == 2 => {
                let branch = types.pop().expect("there are two");
                let predicate = types.pop().expect("there are two");
                read.operand_types = Some(vec![predicate, branch.clone(), branch.clone()]);
                read.result_types = vec![branch];
            }
            // The type is the result's alone.
            "stablehlo.complex" | "stablehlo.tuple" if types.len() == 1 => {
                read.result_types = types;
            }
            _ if types.len() == 1 => {
                read.operand_types = Some(vec![types[0].clone(); read.operands.len()]);
                read.result_types = types;
            }
            _ => {
                let message =
                    format!("expected one type, or (operand types) -> result types, for {name}");
                return self.cursor.fail_at(offset, message);
            }
        }
        Ok(())
    }
}

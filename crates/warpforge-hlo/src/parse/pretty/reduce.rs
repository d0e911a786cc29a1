//! `stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [0] : ...`, or with the reducer written out.

use crate::attribute::Attribute;
use crate::ir::{Binary, Op, OpKind, Region, ValueId};
use crate::parse::body::Read;
use crate::parse::cursor::Parse;
use crate::parse::module::Parser;
use crate::types::{TensorType, Type};

impl Parser<'_> {
    /// `(%0 init: %1) applies stablehlo.add across dimensions = [0] : ...`, or with the reducer written out after the types.
    pub(super) fn reduce(&mut self) -> Parse<Read> {
        let mut read = Read::default();
        let mut inits = Vec::new();
        loop {
            self.cursor.expect("(")?;
            read.operands.push(self.operand()?);
            self.cursor.expect_word("init")?;
            self.cursor.expect(":")?;
            inits.push(self.operand()?);
            self.cursor.expect(")")?;
            if !self.cursor.eat(",") {
                break;
            }
        }
        let inputs = read.operands.len();
        read.operands.append(&mut inits);
        let applied = self.applied_op()?;
        self.cursor.expect_word("across")?;
        self.cursor.expect_word("dimensions")?;
        self.cursor.expect("=")?;
        let dimensions = self.cursor.integers()?;
        self.attributes_and_types(&mut read)?;
        read.attributes.push("dimensions", Attribute::i64s(&dimensions));
        let region = match applied {
            Some(binary) => self.applied(binary, &read)?,
            None => {
                self.cursor.expect_word("reducer")?;
                self.braced_region(|parser| parser.reducer_arguments(inputs))?
            }
        };
        read.regions.push(region);
        Ok(read)
    }

    /// `applies stablehlo.add`, if it stands there.
    fn applied_op(&mut self) -> Parse<Option<Binary>> {
        if !self.cursor.eat_word("applies") {
            return Ok(None);
        }
        self.cursor.skip_space();
        let start = self.cursor.at;
        let name = self.cursor.word();
        match Binary::from_name(name) {
            Some(binary) => Ok(Some(binary)),
            None => self.cursor.fail_at(start, format!("`{name}` is not an op on two values")),
        }
    }

    /// `(%a: T, %b: T) (%c: U, %d: U)`, of which the first of each pair come first.
    fn reducer_arguments(&mut self, pairs: usize) -> Parse<Vec<ValueId>> {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for _ in 0..pairs {
            let start = self.cursor.at;
            match self.block_arguments()?.as_slice() {
                [a, b] => {
                    left.push(*a);
                    right.push(*b);
                }
                _ => return self.cursor.fail_at(start, "a reducer takes its values in pairs"),
            }
        }
        left.append(&mut right);
        Ok(left)
    }

    /// The region that `applies` stands for: one op on two scalars. Its values have no names, by which the printer knows it.
    fn applied(&mut self, binary: Binary, read: &Read) -> Parse<Region> {
        let scalar = match read.operand_types.as_deref() {
            Some([_, Type::Tensor(init)]) => {
                let element = init.element.clone();
                Type::Tensor(TensorType { dimensions: Vec::new(), element, bounds: None })
            }
            _ => return self.cursor.fail("`applies` stands for a reducer of one input"),
        };
        let arguments =
            vec![self.new_value("", scalar.clone())?, self.new_value("", scalar.clone())?];
        let result = self.new_value("", scalar)?;
        let op = |kind, operands: Vec<ValueId>, results| Op {
            offset: self.cursor.at,
            ..Op::new(kind, operands, results)
        };
        let ops = vec![
            op(OpKind::Binary(binary), arguments.clone(), vec![result]),
            op(OpKind::Return, vec![result], Vec::new()),
        ];
        Ok(Region { arguments, ops })
    }
}

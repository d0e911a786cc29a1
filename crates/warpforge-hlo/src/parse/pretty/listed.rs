//! Ops that are a list of values and `key = value` pairs: `stablehlo.pad %0, %1, low = [1], ... : types`.

use super::keys::KEYS;
use super::word;
use crate::attribute::{Attribute, Attributes};
use crate::parse::body::Read;
use crate::parse::cursor::Parse;
use crate::parse::module::Parser;

impl Parser<'_> {
    /// Values and `key = value` pairs, attributes, types.
    pub(super) fn listed(&mut self, name: &str, offset: usize) -> Parse<Read> {
        let short = name.split_once('.').map_or(name, |(_, short)| short);
        let mut read = Read::default();
        match name {
            "stablehlo.composite" => {
                let composite = self.cursor.string()?;
                read.attributes.push("name", Attribute::String(composite));
            }
            "stablehlo.compare" => {
                let direction = self.cursor.word().to_owned();
                read.attributes.push("comparison_direction", word(direction));
            }
            _ => {}
        }
        let parenthesis = self.cursor.eat("(");
        let compared = name == "stablehlo.compare";
        let mut first = !compared;
        while !matches!(self.cursor.peek(), Some(b':' | b'{' | b'[' | b')' | b'<' | b'}') | None)
            && self.cursor.peek_word() != "loc"
        {
            if !std::mem::take(&mut first) && !self.cursor.eat(",") {
                if compared && read.operands.is_empty() {
                    self.cursor.expect(",")?;
                }
                break;
            }
            self.item(name, short, &mut read)?;
        }
        if parenthesis {
            self.cursor.expect(")")?;
        }
        if self.cursor.peek() == Some(b'[') {
            self.brackets(name, &mut read)?;
        }
        self.properties(&mut read)?;
        self.braced_attributes(&mut read)?;
        // Ops without values may end here: `return`.
        if self.cursor.eat(":") {
            self.signature(name, offset, &mut read)?;
        } else if !matches!(name, "func.return" | "stablehlo.return") || !read.operands.is_empty() {
            let found = self.cursor.describe_next();
            return self
                .cursor
                .fail(format!("expected `:` and the types of {name}, found {found}"));
        }
        Ok(read)
    }

    /// A value, a pair or, for a comparison, a word.
    fn item(&mut self, name: &str, short: &str, read: &mut Read) -> Parse<()> {
        if self.cursor.peek() == Some(b'%') {
            read.operands.push(self.operand()?);
            return Ok(());
        }
        self.cursor.skip_space();
        let start = self.cursor.at;
        let key = self.cursor.word();
        if name == "stablehlo.compare"
            && matches!(key, "FLOAT" | "TOTALORDER" | "SIGNED" | "UNSIGNED" | "NOTYPE")
        {
            read.attributes.push("compare_type", word(key.to_owned()));
            return Ok(());
        }
        if key.is_empty() {
            let found = self.cursor.describe_next();
            return self.cursor.fail(format!(
                "expected a value such as %0 or the types of {name}, found {found}"
            ));
        }
        if !self.cursor.eat("=") {
            return self.cursor.fail_at(start, format!("`{key}` has no meaning for {name}"));
        }
        match (name, key) {
            ("stablehlo.dot_general", "batching_dims" | "contracting_dims") => {
                return self.dot_dimensions(key, read);
            }
            ("stablehlo.dot_general", "algorithm") => {
                self.cursor.expect("<")?;
                let body = self.cursor.balanced(b'>')?.to_owned();
                let name = "stablehlo.dot_algorithm".to_owned();
                read.attributes.push("algorithm", Attribute::Opaque { name, body });
                return Ok(());
            }
            ("stablehlo.reduce_precision", "format") => return self.format(read),
            _ => {}
        }
        let Some((.., attribute, form)) =
            KEYS.iter().find(|(op, wanted, ..)| *op == short && *wanted == key)
        else {
            return self.cursor.fail_at(start, format!("{name} has no `{key}`"));
        };
        let value = self.key_value(*form)?;
        read.attributes.push(*attribute, value);
        Ok(())
    }

    /// `[0] x [1]`.
    fn dot_dimensions(&mut self, key: &str, read: &mut Read) -> Parse<()> {
        let lhs = self.cursor.integers()?;
        self.cursor.expect_word("x")?;
        let rhs = self.cursor.integers()?;
        let (lhs_name, rhs_name) = if key == "batching_dims" {
            ("lhs_batching_dimensions", "rhs_batching_dimensions")
        } else {
            ("lhs_contracting_dimensions", "rhs_contracting_dimensions")
        };
        let mut fields = match read.attributes.take("dot_dimension_numbers") {
            Some(Attribute::Structure { fields, .. }) => fields,
            _ => Attributes::default(),
        };
        fields.push(lhs_name, Attribute::i64s(&lhs));
        fields.push(rhs_name, Attribute::i64s(&rhs));
        let name = "stablehlo.dot".to_owned();
        read.attributes.push("dot_dimension_numbers", Attribute::Structure { name, fields });
        Ok(())
    }

    /// `e5m10`.
    fn format(&mut self, read: &mut Read) -> Parse<()> {
        let start = self.cursor.at;
        let text = self.cursor.word();
        let bits = text.strip_prefix('e').and_then(|rest| rest.split_once('m'));
        let Some((Ok(exponent), Ok(mantissa))) =
            bits.map(|(exponent, mantissa)| (exponent.parse::<i64>(), mantissa.parse::<i64>()))
        else {
            return self.cursor.fail_at(start, "expected a format such as e5m10");
        };
        read.attributes.push("exponent_bits", Attribute::i64(exponent));
        read.attributes.push("mantissa_bits", Attribute::i64(mantissa));
        Ok(())
    }

    /// `[0:1, 0:4:2]` of a slice, `[0]` of a tuple.
    fn brackets(&mut self, name: &str, read: &mut Read) -> Parse<()> {
        match name {
            "stablehlo.slice" => {
                let (mut start, mut limit, mut strides) = (Vec::new(), Vec::new(), Vec::new());
                self.cursor.list("[", "]", |cursor| {
                    start.push(cursor.integer()?);
                    cursor.expect(":")?;
                    limit.push(cursor.integer()?);
                    strides.push(if cursor.eat(":") { cursor.integer()? } else { 1 });
                    Ok(())
                })?;
                read.attributes.push("start_indices", Attribute::i64s(&start));
                read.attributes.push("limit_indices", Attribute::i64s(&limit));
                read.attributes.push("strides", Attribute::i64s(&strides));
                Ok(())
            }
            "stablehlo.get_tuple_element" => {
                self.cursor.expect("[")?;
                read.attributes.push("index", Attribute::i64(self.cursor.integer()?));
                self.cursor.expect("]")
            }
            _ => self.cursor.fail(format!("`[` has no meaning for {name}")),
        }
    }
}

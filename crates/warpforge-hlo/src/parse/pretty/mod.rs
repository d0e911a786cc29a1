//! Ops in the pretty form. Most are a list of values and `key = value` pairs ([`listed`]), with a table saying which attribute
//! a key stands for ([`keys`]); the few that look different have a function each.

mod convolution;
mod keys;
mod listed;
mod reduce;
mod signature;
mod while_loop;

pub(crate) use keys::{Form, KEYS};

use super::body::Read;
use super::cursor::Parse;
use super::module::Parser;
use crate::attribute::Attribute;
use crate::types::Type;

impl Parser<'_> {
    /// What follows the name.
    pub(super) fn pretty_op(&mut self, name: &str, offset: usize) -> Parse<Read> {
        match name {
            "stablehlo.reduce" => self.reduce(),
            "stablehlo.while" => self.while_loop(),
            "stablehlo.constant" => self.constant(),
            "stablehlo.convolution" | "stablehlo.dynamic_conv" => self.convolution(),
            "func.call" => self.call("callee"),
            "stablehlo.custom_call" => self.call("call_target_name"),
            _ => self.listed(name, offset),
        }
    }

    /// `dense<...> : T`, with attributes before or after `()`.
    fn constant(&mut self) -> Parse<Read> {
        let mut read = Read::default();
        if self.cursor.eat("(") {
            self.cursor.expect(")")?;
        }
        self.properties(&mut read)?;
        self.braced_attributes(&mut read)?;
        if read.attributes.get("value").is_none() {
            let value = self.attribute()?;
            read.attributes.push("value", value);
        } else if self.cursor.eat(":") {
            self.functional()?;
        }
        match read.attributes.get("value") {
            Some(Attribute::Dense(dense)) => {
                read.result_types = vec![Type::Tensor(dense.ty.clone())];
                Ok(read)
            }
            _ => self.cursor.fail("the value of a constant must be dense<...>"),
        }
    }

    /// `@target(%0) {attributes} : (T) -> T`.
    fn call(&mut self, key: &str) -> Parse<Read> {
        let mut read = Read::default();
        let target = self.cursor.symbol()?;
        let target =
            if key == "callee" { Attribute::Symbol(target) } else { Attribute::text(&target) };
        read.attributes.push(key, target);
        read.operands = self.operands()?;
        self.attributes_and_types(&mut read)?;
        Ok(read)
    }
}

/// A word as an enumeration; the reader of attributes looks at the value alone.
fn word(value: String) -> Attribute {
    Attribute::Enumeration { dialect: "stablehlo".into(), name: String::new(), value }
}

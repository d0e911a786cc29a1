//! Ops in the pretty form. Most are a list of values and `key = value` pairs, with a table saying which attribute a key
//! stands for; the few that look different have a function each.

use super::body::Read;
use super::cursor::Parse;
use super::module::Parser;
use crate::attribute::{Attribute, Attributes};
use crate::ir::{Binary, ConvolutionDimensions, Op, OpKind, Region, ValueId};
use crate::types::{ElementType, TensorType, Type};

/// How the value of a key is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `[1, 2]`
    Integers,
    /// `1`
    Integer,
    /// `FFT`
    Word,
    /// `true`
    Boolean,
    /// `"text"`
    Text,
    /// `[DEFAULT, HIGHEST]`
    Words,
}

/// The keys of the pretty form: op, key, attribute, form. The printer reads the same table.
pub(crate) const KEYS: &[(&str, &str, &str, Form)] = &[
    ("broadcast", "sizes", "broadcast_sizes", Form::Integers),
    ("broadcast_in_dim", "dims", "broadcast_dimensions", Form::Integers),
    ("dynamic_broadcast_in_dim", "dims", "broadcast_dimensions", Form::Integers),
    ("transpose", "dims", "permutation", Form::Integers),
    ("reverse", "dims", "dimensions", Form::Integers),
    ("concatenate", "dim", "dimension", Form::Integer),
    ("get_dimension_size", "dim", "dimension", Form::Integer),
    ("set_dimension_size", "dim", "dimension", Form::Integer),
    ("iota", "dim", "iota_dimension", Form::Integer),
    ("dynamic_iota", "dim", "iota_dimension", Form::Integer),
    ("pad", "low", "edge_padding_low", Form::Integers),
    ("pad", "high", "edge_padding_high", Form::Integers),
    ("pad", "interior", "interior_padding", Form::Integers),
    ("dynamic_slice", "sizes", "slice_sizes", Form::Integers),
    ("dot", "precision", "precision_config", Form::Words),
    ("dot_general", "precision", "precision_config", Form::Words),
    ("rng", "distribution", "rng_distribution", Form::Word),
    ("rng_bit_generator", "algorithm", "rng_algorithm", Form::Word),
    ("fft", "type", "fft_type", Form::Word),
    ("fft", "length", "fft_length", Form::Integers),
    ("cholesky", "lower", "lower", Form::Boolean),
    ("torch_index_select", "dim", "dim", Form::Integer),
    ("torch_index_select", "batch_dims", "batch_dims", Form::Integer),
    ("einsum", "config", "einsum_config", Form::Text),
    ("unary_einsum", "config", "einsum_config", Form::Text),
    ("top_k", "k", "k", Form::Integer),
    ("top_k", "largest", "largest", Form::Boolean),
];

impl<'text> Parser<'text> {
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

    /// Values and `key = value` pairs, attributes, types.
    fn listed(&mut self, name: &str, offset: usize) -> Parse<Read> {
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
                self.cursor.expect(",")?;
            }
            _ => {}
        }
        let parenthesis = self.cursor.eat("(");
        let mut first = true;
        while !matches!(self.cursor.peek(), Some(b':' | b'{' | b'[' | b')' | b'<' | b'}') | None)
            && self.cursor.peek_word() != "loc"
        {
            if !std::mem::take(&mut first) && !self.cursor.eat(",") {
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
        if self.cursor.eat("<") {
            read.attributes.0.extend(self.dictionary()?.0);
            self.cursor.expect(">")?;
        }
        if self.cursor.peek() == Some(b'{') {
            read.attributes.0.extend(self.dictionary()?.0);
        }
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
        let value = match form {
            Form::Integers => Attribute::i64s(&self.cursor.integers()?),
            Form::Integer => Attribute::i64(self.cursor.integer()?),
            Form::Word => word(self.cursor.word().to_owned()),
            Form::Text => Attribute::String(self.cursor.string()?),
            Form::Boolean => self.attribute()?,
            Form::Words => Attribute::Array(
                self.cursor.list("[", "]", |cursor| Ok(word(cursor.word().to_owned())))?,
            ),
        };
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

    /// `dense<...> : T`, with attributes before or after `()`.
    fn constant(&mut self) -> Parse<Read> {
        let mut read = Read::default();
        if self.cursor.eat("(") {
            self.cursor.expect(")")?;
        }
        if self.cursor.eat("<") {
            read.attributes = self.dictionary()?;
            self.cursor.expect(">")?;
        }
        if self.cursor.peek() == Some(b'{') {
            read.attributes.0.extend(self.dictionary()?.0);
        }
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

    /// The types after the colon: all of them, or those that say the others.
    fn signature(&mut self, name: &str, offset: usize, read: &mut Read) -> Parse<()> {
        if self.cursor.peek() == Some(b'(') {
            let (operands, results) = self.functional()?;
            read.operand_types = Some(operands);
            read.result_types = results;
            return Ok(());
        }
        let mut types = vec![self.ty()?];
        while self.cursor.eat(",") {
            types.push(self.ty()?);
        }
        if self.cursor.eat("->") {
            let (cursor, scope) = self.scope();
            read.result_types = super::attribute::results(cursor, &scope.types())?;
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

    /// `@target(%0) {attributes} : (T) -> T`.
    fn call(&mut self, key: &str) -> Parse<Read> {
        let mut read = Read::default();
        let target = self.cursor.symbol()?;
        let target =
            if key == "callee" { Attribute::Symbol(target) } else { Attribute::text(&target) };
        read.attributes.push(key, target);
        self.cursor.expect("(")?;
        while !self.cursor.eat(")") {
            if !read.operands.is_empty() {
                self.cursor.expect(",")?;
            }
            read.operands.push(self.operand()?);
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

    /// `(%0, %1) dim_numbers = ..., window = {...} {attributes} : (T, T) -> T`.
    fn convolution(&mut self) -> Parse<Read> {
        let mut read = Read::default();
        self.cursor.expect("(")?;
        while !self.cursor.eat(")") {
            if !read.operands.is_empty() {
                self.cursor.expect(",")?;
            }
            read.operands.push(self.operand()?);
        }
        self.cursor.expect_word("dim_numbers")?;
        self.cursor.expect("=")?;
        self.cursor.skip_space();
        let start = self.cursor.at;
        for separator in ["x", "->", ""] {
            self.cursor.expect("[")?;
            self.cursor.balanced(b']')?;
            self.cursor.expect(separator)?;
        }
        let notation = self.cursor.text[start..self.cursor.at].trim();
        if let Err(message) = ConvolutionDimensions::from_notation(notation) {
            return self.cursor.fail_at(start, message);
        }
        let name = "stablehlo.conv".to_owned();
        let body = notation.to_owned();
        read.attributes.push("dimension_numbers", Attribute::Opaque { name, body });
        self.cursor.expect(",")?;
        self.cursor.expect_word("window")?;
        self.cursor.expect("=")?;
        self.cursor.expect("{")?;
        let mut first = true;
        while !self.cursor.eat("}") {
            if !std::mem::take(&mut first) {
                self.cursor.expect(",")?;
            }
            self.cursor.skip_space();
            let at = self.cursor.at;
            let key = self.cursor.word();
            self.cursor.expect("=")?;
            let (attribute, value) = match key {
                "stride" => ("window_strides", Attribute::i64s(&self.cursor.integers()?)),
                "lhs_dilate" => ("lhs_dilation", Attribute::i64s(&self.cursor.integers()?)),
                "rhs_dilate" => ("rhs_dilation", Attribute::i64s(&self.cursor.integers()?)),
                "pad" => ("padding", self.attribute()?),
                "reverse" => ("window_reversal", self.attribute()?),
                _ => return self.cursor.fail_at(at, format!("a window has no `{key}`")),
            };
            read.attributes.push(attribute, value);
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

    /// `(%0 init: %1) applies stablehlo.add across dimensions = [0] : ...`, or with the reducer written out after the types.
    fn reduce(&mut self) -> Parse<Read> {
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
        let applied = if self.cursor.eat_word("applies") {
            self.cursor.skip_space();
            let start = self.cursor.at;
            let name = self.cursor.word();
            match Binary::from_name(name) {
                Some(binary) => Some(binary),
                None => {
                    return self
                        .cursor
                        .fail_at(start, format!("`{name}` is not an op on two values"));
                }
            }
        } else {
            None
        };
        self.cursor.expect_word("across")?;
        self.cursor.expect_word("dimensions")?;
        self.cursor.expect("=")?;
        let dimensions = self.cursor.integers()?;
        if self.cursor.peek() == Some(b'{') {
            read.attributes.0.extend(self.dictionary()?.0);
        }
        read.attributes.push("dimensions", Attribute::i64s(&dimensions));
        self.cursor.expect(":")?;
        let (operands, results) = self.functional()?;
        read.operand_types = Some(operands);
        read.result_types = results;
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
                let element: ElementType = init.element.clone();
                Type::Tensor(TensorType { dimensions: Vec::new(), element, bounds: None })
            }
            _ => return self.cursor.fail("`applies` stands for a reducer of one input"),
        };
        let arguments =
            vec![self.new_value("", scalar.clone())?, self.new_value("", scalar.clone())?];
        let result = self.new_value("", scalar)?;
        let op = |kind, operands: Vec<ValueId>, results| Op {
            kind,
            operands,
            results,
            regions: Vec::new(),
            attributes: Attributes::default(),
            location: None,
            offset: self.cursor.at,
        };
        let ops = vec![
            op(OpKind::Binary(binary), arguments.clone(), vec![result]),
            op(OpKind::Return, vec![result], Vec::new()),
        ];
        Ok(Region { arguments, ops })
    }

    /// `(%iterArg = %0, ...) : T, ... cond { ... } do { ... }`.
    fn while_loop(&mut self) -> Parse<Read> {
        let mut read = Read::default();
        let mut names: Vec<(&'text str, usize)> = Vec::new();
        self.cursor.expect("(")?;
        while !self.cursor.eat(")") {
            if !names.is_empty() {
                self.cursor.expect(",")?;
            }
            self.cursor.skip_space();
            let start = self.cursor.at;
            self.cursor.expect("%")?;
            names.push((self.cursor.suffix()?, start));
            self.cursor.expect("=")?;
            read.operands.push(self.operand()?);
        }
        let mut types = Vec::new();
        if self.cursor.eat(":") {
            loop {
                types.push(self.ty()?);
                if !self.cursor.eat(",") {
                    break;
                }
            }
        }
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

/// A word as an enumeration; the reader of attributes looks at the value alone.
fn word(value: String) -> Attribute {
    Attribute::Enumeration { dialect: "stablehlo".into(), name: String::new(), value }
}

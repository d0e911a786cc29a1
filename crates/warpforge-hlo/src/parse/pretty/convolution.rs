//! `stablehlo.convolution(%0, %1) dim_numbers = ..., window = {...} {attributes} : (T, T) -> T`.

use crate::attribute::{Attribute, Attributes};
use crate::ir::ConvolutionDimensions;
use crate::parse::body::Read;
use crate::parse::cursor::Parse;
use crate::parse::module::Parser;

impl Parser<'_> {
    /// What follows the name.
    pub(super) fn convolution(&mut self) -> Parse<Read> {
        let mut read = Read { operands: self.operands()?, ..Read::default() };
        let dimensions = self.dimension_numbers()?;
        read.attributes.push("dimension_numbers", dimensions);
        self.cursor.expect(",")?;
        self.cursor.expect_word("window")?;
        self.cursor.expect("=")?;
        self.cursor.expect("{")?;
        self.items_until("}", |parser| parser.window_entry(&mut read.attributes))?;
        self.attributes_and_types(&mut read)?;
        Ok(read)
    }

    /// `dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0]`.
    fn dimension_numbers(&mut self) -> Parse<Attribute> {
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
        Ok(Attribute::Opaque { name: "stablehlo.conv".to_owned(), body: notation.to_owned() })
    }

    /// `stride = [2, 2]`, or another part of the window.
    fn window_entry(&mut self, attributes: &mut Attributes) -> Parse<()> {
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
        attributes.push(attribute, value);
        Ok(())
    }
}

//! The keys of the pretty form, and how their values are read. The printer reads the same table.

use super::word;
use crate::attribute::Attribute;
use crate::parse::cursor::Parse;
use crate::parse::module::Parser;

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

/// The keys: op, key, attribute, form.
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

impl Parser<'_> {
    /// The value of a key.
    pub(super) fn key_value(&mut self, form: Form) -> Parse<Attribute> {
        Ok(match form {
            Form::Integers => Attribute::i64s(&self.cursor.integers()?),
            Form::Integer => Attribute::i64(self.cursor.integer()?),
            Form::Word => word(self.cursor.word().to_owned()),
            Form::Text => Attribute::String(self.cursor.string()?),
            Form::Boolean => self.attribute()?,
            Form::Words => Attribute::Array(
                self.cursor.list("[", "]", |cursor| Ok(word(cursor.word().to_owned())))?,
            ),
        })
    }
}

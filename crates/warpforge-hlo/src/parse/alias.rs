//! Aliases of types and attributes, with what each use of one costs.
//!
//! A short text can stand for a huge value: an alias of two uses of an alias of two uses of another. Invariant: what is
//! used nests no deeper, and all uses together hold no more parts, than the limits say.

use std::collections::HashMap;

use super::cursor::{Cursor, Parse};
use crate::attribute::{Attribute, Attributes};
use crate::types::{ElementType, TensorType, Type};

/// How large a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    depth: usize,
    parts: usize,
}

/// The values of a kind that have a name.
#[derive(Debug)]
pub(super) struct Aliases<T>(HashMap<String, (T, Extent)>);

impl<T> Default for Aliases<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

/// What an alias can stand for.
pub(super) trait Expands: Clone {
    /// Shows each value directly inside this one.
    fn visit(&self, inside: &mut dyn FnMut(Inside<'_>));

    /// Parts of its own.
    fn own_parts(&self) -> usize;
}

/// A value inside another.
pub(super) enum Inside<'a> {
    Type(&'a Type),
    Attribute(&'a Attribute),
}

impl<T: Expands> Aliases<T> {
    pub(super) fn define(&mut self, name: &str, value: T) {
        let extent = extent(&value);
        self.0.insert(name.to_owned(), (value, extent));
    }

    /// What a name stands for, if it is one.
    pub(super) fn expand(&self, name: &str, cursor: &mut Cursor<'_>) -> Parse<Option<T>> {
        let Some((value, extent)) = self.0.get(name) else { return Ok(None) };
        cursor.expand(extent.depth, extent.parts)?;
        Ok(Some(value.clone()))
    }
}

/// Recursion is safe: a value that was read nests no deeper than the limit.
fn extent<T: Expands>(value: &T) -> Extent {
    let mut all = Extent { depth: 0, parts: value.own_parts() };
    value.visit(&mut |inside| {
        let inner = match inside {
            Inside::Type(ty) => extent(ty),
            Inside::Attribute(attribute) => extent(attribute),
        };
        all.depth = all.depth.max(inner.depth);
        all.parts = all.parts.saturating_add(inner.parts);
    });
    all.depth += 1;
    all
}

fn tensor_parts(tensor: &TensorType) -> usize {
    let scales = match &tensor.element {
        ElementType::Plain(_) => 0,
        ElementType::Quantized(quantized) => quantized.scale_bits.len(),
    };
    1 + tensor.rank() + scales + tensor.bounds.as_ref().map_or(0, Vec::len)
}

impl Expands for Type {
    fn visit(&self, inside: &mut dyn FnMut(Inside<'_>)) {
        if let Self::Tuple(types) = self {
            types.iter().for_each(|ty| inside(Inside::Type(ty)));
        }
    }

    fn own_parts(&self) -> usize {
        match self {
            Self::Tensor(tensor) => tensor_parts(tensor),
            Self::Tuple(_) | Self::Token => 1,
        }
    }
}

impl Expands for Attribute {
    fn visit(&self, inside: &mut dyn FnMut(Inside<'_>)) {
        match self {
            Self::Array(items) => items.iter().for_each(|item| inside(Inside::Attribute(item))),
            Self::Dictionary(Attributes(fields))
            | Self::Structure { fields: Attributes(fields), .. } => {
                fields.iter().for_each(|(_, value)| inside(Inside::Attribute(value)));
            }
            Self::Type(ty) => inside(Inside::Type(ty)),
            Self::FunctionType(arguments, results) => {
                arguments.iter().chain(results).for_each(|ty| inside(Inside::Type(ty)));
            }
            _ => {}
        }
    }

    fn own_parts(&self) -> usize {
        let bytes_per_part = 16;
        1 + match self {
            Self::String(bytes) => bytes.len() / bytes_per_part,
            Self::Opaque { body, .. } => body.len() / bytes_per_part,
            Self::Symbol(name) => name.len() / bytes_per_part,
            Self::NestedSymbol(names) => {
                names.iter().map(|name| 1 + name.len() / bytes_per_part).sum()
            }
            Self::IntegerArray { values, .. } => values.len(),
            Self::FloatArray { values, .. } => values.len(),
            // Its elements are shared, not copied.
            Self::Dense(dense) => tensor_parts(&dense.ty),
            _ => 0,
        }
    }
}

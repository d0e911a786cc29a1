//! Attributes: the compile-time values of ops, functions and modules, as MLIR writes them.

use std::fmt;
use std::sync::Arc;

use warpforge_tensor::DType;

use crate::print::{float_text, quoted, symbol_text};
use crate::types::{TensorType, Type};

/// A named list of attributes, in the order of the text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes(pub Vec<(String, Attribute)>);

/// The elements of a constant: all of them, or one that stands for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dense {
    /// The type of the whole.
    pub ty: TensorType,
    /// Whether `bytes` holds one element only.
    pub splat: bool,
    /// The elements as a tensor holds them.
    pub bytes: Arc<[u8]>,
}

/// A compile-time value.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Attribute {
    /// Present or not.
    Unit,
    Bool(bool),
    /// An integer, with its type where one is written.
    Integer {
        value: i128,
        dtype: Option<DType>,
    },
    /// A float, with its type where one is written.
    Float {
        value: f64,
        dtype: Option<DType>,
    },
    /// Bytes in quotes; usually text.
    String(Vec<u8>),
    Type(Type),
    /// The type of a function: arguments and results.
    FunctionType(Vec<Type>, Vec<Type>),
    Array(Vec<Attribute>),
    /// `array<i64: 1, 2>` of integers or booleans.
    IntegerArray {
        dtype: DType,
        values: Vec<i64>,
    },
    /// `array<f32: 1.0>`.
    FloatArray {
        dtype: DType,
        values: Vec<f64>,
    },
    Dense(Dense),
    Dictionary(Attributes),
    /// `@name`.
    Symbol(String),
    /// `@outer::@inner`, outermost first.
    NestedSymbol(Vec<String>),
    /// `#dialect<name VALUE>`.
    Enumeration {
        dialect: String,
        name: String,
        value: String,
    },
    /// `#dialect.name<key = value, ...>`.
    Structure {
        name: String,
        fields: Attributes,
    },
    /// Anything else with balanced brackets, as it was written: `#dialect.name<...>`, or without a name any other word.
    Opaque {
        name: String,
        body: String,
    },
}

impl Attribute {
    /// An i64.
    pub fn i64(value: i64) -> Self {
        Self::Integer { value: i128::from(value), dtype: Some(DType::I64) }
    }

    /// `array<i64: ...>`.
    pub fn i64s(values: &[i64]) -> Self {
        Self::IntegerArray { dtype: DType::I64, values: values.to_vec() }
    }

    /// A text.
    pub fn text(text: &str) -> Self {
        Self::String(text.as_bytes().to_vec())
    }

    /// The text of a string that is UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::String(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// What this is, for messages.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Unit => "a unit attribute",
            Self::Bool(_) => "a boolean",
            Self::Integer { .. } => "an integer",
            Self::Float { .. } => "a float",
            Self::String(_) => "a string",
            Self::Type(_) | Self::FunctionType(..) => "a type",
            Self::Array(_) | Self::IntegerArray { .. } | Self::FloatArray { .. } => "an array",
            Self::Dense(_) => "a constant",
            Self::Dictionary(_) => "a dictionary",
            Self::Symbol(_) => "a symbol",
            Self::NestedSymbol(_) => "a nested symbol",
            Self::Enumeration { .. } => "an enumeration",
            Self::Structure { .. } | Self::Opaque { .. } => "a structure",
        }
    }
}

impl Attributes {
    /// The attribute of this name.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Takes the attribute of this name out.
    pub fn take(&mut self, name: &str) -> Option<Attribute> {
        let at = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.remove(at).1)
    }

    /// Adds an attribute at the end.
    pub fn push(&mut self, name: impl Into<String>, value: Attribute) {
        self.0.push((name.into(), value));
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Writes items with a separator between them.
pub(crate) fn joined<T: fmt::Display>(
    formatter: &mut fmt::Formatter<'_>,
    items: impl IntoIterator<Item = T>,
) -> fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        write!(formatter, "{separator}{item}")?;
    }
    Ok(())
}

/// `key = value`, or the key alone for a unit.
struct Entry<'a>(&'a str, &'a Attribute);

impl fmt::Display for Entry<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = self.0.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && self.0.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'));
        if bare {
            formatter.write_str(self.0)?;
        } else {
            formatter.write_str(&quoted(self.0.as_bytes()))?;
        }
        if *self.1 != Attribute::Unit {
            write!(formatter, " = {}", self.1)?;
        }
        Ok(())
    }
}

impl fmt::Display for Attributes {
    /// Without braces.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        joined(formatter, self.0.iter().map(|(key, value)| Entry(key, value)))
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unit => formatter.write_str("unit"),
            Self::Bool(value) => write!(formatter, "{value}"),
            Self::Integer { value, dtype: None } => write!(formatter, "{value}"),
            Self::Integer { value, dtype: Some(dtype) } => write!(formatter, "{value} : {dtype}"),
            Self::Float { value, dtype } => {
                let width = dtype.unwrap_or(DType::F64);
                formatter.write_str(&float_text(*value, width))?;
                dtype.map_or(Ok(()), |dtype| write!(formatter, " : {dtype}"))
            }
            Self::String(bytes) => formatter.write_str(&quoted(bytes)),
            Self::Type(ty) => write!(formatter, "{ty}"),
            Self::FunctionType(arguments, results) => {
                formatter.write_str("(")?;
                joined(formatter, arguments)?;
                formatter.write_str(") -> (")?;
                joined(formatter, results)?;
                formatter.write_str(")")
            }
            Self::Array(items) => {
                formatter.write_str("[")?;
                joined(formatter, items)?;
                formatter.write_str("]")
            }
            Self::IntegerArray { dtype, values } => {
                write!(formatter, "array<{dtype}{}", if values.is_empty() { "" } else { ": " })?;
                if *dtype == DType::I1 {
                    joined(formatter, values.iter().map(|value| *value != 0))?;
                } else {
                    joined(formatter, values)?;
                }
                formatter.write_str(">")
            }
            Self::FloatArray { dtype, values } => {
                write!(formatter, "array<{dtype}{}", if values.is_empty() { "" } else { ": " })?;
                joined(formatter, values.iter().map(|value| float_text(*value, *dtype)))?;
                formatter.write_str(">")
            }
            Self::Dense(dense) => write!(formatter, "{dense} : {}", dense.ty),
            Self::Dictionary(attributes) => write!(formatter, "{{{attributes}}}"),
            Self::Symbol(name) => formatter.write_str(&symbol_text(name)),
            Self::NestedSymbol(names) => {
                let names: Vec<String> = names.iter().map(|name| symbol_text(name)).collect();
                formatter.write_str(&names.join("::"))
            }
            Self::Enumeration { dialect, name, value } => {
                write!(formatter, "#{dialect}<{name} {value}>")
            }
            Self::Structure { name, fields } => write!(formatter, "#{name}<{fields}>"),
            Self::Opaque { name, body } if name.is_empty() => formatter.write_str(body),
            Self::Opaque { name, body } if body.is_empty() => write!(formatter, "#{name}"),
            Self::Opaque { name, body } => write!(formatter, "#{name}<{body}>"),
        }
    }
}

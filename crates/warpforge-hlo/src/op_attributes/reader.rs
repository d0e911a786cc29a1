//! Takes attributes out of a list with the type an op expects; what is wrong becomes a message that names the attribute.

use warpforge_tensor::DType;

use crate::attribute::{Attribute, Attributes, Dense};
use crate::ir::{Channel, Group, Precision};

/// The attributes of one op.
pub(super) struct Reader<'a> {
    pub(super) op: &'a str,
    pub(super) attributes: &'a mut Attributes,
}

pub(super) type Read<T> = Result<T, String>;

impl Reader<'_> {
    pub(super) fn take(&mut self, name: &str) -> Option<Attribute> {
        self.attributes.take(name)
    }

    fn wrong<T>(&self, name: &str, expected: &str, found: &Attribute) -> Read<T> {
        Err(format!(
            "{}: attribute `{name}` must be {expected}, found {}",
            self.op,
            found.describe()
        ))
    }

    fn missing(&self, name: &str) -> String {
        format!("{}: attribute `{name}` is missing", self.op)
    }

    pub(super) fn optional_i64(&mut self, name: &str) -> Read<Option<i64>> {
        let Some(found) = self.take(name) else { return Ok(None) };
        match integer(&found) {
            Some(value) => Ok(Some(value)),
            None => self.wrong(name, "an integer", &found),
        }
    }

    pub(super) fn i64(&mut self, name: &str) -> Read<i64> {
        self.optional_i64(name)?.ok_or_else(|| self.missing(name))
    }

    pub(super) fn bool(&mut self, name: &str, default: bool) -> Read<bool> {
        match self.take(name) {
            None => Ok(default),
            Some(Attribute::Bool(value)) => Ok(value),
            Some(Attribute::Unit) => Ok(true),
            Some(Attribute::Integer { value, dtype: Some(DType::I1) }) => Ok(value != 0),
            Some(other) => self.wrong(name, "a boolean", &other),
        }
    }

    pub(super) fn f32(&mut self, name: &str) -> Read<f32> {
        match self.take(name) {
            None => Err(self.missing(name)),
            Some(Attribute::Float { value, .. }) => Ok(value as f32),
            Some(other) => self.wrong(name, "a float", &other),
        }
    }

    pub(super) fn bytes(&mut self, name: &str) -> Read<Vec<u8>> {
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Attribute::String(bytes)) => Ok(bytes),
            Some(other) => self.wrong(name, "a string", &other),
        }
    }

    pub(super) fn text(&mut self, name: &str) -> Read<String> {
        match self.take(name) {
            None => Err(self.missing(name)),
            Some(found) => match found.as_text() {
                Some(text) => Ok(text.to_owned()),
                None => self.wrong(name, "a string of UTF-8", &found),
            },
        }
    }

    pub(super) fn symbol(&mut self, name: &str) -> Read<String> {
        match self.take(name) {
            None => Err(self.missing(name)),
            Some(Attribute::Symbol(symbol)) => Ok(symbol),
            Some(other) => self.wrong(name, "a symbol such as @name", &other),
        }
    }

    pub(super) fn optional_i64s(&mut self, name: &str) -> Read<Option<Vec<i64>>> {
        let Some(found) = self.take(name) else { return Ok(None) };
        match integers(&found) {
            Some(values) => Ok(Some(values)),
            None => self.wrong(name, "an array of integers", &found),
        }
    }

    pub(super) fn i64s(&mut self, name: &str) -> Read<Vec<i64>> {
        self.optional_i64s(name)?.ok_or_else(|| self.missing(name))
    }

    /// An array with an entry for each of `rank` dimensions; `fill` where it is not given.
    pub(super) fn i64s_or(&mut self, name: &str, rank: usize, fill: i64) -> Read<Vec<i64>> {
        Ok(self.optional_i64s(name)?.unwrap_or_else(|| vec![fill; rank]))
    }

    pub(super) fn bools_or(&mut self, name: &str, rank: usize) -> Read<Vec<bool>> {
        let values = self.i64s_or(name, rank, 0)?;
        Ok(values.into_iter().map(|value| value != 0).collect())
    }

    /// A matrix of integers with `columns` columns.
    pub(super) fn pairs_or(&mut self, name: &str, rank: usize) -> Read<Vec<(i64, i64)>> {
        let Some(found) = self.take(name) else { return Ok(vec![(0, 0); rank]) };
        let rows = match rows(&found) {
            Some(rows) => rows,
            None => return self.wrong(name, "a matrix of integers", &found),
        };
        rows.iter()
            .map(|row| match row.as_slice() {
                [low, high] => Ok((*low, *high)),
                _ => Err(format!("{}: each row of `{name}` must have two entries", self.op)),
            })
            .collect()
    }

    pub(super) fn precision(&mut self, name: &str) -> Read<Vec<Precision>> {
        let Some(found) = self.take(name) else { return Ok(Vec::new()) };
        let Attribute::Array(items) = &found else {
            return self.wrong(name, "an array of precisions", &found);
        };
        items
            .iter()
            .map(|item| match enumeration(item) {
                Some("DEFAULT") => Ok(Precision::Default),
                Some("HIGH") => Ok(Precision::High),
                Some("HIGHEST") => Ok(Precision::Highest),
                _ => self.wrong(name, "an array of DEFAULT, HIGH or HIGHEST", item),
            })
            .collect()
    }

    /// A value of an enumeration, made from its name.
    pub(super) fn choice<T>(&mut self, name: &str, make: fn(&str) -> Option<T>) -> Read<Option<T>> {
        let Some(found) = self.take(name) else { return Ok(None) };
        match enumeration(&found).and_then(make) {
            Some(value) => Ok(Some(value)),
            None => Err(match enumeration(&found) {
                Some(word) => format!("{}: `{word}` is not a value of `{name}`", self.op),
                None => format!(
                    "{}: attribute `{name}` must be an enumeration, found {}",
                    self.op,
                    found.describe()
                ),
            }),
        }
    }

    pub(super) fn required_choice<T>(
        &mut self,
        name: &str,
        make: fn(&str) -> Option<T>,
    ) -> Read<T> {
        self.choice(name, make)?.ok_or_else(|| self.missing(name))
    }

    /// The fields of `#stablehlo.NAME<...>`.
    pub(super) fn structure(&mut self, name: &str) -> Read<Option<Attributes>> {
        match self.take(name) {
            None => Ok(None),
            Some(Attribute::Structure { fields, .. }) => Ok(Some(fields)),
            Some(Attribute::Opaque { body, .. }) if body.is_empty() => {
                Ok(Some(Attributes::default()))
            }
            Some(other) => {
                self.wrong(name, "a structure such as #stablehlo.name<key = value>", &other)
            }
        }
    }

    pub(super) fn required_structure(&mut self, name: &str) -> Read<Attributes> {
        self.structure(name)?.ok_or_else(|| self.missing(name))
    }

    pub(super) fn channel(&mut self) -> Read<Option<Channel>> {
        let Some(mut fields) = self.structure("channel_handle")? else { return Ok(None) };
        let mut inner = Reader { op: self.op, attributes: &mut fields };
        Ok(Some(Channel { handle: inner.i64("handle")?, kind: inner.i64("type")? }))
    }

    pub(super) fn group(&mut self) -> Read<Group> {
        let replica_groups = match self.take("replica_groups") {
            None => return Err(self.missing("replica_groups")),
            Some(found) => match rows(&found) {
                Some(rows) => rows,
                None => return self.wrong("replica_groups", "a matrix of integers", &found),
            },
        };
        Ok(Group {
            replica_groups,
            channel: self.channel()?,
            use_global_device_ids: self.bool("use_global_device_ids", false)?,
        })
    }
}

/// The word of an enumeration, bare or as `#stablehlo<kind WORD>`.
pub(super) fn enumeration(attribute: &Attribute) -> Option<&str> {
    match attribute {
        Attribute::Enumeration { value, .. } => Some(value),
        Attribute::String(_) => attribute.as_text(),
        _ => None,
    }
}

fn integer(attribute: &Attribute) -> Option<i64> {
    match attribute {
        Attribute::Integer { value, .. } => i64::try_from(*value).ok(),
        Attribute::Bool(value) => Some(i64::from(*value)),
        _ => None,
    }
}

/// Integers of any of the forms that exporters use for them.
pub(super) fn integers(attribute: &Attribute) -> Option<Vec<i64>> {
    match attribute {
        Attribute::IntegerArray { values, .. } => Some(values.clone()),
        Attribute::FloatArray { values, .. } if values.is_empty() => Some(Vec::new()),
        Attribute::Array(items) => items.iter().map(integer).collect(),
        Attribute::Dense(dense) if dense.ty.rank() <= 1 => dense_integers(dense),
        _ => None,
    }
}

fn rows(attribute: &Attribute) -> Option<Vec<Vec<i64>>> {
    match attribute {
        Attribute::Array(items) => items.iter().map(integers).collect(),
        Attribute::Dense(dense) if dense.ty.rank() == 2 => {
            let columns = usize::try_from(dense.ty.dimensions[1].size()?).ok()?;
            let values = dense_integers(dense)?;
            if columns == 0 {
                return Some(Vec::new());
            }
            Some(values.chunks(columns).map(<[i64]>::to_vec).collect())
        }
        // An empty matrix loses its second dimension.
        Attribute::Dense(dense) if dense.bytes.is_empty() => Some(Vec::new()),
        _ => None,
    }
}

/// At most so many elements are made from a splat, which is short however many it stands for: attributes whose elements
/// are all the same are as long as a tensor has dimensions.
const MAX_ATTRIBUTE_ELEMENTS: usize = 1 << 12;

fn dense_integers(dense: &Dense) -> Option<Vec<i64>> {
    let dtype = dense.ty.dtype()?;
    let width = dtype.bytes();
    if !(dtype.is_integer() || dtype == DType::I1) {
        return None;
    }
    let value = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..width].copy_from_slice(bytes);
        let shift = 64 - 8 * width as u32;
        (u64::from_le_bytes(wide) << shift) as i64 >> shift
    };
    let count = dense.ty.shape()?.elements();
    if dense.splat {
        let value = value(dense.bytes.get(..width)?);
        return (count <= MAX_ATTRIBUTE_ELEMENTS).then(|| vec![value; count]);
    }
    Some(dense.bytes.chunks_exact(width).map(value).collect())
}

//! The header: which tensors a file holds and where.
//!
//! Invariant: a header that [`Header::parse`] accepts describes the file exactly: sizes and offsets agree, names are unique,
//! and the tensors fill the data from its first byte to its last.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io::Read;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::names::dtype_of;
use crate::{DType, Shape};

/// The largest header that is read, in bytes; the limit of the format's own reader.
pub const HEADER_LIMIT: u64 = 100_000_000;

/// The key that is not a tensor.
const METADATA: &str = "__metadata__";

/// What is known of a tensor before its elements are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Shape,
    /// Where its elements begin in the file, in bytes.
    pub start: u64,
}

impl TensorInfo {
    /// How many bytes its elements take.
    pub fn bytes(&self) -> usize {
        self.shape.elements() * self.dtype.bytes()
    }
}

/// What a file says before its data.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// The tensors, in the order of their elements in the file.
    pub(super) tensors: Vec<TensorInfo>,
    /// The file's own remarks.
    pub(super) metadata: BTreeMap<String, String>,
}

/// Reads how long the header is; the message says what is wrong.
pub(super) fn size(file: &mut impl Read, length: u64) -> Result<usize, String> {
    let mut prefix = [0; 8];
    file.read_exact(&mut prefix)
        .map_err(|_| format!("not a safetensors file: {length} bytes are too few for a header"))?;
    let size = u64::from_le_bytes(prefix);
    if size > HEADER_LIMIT {
        return Err(format!(
            "not a safetensors file, or a damaged one: a header of {size} bytes is above the limit of {HEADER_LIMIT}"
        ));
    }
    if size > length.saturating_sub(8) {
        return Err(format!("the header should take {size} bytes, but the file has only {length}"));
    }
    usize::try_from(size).map_err(|_| format!("a header of {size} bytes does not fit into memory"))
}

/// A tensor as the header has it.
#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// The header as it stands, with keys that occur twice refused.
#[derive(Default)]
struct Raw {
    entries: Vec<(String, Entry)>,
    metadata: BTreeMap<String, String>,
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Raw;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object with an entry for each tensor")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Raw, M::Error> {
                let mut raw = Raw::default();
                let mut seen = HashSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !seen.insert(name.clone()) {
                        return Err(M::Error::custom(format_args!("{name:?} occurs twice")));
                    }
                    if name == METADATA {
                        raw.metadata = map.next_value()?;
                    } else {
                        raw.entries.push((name, map.next_value()?));
                    }
                }
                Ok(raw)
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

impl Header {
    /// Reads and checks a header whose data begin at `data_start` of a file of `length` bytes.
    pub(super) fn parse(text: &[u8], data_start: u64, length: u64) -> Result<Self, String> {
        let raw: Raw = serde_json::from_slice(text).map_err(|error| {
            format!("not a safetensors file, or a damaged one: the header: {error}")
        })?;
        let mut tensors = Vec::with_capacity(raw.entries.len());
        for (name, entry) in raw.entries {
            let info =
                check(&name, &entry, data_start).map_err(|reason| format!("{name:?}: {reason}"))?;
            tensors.push((info, entry.data_offsets));
        }
        // Empty tensors share their place with the next one, so the end decides between equal starts.
        tensors.sort_by_key(|(_, offsets)| *offsets);
        let mut place = 0;
        for (info, (start, end)) in &tensors {
            let name = &info.name;
            match start.cmp(&place) {
                std::cmp::Ordering::Less => {
                    return Err(format!("{name:?} overlaps the tensor before it"));
                }
                std::cmp::Ordering::Greater => {
                    return Err(format!(
                        "{} bytes before {name:?} belong to no tensor",
                        start - place
                    ));
                }
                std::cmp::Ordering::Equal => place = *end,
            }
        }
        let data = length - data_start;
        if place > data {
            return Err(format!(
                "the tensors take {place} bytes, but the file has only {data} for them"
            ));
        }
        if place < data {
            return Err(format!("{} bytes at the end belong to no tensor", data - place));
        }
        let tensors = tensors.into_iter().map(|(info, _)| info).collect();
        Ok(Self { tensors, metadata: raw.metadata })
    }
}

/// Whether type, shape and offsets of one entry agree.
fn check(name: &str, entry: &Entry, data_start: u64) -> Result<TensorInfo, String> {
    let dtype = dtype_of(&entry.dtype)?;
    let sizes: Result<Vec<usize>, _> =
        entry.shape.iter().map(|size| usize::try_from(*size)).collect();
    let shape = sizes.ok().and_then(|sizes| Shape::new(sizes).ok()).ok_or_else(|| {
        format!("the shape {:?} has more elements than can be counted", entry.shape)
    })?;
    let (start, end) = entry.data_offsets;
    let bytes = shape.elements().checked_mul(dtype.bytes()).map(|bytes| bytes as u64);
    let given = end
        .checked_sub(start)
        .ok_or_else(|| format!("ends at {end}, before it begins at {start}"))?;
    if bytes != Some(given) {
        let expected = bytes.map_or_else(|| "too many".to_owned(), |bytes| bytes.to_string());
        return Err(format!(
            "{} of shape [{shape}] takes {expected} bytes, found {given}",
            entry.dtype
        ));
    }
    let start = data_start.checked_add(start).ok_or_else(|| format!("cannot begin at {start}"))?;
    Ok(TensorInfo { name: name.to_owned(), dtype, shape, start })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, data: u64) -> Result<Header, String> {
        let start = 8 + text.len() as u64;
        Header::parse(text.as_bytes(), start, start + data)
    }

    #[test]
    fn tensors_come_in_the_order_of_their_data() {
        let text = r#"{"b":{"dtype":"F32","shape":[2],"data_offsets":[2,10]},
            "a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]},"__metadata__":{"format":"pt"}} "#;
        let header = parse(text, 10).unwrap();
        let names: Vec<_> = header.tensors.iter().map(|info| info.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(header.tensors[1].start, 8 + text.len() as u64 + 2);
        assert_eq!(header.metadata["format"], "pt");
        assert!(parse("{}", 0).unwrap().tensors.is_empty());
    }

    #[test]
    fn what_does_not_add_up_is_refused() {
        let one = |dtype: &str, shape: &str, offsets: &str| {
            format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
        };
        let two = |first: &str, second: &str| {
            let entry =
                |offsets: &str| format!(r#"{{"dtype":"U8","shape":[4],"data_offsets":{offsets}}}"#);
            format!(r#"{{"a":{},"b":{}}}"#, entry(first), entry(second))
        };
        let huge = "[4294967296,4294967296,4294967296]";
        for (text, data, expected) in [
            (one("F32", "[2]", "[0,4]"), 4, "F32 of shape [2] takes 8 bytes, found 4"),
            (one("F32", "[2]", "[8,0]"), 8, "ends at 0, before it begins at 8"),
            (one("F32", "[2]", "[0,8]"), 4, "take 8 bytes, but the file has only 4"),
            (one("F32", "[2]", "[0,8]"), 9, "1 bytes at the end belong to no tensor"),
            (one("F32", "[2]", "[4,12]"), 12, "4 bytes before \"a\" belong to no tensor"),
            (one("F32", huge, "[0,8]"), 8, "more elements than can be counted"),
            (one("F32", "[2]", "[18446744073709551607,18446744073709551615]"), 8, "cannot begin"),
            (one("F4", "[2]", "[0,1]"), 1, "packed"),
            (one("F32", "[-2]", "[0,8]"), 8, "invalid value"),
            (two("[0,4]", "[2,6]"), 6, "\"b\" overlaps"),
            (two("[0,4]", "[0,4]"), 4, "\"b\" overlaps"),
            (
                r#"{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{}}"#.into(),
                0,
                "occurs twice",
            ),
            ("[]".into(), 0, "expected an object"),
            ("{".into(), 0, "EOF"),
            ("[".repeat(10_000), 0, "not a safetensors file"),
        ] {
            let error = parse(&text, data).unwrap_err();
            assert!(error.contains(expected), "{error} / {expected}");
        }
    }

    #[test]
    fn the_size_is_checked_before_memory_is_taken() {
        let mut small = &[1_u8, 2, 3][..];
        assert!(size(&mut small, 3).unwrap_err().contains("too few"));
        let mut text = &b"hello, world, this is no such file"[..];
        assert!(size(&mut text, 34).unwrap_err().contains("above the limit"));
        let mut cut = &[200, 0, 0, 0, 0, 0, 0, 0][..];
        assert!(size(&mut cut, 100).unwrap_err().contains("only 100"));
    }
}

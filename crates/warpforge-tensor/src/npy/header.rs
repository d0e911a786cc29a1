//! The header of an array: version, element type, order and shape.

use std::io::Read;

use super::literal::{self, Literal};
use crate::{DType, Kind, Shape};

/// The largest header that is read, in bytes.
pub const HEADER_LIMIT: usize = 1 << 20;

const MAGIC: [u8; 6] = *b"\x93NUMPY";

/// What the elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A type that numpy knows.
    Known(DType),
    /// That many bytes each, of a type that the header does not name.
    Bytes(usize),
}

/// What stands before the elements.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) content: Content,
    pub(super) big_endian: bool,
    pub(super) fortran_order: bool,
    pub(super) shape: Shape,
}

impl Header {
    /// Reads a header and how many bytes it takes.
    pub(super) fn read(reader: &mut impl Read, length: u64) -> Result<(Self, u64), String> {
        let mut start = [0; 8];
        reader.read_exact(&mut start).map_err(|_| "not an npy file: too short".to_owned())?;
        if start[..6] != MAGIC {
            return Err("not an npy file: it does not begin with \\x93NUMPY".to_owned());
        }
        let (major, minor) = (start[6], start[7]);
        let width = match major {
            1 => 2,
            2 | 3 => 4,
            _ => return Err(format!("version {major}.{minor} of the npy format is not known")),
        };
        let mut size = [0; 4];
        let cut = |_| "the file ends within its header".to_owned();
        reader.read_exact(&mut size[..width]).map_err(cut)?;
        let size = u32::from_le_bytes(size) as usize;
        let before = (8 + width) as u64;
        if size > HEADER_LIMIT {
            return Err(format!("a header of {size} bytes is above the limit of {HEADER_LIMIT}"));
        }
        if size as u64 > length.saturating_sub(before) {
            return Err("the file ends within its header".to_owned());
        }
        let mut text = vec![0; size];
        reader.read_exact(&mut text).map_err(cut)?;
        // Versions 1 and 2 are Latin-1, 3 is UTF-8; they differ only in names of fields, which are refused anyway.
        let text = String::from_utf8_lossy(&text);
        Ok((Self::parse(&text)?, before + size as u64))
    }

    /// Reads the literal.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |found: &str| format!("the header is not one that numpy writes: {found}");
        let fields = literal::parse(text).map_err(|reason| wrong(&reason))?;
        let field = |name: &str| {
            let found = fields.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value).ok_or_else(|| wrong(&format!("it has no '{name}'")))
        };
        let (content, big_endian) = match field("descr")? {
            Literal::Text(descr) => content(descr)?,
            Literal::List => return Err("arrays of records are not supported".to_owned()),
            _ => return Err(wrong("its 'descr' is not text")),
        };
        let Literal::Truth(fortran_order) = field("fortran_order")? else {
            return Err(wrong("its 'fortran_order' is neither True nor False"));
        };
        let Literal::Tuple(sizes) = field("shape")? else {
            return Err(wrong("its 'shape' is not a tuple of sizes"));
        };
        let shape = Shape::new(sizes.clone()).map_err(|error| error.to_string())?;
        Ok(Self { content, big_endian, fortran_order: *fortran_order, shape })
    }
}

/// What a type description such as `<f4` means, and whether it is big-endian.
fn content(descr: &str) -> Result<(Content, bool), String> {
    let unknown = || format!("the element type {descr:?} is not supported");
    let (order, rest) = match descr.strip_prefix(['<', '>', '|', '=']) {
        Some(rest) => (descr.as_bytes()[0], rest),
        None => (b'=', descr),
    };
    let mut characters = rest.chars();
    let kind = characters.next().ok_or_else(unknown)?;
    if kind == 'O' {
        return Err(
            "arrays of Python objects are not read: that would run code from the file".to_owned()
        );
    }
    let size: usize = characters.as_str().parse().map_err(|_| unknown())?;
    let dtype = match (kind, size) {
        ('b', 1) => DType::I1,
        ('i', 1) => DType::I8,
        ('i', 2) => DType::I16,
        ('i', 4) => DType::I32,
        ('i', 8) => DType::I64,
        ('u', 1) => DType::U8,
        ('u', 2) => DType::U16,
        ('u', 4) => DType::U32,
        ('u', 8) => DType::U64,
        // What ml_dtypes writes for one of its types, and numpy alone does not read: it is not written here.
        ('f', 1) => DType::F8E5M2,
        ('f', 2) => DType::F16,
        ('f', 4) => DType::F32,
        ('f', 8) => DType::F64,
        ('c', 8) => DType::C64,
        ('c', 16) => DType::C128,
        ('V', 1 | 2) => return Ok((Content::Bytes(size), order == b'>')),
        _ => return Err(unknown()),
    };
    Ok((Content::Known(dtype), order == b'>'))
}

/// Whether files of this type do not say so.
pub(super) fn needs_asking(dtype: DType) -> bool {
    descr(dtype).contains('V')
}

/// How numpy, or `ml_dtypes`, describes a type.
fn descr(dtype: DType) -> String {
    let size = dtype.bytes();
    let order = if size == 1 { '|' } else { '<' };
    let letter = match dtype {
        DType::F16 | DType::F32 | DType::F64 => 'f',
        DType::I2 | DType::I4 | DType::U2 | DType::U4 => return "<V1".to_owned(),
        _ => match dtype.kind() {
            Kind::Boolean => 'b',
            Kind::Signed => 'i',
            Kind::Unsigned => 'u',
            Kind::Complex => 'c',
            Kind::Float => return format!("<V{size}"),
        },
    };
    format!("{order}{letter}{size}")
}

/// The header of version 1 for an array in C order, magic included, filled up so that the elements are aligned.
pub(super) fn text(dtype: DType, shape: &Shape) -> Result<Vec<u8>, String> {
    let sizes: Vec<String> = shape.sizes().iter().map(usize::to_string).collect();
    let comma = if sizes.len() == 1 { "," } else { "" };
    let mut text = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        descr(dtype),
        sizes.join(", ")
    );
    let before = MAGIC.len() + 4;
    let filled = (before + text.len() + 1).next_multiple_of(64) - before;
    let size = u16::try_from(filled)
        .map_err(|_| format!("an array of {} dimensions has too long a header", shape.rank()))?;
    text.extend(std::iter::repeat_n(' ', filled - text.len() - 1));
    text.push('\n');
    let mut header = MAGIC.to_vec();
    header.extend([1, 0]);
    header.extend(size.to_le_bytes());
    header.extend(text.as_bytes());
    Ok(header)
}

//! The files of numpy's own format: one array, after a header that is a Python literal.
//!
//! Versions 1 to 3 are read, in C and Fortran order, of either byte order; version 1 is written. The element types that
//! numpy itself does not know (bf16, the 8-bit floats, integers of 4 bits ...) are written as `ml_dtypes` writes them: as
//! bytes without a meaning. Such a file does not say which type it holds, so reading one needs [`read_as`].

mod header;
mod layout;
mod literal;

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

pub use header::HEADER_LIMIT;

use crate::whole_file::{self, wrong};
use crate::{DType, Tensor, TensorError};
use header::{Content, Header};

/// Reads a file whose header says which type it holds.
pub fn read(path: impl AsRef<Path>) -> Result<Tensor, TensorError> {
    open(path.as_ref(), None)
}

/// Reads a file of this type: what bytes without a meaning are taken for; a header that says another type is refused.
pub fn read_as(path: impl AsRef<Path>, dtype: DType) -> Result<Tensor, TensorError> {
    open(path.as_ref(), Some(dtype))
}

/// Writes a tensor as version 1 in C order, as a whole file: a reader sees the old content or the new one.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<(), TensorError> {
    let path = path.as_ref();
    let header =
        header::text(tensor.dtype(), tensor.shape()).map_err(|reason| wrong(path, reason))?;
    whole_file::write(path, |writer| {
        writer.write_all(&header)?;
        writer.write_all(tensor.bytes())
    })
}

fn open(path: &Path, asked: Option<DType>) -> Result<Tensor, TensorError> {
    let unreadable = |error| wrong(path, format_args!("cannot read: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    from_reader(BufReader::new(file), length, asked).map_err(|reason| wrong(path, reason))
}

/// Reads an array of `length` bytes in all; the message says what is wrong.
fn from_reader(mut reader: impl Read, length: u64, asked: Option<DType>) -> Result<Tensor, String> {
    let (header, header_bytes) = Header::read(&mut reader, length)?;
    let dtype = choose(header.content, asked)?;
    let bytes = header
        .shape
        .elements()
        .checked_mul(dtype.bytes())
        .ok_or_else(|| format!("an array of shape ({}) is too large", header.shape))?;
    let found = length - header_bytes;
    // Said before memory is taken: the header may promise anything.
    if found != bytes as u64 {
        let shape = &header.shape;
        return Err(format!(
            "an array of {dtype} [{shape}] takes {bytes} bytes, the file has {found}"
        ));
    }
    let mut content = vec![0; bytes];
    reader.read_exact(&mut content).map_err(|error| format!("cannot read: {error}"))?;
    if header.big_endian {
        layout::swap_bytes(&mut content, dtype.part().bytes());
    }
    if header.fortran_order {
        content = layout::to_row_major(&content, &header.shape, dtype.bytes());
    }
    Tensor::new(dtype, header.shape, content).map_err(|error| error.to_string())
}

/// The type of the elements: what the header says, or what was asked for where it does not say.
fn choose(content: Content, asked: Option<DType>) -> Result<DType, String> {
    match (content, asked) {
        (Content::Known(dtype), None) => Ok(dtype),
        (Content::Known(dtype), Some(asked)) if dtype == asked => Ok(dtype),
        (Content::Known(dtype), Some(asked)) => Err(format!("it holds {dtype}, not {asked}")),
        (Content::Bytes(size), Some(asked)) if asked.bytes() == size => Ok(asked),
        (Content::Bytes(size), Some(asked)) => {
            Err(format!("elements of {asked} take {} bytes, found {size}", asked.bytes()))
        }
        (Content::Bytes(size), None) => {
            let meant: Vec<&str> = DType::ALL
                .into_iter()
                .filter(|dtype| dtype.bytes() == size && header::needs_asking(*dtype))
                .map(DType::name)
                .collect();
            let hint = if meant.is_empty() {
                "no element type of that size is written so".to_owned()
            } else {
                format!("say which type it is, one of {}", meant.join(", "))
            };
            Err(format!("the header does not say what its elements of {size} bytes mean; {hint}"))
        }
    }
}

#[cfg(test)]
mod tests;

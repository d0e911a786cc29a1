//! Files of text, read up to a limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::TrainError;
use crate::error::wrong;

/// The text of a file that has at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> Result<String, TrainError> {
    let unreadable = |error: io::Error| wrong(path, format_args!("cannot read: {error}"));
    let file = File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(limit + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > limit {
        return Err(wrong(path, format_args!("has more than {limit} bytes")));
    }
    Ok(text)
}

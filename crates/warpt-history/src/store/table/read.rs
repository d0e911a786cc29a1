//! Reads tables that [`super::write`] wrote. Anything else in the file is an error with its place, never a panic and never
//! a guess.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::basic::Encoding as PageEncoding;
use parquet::column::page::Page;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{BoolType, DataType, DoubleType, Int32Type};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;

use super::{Column, Kind, Schema, hybrid};
use crate::error::{HistoryError, Result};

/// A row group with more rows is not ours.
const MAX_GROUP_ROWS: usize = 1 << 24;

/// A table on the disk.
pub(crate) struct TableFile {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    schema: Schema,
}

impl TableFile {
    /// Opens a file and checks that it has the columns of the schema, in their order.
    pub(crate) fn open(path: &Path, schema: Schema) -> Result<Self> {
        let file =
            File::open(path).map_err(|error| HistoryError::file("cannot read", path, error))?;
        let reader = SerializedFileReader::new(file)
            .map_err(|error| HistoryError::malformed(path, error.to_string()))?;
        let columns = reader.metadata().file_metadata().schema_descr().columns();
        let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
        let expected: Vec<&str> = schema.iter().map(|(name, _)| *name).collect();
        // Columns of newer versions stand behind the ones known here.
        if !names.starts_with(&expected) {
            let detail = format!("expected the columns {expected:?}, found {names:?}");
            return Err(HistoryError::malformed(path, detail));
        }
        let file = Self { path: path.to_owned(), reader, schema };
        if (0..file.groups()).any(|group| file.group_rows(group) > MAX_GROUP_ROWS) {
            return Err(HistoryError::malformed(path, "a row group is too large"));
        }
        Ok(file)
    }

    /// How many row groups there are.
    pub(crate) fn groups(&self) -> usize {
        self.reader.metadata().num_row_groups()
    }

    /// How many rows in all.
    pub(crate) fn rows(&self) -> u64 {
        (0..self.groups()).map(|group| self.group_rows(group) as u64).sum()
    }

    fn group_rows(&self, group: usize) -> usize {
        usize::try_from(self.reader.metadata().row_group(group).num_rows()).unwrap_or(usize::MAX)
    }

    fn place(&self, name: &str) -> usize {
        let place = self.schema.iter().position(|(column, _)| *column == name);
        place.expect("columns are asked for by the names of their schema")
    }

    /// The first and last text of a column in a row group, in their order.
    pub(crate) fn text_bounds(&self, group: usize, name: &str) -> Option<(&[u8], &[u8])> {
        let chunk = self.reader.metadata().row_group(group).columns().get(self.place(name))?;
        match chunk.statistics()? {
            Statistics::ByteArray(bounds) => {
                Some((bounds.min_bytes_opt()?, bounds.max_bytes_opt()?))
            }
            _ => None,
        }
    }

    /// The first and last text of a column in the whole file.
    pub(crate) fn bounds(&self, name: &str) -> Option<(String, String)> {
        let groups: Option<Vec<_>> =
            (0..self.groups()).map(|group| self.text_bounds(group, name)).collect();
        let groups = groups?;
        let first = groups.iter().map(|(first, _)| *first).min()?;
        let last = groups.iter().map(|(_, last)| *last).max()?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        Some((text(first)?, text(last)?))
    }

    /// A note in the footer.
    pub(crate) fn note(&self, key: &str) -> Option<&str> {
        let notes = self.reader.metadata().file_metadata().key_value_metadata()?;
        notes.iter().find(|note| note.key == key)?.value.as_deref()
    }

    /// One column of a row group.
    pub(crate) fn column(&self, group: usize, name: &str) -> Result<Column> {
        let malformed = |detail: String| {
            HistoryError::malformed(
                &self.path,
                format!("row group {group}, column {name}: {detail}"),
            )
        };
        let place = self.place(name);
        let column = match self.schema[place].1 {
            Kind::Text => self.coded(group, place).and_then(|(distinct, dictionary, codes)| {
                Ok(Column::Text { dictionary: texts(&dictionary, distinct)?, codes })
            }),
            Kind::Time => self.coded(group, place).and_then(|(distinct, dictionary, codes)| {
                let times = dictionary.chunks_exact(8);
                let times = times.map(|b| i64::from_le_bytes(b.try_into().expect("chunks of 8")));
                let dictionary: Vec<i64> = times.collect();
                if dictionary.len() != distinct {
                    return Err("the dictionary has another length than it says".to_owned());
                }
                Ok(Column::Time { dictionary, codes })
            }),
            Kind::Number => self.numbers::<DoubleType>(group, place, f64::NAN).map(Column::Number),
            Kind::MaybeNumber => {
                self.numbers::<DoubleType>(group, place, f64::NAN).map(Column::MaybeNumber)
            }
            Kind::Count => self.numbers::<Int32Type>(group, place, 0).map(Column::Count),
            Kind::Flag => self.numbers::<BoolType>(group, place, false).map(Column::Flag),
        };
        column.map_err(malformed)
    }

    /// Length and bytes of the dictionary, and the code of each row.
    fn coded(
        &self,
        group: usize,
        place: usize,
    ) -> std::result::Result<(usize, Vec<u8>, Vec<u32>), String> {
        let text = |error: parquet::errors::ParquetError| error.to_string();
        let rows = self.group_rows(group);
        let row_group = self.reader.get_row_group(group).map_err(text)?;
        let mut dictionary = None;
        let mut codes = Vec::new();
        for page in row_group.get_column_page_reader(place).map_err(text)? {
            match page.map_err(text)? {
                Page::DictionaryPage { buf, num_values, .. } => {
                    dictionary = Some((num_values as usize, buf));
                }
                Page::DataPage {
                    buf, num_values, encoding: PageEncoding::RLE_DICTIONARY, ..
                } => {
                    let (distinct, _) = dictionary.as_ref().ok_or("codes before a dictionary")?;
                    let count = num_values as usize;
                    if codes.len() + count > rows {
                        return Err("more codes than rows".into());
                    }
                    let found = hybrid::decode(&buf, count, *distinct);
                    codes.extend(found.ok_or("codes that are not in the dictionary")?);
                }
                page => return Err(format!("a page as {}", page.encoding())),
            }
        }
        let (distinct, bytes) = dictionary.ok_or("no dictionary")?;
        if codes.len() != rows {
            return Err(format!("{} codes for {rows} rows", codes.len()));
        }
        Ok((distinct, bytes.to_vec(), codes))
    }

    fn numbers<T: DataType>(
        &self,
        group: usize,
        place: usize,
        missing: T::T,
    ) -> std::result::Result<Vec<T::T>, String>
    where
        T::T: Copy,
    {
        let text = |error: parquet::errors::ParquetError| error.to_string();
        let rows = self.group_rows(group);
        let row_group = self.reader.get_row_group(group).map_err(text)?;
        let column = row_group.get_column_reader(place).map_err(text)?;
        let mut column = get_typed_column_reader::<T>(column);
        let mut values = Vec::with_capacity(rows);
        let mut levels = Vec::with_capacity(rows);
        loop {
            let wanted = rows - levels.len().max(values.len()).min(rows);
            let (records, _, _) = column
                .read_records(wanted.max(1), Some(&mut levels), None, &mut values)
                .map_err(text)?;
            if records == 0 {
                break;
            }
            if values.len() > rows || levels.len() > rows {
                return Err("more values than rows".into());
            }
        }
        if values.len() == rows {
            return Ok(values);
        }
        if levels.len() != rows {
            return Err(format!("{} values for {rows} rows", values.len()));
        }
        let mut present = values.into_iter();
        let spread = levels.iter().map(|level| match level {
            0 => Some(missing),
            _ => present.next(),
        });
        spread.collect::<Option<Vec<_>>>().ok_or_else(|| "fewer values than levels say".to_owned())
    }
}

/// The texts of a plain dictionary page.
fn texts(mut bytes: &[u8], count: usize) -> std::result::Result<Vec<String>, String> {
    let mut texts = Vec::with_capacity(count.min(bytes.len() / 4));
    for _ in 0..count {
        let (length, rest) = bytes.split_at_checked(4).ok_or("the dictionary is cut off")?;
        let length = u32::from_le_bytes(length.try_into().expect("split at 4")) as usize;
        let (text, rest) = rest.split_at_checked(length).ok_or("the dictionary is cut off")?;
        let text = std::str::from_utf8(text).map_err(|_| "a text that is not UTF-8")?;
        texts.push(text.to_owned());
        bytes = rest;
    }
    Ok(texts)
}

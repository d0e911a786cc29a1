//! Writes a table. Dictionary columns are made into pages here and spliced in; number columns go through the library's
//! writer. A file is whole only after [`TableWriter::finish`], which flushes it to the disk.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding as PageEncoding, ZstdLevel};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{BoolType, ByteArray, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::statistics::Statistics;
use parquet::file::writer::{
    SerializedFileWriter, SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite,
};
use parquet::schema::types::{ColumnDescPtr, ColumnPath};

use super::{Column, Kind, Schema, hybrid, message};
use crate::error::{HistoryError, Result};

/// The fastest level: higher ones take twice the time for two percent.
const LEVEL: i32 = 1;

/// How numbers are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Byte streams split and deltas: smallest and fastest; read by everything but Spark's vectorized reader.
    Compact,
    /// Plain: read by everything.
    Portable,
}

/// A table being written.
pub(crate) struct TableWriter {
    path: PathBuf,
    writer: SerializedFileWriter<BufWriter<File>>,
    rows: u64,
}

impl TableWriter {
    /// Creates the file, with notes in its footer.
    pub(crate) fn create(
        path: &Path,
        schema: Schema,
        encoding: Encoding,
        notes: &[(&str, String)],
    ) -> Result<Self> {
        let fail = failing(path);
        let file =
            File::create(path).map_err(|error| HistoryError::file("cannot write", path, error))?;
        let level = ZstdLevel::try_new(LEVEL).map_err(&fail)?;
        let notes =
            notes.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("warpt {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(level))
            .set_dictionary_enabled(false)
            // Nobody looks for numbers by their size; texts and times bring bounds of their own.
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .set_data_page_row_count_limit(usize::MAX)
            .set_data_page_size_limit(2 << 20)
            .set_write_batch_size(8192)
            .set_key_value_metadata(Some(notes.collect()));
        for (name, kind) in schema.iter().filter(|_| encoding == Encoding::Compact) {
            let column = ColumnPath::from(*name);
            properties = match kind {
                Kind::Number | Kind::MaybeNumber => {
                    properties.set_column_encoding(column, PageEncoding::BYTE_STREAM_SPLIT)
                }
                Kind::Count => {
                    properties.set_column_encoding(column, PageEncoding::DELTA_BINARY_PACKED)
                }
                _ => properties,
            };
        }
        let message = message(schema).map_err(&fail)?;
        let writer = SerializedFileWriter::new(
            BufWriter::with_capacity(1 << 18, file),
            message,
            Arc::new(properties.build()),
        )
        .map_err(&fail)?;
        Ok(Self { path: path.to_owned(), writer, rows: 0 })
    }

    /// Adds a row group.
    pub(crate) fn write(&mut self, columns: &[Column]) -> Result<()> {
        let fail = failing(&self.path);
        let descriptors = self.writer.schema_descr().columns().to_vec();
        let mut group = self.writer.next_row_group().map_err(&fail)?;
        for (column, descriptor) in columns.iter().zip(descriptors) {
            write_column(&mut group, column, descriptor).map_err(&fail)?;
        }
        let written = group.close().map_err(&fail)?;
        self.rows += u64::try_from(written.num_rows()).unwrap_or(0);
        Ok(())
    }

    /// Ends the file and makes it durable; how many rows and bytes it has.
    pub(crate) fn finish(self) -> Result<(u64, u64)> {
        let Self { path, writer, rows } = self;
        let fail = failing(&path);
        let system = |error| HistoryError::file("cannot write", &path, error);
        let buffer = writer.into_inner().map_err(&fail)?;
        let file = buffer.into_inner().map_err(|error| system(error.into_error()))?;
        file.sync_data().map_err(system)?;
        Ok((rows, file.metadata().map_err(system)?.len()))
    }
}

fn failing(path: &Path) -> impl Fn(ParquetError) -> HistoryError + use<> {
    let path = path.to_owned();
    move |error| HistoryError::malformed(&path, format!("cannot write: {error}"))
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    column: &Column,
    descriptor: ColumnDescPtr,
) -> parquet::errors::Result<()> {
    match column {
        Column::Text { dictionary, codes } => {
            let mut page = Vec::new();
            for text in dictionary {
                page.extend_from_slice(&(text.len() as u32).to_le_bytes());
                page.extend_from_slice(text.as_bytes());
            }
            let bytes = |text: Option<&String>| text.map(|text| ByteArray::from(text.as_str()));
            let used = used(dictionary, codes);
            let (least, most) = (used.iter().copied().min(), used.iter().copied().max());
            let statistics =
                Statistics::byte_array(bytes(least), bytes(most), None, Some(0), false);
            splice(group, descriptor, &page, dictionary.len(), codes, statistics)
        }
        Column::Time { dictionary, codes } => {
            let page: Vec<u8> = dictionary.iter().flat_map(|time| time.to_le_bytes()).collect();
            let used = used(dictionary, codes);
            let (least, most) = (used.iter().copied().min(), used.iter().copied().max());
            let statistics = Statistics::int64(least.copied(), most.copied(), None, Some(0), false);
            splice(group, descriptor, &page, dictionary.len(), codes, statistics)
        }
        Column::Number(numbers) => plain::<DoubleType>(group, numbers, None),
        Column::MaybeNumber(numbers) => {
            let levels: Vec<i16> =
                numbers.iter().map(|number| i16::from(!number.is_nan())).collect();
            if levels.iter().all(|level| *level == 1) {
                return plain::<DoubleType>(group, numbers, Some(&levels));
            }
            let present: Vec<f64> = numbers.iter().copied().filter(|n| !n.is_nan()).collect();
            plain::<DoubleType>(group, &present, Some(&levels))
        }
        Column::Count(counts) => plain::<Int32Type>(group, counts, None),
        Column::Flag(flags) => plain::<BoolType>(group, flags, None),
    }
}

/// The entries of a dictionary that some row has: statistics must not claim more.
fn used<'a, T>(dictionary: &'a [T], codes: &[u32]) -> Vec<&'a T> {
    let mut seen = vec![false; dictionary.len()];
    for code in codes {
        if let Some(seen) = seen.get_mut(*code as usize) {
            *seen = true;
        }
    }
    dictionary.iter().zip(seen).filter(|(_, seen)| *seen).map(|(entry, _)| entry).collect()
}

fn plain<T: parquet::data_type::DataType>(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> parquet::errors::Result<()> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("more columns than the schema has".into()));
    };
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// A column chunk of a dictionary page and one page of codes.
fn splice(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    descriptor: ColumnDescPtr,
    dictionary: &[u8],
    distinct: usize,
    codes: &[u32],
    statistics: Statistics,
) -> parquet::errors::Result<()> {
    let compress = |bytes: &[u8]| zstd::bulk::compress(bytes, LEVEL).map_err(ParquetError::from);
    let mut chunk = TrackedWrite::new(Vec::new());
    let mut pages = SerializedPageWriter::new(&mut chunk);
    let dictionary_page = Page::DictionaryPage {
        buf: compress(dictionary)?.into(),
        num_values: distinct as u32,
        encoding: PageEncoding::PLAIN,
        is_sorted: false,
    };
    let first = pages.write_page(CompressedPage::new(dictionary_page, dictionary.len()))?;
    let packed = hybrid::encode(codes, hybrid::width(distinct));
    let data_page = Page::DataPage {
        buf: compress(&packed)?.into(),
        num_values: codes.len() as u32,
        encoding: PageEncoding::RLE_DICTIONARY,
        def_level_encoding: PageEncoding::RLE,
        rep_level_encoding: PageEncoding::RLE,
        statistics: None,
    };
    let second = pages.write_page(CompressedPage::new(data_page, packed.len()))?;
    let bytes = chunk.into_inner()?;
    let level = ZstdLevel::try_new(LEVEL)?;
    let metadata = ColumnChunkMetaData::builder(descriptor)
        .set_encodings(vec![PageEncoding::PLAIN, PageEncoding::RLE, PageEncoding::RLE_DICTIONARY])
        .set_compression(Compression::ZSTD(level))
        .set_num_values(codes.len() as i64)
        .set_total_compressed_size(bytes.len() as i64)
        .set_total_uncompressed_size((first.uncompressed_size + second.uncompressed_size) as i64)
        .set_dictionary_page_offset(Some(first.offset as i64))
        .set_data_page_offset(second.offset as i64)
        .set_statistics(statistics)
        .build()?;
    let close = ColumnCloseResult {
        bytes_written: bytes.len() as u64,
        rows_written: codes.len() as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    group.append_column(&parquet_bytes(bytes), close)
}

fn parquet_bytes(bytes: Vec<u8>) -> bytes::Bytes {
    bytes.into()
}

//! Tables as Parquet files. A table is a list of named columns; text and time columns are dictionaries with a code a row,
//! in memory as on the disk.

pub(crate) mod hybrid;
mod read;
mod write;

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::schema::types::Type;

pub(crate) use read::TableFile;
pub(crate) use write::{Encoding, TableWriter};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text, from a dictionary.
    Text,
    /// A moment in microseconds, from a dictionary.
    Time,
    /// A number.
    Number,
    /// A number that may be missing.
    MaybeNumber,
    /// A whole number.
    Count,
    /// Yes or no.
    Flag,
}

/// Name and kind of each column of a table.
pub(crate) type Schema = &'static [(&'static str, Kind)];

/// The columns of one row group.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Column {
    Text {
        dictionary: Vec<String>,
        codes: Vec<u32>,
    },
    Time {
        dictionary: Vec<i64>,
        codes: Vec<u32>,
    },
    Number(Vec<f64>),
    /// Missing numbers are NaN.
    MaybeNumber(Vec<f64>),
    Count(Vec<i32>),
    Flag(Vec<bool>),
}

/// The schema as Parquet describes it.
fn message(schema: Schema) -> parquet::errors::Result<Arc<Type>> {
    let fields = schema.iter().map(|(name, kind)| {
        let (physical, logical, repetition) = match kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED),
            Kind::Time => (
                Physical::INT64,
                Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
                Repetition::REQUIRED,
            ),
            Kind::Number => (Physical::DOUBLE, None, Repetition::REQUIRED),
            Kind::MaybeNumber => (Physical::DOUBLE, None, Repetition::OPTIONAL),
            Kind::Count => (Physical::INT32, None, Repetition::REQUIRED),
            Kind::Flag => (Physical::BOOLEAN, None, Repetition::REQUIRED),
        };
        let field = Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()?;
        Ok(Arc::new(field))
    });
    let fields = fields.collect::<parquet::errors::Result<Vec<_>>>()?;
    Type::group_type_builder("warpt").with_fields(fields).build().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: Schema = &[
        ("text", Kind::Text),
        ("time", Kind::Time),
        ("number", Kind::Number),
        ("maybe", Kind::MaybeNumber),
        ("count", Kind::Count),
        ("flag", Kind::Flag),
    ];

    fn group(offset: u32) -> Vec<Column> {
        let rows = 1000_u32;
        let texts = (0..7).map(|text| format!("text {text}")).collect();
        let maybe = (0..rows).map(|row| if row % 3 == 0 { f64::NAN } else { f64::from(row) });
        vec![
            Column::Text { dictionary: texts, codes: (0..rows).map(|row| row / 100 % 7).collect() },
            Column::Time {
                dictionary: vec![-5, 6, 7],
                codes: (0..rows).map(|row| row % 3).collect(),
            },
            Column::Number((0..rows).map(|row| f64::from(row + offset) / 7.0).collect()),
            Column::MaybeNumber(maybe.collect()),
            Column::Count((0..rows as i32).collect()),
            Column::Flag((0..rows).map(|row| row % 5 == 0).collect()),
        ]
    }

    #[test]
    fn tables_come_back_and_texts_bound_their_groups() {
        let directory = tempfile::tempdir().unwrap();
        for encoding in [Encoding::Compact, Encoding::Portable] {
            let path = directory.path().join("table.parquet");
            let mut writer = TableWriter::create(&path, SCHEMA, encoding, &[]).unwrap();
            let groups = [group(0), group(5000)];
            for group in &groups {
                writer.write(group).unwrap();
            }
            writer.finish().unwrap();
            let file = TableFile::open(&path, SCHEMA).unwrap();
            assert_eq!((file.groups(), file.rows()), (2, 2000));
            assert_eq!(file.text_bounds(0, "text"), Some((&b"text 0"[..], &b"text 6"[..])));
            for (number, expected) in groups.iter().enumerate() {
                for (column, (name, _)) in expected.iter().zip(SCHEMA) {
                    let found = file.column(number, name).unwrap();
                    // NaN is not equal to itself.
                    assert_eq!(format!("{found:?}"), format!("{column:?}"));
                }
            }
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.parquet");
        let mut writer = TableWriter::create(&path, SCHEMA, Encoding::Compact, &[]).unwrap();
        writer.write(&group(0)).unwrap();
        writer.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for place in (0..bytes.len()).step_by(97) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x55;
            std::fs::write(&path, &damaged).unwrap();
            if let Ok(file) = TableFile::open(&path, SCHEMA) {
                for (name, _) in SCHEMA {
                    let _ = file.column(0, name);
                }
            }
            std::fs::write(&path, &bytes[..place]).unwrap();
            assert!(TableFile::open(&path, SCHEMA).is_err());
        }
    }
}

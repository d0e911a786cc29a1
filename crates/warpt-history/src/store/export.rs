//! Rows for other tools: Parquet that everything reads, CSV, JSON lines. Rows go out as they are found, so memory does not
//! grow with them. Formulas that a spreadsheet would run are made text.

use std::io::Write;
use std::path::Path;

use super::Store;
use super::batch::{GROUP_ROWS, ROWS, texts};
use super::layout::FORMAT_VERSION;
use super::selection::{Point, Selection};
use super::table::{Column, Encoding, TableWriter};
use crate::error::{HistoryError, Result};

/// The columns of the text forms, in order; Parquet has the same.
pub const COLUMNS: [&str; 14] = [
    "time",
    "machine",
    "run",
    "metric",
    "params",
    "unit",
    "higher_is_better",
    "standing",
    "samples",
    "value",
    "minimum",
    "low",
    "high",
    "mad",
];

impl Store {
    /// Hands every point of a selection to `visit`, in no particular order.
    pub fn visit(
        &self,
        selection: &Selection,
        visit: &mut dyn FnMut(Point) -> Result<()>,
    ) -> Result<()> {
        // Not repeated on a change of the store: points would be handed out twice.
        super::snapshot::Snapshot::take(&self.layout)?.visit(selection, visit)
    }

    /// Writes a selection as one Parquet file; how many rows.
    pub fn export_parquet(&self, selection: &Selection, path: &Path) -> Result<u64> {
        let notes =
            [("warpt.table", "rows".to_owned()), ("warpt.format", FORMAT_VERSION.to_string())];
        let mut writer = TableWriter::create(path, ROWS, Encoding::Portable, &notes)?;
        let mut waiting: Vec<Point> = Vec::new();
        self.visit(selection, &mut |point| {
            waiting.push(point);
            if waiting.len() == GROUP_ROWS {
                writer.write(&columns(&waiting))?;
                waiting.clear();
            }
            Ok(())
        })?;
        if !waiting.is_empty() {
            writer.write(&columns(&waiting))?;
        }
        writer.finish().map(|(rows, _)| rows)
    }

    /// Writes a selection as CSV with a header; how many rows.
    pub fn export_csv(&self, selection: &Selection, out: &mut dyn Write) -> Result<u64> {
        let fail = |error| HistoryError::file("cannot write", "the export", error);
        let mut rows = 0;
        writeln!(out, "{}", COLUMNS.join(",")).map_err(fail)?;
        self.visit(selection, &mut |point| {
            rows += 1;
            writeln!(out, "{}", csv_line(&point)).map_err(fail)
        })?;
        Ok(rows)
    }

    /// Writes a selection as one JSON object a line; how many rows.
    pub fn export_json_lines(&self, selection: &Selection, out: &mut dyn Write) -> Result<u64> {
        let fail = |error| HistoryError::file("cannot write", "the export", error);
        let mut rows = 0;
        self.visit(selection, &mut |point| {
            rows += 1;
            let line = serde_json::to_string(&point)
                .map_err(|error| HistoryError::Question(error.to_string()))?;
            writeln!(out, "{line}").map_err(fail)
        })?;
        Ok(rows)
    }
}

/// A point as a line of CSV.
pub fn csv_line(point: &Point) -> String {
    let number = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    let fields = [
        point.time.to_string(),
        csv_field(&point.machine),
        csv_field(&point.run),
        csv_field(&point.key.metric),
        csv_field(&point.key.params),
        csv_field(&point.key.unit),
        point.key.higher_is_better.to_string(),
        point.standing.name().to_owned(),
        point.samples.to_string(),
        point.value.to_string(),
        number(point.minimum),
        number(point.low),
        number(point.high),
        number(point.mad),
    ];
    fields.join(",")
}

/// Text as a field of CSV: quoted where needed, and led by an apostrophe where a spreadsheet would take it for a formula.
pub fn csv_field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

fn columns(points: &[Point]) -> Vec<Column> {
    let text = |of: fn(&Point) -> &str| {
        let (dictionary, codes) = texts(points.iter().map(of));
        Column::Text { dictionary, codes }
    };
    let maybe = |of: fn(&Point) -> Option<f64>| {
        Column::MaybeNumber(points.iter().map(|point| of(point).unwrap_or(f64::NAN)).collect())
    };
    let mut times: Vec<i64> = points.iter().map(|point| point.time.as_microsecond()).collect();
    times.sort_unstable();
    times.dedup();
    let time_codes = points.iter().map(|point| {
        let place = times.binary_search(&point.time.as_microsecond());
        place.expect("every time is among the times") as u32
    });
    let time_codes = time_codes.collect();
    let samples = points.iter().map(|point| i32::try_from(point.samples).unwrap_or(i32::MAX));
    vec![
        Column::Time { dictionary: times, codes: time_codes },
        text(|point| &point.machine),
        text(|point| &point.run),
        text(|point| &point.key.metric),
        text(|point| &point.key.params),
        text(|point| &point.key.unit),
        Column::Flag(points.iter().map(|point| point.key.higher_is_better).collect()),
        text(|point| point.standing.name()),
        Column::Count(samples.collect()),
        Column::Number(points.iter().map(|point| point.value).collect()),
        maybe(|point| point.minimum),
        maybe(|point| point.low),
        maybe(|point| point.high),
        maybe(|point| point.mad),
    ]
}

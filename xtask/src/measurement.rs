//! The form every measurement of this project against something else takes: rows of ours, theirs, the ratio with its
//! interval, the goal and whether it was met. A ratio above 1 means that ours is better. A row that could not be
//! measured is a row that is not met, with the reason; none is ever dropped.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

/// What a ratio has to reach. As JSON a number is a minimum for `ratio`; an object with `above` is a bound it has to
/// exceed; one with `min` and `max` is a band that the whole interval, `low` to `high`, has to lie in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Goal {
    /// At least this.
    Minimum(f64),
    /// More than this: a tie is not enough.
    Above { above: f64 },
    /// The interval within these.
    Band { min: f64, max: f64 },
}

impl Goal {
    fn met(self, ratio: f64, low: f64, high: f64) -> bool {
        match self {
            Self::Minimum(least) => ratio >= least,
            Self::Above { above } => ratio > above,
            Self::Band { min, max } => low >= min && high <= max,
        }
    }

    /// For people: `>=0.97` or `0.90-1.10`.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Minimum(least) => format!(">={least:.2}"),
            Self::Above { above } => format!(">{above:.2}"),
            Self::Band { min, max } => format!("{min:.2}-{max:.2}"),
        }
    }
}

/// One comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// Our value; null when it was not measured, like the numbers below.
    pub(crate) ours: Option<f64>,
    /// The peer's.
    pub(crate) peer: Option<f64>,
    /// The unit of both.
    pub(crate) unit: String,
    /// From the paired comparison, not the quotient of the two values above.
    pub(crate) ratio: Option<f64>,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) goal: Goal,
    pub(crate) met: bool,
    /// Why it was not measured, and what else a reader should know.
    pub(crate) notes: Vec<String>,
}

/// What was measured for a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measured {
    pub(crate) ours: f64,
    pub(crate) peer: f64,
    pub(crate) unit: &'static str,
    pub(crate) ratio: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) notes: Vec<String>,
}

impl Row {
    /// A row from its measurement.
    pub(crate) fn new(name: &str, goal: Goal, measured: Measured) -> Self {
        let Measured { ours, peer, unit, ratio, low, high, notes } = measured;
        let finite = |number: f64| Some(number).filter(|number| number.is_finite());
        Self {
            name: name.to_owned(),
            ours: finite(ours),
            peer: finite(peer),
            unit: unit.to_owned(),
            ratio: finite(ratio),
            low: finite(low),
            high: finite(high),
            goal,
            met: goal.met(ratio, low, high),
            notes,
        }
    }

    /// A row that could not be measured.
    pub(crate) fn unmeasured(name: &str, goal: Goal, reason: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            ours: None,
            peer: None,
            unit: String::new(),
            ratio: None,
            low: None,
            high: None,
            goal,
            met: false,
            notes: vec![format!("not measured: {}", reason.into())],
        }
    }
}

/// The widest line of a table.
const WIDTH: usize = 80;

/// The rows as a table of at most 80 columns, the notes below it.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    let line = |text: &mut String, cells: [&str; 8]| {
        let [name, ours, peer, unit, ratio, interval, goal, met] = cells;
        let name: String = name.chars().take(22).collect();
        let line = format!(
            "{name:<22} {ours:>7} {peer:>7} {unit:<7} {ratio:>5} {interval:>11} {goal:>9} {met}"
        );
        let _ = writeln!(text, "{}", line.trim_end());
    };
    line(&mut text, ["row", "ours", "peer", "unit", "ratio", "interval", "goal", "met"]);
    for row in rows {
        let interval = match (row.low, row.high) {
            (Some(low), Some(high)) => format!("{}-{}", three(low), three(high)),
            (Some(low), None) => format!("{}-", three(low)),
            _ => "-".to_owned(),
        };
        let value = |number: Option<f64>| number.map_or("-".to_owned(), five);
        let cells = [
            row.name.as_str(),
            &value(row.ours),
            &value(row.peer),
            &row.unit,
            &row.ratio.map_or("-".to_owned(), three),
            &interval,
            &row.goal.text(),
            if row.met { "yes" } else { "NO" },
        ];
        line(&mut text, cells);
    }
    for row in rows {
        for note in &row.notes {
            wrap(&mut text, &format!("{}: {note}", row.name));
        }
    }
    text
}

/// A ratio in five characters.
fn three(number: f64) -> String {
    match number {
        number if number >= 999.5 => ">999".to_owned(),
        number if number >= 99.95 => format!("{number:.0}"),
        number if number >= 9.995 => format!("{number:.1}"),
        number => format!("{number:.3}"),
    }
}

/// A value in seven characters, at least three of them digits that mean something.
fn five(number: f64) -> String {
    match number.abs() {
        size if size >= 1e7 => format!("{number:.1e}"),
        size if size >= 999.5 => format!("{number:.0}"),
        size if size >= 99.5 => format!("{number:.1}"),
        size if size >= 0.1 => format!("{number:.2}"),
        _ => format!("{number:.1e}"),
    }
}

/// Words in lines of at most 80 columns, the later ones indented.
fn wrap(text: &mut String, words: &str) {
    let mut line = String::new();
    for word in words.split_whitespace() {
        if !line.trim().is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(text, "{line}");
            line = "   ".to_owned();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.trim().is_empty() {
        let _ = writeln!(text, "{line}");
    }
}

/// Writes the rows as a JSON array.
pub(crate) fn write_json(path: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(rows)?;
    text.push('\n');
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(ratio: f64, low: f64, high: f64) -> Measured {
        Measured { ours: 24.913, peer: 17.02, unit: "GB/s", ratio, low, high, notes: Vec::new() }
    }

    const BAND: Goal = Goal::Band { min: 0.90, max: 1.10 };

    #[test]
    fn a_minimum_looks_at_the_ratio_and_a_band_at_the_interval() {
        let row = |goal, measured| Row::new("row", goal, measured).met;
        assert!(row(Goal::Minimum(0.97), measured(0.97, 0.95, 0.99)));
        assert!(!row(Goal::Minimum(0.97), measured(0.969, 0.95, 0.99)));
        assert!(row(BAND, measured(1.0, 0.90, 1.10)));
        assert!(!row(BAND, measured(1.0, 0.89, 1.05)));
        assert!(!row(BAND, measured(1.0, 0.95, f64::INFINITY)));
        assert!(!row(Goal::Minimum(0.97), measured(f64::NAN, f64::NAN, f64::NAN)));
        assert!(!Row::unmeasured("row", BAND, "no peer").met);
    }

    #[test]
    fn the_json_has_the_agreed_names() {
        let rows = [
            Row::new("triad", Goal::Minimum(0.97), measured(1.463, 1.45, f64::INFINITY)),
            Row::unmeasured("disk", BAND, "fio is not installed"),
        ];
        let json = serde_json::to_value(rows).unwrap();
        assert_eq!(json[0]["goal"], 0.97);
        assert_eq!(json[0]["met"], true);
        assert_eq!(json[0]["high"], serde_json::Value::Null);
        assert_eq!(json[1]["goal"]["max"], 1.10);
        for name in ["name", "ours", "peer", "ratio", "low", "high", "goal", "met"] {
            assert!(json[1].get(name).is_some(), "{name}");
        }
        assert_eq!(json[1]["notes"][0], "not measured: fio is not installed");
    }

    #[test]
    fn the_table_fits_80_columns() {
        let mut wide =
            Row::new("a_name_much_too_long_for_its_column", BAND, measured(1234.0, 0.001, 99.99));
        wide.notes.push("words ".repeat(60));
        wide.ours = Some(123_456_789.0);
        wide.peer = Some(0.000_123);
        wide.unit = "GFLOP/s".into();
        let rows = [
            wide,
            Row::new("triad", Goal::Minimum(0.97), measured(0.9851, 0.97, 1.002)),
            Row::unmeasured("disk", BAND, "fio is not installed"),
        ];
        let text = table(&rows);
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        assert!(text.contains("0.985 0.970-1.002    >=0.97 yes"), "{text}");
        assert!(text.contains("disk: not measured: fio is not installed"), "{text}");
    }
}

//! What a report can be written as: one module per format and one table. Every exporter takes a [`Report`] and returns
//! the whole text of a file.
//!
//! What always holds: text from a record is inert in each of them (no markup, terminal escape, formula, control
//! character or direction override survives, and no name is longer than a few hundred characters); numbers that a
//! format cannot express are left out or written as the format's own "none", never as zero.

mod bencher;
mod cost;
mod csv;
mod github_action;
mod google_benchmark;
mod hyperfine;
mod junit;
mod markdown;
mod mllog;
mod openmetrics;

use crate::html;
use crate::report::Report;

/// One way to write a report.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// The word on the command line.
    pub name: &'static str,
    /// The usual ending of such a file.
    pub extension: &'static str,
    /// Who reads it.
    pub description: &'static str,
    /// Writes it.
    pub render: fn(&Report) -> String,
}

/// Every format.
pub const FORMATS: &[Format] = &[
    Format {
        name: "html",
        extension: "html",
        description: "one page for people, complete in itself",
        render: html::page,
    },
    Format {
        name: "markdown",
        extension: "md",
        description: "a comment on a pull request",
        render: markdown::render,
    },
    Format {
        name: "csv",
        extension: "csv",
        description: "spreadsheets; one line per metric",
        render: csv::render,
    },
    Format {
        name: "junit",
        extension: "xml",
        description: "CI servers; one test case per benchmark and per compared metric",
        render: junit::render,
    },
    Format {
        name: "google-benchmark",
        extension: "json",
        description: "Google Benchmark's compare.py and what reads its JSON",
        render: google_benchmark::render,
    },
    Format {
        name: "hyperfine",
        extension: "json",
        description: "hyperfine's scripts",
        render: hyperfine::render,
    },
    Format {
        name: "bencher",
        extension: "json",
        description: "Bencher metric format (BMF)",
        render: bencher::render,
    },
    Format {
        name: "github-action-smaller",
        extension: "json",
        description: "github-action-benchmark, customSmallerIsBetter",
        render: github_action::smaller_is_better,
    },
    Format {
        name: "github-action-bigger",
        extension: "json",
        description: "github-action-benchmark, customBiggerIsBetter",
        render: github_action::bigger_is_better,
    },
    Format {
        name: "openmetrics",
        extension: "txt",
        description: "Prometheus and other OpenMetrics readers",
        render: openmetrics::render,
    },
    Format {
        name: "mllog",
        extension: "log",
        description: "MLPerf logging lines",
        render: mllog::render,
    },
];

impl Format {
    /// The format of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }
}

/// A number as JSON; `null` when it is not finite.
fn number(value: f64) -> serde_json::Value {
    serde_json::Number::from_f64(value).map_or(serde_json::Value::Null, serde_json::Value::Number)
}

/// A JSON value as the text of a file.
fn file(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

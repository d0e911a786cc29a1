//! `cargo xtask schema`: the JSON schemas of exported files, generated from the types and committed, so that a
//! change of the public format shows up in review as a difference.

use std::path::PathBuf;

use anyhow::Context;
use schemars::schema_for;
use serde_json::Value;
use warpt_history::compare::RecordComparison;
use warpt_history::gate::GateReport;
use warpt_machine::inventory::Machine;
use warpt_machine::monitor::MonitorRecord;

use crate::{Verdict, repository};

/// What to do with the schemas.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Compare the committed schemas with the types instead of writing them.
    #[arg(long)]
    check: bool,
}

/// A file in `schemas/` and what generates it.
type Schema = (&'static str, fn() -> Value);

/// Every committed schema, one line each.
const SCHEMAS: &[Schema] = &[
    ("benchmark-suite-run.v1.json", warpt_bench::record::suite_run_schema),
    ("paired-comparison.v1.json", || {
        identified(schema_for!(warpt_bench::paired::PairedRecord), "paired-comparison")
    }),
    ("machine.v1.json", || identified(schema_for!(Machine), "machine")),
    ("gate-report.v1.json", || identified(schema_for!(GateReport), "gate-report")),
    ("comparison.v1.json", || identified(schema_for!(RecordComparison), "comparison")),
    ("golden.v1.json", || identified(schema_for!(warpforge_golden::Manifest), "golden")),
    ("results.v1.json", || identified(schema_for!(warpforge_golden::ResultsManifest), "results")),
    ("monitor.v1.json", || identified(schema_for!(Vec<MonitorRecord>), "monitor")),
];

/// A schema under the name that other schemas and validators know it by.
fn identified(schema: schemars::Schema, name: &str) -> Value {
    let mut schema = schema.to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("$id".into(), format!("urn:warpforge:{name}:v1").into());
    }
    schema
}

/// Writes or compares.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    if arguments.check { check() } else { write() }
}

/// Writes every schema.
pub(crate) fn write() -> anyhow::Result<Verdict> {
    for (name, schema) in SCHEMAS {
        let path = path(name);
        if std::fs::read_to_string(&path).is_ok_and(|committed| committed == render(&schema())) {
            println!("schemas/{name} is up to date");
            continue;
        }
        std::fs::write(&path, render(&schema())).with_context(|| format!("cannot write {name}"))?;
        println!("schemas/{name} written");
    }
    Ok(Verdict::Clean)
}

/// Compares every schema with its committed copy.
pub(crate) fn check() -> anyhow::Result<Verdict> {
    let mut clean = true;
    for (name, schema) in SCHEMAS {
        let committed = std::fs::read_to_string(path(name)).unwrap_or_default();
        if let Some(difference) = first_difference(&committed, &render(&schema())) {
            println!("schemas/{name}:{difference}");
            println!(
                "  the types and the committed schema differ; run `cargo xtask schema` and review"
            );
            clean = false;
        }
    }
    Ok(Verdict::clean_if(clean))
}

fn path(name: &str) -> PathBuf {
    repository::root().join("schemas").join(name)
}

fn render(schema: &Value) -> String {
    let mut text = serde_json::to_string_pretty(schema).expect("a JSON value can be printed");
    text.push('\n');
    text
}

/// The first line that differs, as `line: expected ..., found ...`.
fn first_difference(committed: &str, generated: &str) -> Option<String> {
    if committed == generated {
        return None;
    }
    let (mut old, mut new) = (committed.lines(), generated.lines());
    for line in 1.. {
        match (old.next(), new.next()) {
            (None, None) => break,
            (found, expected) if found == expected => {}
            (found, expected) => {
                let show = |text: Option<&str>| {
                    text.map_or("the end".into(), |t| format!("`{}`", t.trim()))
                };
                return Some(format!("{line}: expected {}, found {}", show(expected), show(found)));
            }
        }
    }
    Some(" line endings differ".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_differing_line_is_named() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n").unwrap(), "2: expected `c`, found `b`");
        assert_eq!(first_difference("a\n", "a\nb\n").unwrap(), "2: expected `b`, found the end");
        assert!(first_difference("a", "a\n").is_some());
    }

    #[test]
    fn schemas_have_distinct_versioned_names() {
        let mut names: Vec<_> = SCHEMAS.iter().map(|(name, _)| name).collect();
        names.dedup();
        assert_eq!(names.len(), SCHEMAS.len());
        assert!(names.iter().all(|name| name.contains(".v") && name.ends_with(".json")));
    }
}

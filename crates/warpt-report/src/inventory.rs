//! The inventory as a page. It is drawn from the JSON form of the machine, so that a new field shows up without a line
//! here: units come from the field names' suffixes, lists of objects become tables, and what could not be read is said
//! at the end of its section with the reason.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use warpt_machine::inventory::Machine;

use crate::number;
use crate::table::TextTable;
use crate::text::{FAINT, HEADING, clean, styled, wrap};

/// The sections in order, with their titles.
const SECTIONS: [(&str, &str); 8] = [
    ("host", "Host"),
    ("cpu", "CPU"),
    ("memory", "Memory"),
    ("storage", "Storage"),
    ("network", "Network"),
    ("gpu", "GPU"),
    ("limits", "Limits"),
    ("software", "Software"),
];
/// Where values start.
const COLUMN: usize = 26;

/// The whole machine as text of at most `width` columns.
pub fn page(machine: &Machine, width: usize) -> String {
    let Ok(Value::Object(root)) = serde_json::to_value(machine) else { return String::new() };
    let mut page = String::new();
    for (key, title) in SECTIONS {
        if let Some(Value::Object(section)) = root.get(key) {
            if !page.is_empty() {
                page.push('\n');
            }
            page.push_str(&format!("{}\n", styled(HEADING, title)));
            let mut reasons = BTreeMap::new();
            object(section, "", width, &mut page, &mut reasons);
            for (reason, fields) in group(reasons) {
                let line = clean(&format!("not known: {}: {reason}", fields.join(", ")));
                page.push_str(&format!("  {}\n", styled(FAINT, &wrap(&line, width - 2, "    "))));
            }
        }
    }
    page
}

/// Draws the fields of an object; reasons of absent fields are collected for later.
fn object(
    fields: &Map<String, Value>,
    prefix: &str,
    width: usize,
    page: &mut String,
    reasons: &mut BTreeMap<String, String>,
) {
    for (key, value) in fields {
        let name = format!("{prefix}{}", key.replace('_', " "));
        match value {
            Value::Null => {}
            Value::Object(absent) if key == "absent" => {
                for (field, reason) in absent {
                    let reason = reason.as_str().unwrap_or_default();
                    reasons
                        .insert(format!("{prefix}{}", field.replace('_', " ")), reason.to_owned());
                }
            }
            Value::Object(inner)
                if inner.contains_key("absent") || inner.values().any(Value::is_object) =>
            {
                object(inner, &format!("{name}: "), width, page, reasons);
            }
            Value::Object(inner) => {
                let pairs: Vec<String> = inner
                    .iter()
                    .map(|(key, value)| format!("{key}: {}", scalar(key, value)))
                    .collect();
                field(&name, &pairs.join("; "), width, page);
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                table(&name, items, width, page, reasons);
            }
            Value::Array(items) if items.is_empty() => field(&name, "none", width, page),
            Value::Array(items) => {
                let words: Vec<String> = items.iter().map(|item| scalar(key, item)).collect();
                field(&name, &words.join(" "), width, page);
            }
            value => field(&unitless(&name), &scalar(key, value), width, page),
        }
    }
}

fn field(name: &str, value: &str, width: usize, page: &mut String) {
    if value.is_empty() {
        return;
    }
    // A label longer than its column still ends in a space.
    let label = format!("{} ", clean(name));
    let room = width.saturating_sub(COLUMN + 2).max(20);
    let text = wrap(&clean(value), room, "");
    let mut lines = text.lines();
    page.push_str(&format!("  {label:<COLUMN$}{}\n", lines.next().unwrap_or("")));
    for line in lines {
        page.push_str(&format!("  {:COLUMN$}{line}\n", ""));
    }
}

/// A list of alike objects: a column per field that any of them knows.
fn table(
    name: &str,
    items: &[Value],
    width: usize,
    page: &mut String,
    reasons: &mut BTreeMap<String, String>,
) {
    let objects: Vec<&Map<String, Value>> = items.iter().filter_map(Value::as_object).collect();
    let mut columns: Vec<&String> = Vec::new();
    for object in &objects {
        for (key, value) in *object {
            let shown = !value.is_null() && key != "absent" && !value.is_object();
            if shown && !columns.contains(&key) {
                columns.push(key);
            }
        }
        if let Some(Value::Object(absent)) = object.get("absent") {
            for (field, reason) in absent {
                let reason = reason.as_str().unwrap_or_default();
                reasons.insert(format!("{name}: {}", field.replace('_', " ")), reason.to_owned());
            }
        }
    }
    // Wide lists become one block per item instead of columns too narrow to read.
    if columns.len() > 8 || columns.len() * 9 + 10 > width {
        for (index, object) in objects.iter().enumerate() {
            let words: Vec<String> = columns
                .iter()
                .filter_map(|key| {
                    let value = object.get(*key).filter(|value| !value.is_null())?;
                    Some(format!("{} {}", unitless(&key.replace('_', " ")), cell(key, value)))
                })
                .collect();
            field(&format!("{name} {index}"), &words.join(", "), width, page);
        }
        return;
    }
    page.push_str(&format!("  {}\n", clean(name)));
    let header: Vec<String> = columns.iter().map(|key| unitless(&key.replace('_', " "))).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = TextTable::new(&header);
    for object in &objects {
        let cells: Vec<String> = columns
            .iter()
            .map(|key| object.get(*key).map_or_else(String::new, |value| cell(key, value)))
            .collect();
        table.row(&cells);
    }
    for line in table.render(width - 2).lines() {
        page.push_str(&format!("  {line}\n"));
    }
}

fn cell(key: &str, value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let words: Vec<String> = items
                .iter()
                .map(|item| match item {
                    Value::Object(fields) => summary(fields, " "),
                    item => scalar(key, item),
                })
                .collect();
            words.join(", ")
        }
        value => scalar(key, value),
    }
}

/// An object on one line: its known values.
fn summary(fields: &Map<String, Value>, separator: &str) -> String {
    let words: Vec<String> = fields
        .iter()
        .filter(|(key, value)| *key != "absent" && !value.is_null() && !value.is_object())
        .map(|(key, value)| format!("{} {}", unitless(&key.replace('_', " ")), scalar(key, value)))
        .collect();
    words.join(separator)
}

/// A single value, in the unit its key names.
fn scalar(key: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) => {
            let float = number.as_f64().unwrap_or(f64::NAN);
            match number.as_u64() {
                Some(count) if key == "mtu_bytes" => format!("{count} B"),
                Some(count) if key.ends_with("_bytes") => number::bytes(count),
                _ if key.ends_with("_hz") => format!("{:.2} GHz", float / 1e9),
                _ if key.ends_with("bits_per_second") => format!("{} Gbit/s", float / 1e9),
                _ if key.ends_with("_seconds") => number::seconds(float),
                Some(count) => count.to_string(),
                None => number::significant(float),
            }
        }
        other => other.to_string(),
    }
}

/// The label without the unit that the value already shows.
fn unitless(label: &str) -> String {
    let mut label = label;
    for suffix in [" bytes", " hz", " bits per second", " seconds"] {
        label = label.strip_suffix(suffix).unwrap_or(label);
    }
    label.to_owned()
}

/// Fields by reason, so that one missing directory is one line.
fn group(reasons: BTreeMap<String, String>) -> BTreeMap<String, Vec<String>> {
    let mut grouped: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (field, reason) in reasons {
        grouped.entry(clean(&reason)).or_default().push(clean(&field));
    }
    grouped
}

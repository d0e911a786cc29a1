//! Programs as text, in the form JAX prints: reading it gives the same program again.

mod op;
mod text;

use std::fmt::{self, Write as _};

pub(crate) use text::{float_text, quoted, symbol_text};

use crate::attribute::Attributes;
use crate::ir::{Function, Location, LocationId, Locations, Program};
use crate::types::Type;

impl fmt::Display for Program {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        text.push_str("module");
        if let Some(name) = &self.name {
            let _ = write!(text, " {}", symbol_text(name));
        }
        if !self.attributes.is_empty() {
            let _ = write!(text, " attributes {{{}}}", self.attributes);
        }
        text.push_str(" {\n");
        for function in &self.functions {
            print_function(&mut text, function);
        }
        text.push_str("}\n");
        print_locations(&mut text, &self.locations);
        formatter.write_str(&text)
    }
}

fn print_function(text: &mut String, function: &Function) {
    let visibility = if function.public { "public" } else { "private" };
    let _ = write!(text, "  func.func {visibility} {}(", symbol_text(&function.name));
    for (index, argument) in function.arguments.iter().enumerate() {
        let value = &function.values[argument.value.index()];
        let _ = write!(text, "{}%{}: {}", separator(index), value.name, value.ty);
        braced(text, &argument.attributes);
        location(text, argument.location);
    }
    text.push(')');
    if !function.results.is_empty() {
        text.push_str(" -> (");
        for (index, result) in function.results.iter().enumerate() {
            let _ = write!(text, "{}{}", separator(index), result.ty);
            braced(text, &result.attributes);
        }
        text.push(')');
    }
    if !function.attributes.is_empty() {
        let _ = write!(text, " attributes {{{}}}", function.attributes);
    }
    text.push_str(" {\n");
    let mut printer = op::Printer { text, function };
    printer.ops(&function.body.ops, 4);
    text.push_str("  }");
    location(text, function.location);
    text.push('\n');
}

fn separator(index: usize) -> &'static str {
    if index == 0 { "" } else { ", " }
}

/// ` {attributes}`, or nothing.
fn braced(text: &mut String, attributes: &Attributes) {
    if !attributes.is_empty() {
        let _ = write!(text, " {{{attributes}}}");
    }
}

/// ` loc(#loc3)`, or nothing.
fn location(text: &mut String, location: Option<LocationId>) {
    if let Some(LocationId(number)) = location {
        let _ = write!(text, " loc(#loc{number})");
    }
}

fn print_locations(text: &mut String, locations: &Locations) {
    for (number, location) in locations.0.iter().enumerate() {
        let _ = write!(text, "#loc{number} = loc(");
        match location {
            Location::Unknown => text.push_str("unknown"),
            Location::Name { name, child } => {
                text.push_str(&quoted(name.as_bytes()));
                if let Some(LocationId(child)) = child {
                    let _ = write!(text, "(#loc{child})");
                }
            }
            Location::File { file, line, column, end } => {
                let _ = write!(text, "{}:{line}:{column}", quoted(file.as_bytes()));
                if let Some((line, column)) = end {
                    let _ = write!(text, " to {line}:{column}");
                }
            }
            Location::CallSite { callee, caller } => {
                let _ = write!(text, "callsite(#loc{} at #loc{})", callee.0, caller.0);
            }
            Location::Fused { metadata, parts } => {
                text.push_str("fused");
                if let Some(metadata) = metadata {
                    let _ = write!(text, "<{metadata}>");
                }
                text.push('[');
                for (index, part) in parts.iter().enumerate() {
                    let _ = write!(text, "{}#loc{}", separator(index), part.0);
                }
                text.push(']');
            }
        }
        text.push_str(")\n");
    }
}

/// `(T, T) -> T`, results in parentheses unless there is one.
fn functional(operands: &[&Type], results: &[&Type]) -> String {
    let list =
        |types: &[&Type]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match results {
        [one] => format!("({}) -> {one}", list(operands)),
        _ => format!("({}) -> ({})", list(operands), list(results)),
    }
}

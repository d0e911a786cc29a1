//! Text to [`Program`]: the pretty and the generic form, as JAX, torchax, torch-xla and `jax.export` print them.
//!
//! The path: [`module`] reads functions, [`body`] their ops, [`generic`] and [`pretty`] the two forms of an op into the same
//! name, operands, attributes and types, from which [`crate::op_attributes`] makes the typed kind. Cost is linear in the
//! text. Rules beyond syntax, names and stated types are the verifier's.

mod alias;
mod attribute;
mod body;
mod cursor;
mod dense;
mod generic;
mod location;
mod module;
mod parts;
mod pretty;
mod regions;
mod types;

use crate::error::{Diagnostic, HloError};
use crate::ir::Program;
use crate::limits::Limits;

use self::cursor::FailKind;
pub(crate) use self::pretty::{Form, KEYS};

/// Reads a program with the default limits.
pub fn parse(text: &str) -> Result<Program, HloError> {
    parse_within(text, &Limits::default())
}

/// Reads a program within limits of your own.
pub fn parse_within(text: &str, limits: &Limits) -> Result<Program, HloError> {
    if text.len() > limits.text_bytes {
        let message = format!(
            "the program's text has {} bytes; at most {} are read",
            text.len(),
            limits.text_bytes
        );
        return Err(HloError::Limit(Box::new(Diagnostic::placeless(message))));
    }
    if let Some(what) = foreign(text) {
        return Err(HloError::NotStablehlo(format!("this is not a StableHLO program: {what}")));
    }
    module::Parser::new(text, limits).program().map_err(|fail| {
        let diagnostic = Box::new(Diagnostic::new(text, fail.offset, fail.message));
        match fail.kind {
            FailKind::Syntax => HloError::Syntax(diagnostic),
            FailKind::Limit => HloError::Limit(diagnostic),
        }
    })
}

/// What a text is that is clearly something else.
fn foreign(text: &str) -> Option<String> {
    let start = text.trim_start();
    if start.is_empty() {
        return Some("it is empty".into());
    }
    if start.starts_with("ML\u{ef}R") || text.as_bytes().starts_with(b"ML\xefR") {
        return Some("it is MLIR bytecode; convert it with `warpt export convert`".into());
    }
    if start.starts_with("HloModule") {
        return Some("it is HLO text; export StableHLO instead (in JAX: lowered.as_text())".into());
    }
    let begins = ["module", "func", "builtin", "#", "!", "//", "\"", "sdy"];
    if !begins.iter().any(|begin| start.starts_with(begin)) {
        let shown: String =
            start.chars().take(30).map(|c| if c.is_control() { ' ' } else { c }).collect();
        return Some(format!("it begins with `{shown}`, a program with `module` or `func.func`"));
    }
    None
}

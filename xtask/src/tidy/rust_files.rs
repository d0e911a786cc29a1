//! What every Rust file owes its reader: a purpose at the top, a readable length, and no printing in libraries.

use super::rust_tokens::{code_only, lines_with, without_unit_tests};
use super::{Finding, TrackedFile};

/// Longer files are looked at twice.
const LONG_LINES: usize = 500;
/// Longer files are split.
const TOO_LONG_LINES: usize = 800;
/// The folders whose crates talk to a person.
const OUTER_CRATES: [&str; 2] = ["crates/warpt/", "xtask/"];
const PRINTING: [&str; 5] = ["println", "eprintln", "print", "eprint", "dbg"];

/// The first line is a `//!` sentence.
pub(super) fn opens_with_purpose(file: &TrackedFile) -> Option<Finding> {
    let text = file.text.as_deref().filter(|_| file.is_rust())?;
    let purpose = text.lines().next().and_then(|line| line.strip_prefix("//!"));
    let states_it = purpose.is_some_and(|words| words.split_whitespace().nth(1).is_some());
    (!states_it).then(|| {
        Finding::error(&file.path, Some(1), "the file does not open with `//!` and what it is for")
    })
}

/// Only the outer crates, tests, examples and build scripts print.
pub(super) fn prints_only_in_outer_crates(file: &TrackedFile) -> Vec<Finding> {
    let path = &file.path;
    let program = ["tests/", "examples/", "benches/"];
    let may_print = OUTER_CRATES.iter().any(|folder| path.starts_with(folder))
        || program.iter().any(|folder| path.contains(&format!("/{folder}")))
        || ["build.rs", "/tests.rs", "_tests.rs"].iter().any(|name| path.ends_with(name));
    let Some(text) = file.text.as_deref().filter(|_| file.is_rust() && !may_print) else {
        return Vec::new();
    };
    let code = code_only(text);
    let code = without_unit_tests(&code);
    let place = |name: &'static str| lines_with(code, name, "!").map(move |line| (name, line));
    let found = PRINTING.into_iter().flat_map(place);
    found
        .map(|(name, line)| {
            Finding::error(path, Some(line), format!("`{name}!` in a library crate"))
        })
        .collect()
}

/// Files have a length one can read.
pub(super) fn length(file: &TrackedFile) -> Option<Finding> {
    let lines = file.text.as_deref().filter(|_| file.is_rust())?.lines().count();
    if lines > TOO_LONG_LINES {
        let message = format!("{lines} lines, more than {TOO_LONG_LINES}: split it by idea");
        return Some(Finding::error(&file.path, None, message));
    }
    (lines > LONG_LINES).then(|| Finding::note(&file.path, format!("{lines} lines: look twice")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::Severity;

    #[test]
    fn a_purpose_is_a_sentence() {
        let check = |text| opens_with_purpose(&TrackedFile::sample("crates/a/src/b.rs", text));
        assert_eq!(check("//! What it is for.\n"), None);
        assert!(check("use std;\n//! late and wrong").is_some());
        assert!(check("//! placeholder\n").is_some());
        assert!(check("").is_some());
        assert_eq!(opens_with_purpose(&TrackedFile::sample("README.md", "# Title")), None);
    }

    #[test]
    fn libraries_do_not_print() {
        let check = |path, text| prints_only_in_outer_crates(&TrackedFile::sample(path, text));
        let printing = "fn a() {\n    println!(\"x\");\n    dbg!(1);\n}\n";
        let lines: Vec<_> = check("crates/a/src/b.rs", printing).iter().map(|f| f.line).collect();
        assert_eq!(lines, [Some(2), Some(3)]);
        assert_eq!(check("crates/warpt/src/b.rs", printing), []);
        assert_eq!(check("crates/a/tests/b.rs", printing), []);
        assert_eq!(check("crates/a/build.rs", printing), []);
        assert_eq!(check("crates/a/src/b/tests.rs", printing), []);
        assert_eq!(
            check("crates/a/src/b.rs", "// println!()\n#[cfg(test)]\nmod t { print!(); }"),
            []
        );
    }

    #[test]
    fn long_files_are_noted_and_longer_ones_refused() {
        let check = |lines| length(&TrackedFile::sample("a.rs", &"//\n".repeat(lines)));
        assert_eq!(check(500), None);
        assert_eq!(check(501).map(|f| f.severity), Some(Severity::Note));
        assert_eq!(check(801).map(|f| f.severity), Some(Severity::Error));
    }
}

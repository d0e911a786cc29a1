//! `cargo xtask tidy`: the habits that neither compiler nor clippy checks.
//!
//! Each rule is one function from the checkout's content to findings, tested on samples; this file only gathers
//! what they read and prints what they find. A note is shown and passes, an error fails.

mod architecture;
mod arrows;
mod housekeeping;
mod licences;
mod links;
mod rust_files;
mod rust_tokens;
mod text;
mod unsafe_code;

use std::fmt;

use anyhow::Context;
use cargo_metadata::{Metadata, MetadataCommand};

use crate::Verdict;
use crate::repository::{self, TrackedFile};

/// Something a rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    path: String,
    /// From 1; absent when it is about the whole file.
    line: Option<usize>,
    message: String,
    severity: Severity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    Note,
    Error,
}

impl Finding {
    fn error(path: &str, line: Option<usize>, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into(), severity: Severity::Error }
    }

    fn note(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.into(), line: None, message: message.into(), severity: Severity::Note }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        let note = if self.severity == Severity::Note { "note: " } else { "" };
        write!(f, ": {note}{}", self.message)
    }
}

/// Applies every rule to the checkout.
pub(crate) fn run() -> anyhow::Result<Verdict> {
    let files = repository::tracked_files()?;
    let manifest = repository::root().join("Cargo.toml");
    let metadata =
        MetadataCommand::new().manifest_path(manifest).exec().context("cargo metadata")?;
    let findings = findings(&files, &metadata)?;
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    println!("tidy: {} files, {errors} errors, {} notes", files.len(), findings.len() - errors);
    Ok(Verdict::clean_if(errors == 0))
}

fn findings(files: &[TrackedFile], metadata: &Metadata) -> anyhow::Result<Vec<Finding>> {
    let read = |path: &str| {
        let file = files.iter().find(|file| file.path == path);
        file.and_then(|file| file.text.as_deref()).with_context(|| format!("{path} is missing"))
    };
    let architecture = read(architecture::PATH)?;
    let documented_arrows = arrows::documented(&architecture::block(architecture, "arrows")?)?;
    let unsafe_modules = architecture::block(architecture, "unsafe")?;
    let policy = licences::allowed(read(licences::POLICY)?)?;
    let crates = arrows::workspace(metadata);

    let mut found = arrows::compare(&documented_arrows, &crates);
    found.extend(unsafe_code::crates_without_unsafe_forbid_it(&crates, &unsafe_modules, files));
    found.extend(unsafe_code::listed_modules_exist(&unsafe_modules, files));
    found.extend(licences::check(metadata, &policy));
    found.extend(housekeeping::changelog_has_unreleased(read("CHANGELOG.md")?));
    for file in files {
        found.extend(rust_files::opens_with_purpose(file));
        found.extend(rust_files::prints_only_in_outer_crates(file));
        found.extend(rust_files::length(file));
        found.extend(unsafe_code::only_in_listed_modules(file, &unsafe_modules));
        found.extend(text::no_development_paths(file));
        found.extend(text::no_private_registries(file));
        found.extend(text::no_leftover_marks(file));
        found.extend(links::resolve(file, |path| repository::root().join(path).exists()));
        found.extend(housekeeping::size(file));
    }
    Ok(found)
}

//! `cargo xtask licences`: the notices of every crate that is linked into `warpt`, as one text that the program carries.
//!
//! A crate that leaves the choice is used under MIT where it offers that. Texts that differ only in their copyright lines are
//! printed once; the copyright lines stand with the crate. CI compares the committed text with what would be written.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use crate::Verdict;
use crate::fuzz::host;
use crate::repository::root;

/// What to do with the text.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Compare with the committed text and leave it as it is.
    #[arg(long)]
    check: bool,
}

/// Writes or compares.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    if arguments.check { check() } else { write() }
}

fn path() -> PathBuf {
    root().join("crates/warpt/third-party.txt")
}

fn write() -> anyhow::Result<Verdict> {
    let path = path();
    std::fs::write(&path, text()?).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Verdict::Clean)
}

/// The gate: the committed text is what would be written.
pub(crate) fn check() -> anyhow::Result<Verdict> {
    if std::fs::read_to_string(path()).unwrap_or_default() == text()? {
        return Ok(Verdict::Clean);
    }
    println!("crates/warpt/third-party.txt is not up to date: cargo xtask licences");
    Ok(Verdict::Found)
}

fn text() -> anyhow::Result<String> {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(["--locked".to_owned(), "--filter-platform".to_owned(), host()?])
        .exec()
        .context("cannot read the dependencies")?;
    let mut texts = Texts::default();
    let mut list = String::new();
    for package in linked(&metadata)? {
        let licence = package.license.as_deref().unwrap_or("no licence expression");
        let _ = writeln!(list, "{} {}: {licence}", package.name, package.version);
        let notice = Notice::of(package)?;
        for line in &notice.copyright {
            let _ = writeln!(list, "    {line}");
        }
        if notice.texts.is_empty() {
            let authors = package.authors.join(", ");
            let _ = writeln!(list, "    (the package carries no text; authors: {authors})");
        }
        for text in notice.texts {
            let _ = writeln!(list, "    text {}", texts.number(text));
        }
    }
    for (number, text) in texts.in_order() {
        let _ = write!(list, "\n== text {number}\n\n{text}\n");
    }
    Ok(list)
}

/// The packages of others whose code is in the program: no tests, build scripts or macros.
fn linked(metadata: &Metadata) -> anyhow::Result<Vec<&Package>> {
    let packages: BTreeMap<&PackageId, &Package> =
        metadata.packages.iter().map(|package| (&package.id, package)).collect();
    let resolve = metadata.resolve.as_ref().context("cargo resolved nothing")?;
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let program = metadata.packages.iter().find(|package| package.name.as_str() == "warpt");
    let mut waiting = vec![&program.context("there is no package warpt")?.id];
    let mut seen: HashSet<&PackageId> = waiting.iter().copied().collect();
    while let Some(id) = waiting.pop() {
        let Some(node) = nodes.get(id) else { continue };
        for dependency in &node.deps {
            let kinds = &dependency.dep_kinds;
            let is_linked = kinds.iter().any(|kind| kind.kind == DependencyKind::Normal);
            let is_macro = packages.get(&dependency.pkg).is_some_and(|package| {
                package.targets.iter().any(cargo_metadata::Target::is_proc_macro)
            });
            if is_linked && !is_macro && seen.insert(&dependency.pkg) {
                waiting.push(&dependency.pkg);
            }
        }
    }
    let mut linked: Vec<&Package> = seen
        .into_iter()
        .filter_map(|id| packages.get(id).copied())
        .filter(|package| package.source.is_some())
        .collect();
    linked.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(linked)
}

/// What a package says of its licence.
#[derive(Debug, Default)]
struct Notice {
    copyright: Vec<String>,
    /// Without copyright lines, so that equal ones are equal.
    texts: Vec<String>,
}

impl Notice {
    fn of(package: &Package) -> anyhow::Result<Self> {
        let folder = package.manifest_path.parent().context("a manifest in no folder")?;
        let mut files = files(folder.as_std_path())?;
        let offers_mit = package.license.as_deref().is_some_and(|licence| {
            licence.replace('/', " OR ").split(" OR ").any(|choice| choice.trim() == "MIT")
        });
        let is_mit = |path: &PathBuf| name(path).contains("MIT");
        if offers_mit && files.iter().any(is_mit) {
            // What must be said beside the licence stays.
            files.retain(|path| is_mit(path) || name(path).starts_with("NOTICE"));
        }
        let mut notice = Self::default();
        for path in files {
            let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
            notice.add(&String::from_utf8_lossy(&text));
        }
        Ok(notice)
    }

    fn add(&mut self, text: &str) {
        let mut rest = Vec::new();
        for line in text.lines().map(str::trim_end) {
            if is_copyright(line) {
                let line = line.trim().to_owned();
                if !self.copyright.contains(&line) {
                    self.copyright.push(line);
                }
            } else {
                rest.push(line);
            }
        }
        let rest = rest.join("\n").trim_matches('\n').to_owned();
        if !rest.is_empty() && !self.texts.contains(&rest) {
            self.texts.push(rest);
        }
    }
}

/// Whether a line names whose copyright it is; sentences about copyright do not.
fn is_copyright(line: &str) -> bool {
    let line = line.trim().to_ascii_lowercase();
    let Some(rest) = line.strip_prefix("copyright") else { return false };
    rest.trim_start().starts_with("(c)")
        || rest.trim_start().starts_with('\u{a9}')
        || rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().to_ascii_uppercase()).unwrap_or_default()
}

/// The files of a package that are about its licence.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    const BEGINNINGS: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"];
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut found = BTreeSet::new();
    for entry in entries {
        let path = entry?.path();
        let about = BEGINNINGS.iter().any(|beginning| name(&path).starts_with(beginning));
        if about && path.is_file() {
            found.insert(path);
        }
    }
    Ok(found.into_iter().collect())
}

/// Texts with numbers, in the order they were first met.
#[derive(Debug, Default)]
struct Texts {
    numbers: BTreeMap<String, usize>,
}

impl Texts {
    /// Texts that differ in spaces alone are one.
    fn number(&mut self, text: String) -> usize {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let known = self.numbers.iter().find(|(known, _)| words(known) == words(&text));
        if let Some((_, number)) = known {
            return *number;
        }
        let next = self.numbers.len() + 1;
        self.numbers.insert(text, next);
        next
    }

    fn in_order(&self) -> Vec<(usize, &str)> {
        let mut texts: Vec<(usize, &str)> =
            self.numbers.iter().map(|(text, number)| (*number, text.as_str())).collect();
        texts.sort_unstable();
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copyright_lines_stand_apart() {
        let mut notice = Notice::default();
        notice.add("The MIT License\n\nCopyright (c) 2020 Some One\nCopyright 2021 Another\n\nPermission\n");
        assert_eq!(notice.copyright, ["Copyright (c) 2020 Some One", "Copyright 2021 Another"]);
        assert_eq!(notice.texts, ["The MIT License\n\n\nPermission"]);
        assert!(!is_copyright("copyright notice and this permission notice shall be included"));
        assert!(!is_copyright("Copyright [yyyy] [name of copyright owner]"));
    }

    #[test]
    fn equal_texts_have_one_number() {
        let mut texts = Texts::default();
        assert_eq!(texts.number("a  b".into()), 1);
        assert_eq!(texts.number("c".into()), 2);
        assert_eq!(texts.number("a\nb".into()), 1);
        assert_eq!(texts.in_order().len(), 2);
    }
}

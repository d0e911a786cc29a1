//! The corpus: cases in a folder of the cache, named after what they were made from.
//!
//! A case is made when it is first asked for; a folder made by other versions of JAX or of the generator is another one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::case::{Case, Oracle};
use crate::repository::{root, succeeds};
use crate::{install, python};

/// The sources that decide what a case is.
const SOURCES: [&str; 4] = ["case.py", "harnesses.py", "naming.py", "tensor_file.py"];

/// The folder with cases.
pub(super) struct Corpus {
    folder: PathBuf,
    groups: BTreeMap<String, String>,
}

/// A line of the index.
#[derive(Deserialize)]
struct Line {
    name: String,
    group: String,
    file: Option<String>,
    failed: Option<String>,
}

impl Corpus {
    /// Finds the folder, and has the names of its cases written if they are not.
    pub(super) fn open() -> anyhow::Result<Self> {
        let folder = install::cache("conformance")?.join(key()?);
        let names = folder.join("names.json");
        if !names.is_file() {
            eprintln!("  listing JAX's test harnesses");
            run_python("names", &folder, None)?;
        }
        let text = std::fs::read_to_string(&names)
            .with_context(|| format!("cannot read {}", names.display()))?;
        let groups = serde_json::from_str(&text)
            .with_context(|| format!("{} is not what was written", names.display()))?;
        Ok(Self { folder, groups })
    }

    /// The group of every case, by the case's name.
    pub(super) fn groups(&self) -> &BTreeMap<String, String> {
        &self.groups
    }

    /// The cases of these names, made if they are missing.
    pub(super) fn cases(&self, names: &[String]) -> anyhow::Result<Vec<Case>> {
        let index = self.index()?;
        let missing: Vec<&String> =
            names.iter().filter(|name| !index.contains_key(*name)).collect();
        if missing.is_empty() {
            return found(names, &index);
        }
        eprintln!(
            "  making {} cases in {}: once, about 16 a second",
            missing.len(),
            self.folder.display()
        );
        // Two runs at once would make the same cases and write the same index.
        let lock = File::create(self.folder.join("lock")).context("cannot create a lock")?;
        lock.lock().context("cannot lock the corpus")?;
        run_python("corpus", &self.folder, Some(&missing))?;
        found(names, &self.index()?)
    }

    /// Has another oracle's outputs made for these cases.
    pub(super) fn ask(&self, oracle: Oracle, names: &BTreeSet<String>) -> anyhow::Result<()> {
        run_python(oracle.command(), &self.folder, Some(&names.iter().collect::<Vec<_>>()))
    }

    fn index(&self) -> anyhow::Result<BTreeMap<String, Case>> {
        let path = self.folder.join("index.jsonl");
        if !path.is_file() {
            return Ok(BTreeMap::new());
        }
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        // A line that was not finished is a case that was not made.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        Ok(lines.map(|line| (line.name.clone(), self.case(line))).collect())
    }

    fn case(&self, line: Line) -> Case {
        let place = match (line.file, line.failed) {
            (Some(file), None) => Ok(self.folder.join(file)),
            (_, reason) => Err(reason.unwrap_or_else(|| "it has no file".to_owned())),
        };
        Case { name: line.name, group: line.group, place }
    }
}

fn found(names: &[String], index: &BTreeMap<String, Case>) -> anyhow::Result<Vec<Case>> {
    let case = |name: &String| {
        index.get(name).cloned().with_context(|| format!("case {name} was not made"))
    };
    names.iter().map(case).collect()
}

/// Runs a command of the Python side in the environment made for it.
pub(super) fn run_python(
    command: &str,
    folder: &Path,
    names: Option<&[&String]>,
) -> anyhow::Result<()> {
    let environment = python::environment("conformance", "JAX and MPFR", "a minute, 700 MB")?;
    let mut python = environment.program("python");
    python.args(["-m", "conformance", command, "--folder"]).arg(folder);
    python.env("PYTHONPATH", root().join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    let list = tempfile::NamedTempFile::new().context("cannot make a temporary file")?;
    if let Some(names) = names {
        let text: String = names.iter().map(|name| format!("{name}\n")).collect();
        std::fs::write(list.path(), text)?;
        python.arg("--names").arg(list.path());
    }
    ensure!(succeeds(&mut python)?, "python -m conformance {command} failed");
    Ok(())
}

/// A short name for what the cases are made from.
fn key() -> anyhow::Result<String> {
    let package = root().join("python");
    let read = |path: PathBuf| {
        std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let mut parts = Vec::new();
    for source in SOURCES {
        parts.push(read(package.join("conformance").join(source))?);
    }
    let project = String::from_utf8_lossy(&read(package.join("pyproject.toml"))?).into_owned();
    parts.push(pins(&project)?.into_bytes());
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    Ok(python::key(&parts))
}

/// The versions the cases are made with, as the project file states them.
fn pins(project: &str) -> anyhow::Result<String> {
    let project: toml::Table = project.parse().context("pyproject.toml is not TOML")?;
    let pins = project
        .get("project")
        .and_then(|table| table.get("optional-dependencies"))
        .and_then(|table| table.get("conformance"))
        .context("pyproject.toml has no optional dependencies `conformance`")?;
    Ok(pins.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_follows_the_versions_alone() {
        let project = |jax: &str, other: &str| {
            format!(
                "[project.optional-dependencies]\nconformance = [\"jax=={jax}\"]\ntest = [\"{other}\"]\n"
            )
        };
        assert_eq!(pins(&project("1", "a")).unwrap(), pins(&project("1", "b")).unwrap());
        assert_ne!(pins(&project("1", "a")).unwrap(), pins(&project("2", "a")).unwrap());
        assert!(pins("[project]").is_err());
    }
}

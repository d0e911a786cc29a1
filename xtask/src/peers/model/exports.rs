//! Exported models in the cache: each is made once for its recipe, options and package versions. What was made of older
//! versions goes when a new one is made, since one can take gigabytes.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;

use super::workloads::{Precision, Workload};
use crate::{exports, install, python};

/// The part of an export's manifest that is needed here.
#[derive(Debug, Deserialize)]
struct Manifest {
    programs: Vec<Entry>,
    #[serde(default)]
    files: Files,
}

#[derive(Debug, Default, Deserialize)]
struct Files {
    exact: Option<String>,
}

/// What the manifest says of one program.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Entry {
    name: String,
    file: String,
    pub(super) results: Vec<Outcome>,
}

/// A result, and where PyTorch's value of it is.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Outcome {
    pub(super) name: String,
    #[serde(default)]
    pub(super) role: String,
    pub(super) reference: Option<Place>,
}

/// A tensor of a safetensors file beside the manifest.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) key: String,
}

/// One exported model.
#[derive(Debug, Clone)]
pub(super) struct Export {
    pub(super) directory: PathBuf,
    pub(super) entry: Entry,
    /// The file with PyTorch's results in f64, by the same keys as those in f32.
    pub(super) exact: Option<String>,
}

impl Export {
    /// The workload in a precision, exported now unless it was before.
    pub(super) fn of(
        workload: &Workload,
        precision: Precision,
        quick: bool,
        environment: &python::Environment,
    ) -> anyhow::Result<Self> {
        let size = if quick { "-quick" } else { "" };
        let prefix = format!("peer-{}-{}{size}-", workload.name, precision.name());
        let options = workload.chosen_options(quick).join(" ");
        let asked = [workload.recipe, &options, workload.program, precision.dtype()].join(" ");
        let key = exports::key(&asked)?;
        let cache = install::cache("models")?;
        let directory = cache.join(format!("{prefix}{key}"));
        if !directory.join("manifest.json").is_file() {
            remove_beginning_with(&cache, &prefix)?;
            eprintln!("{}: exporting ({asked})", workload.name);
            let mut options = vec![workload.recipe];
            options.extend(workload.chosen_options(quick));
            options.extend(["--programs", workload.program, "--dtype", precision.dtype()]);
            // Results in any precision are held against PyTorch's in f32.
            if precision == Precision::F32 {
                options.push("--reference");
                options.extend(workload.exact.then_some("--reference-double"));
            }
            exports::write(environment, &options, &directory)?;
        }
        Self::open(&directory, workload.program)
    }

    fn open(directory: &Path, program: &str) -> anyhow::Result<Self> {
        let path = directory.join("manifest.json");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let manifest: Manifest = serde_json::from_str(&text).context("the export's manifest")?;
        let entry = manifest.programs.into_iter().find(|entry| entry.name == program);
        let entry = entry.with_context(|| format!("{} has no {program}", path.display()))?;
        Ok(Self { directory: directory.to_owned(), entry, exact: manifest.files.exact })
    }

    /// The program as the exporter wrote it.
    pub(super) fn program(&self) -> PathBuf {
        self.directory.join(&self.entry.file)
    }
}

/// Removes the folders of the cache whose name begins so.
fn remove_beginning_with(cache: &Path, prefix: &str) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(cache)?.flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(prefix));
        // What follows is one hash: a longer prefix of another workload is not one.
        if rest.is_some_and(|rest| !rest.contains('-')) {
            std::fs::remove_dir_all(entry.path())
                .with_context(|| format!("cannot remove {}", entry.path().display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"{"programs": [{"name": "forward", "file": "forward.mlir",
        "arguments": [
            {"index": 0, "name": "w", "role": "parameter", "tensor": {"file": "weights.safetensors", "key": "layer.w"}},
            {"index": 1, "name": "x", "role": "input", "tensor": {"file": "inputs.safetensors", "key": "input.x"}}],
        "results": [{"index": 0, "name": "y", "reference": {"file": "reference.safetensors", "key": "forward.output.y"}}]}]}"#;

    #[test]
    fn an_export_has_the_programs_of_its_manifest() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("manifest.json"), MANIFEST).unwrap();
        let export = Export::open(directory.path(), "forward").unwrap();
        assert_eq!(export.program(), directory.path().join("forward.mlir"));
        assert_eq!(export.entry.results[0].name, "y");
        assert!(Export::open(directory.path(), "gradients").is_err());
    }

    #[test]
    fn only_older_exports_of_the_same_workload_are_removed() {
        let cache = tempfile::tempdir().unwrap();
        for name in ["peer-bert-f32-0123", "peer-bert-f32-quick-0123", "peer-bert-bf16-0123"] {
            std::fs::create_dir(cache.path().join(name)).unwrap();
        }
        remove_beginning_with(cache.path(), "peer-bert-f32-").unwrap();
        let exists = |name: &str| cache.path().join(name).exists();
        assert!(!exists("peer-bert-f32-0123"));
        assert!(exists("peer-bert-f32-quick-0123") && exists("peer-bert-bf16-0123"));
    }
}

//! Exported models in the cache: each is made once for its recipe, options and package versions. What was made of older
//! versions goes when a new one is made, since one can take gigabytes.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::Deserialize;
use warpforge_hlo::{Attribute, Program, parse_verified};

use super::workloads::{Precision, Workload};
use crate::repository::root;
use crate::{install, python};

/// The part of an export's manifest that is needed here.
#[derive(Debug, Deserialize)]
struct Manifest {
    programs: Vec<Entry>,
}

/// What the manifest says of one program.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Entry {
    name: String,
    file: String,
    arguments: Vec<Argument>,
    pub(super) results: Vec<Outcome>,
}

#[derive(Debug, Clone, Deserialize)]
struct Argument {
    index: usize,
    tensor: Option<Place>,
}

/// A result, and where PyTorch's value of it is.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Outcome {
    index: usize,
    pub(super) name: String,
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
        // The environment's name stands for the versions of everything in it.
        let key = python::key(&[asked.as_bytes(), environment.name().as_bytes()]);
        let cache = install::cache("models")?;
        let directory = cache.join(format!("{prefix}{key}"));
        if !directory.join("manifest.json").is_file() {
            remove_beginning_with(&cache, &prefix)?;
            eprintln!("{}: exporting ({asked})", workload.name);
            let mut command = environment.program("python");
            command.args(["-m", "warpforge.export", workload.recipe]);
            command.args(workload.chosen_options(quick));
            command.args(["--programs", workload.program, "--dtype", precision.dtype()]);
            // Results in any precision are held against PyTorch's in f32.
            if precision == Precision::F32 {
                command.arg("--reference");
            }
            command.arg("--out").arg(&directory).env("PYTHONPATH", root().join("python"));
            install::run(&mut command)?;
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
        Ok(Self { directory: directory.to_owned(), entry })
    }

    /// The program as the exporter wrote it.
    pub(super) fn program(&self) -> PathBuf {
        self.directory.join(&self.entry.file)
    }

    /// The program with the keys of the tensor files as the names of its arguments, and the manifest's names for its results:
    /// so it can be run on these files by name. Written beside the exporter's.
    pub(super) fn named_program(&self) -> anyhow::Result<PathBuf> {
        let path = self.directory.join(format!("{}.named.mlir", self.entry.name));
        if path.is_file() {
            return Ok(path);
        }
        let text = std::fs::read_to_string(self.program())?;
        let mut program = parse_verified(&text).context("the exported program")?;
        self.entry.name_ports(&mut program)?;
        let partial = path.with_extension("partial");
        std::fs::write(&partial, program.to_string())?;
        std::fs::rename(&partial, &path)?;
        Ok(path)
    }
}

impl Entry {
    fn name_ports(&self, program: &mut Program) -> anyhow::Result<()> {
        let main = program.functions.iter_mut().find(|function| function.name == "main");
        let main = main.context("the exported program has no @main")?;
        ensure!(
            main.arguments.len() == self.arguments.len()
                && main.results.len() == self.results.len(),
            "the manifest and the program differ in their number of arguments or results"
        );
        for argument in &self.arguments {
            let Some(place) = &argument.tensor else { continue };
            let held = main.arguments.get_mut(argument.index).context("an argument's place")?;
            held.attributes.take("jax.arg_info");
            held.attributes.push("jax.arg_info", Attribute::text(&place.key));
        }
        for result in &self.results {
            let held = main.results.get_mut(result.index).context("a result's place")?;
            held.attributes.take("jax.result_info");
            held.attributes.push("jax.result_info", Attribute::text(&result.name));
        }
        Ok(())
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

    const PROGRAM: &str = "module @m {\n  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> \
        (tensor<2xf32> {jax.result_info = \"result['output']['y']\"}) {\n    %0 = stablehlo.add %arg0, %arg1 : \
        tensor<2xf32>\n    return %0 : tensor<2xf32>\n  }\n}\n";
    const MANIFEST: &str = r#"{"programs": [{"name": "forward", "file": "forward.mlir",
        "arguments": [
            {"index": 0, "name": "w", "role": "parameter", "tensor": {"file": "weights.safetensors", "key": "layer.w"}},
            {"index": 1, "name": "x", "role": "input", "tensor": {"file": "inputs.safetensors", "key": "input.x"}}],
        "results": [{"index": 0, "name": "y", "reference": {"file": "reference.safetensors", "key": "forward.output.y"}}]}]}"#;

    #[test]
    fn a_named_program_has_the_keys_of_its_files() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("manifest.json"), MANIFEST).unwrap();
        std::fs::write(directory.path().join("forward.mlir"), PROGRAM).unwrap();
        let export = Export::open(directory.path(), "forward").unwrap();
        let path = export.named_program().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(r#"%arg0: tensor<2xf32> {jax.arg_info = "layer.w"}"#), "{text}");
        assert!(text.contains(r#"{jax.arg_info = "input.x"}"#), "{text}");
        assert!(text.contains(r#"{jax.result_info = "y"}"#), "{text}");
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

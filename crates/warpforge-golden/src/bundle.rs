//! A golden bundle that was opened and found whole.
//!
//! Invariant: every file the manifest names is listed with a digest and has it; every file of tensors has a header that holds
//! exactly the tensors the programs need, of their types and shapes, none missing and none besides.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use warpforge_tensor::{DType, safetensors};

use crate::error::wrong;
use crate::files::{Files, JSON_LIMIT, PROGRAM_LIMIT, digest_of, read_json, read_text};
use crate::{Configuration, ExportManifest, FilePath, GoldenError, Manifest, ProgramEntry};

/// The name of a manifest.
pub(crate) const MANIFEST: &str = "manifest.json";

/// A golden bundle.
#[derive(Debug)]
pub struct Bundle {
    files: Files,
    manifest: Manifest,
    digest: String,
    programs: ExportManifest,
    loss_curve: LossCurve,
    metrics: Metrics,
}

/// The loss of every step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LossCurve {
    /// The mean over the ranks.
    pub loss: Vec<f64>,
    /// That of each rank.
    pub ranks: Vec<Vec<f64>>,
    /// The learning rate.
    pub learning_rate: Vec<f64>,
    /// What the step took: forward, backward, averaging and update.
    pub seconds: Vec<f64>,
}

/// What was measured at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Numbers by name.
    pub metrics: std::collections::BTreeMap<String, f64>,
}

/// A tensor that a file must have; without a type or shape where any will do.
struct Expected<'a> {
    name: String,
    dtype: Option<DType>,
    shape: Option<&'a [usize]>,
}

impl<'a> Expected<'a> {
    fn new(name: impl Into<String>, dtype: DType, shape: &'a [usize]) -> Self {
        Self { name: name.into(), dtype: Some(dtype), shape: Some(shape) }
    }
}

impl Bundle {
    /// Opens a directory and proves it: every digest, every header.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, GoldenError> {
        let directory = directory.as_ref();
        let place = manifest_of(directory, "a golden bundle")?;
        let text = read_text(&place, JSON_LIMIT)?;
        let manifest = Manifest::parse(&text).map_err(|reason| wrong(&place, reason))?;
        let digest = digest_of(text.as_bytes());
        let files = Files { directory: directory.to_owned(), entries: manifest.files.clone() };
        for path in manifest.named() {
            files.listed(path)?;
        }
        files.prove()?;
        let export_place = files.listed(&manifest.programs)?;
        let programs: ExportManifest = read_json(&export_place)?;
        if let Some(fault) = programs.fault() {
            return Err(wrong(&export_place, fault));
        }
        let loss_curve: LossCurve = read_json(&files.listed(&manifest.loss_curve)?)?;
        let metrics: Metrics = read_json(&files.listed(&manifest.metrics)?)?;
        let bundle = Self { files, manifest, digest, programs, loss_curve, metrics };
        bundle.check_loss_curve()?;
        bundle.check_tensors()?;
        Ok(bundle)
    }

    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.files.directory
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The SHA-256 of its manifest: two bundles with the same one are the same.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The manifest of its programs.
    pub fn programs(&self) -> &ExportManifest {
        &self.programs
    }

    /// The loss of every step.
    pub fn loss_curve(&self) -> &LossCurve {
        &self.loss_curve
    }

    /// What was measured at the end.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The bytes of all files the manifest lists.
    pub fn bytes(&self) -> u64 {
        self.manifest.files.values().fold(0, |sum, entry| sum.saturating_add(entry.bytes))
    }

    /// A program that must be there, by its name.
    pub fn program(&self, name: &str) -> Result<&ProgramEntry, GoldenError> {
        self.programs.program(name).ok_or_else(|| {
            let place = self.manifest.programs.below(self.directory());
            wrong(&place, format_args!("there is no program {name:?}"))
        })
    }

    /// Where the text of a program lies.
    pub fn program_path(&self, program: &ProgramEntry) -> Result<PathBuf, GoldenError> {
        self.files.listed(&self.manifest.programs.beside(&program.file))
    }

    /// The text of a program.
    pub fn program_text(&self, program: &ProgramEntry) -> Result<String, GoldenError> {
        read_text(&self.program_path(program)?, PROGRAM_LIMIT)
    }

    /// Where a file lies that the manifest lists.
    pub fn path(&self, path: &FilePath) -> Result<PathBuf, GoldenError> {
        self.files.listed(path)
    }

    /// A file of tensors; they are mapped when they are asked for. The file must stay as it is meanwhile.
    pub fn tensors(&self, path: &FilePath) -> Result<safetensors::File, GoldenError> {
        Ok(safetensors::File::open(self.files.listed(path)?)?)
    }

    fn check_loss_curve(&self) -> Result<(), GoldenError> {
        let place = self.manifest.loss_curve.below(self.directory());
        let Configuration { steps, ranks, .. } = self.manifest.configuration;
        let curve = &self.loss_curve;
        let lengths = curve.ranks.iter().map(Vec::len);
        let all = lengths.chain([curve.loss.len(), curve.learning_rate.len(), curve.seconds.len()]);
        if curve.ranks.len() as u64 != ranks || all.into_iter().any(|length| length as u64 != steps)
        {
            return Err(wrong(
                &place,
                format_args!("does not have {steps} steps of {ranks} ranks"),
            ));
        }
        Ok(())
    }

    /// Looks at the header of every file of tensors that the manifest gives a meaning.
    fn check_tensors(&self) -> Result<(), GoldenError> {
        let gradients = self.program("gradients")?;
        let optimizer = self.program(&self.manifest.configuration.optimizer.name)?;
        for program in &self.programs.programs {
            self.program_path(program)?;
        }
        let arguments =
            |program: &'_ ProgramEntry, roles: &[&str]| -> Vec<(String, DType, Vec<usize>)> {
                let wanted =
                    program.arguments.iter().filter(|each| roles.contains(&each.role.as_str()));
                wanted.map(|each| (each.key(), each.dtype, each.shape.clone())).collect()
            };
        let weights: Vec<_> = self
            .programs
            .model
            .tensors
            .iter()
            .map(|each| Expected::new(&each.name, each.dtype, &each.shape))
            .collect();
        let inputs = arguments(gradients, &["input", "target"]);
        let inputs: Vec<_> =
            inputs.iter().map(|(name, dtype, shape)| Expected::new(name, *dtype, shape)).collect();
        let states = arguments(optimizer, &["state"]);
        let states: Vec<_> =
            states.iter().map(|(name, dtype, shape)| Expected::new(name, *dtype, shape)).collect();
        let slopes: Vec<_> = gradients
            .results
            .iter()
            .filter(|each| each.role == "gradient")
            .map(|each| Expected::new(&each.name, each.dtype, &each.shape))
            .collect();
        let seen: Vec<_> = self
            .manifest
            .activations
            .iter()
            .map(|each| Expected { name: each.key.clone(), dtype: None, shape: None })
            .collect();
        for step in &self.manifest.steps {
            self.check_file(&step.before.weights, &weights)?;
            if let Some(state) = &step.before.optimizer {
                self.check_file(state, &states)?;
            }
            for rank in &step.ranks {
                self.check_file(&rank.inputs, &inputs)?;
                self.check_file(&rank.activations, &seen)?;
                self.check_file(&rank.gradients, &slopes)?;
            }
            self.check_file(&step.gradients, &slopes)?;
            self.check_file(&step.after.weights, &weights)?;
            self.check_file(&step.after.optimizer, &states)?;
        }
        for run in &self.manifest.runs {
            self.check_file(&run.initial, &weights)?;
            let numbered = (0..run.batch_count).flat_map(|number| {
                inputs
                    .iter()
                    .map(move |each| Expected { name: format!("{number}/{}", each.name), ..*each })
            });
            // A file cannot hold more tensors than its header has bytes, so no count is trusted here.
            for path in &run.batches {
                let found = self.tensors(path)?.names().len() as u64;
                if Some(found) != run.batch_count.checked_mul(inputs.len() as u64) {
                    let place = path.below(self.directory());
                    let count = run.batch_count;
                    return Err(wrong(
                        &place,
                        format_args!("{found} tensors are not those of {count} batches"),
                    ));
                }
            }
            let numbered: Vec<_> = numbered.collect();
            for path in &run.batches {
                self.check_file(path, &numbered)?;
            }
        }
        self.check_file(&self.manifest.last.weights, &weights)?;
        self.check_file(&self.manifest.last.optimizer, &states)?;
        if let Some(evaluation) = &self.manifest.evaluation {
            let forward = self.program("forward")?;
            let outputs = forward.results.iter().filter(|each| each.role == "output");
            // Products computed in another type may give outputs of that type.
            let outputs: Vec<_> = outputs
                .map(|each| Expected {
                    name: each.name.clone(),
                    dtype: None,
                    shape: Some(&each.shape),
                })
                .collect();
            self.check_file(&evaluation.weights, &weights)?;
            self.check_file(&evaluation.inputs, &inputs)?;
            self.check_file(&evaluation.outputs, &outputs)?;
        }
        Ok(())
    }

    /// Whether a file holds exactly these tensors.
    fn check_file(&self, path: &FilePath, expected: &[Expected<'_>]) -> Result<(), GoldenError> {
        let file = self.tensors(path)?;
        for each in expected {
            let Some(info) = file.info(&each.name) else {
                return Err(wrong(
                    file.path(),
                    format_args!("the tensor {:?} is missing", each.name),
                ));
            };
            let dtype = each.dtype.unwrap_or(info.dtype);
            let shape = each.shape.unwrap_or(info.shape.sizes());
            if (info.dtype, info.shape.sizes()) != (dtype, shape) {
                return Err(wrong(
                    file.path(),
                    format_args!(
                        "{:?} is {} of shape {:?}, expected {dtype} of shape {shape:?}",
                        each.name,
                        info.dtype,
                        info.shape.sizes(),
                    ),
                ));
            }
        }
        if file.tensors().len() > expected.len() {
            let known: std::collections::HashSet<&str> =
                expected.iter().map(|each| each.name.as_str()).collect();
            let other = file.names().find(|name| !known.contains(name)).unwrap_or_default();
            return Err(wrong(
                file.path(),
                format_args!("the tensor {other:?} does not belong there"),
            ));
        }
        Ok(())
    }
}

/// Where the manifest of a directory lies.
pub(crate) fn manifest_of(directory: &Path, what: &str) -> Result<PathBuf, GoldenError> {
    let place = directory.join(MANIFEST);
    match std::fs::symlink_metadata(&place) {
        Ok(found) if found.is_file() => Ok(place),
        Ok(_) => Err(wrong(&place, "is not a plain file")),
        Err(error) if directory.is_dir() && error.kind() == std::io::ErrorKind::NotFound => {
            Err(wrong(
                directory,
                format_args!("is not {what}, or one that was not finished: there is no {MANIFEST}"),
            ))
        }
        Err(error) => Err(wrong(directory, format_args!("cannot read: {error}"))),
    }
}

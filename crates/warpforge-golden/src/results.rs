//! Results: what another run of a bundle's steps gave, in the same layout, to be judged now or elsewhere.
//!
//! Invariant: the manifest is written last, so a directory that has one is whole; opening proves it as for a bundle.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpforge_tensor::{Tensor, safetensors};

use crate::bundle::{MANIFEST, manifest_of};
use crate::error::wrong;
use crate::files::{Files, digest, read_json};
use crate::{Checkpoint, FileEntry, FilePath, GoldenError};

/// The version of the format that is written and read; newer ones are refused.
pub const RESULTS_VERSION: u32 = 1;

/// What stands in `format`.
const FORMAT: &str = "warpforge.results";

/// What a run of a bundle's steps gave. Fields that are not known are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultsManifest {
    /// Always `warpforge.results`.
    pub format: String,
    /// The version of this format.
    pub schema_version: u32,
    /// The SHA-256 of the manifest of the bundle it started from.
    pub golden: String,
    /// How it was run.
    pub run: Run,
    /// What each step gave, each started from the golden state.
    pub steps: Vec<ResultStep>,
    /// What the trained model returned for the bundle's evaluation batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<FilePath>,
    /// Activations of the bundle that the programs did not show.
    #[serde(default)]
    pub unobserved: Vec<Unobserved>,
    /// Size and digest of every file but this one.
    pub files: BTreeMap<FilePath, FileEntry>,
}

/// An activation that the programs do not show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unobserved {
    /// Its key in the bundle.
    pub activation: String,
    /// Why.
    pub reason: String,
}

/// How a run was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// What ran it, with its version.
    pub producer: String,
    /// The tier.
    pub tier: String,
    /// How exactly products were computed.
    pub precision: String,
    /// Threads, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u64>,
}

/// What a step gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultStep {
    /// Its number.
    pub index: u64,
    /// What each rank computed.
    pub ranks: Vec<ResultRank>,
    /// The mean of its own gradients over the ranks.
    pub gradients: FilePath,
    /// The state after an update by the golden gradients.
    pub after: Checkpoint,
    /// What the update took.
    pub update_seconds: f64,
}

/// What a rank computed in a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResultRank {
    /// What loss and gradients took.
    pub seconds: f64,
    /// Its loss as `loss`, and its gradients, by name.
    pub gradients: FilePath,
    /// What modules returned.
    pub activations: FilePath,
}

/// What a manifest says it is.
#[derive(Deserialize)]
struct Head {
    format: String,
    schema_version: u32,
}

/// Results that were opened and found whole.
#[derive(Debug)]
pub struct Results {
    files: Files,
    manifest: ResultsManifest,
}

impl Results {
    /// Opens a directory and proves every digest.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, GoldenError> {
        let directory = directory.as_ref();
        let place = manifest_of(directory, "a directory of results")?;
        // What it is comes first: a manifest of another kind lacks fields, which would say less.
        let head: Head = read_json(&place)?;
        if head.format != FORMAT || head.schema_version != RESULTS_VERSION {
            let found: String = head.format.chars().take(100).collect();
            let version = head.schema_version;
            return Err(wrong(
                &place,
                format_args!(
                    "is {found:?} of version {version}, expected {FORMAT:?} of version {RESULTS_VERSION}"
                ),
            ));
        }
        let manifest: ResultsManifest = read_json(&place)?;
        let files = Files { directory: directory.to_owned(), entries: manifest.files.clone() };
        files.prove()?;
        Ok(Self { files, manifest })
    }

    /// Its manifest.
    pub fn manifest(&self) -> &ResultsManifest {
        &self.manifest
    }

    /// A file of tensors.
    pub fn tensors(&self, path: &FilePath) -> Result<safetensors::File, GoldenError> {
        Ok(safetensors::File::open(self.files.listed(path)?)?)
    }
}

/// Results under construction.
#[derive(Debug)]
pub struct ResultsWriter {
    directory: PathBuf,
    files: BTreeMap<FilePath, FileEntry>,
}

impl ResultsWriter {
    /// A directory that is new or empty.
    pub fn new(directory: impl AsRef<Path>) -> Result<Self, GoldenError> {
        let directory = directory.as_ref();
        let failed =
            |error: std::io::Error| wrong(directory, format_args!("cannot write: {error}"));
        std::fs::create_dir_all(directory).map_err(failed)?;
        if std::fs::read_dir(directory).map_err(failed)?.next().is_some() {
            return Err(wrong(directory, "is not empty: results need a directory of their own"));
        }
        Ok(Self { directory: directory.to_owned(), files: BTreeMap::new() })
    }

    /// Writes tensors by name.
    pub fn write(
        &mut self,
        path: &FilePath,
        tensors: &[(String, Tensor)],
    ) -> Result<(), GoldenError> {
        let place = path.below(&self.directory);
        let failed = |error: std::io::Error| wrong(&place, format_args!("cannot write: {error}"));
        if let Some(folder) = place.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let pairs = tensors.iter().map(|(name, tensor)| (name.clone(), tensor));
        safetensors::write(&place, pairs, &BTreeMap::new())?;
        let bytes = std::fs::metadata(&place).map_err(failed)?.len();
        let sha256 = digest(&place).map_err(failed)?;
        self.files.insert(path.clone(), FileEntry { bytes, sha256 });
        Ok(())
    }

    /// Writes the manifest, which makes the results whole.
    pub fn finish(
        self,
        golden: &str,
        run: Run,
        steps: Vec<ResultStep>,
        evaluation: Option<FilePath>,
        unobserved: Vec<Unobserved>,
    ) -> Result<ResultsManifest, GoldenError> {
        let manifest = ResultsManifest {
            format: FORMAT.to_owned(),
            schema_version: RESULTS_VERSION,
            golden: golden.to_owned(),
            run,
            steps,
            evaluation,
            unobserved,
            files: self.files,
        };
        let place = self.directory.join(MANIFEST);
        let failed = |error: std::io::Error| wrong(&place, format_args!("cannot write: {error}"));
        let mut text =
            serde_json::to_string_pretty(&manifest).map_err(|error| wrong(&place, error))?;
        text.push('\n');
        let partial = self.directory.join(format!(".{MANIFEST}.partial"));
        std::fs::write(&partial, text).map_err(failed)?;
        std::fs::rename(&partial, &place).map_err(failed)?;
        Ok(manifest)
    }
}

//! Golden bundles, and the results that are judged by them: manifests, programs and tensors in files with digests.
//!
//! A [`Bundle`] is what plain PyTorch computed, [`Results`] what another run of the same steps gave. Both come from
//! strangers: whatever is in them, opening one ends in an error that names the file, never in a panic, and nothing outside
//! of the directory is read or written.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod bundle;
mod error;
mod export;
mod file_path;
mod files;
mod manifest;
mod results;

pub use bundle::{Bundle, LossCurve, Metrics};
pub use error::GoldenError;
pub use export::{
    Argument, Export, ExportManifest, ExportedModel, ModelTensor, ModuleValue, Output,
    ProgramEntry, Scope,
};
pub use file_path::FilePath;
pub use files::{FileEntry, digest as file_digest, read_text};
pub use manifest::{
    Activation, Checkpoint, Configuration, Data, Evaluation, Manifest, Model, Optimizer, Questions,
    Rank, SCHEMA_VERSION, Schedule, Seeds, Start, Step, TrainingRun,
};
pub use results::{
    RESULTS_VERSION, ResultRank, ResultStep, Results, ResultsManifest, ResultsWriter, Run,
    Unobserved,
};

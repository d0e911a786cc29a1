//! The manifest that `warpforge.export` writes beside its programs, as far as it is used here; `docs/export.md` has all of it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use warpforge_tensor::DType;

use crate::error::wrong;
use crate::files::{PROGRAM_LIMIT, read_json, read_text};
use crate::{FilePath, GoldenError};

/// The manifest's name.
const MANIFEST: &str = "manifest.json";

/// What stands in `format`.
pub(crate) const FORMAT: &str = "warpforge.export";

/// The version that is read.
pub(crate) const VERSION: u32 = 1;

/// The programs of a model, and the names of their arguments, results and values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ExportManifest {
    /// Always `warpforge.export`.
    pub format: String,
    /// The version of that format.
    pub schema_version: u32,
    /// The model.
    pub model: ExportedModel,
    /// Its programs.
    pub programs: Vec<ProgramEntry>,
}

/// The model.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ExportedModel {
    /// Its name.
    pub name: String,
    /// Its class.
    pub kind: String,
    /// How many numbers its parameters hold.
    pub parameter_count: u64,
    /// Its parameters and buffers.
    pub tensors: Vec<ModelTensor>,
}

/// A parameter or buffer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModelTensor {
    /// Its name.
    pub name: String,
    /// `parameter` or `buffer`.
    pub role: String,
    /// Its sizes.
    pub shape: Vec<usize>,
    /// Its element type.
    pub dtype: DType,
    /// Whether it is trained.
    pub trainable: bool,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ProgramEntry {
    /// Its name: `forward`, `gradients`, or that of an optimizer.
    pub name: String,
    /// Its text, beside the manifest.
    pub file: FilePath,
    /// The function that runs.
    pub entry: String,
    /// What it takes, in order.
    pub arguments: Vec<Argument>,
    /// What it gives, in order.
    pub results: Vec<Output>,
    /// Values of the program that modules returned.
    #[serde(default)]
    pub module_values: Vec<ModuleValue>,
    /// The values that each module computed itself.
    #[serde(default)]
    pub scopes: Vec<Scope>,
}

/// The values that one module computed itself, in one direction, in one function of the program.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Scope {
    /// The module, by its path; empty for the whole model.
    pub module: String,
    /// `forward` or `backward`.
    pub direction: String,
    /// The function the values are in.
    pub function: String,
    /// The values as the text has them, with `%`.
    pub values: Vec<String>,
}

/// An argument of a program.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Argument {
    /// Its name, unique within its role.
    pub name: String,
    /// `parameter`, `buffer`, `input`, `target`, `gradient`, `state` or `hyperparameter`.
    pub role: String,
    /// Its sizes.
    pub shape: Vec<usize>,
    /// Its element type.
    pub dtype: DType,
}

impl Argument {
    /// What it is called in files of tensors.
    pub fn key(&self) -> String {
        match self.role.as_str() {
            "input" | "target" => format!("{}.{}", self.role, self.name),
            _ => self.name.clone(),
        }
    }
}

/// A result of a program.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Output {
    /// Its name, unique within its role.
    pub name: String,
    /// `output`, `loss`, `gradient`, `buffer`, `parameter` or `state`.
    pub role: String,
    /// Its sizes.
    pub shape: Vec<usize>,
    /// Its element type.
    pub dtype: DType,
}

/// A value of a program that a module returned, or the gradient that reached it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ModuleValue {
    /// The module, by its path.
    pub module: String,
    /// Which call of it, from 0.
    pub call: u64,
    /// Which part of what it returned.
    pub output: String,
    /// `value` or `gradient`.
    pub kind: String,
    /// The function the value is in.
    pub function: String,
    /// The value as the text has it, with `%`.
    pub value: String,
}

impl ExportManifest {
    /// The program of this name.
    pub fn program(&self, name: &str) -> Option<&ProgramEntry> {
        self.programs.iter().find(|program| program.name == name)
    }

    /// What is wrong with it, beyond the types of its fields.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.format != FORMAT {
            let found: String = self.format.chars().take(100).collect();
            return Some(format!("its format is {found:?}, expected {FORMAT:?}"));
        }
        (self.schema_version != VERSION).then(|| {
            let found = self.schema_version;
            format!("version {found} of the export's format cannot be read, only {VERSION}")
        })
    }
}

/// Programs in a directory of their own, as `warpt export` writes them.
#[derive(Debug, Clone)]
pub struct Export {
    directory: PathBuf,
    manifest: ExportManifest,
}

impl Export {
    /// Reads the manifest of a directory.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, GoldenError> {
        let directory = directory.into();
        let place = directory.join(MANIFEST);
        let manifest: ExportManifest = read_json(&place)?;
        match manifest.fault() {
            Some(fault) => Err(wrong(&place, fault)),
            None => Ok(Self { directory, manifest }),
        }
    }

    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Its manifest.
    pub fn manifest(&self) -> &ExportManifest {
        &self.manifest
    }

    /// A program that must be there, by its name.
    pub fn program(&self, name: &str) -> Result<&ProgramEntry, GoldenError> {
        self.manifest.program(name).ok_or_else(|| {
            wrong(&self.directory.join(MANIFEST), format_args!("there is no program {name:?}"))
        })
    }

    /// Where the text of a program lies.
    pub fn path(&self, program: &ProgramEntry) -> PathBuf {
        program.file.below(&self.directory)
    }

    /// The text of a program.
    pub fn text(&self, program: &ProgramEntry) -> Result<String, GoldenError> {
        read_text(&self.path(program), PROGRAM_LIMIT)
    }
}

//! A program that shows a difference alone, with what it reads, what was found and what was wanted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use warpforge_engine::Audited;
use warpforge_engine::reference::Value;
use warpforge_hlo::Program;
use warpforge_tensor::{Tensor, safetensors};

use crate::ValidateError;

/// A program and its values.
#[derive(Debug, Clone)]
pub struct Reproducer {
    /// What should be computed; its only function takes the inputs in their order.
    pub program: Program,
    /// What it reads.
    pub inputs: Vec<Tensor>,
    /// What was found here.
    pub found: Vec<Tensor>,
    /// What it gives one op after the other.
    pub wanted: Vec<Tensor>,
}

impl Reproducer {
    /// Of a kernel that was looked at.
    pub fn of_kernel(seen: &Audited<'_>) -> Self {
        let tensor = |value: &Value| match value {
            Value::Tensor(tensor) => Some(tensor.clone()),
            _ => None,
        };
        Self {
            program: seen.program(),
            inputs: seen.inputs.iter().filter_map(tensor).collect(),
            found: seen.found.to_vec(),
            wanted: seen.wanted.to_vec(),
        }
    }

    /// Writes the program and, beside it, the values: `arg0`, `found0`, `wanted0` and so on; where the program is.
    pub fn write(&self, folder: &Path, name: &str) -> Result<PathBuf, ValidateError> {
        let path = folder.join(format!("{name}.mlir"));
        let failed = |reason: std::io::Error| ValidateError::Program {
            path: path.clone(),
            reason: format!(" cannot be written: {reason}"),
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        std::fs::write(&path, self.program.to_string()).map_err(failed)?;
        let named = |word: &'static str, tensors: &'_ [Tensor]| {
            let each = tensors.iter().enumerate();
            each.map(|(at, tensor)| (format!("{word}{at}"), tensor.clone())).collect::<Vec<_>>()
        };
        let mut all = named("arg", &self.inputs);
        all.extend(named("found", &self.found));
        all.extend(named("wanted", &self.wanted));
        let all: Vec<(String, &Tensor)> =
            all.iter().map(|(name, tensor)| (name.clone(), tensor)).collect();
        safetensors::write(path.with_extension("safetensors"), all, &BTreeMap::new())?;
        Ok(path)
    }
}

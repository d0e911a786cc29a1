//! One case: a program, its inputs, and what several oracles say its outputs are.
//!
//! The program says what a tensor is; the files only hold bytes, because their format has no name for some types.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use warpforge_hlo::{Program, Type};
use warpforge_tensor::safetensors::File;
use warpforge_tensor::{DType, Tensor};

/// A case of the corpus.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) group: String,
    /// Where its files lie, without ending; or why it could not be made.
    pub(super) place: Result<PathBuf, String>,
}

/// Who said what the outputs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Oracle {
    /// XLA on the CPU.
    Xla,
    /// The specification's interpreter.
    Second,
    /// XLA with every float widened to f64.
    Wide,
    /// mpmath, for programs of one function.
    Exact,
    /// XLA again, whose results have the same rows in another order where the keys, its first result, are equal.
    Reordered,
}

impl Oracle {
    /// The command of the Python side that asks it.
    pub(super) fn command(self) -> &'static str {
        match self {
            Self::Xla | Self::Reordered => "corpus",
            Self::Second => "second",
            Self::Wide => "wide",
            Self::Exact => "exact",
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Xla | Self::Reordered => "safetensors",
            Self::Second => "second.safetensors",
            Self::Wide => "wide.safetensors",
            Self::Exact => "exact.safetensors",
        }
    }
}

/// The text of the program.
pub(super) fn text(place: &Path) -> anyhow::Result<String> {
    let path = with_ending(place, "mlir");
    std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// The inputs of the program.
pub(super) fn inputs(place: &Path, program: &Program) -> anyhow::Result<Vec<Tensor>> {
    let main = program.main().context("the program has no main function")?;
    let types: Vec<&Type> = main.arguments.iter().map(|argument| main.ty(argument.value)).collect();
    read(place, Oracle::Xla, "input", &types)
}

/// The outputs an oracle gave; those of [`Oracle::Wide`] and [`Oracle::Exact`] have f64 for every float.
pub(super) fn outputs(
    place: &Path,
    program: &Program,
    oracle: Oracle,
) -> anyhow::Result<Vec<Tensor>> {
    let main = program.main().context("the program has no main function")?;
    let types: Vec<&Type> = main.results.iter().map(|result| &result.ty).collect();
    read(place, oracle, "output", &types)
}

fn with_ending(place: &Path, ending: &str) -> PathBuf {
    let mut name = place.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn read(place: &Path, oracle: Oracle, name: &str, types: &[&Type]) -> anyhow::Result<Vec<Tensor>> {
    let path = with_ending(place, oracle.ending());
    let file = File::open(&path)?;
    let found = file.names().filter(|found| found.starts_with(name)).count();
    ensure!(
        found == types.len(),
        "{} has {found} {name}s, the program {}",
        path.display(),
        types.len()
    );
    let tensor = |(index, ty): (usize, &&Type)| {
        let tensor = file.tensor(&format!("{name}.{index}"))?;
        let ty = ty.tensor().context("a value of the program is no tensor")?;
        let shape = ty.shape().context("a size of the program is not known")?;
        let dtype = ty.dtype().context("a value of the program is quantized")?;
        let dtype =
            if matches!(oracle, Oracle::Wide | Oracle::Exact) { widened(dtype) } else { dtype };
        Ok(Tensor::new(dtype, shape, tensor.bytes())?)
    };
    types.iter().enumerate().map(tensor).collect()
}

fn widened(dtype: DType) -> DType {
    match dtype {
        DType::BF16 | DType::F16 | DType::F32 => DType::F64,
        DType::C64 => DType::C128,
        other => other,
    }
}

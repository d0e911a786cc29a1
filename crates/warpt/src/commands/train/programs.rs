//! The programs to train with, and the weights to start from: given, or made for a published model.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use warpforge_golden::{Export, ProgramEntry};
use warpforge_tensor::safetensors;
use warpforge_train::{HubModel, ModelConfig, Named};

use super::OPTIMIZER;
use crate::arguments::python_package::PythonPackageArguments;
use crate::arguments::train::TrainSquadArguments;
use crate::commands::export_model::EXPORTER;
use crate::exit::Exit;
use crate::output::Output;

/// How long making the programs may take.
const TIME_LIMIT: f64 = 3600.0;

/// Programs, and where weights come from.
pub(super) struct Found {
    pub(super) export: Export,
    pub(super) model: Option<HubModel>,
}

/// Finds the programs, or lets the Python package make them; the outer error is ours, the inner exit the package's.
pub(super) fn found(
    arguments: &TrainSquadArguments,
    config: Option<&Path>,
    output: &mut Output,
) -> Result<Result<Found, Exit>> {
    let model = arguments.model.as_deref().map(HubModel::find).transpose()?;
    let directory = match (&arguments.programs, &model) {
        (Some(directory), _) => directory.clone(),
        (None, Some(model)) => {
            let directory = arguments.out.join("programs");
            if !directory.join("manifest.json").is_file() {
                let rest = options(&model.config()?, arguments, &directory);
                let package = PythonPackageArguments {
                    python: arguments.python.clone(),
                    time_limit: TIME_LIMIT,
                    rest,
                };
                match EXPORTER.run(&package, config, output)? {
                    Exit::Pass => {}
                    exit => return Ok(Err(exit)),
                }
            }
            directory
        }
        (None, None) => bail!("--model or --programs is needed"),
    };
    Ok(Ok(Found { export: Export::open(directory)?, model }))
}

/// What the exporter is told.
fn options(
    config: &ModelConfig,
    arguments: &TrainSquadArguments,
    directory: &Path,
) -> Vec<OsString> {
    let programs = if arguments.accumulate == 1 {
        format!("forward,train-{OPTIMIZER}")
    } else {
        format!("forward,gradients,{OPTIMIZER}")
    };
    let mut rest: Vec<OsString> = vec!["bert".into()];
    let mut say = |name: &str, value: OsString| rest.extend([OsString::from(name), value]);
    say("--layers", config.num_hidden_layers.to_string().into());
    say("--hidden", config.hidden_size.to_string().into());
    say("--heads", config.num_attention_heads.to_string().into());
    say("--intermediate", config.intermediate_size.to_string().into());
    say("--vocabulary", config.vocab_size.to_string().into());
    say("--sequence", arguments.seq.to_string().into());
    say("--batch", arguments.batch_size.to_string().into());
    say("--programs", programs.into());
    say("--out", directory.into());
    rest.extend(["--no-weights".into(), "--no-inputs".into()]);
    rest
}

impl Found {
    /// The program that a batch goes to.
    pub(super) fn step_entry(&self, accumulate: u64) -> Result<&ProgramEntry> {
        let whole = self.export.manifest().program(&format!("train-{OPTIMIZER}"));
        match whole.filter(|_| accumulate == 1) {
            Some(entry) => Ok(entry),
            None => Ok(self.export.program("gradients")?),
        }
    }

    /// Tokens in a row, and tokens that are known.
    pub(super) fn sizes(&self) -> Result<(usize, usize)> {
        let entry = self.export.program("forward")?;
        let ids =
            entry.arguments.iter().find(|each| each.role == "input" && each.name == "input_ids");
        let sequence = ids.and_then(|ids| ids.shape.get(1)).copied();
        let embedding = &self.export.manifest().model.tensors;
        let known = embedding.iter().find(|each| each.name.ends_with("word_embeddings.weight"));
        let known = known.and_then(|known| known.shape.first()).copied();
        sequence.zip(known).with_context(|| {
            let directory = self.export.directory().display();
            format!(
                "{directory} is not BERT for question answering, as `warpt export bert` writes it"
            )
        })
    }

    /// Where the weights to start from lie.
    pub(super) fn weights_path(&self) -> PathBuf {
        match &self.model {
            Some(model) => model.weights_path(),
            None => self.export.directory().join("weights.safetensors"),
        }
    }

    /// The weights to start from.
    pub(super) fn weights(&self, seed: u64) -> Result<Named> {
        let wanted = &self.export.manifest().model.tensors;
        if let Some(model) = &self.model {
            return Ok(model.weights(wanted, seed)?);
        }
        let file = safetensors::File::open(self.weights_path())
            .context("the programs came without weights to start from; give --model")?;
        let each =
            wanted.iter().map(|tensor| Ok((tensor.name.clone(), file.tensor(&tensor.name)?)));
        each.collect()
    }
}

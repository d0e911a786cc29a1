//! The questions of a folder, as rows for the programs.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use warpforge_train::Vocabulary;
use warpforge_train::squad::{Examples, Shape, Squad};

use super::programs::Found;
use crate::arguments::train::TrainSquadArguments;

/// Rows of training, and of evaluation where that is wanted.
pub(super) struct Data {
    pub(super) train: Examples,
    pub(super) dev: Option<Examples>,
    pub(super) train_path: PathBuf,
    pub(super) vocabulary_path: PathBuf,
}

impl Data {
    /// Reads what a folder has.
    pub(super) fn open(arguments: &TrainSquadArguments, found: &Found) -> Result<Self> {
        let folder = &arguments.data;
        let own = folder.join("vocab.txt");
        let of_model = found.model.as_ref().and_then(|model| model.vocabulary());
        let vocabulary_path = match of_model {
            Some(path) => path,
            None if own.is_file() => own,
            None => bail!("neither {} nor the model has a vocab.txt", folder.display()),
        };
        let lowercase = found.model.as_ref().map_or(Ok(true), |model| model.lowercase())?;
        let vocabulary = Vocabulary::open(&vocabulary_path, lowercase)?;
        let (sequence, known) = found.sizes()?;
        if vocabulary.size() > known {
            bail!(
                "{} has {} tokens, but the programs know {known}; export them with --vocabulary {}",
                vocabulary_path.display(),
                vocabulary.size(),
                vocabulary.size()
            );
        }
        let shape = Shape {
            sequence,
            stride: arguments.stride as usize,
            longest_question: arguments.longest_question as usize,
        };
        let train_path = file(folder, "train")?;
        let examples = |path: &Path| -> Result<Examples> {
            Ok(Examples::new(Squad::open(path)?, &vocabulary, shape)?)
        };
        let train = examples(&train_path)?;
        let dev =
            if arguments.no_evaluation { None } else { Some(examples(&file(folder, "dev")?)?) };
        Ok(Self { train, dev, train_path, vocabulary_path })
    }
}

/// A part of the set, under the name it is published with or a short one.
fn file(folder: &Path, part: &str) -> Result<PathBuf> {
    let names = [format!("{part}-v1.1.json"), format!("{part}.json")];
    match names.iter().map(|name| folder.join(name)).find(|path| path.is_file()) {
        Some(path) => Ok(path),
        None => bail!(
            "{} has neither {} nor {}; `warpt data list` says where SQuAD comes from",
            folder.display(),
            names[0],
            names[1]
        ),
    }
}

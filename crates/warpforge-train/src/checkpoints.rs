//! Checkpoints: a directory for each, with weights, optimizer state and what the run is, from which training goes on bit for bit.
//!
//! Invariant: a directory `step-N` is whole. It is written under another name, synced, and renamed; whatever moment the process or
//! the machine ends at, the last one before is still there.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use warpforge_golden::{FileEntry, file_digest, read_text};
use warpforge_tensor::safetensors;

use crate::error::wrong;
use crate::{Named, TrainError};

/// The version of the format that is written and read.
pub const CHECKPOINT_VERSION: u32 = 1;
const FORMAT: &str = "warpforge.checkpoint";
const STATE: &str = "checkpoint.json";
const WEIGHTS: &str = "weights.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const PREFIX: &str = "step-";
const STATE_LIMIT: u64 = 256 << 20;

/// What a checkpoint says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointState {
    /// Always `warpforge.checkpoint`.
    pub format: String,
    /// The version of this format.
    pub schema_version: u32,
    /// What the run is: its plan, seeds, and the digests of programs and data.
    pub run: BTreeMap<String, Value>,
    /// The loss of every step made so far.
    pub loss: Vec<f64>,
    /// Size and digest of each file.
    pub files: BTreeMap<String, FileEntry>,
}

/// Where a run's checkpoints are.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    directory: PathBuf,
    run: BTreeMap<String, Value>,
    keep: usize,
}

/// A checkpoint that was read.
pub(crate) type Resumed = (CheckpointState, Named, Named);

impl Checkpoints {
    /// Those of a run in a directory; the newest `keep` stay.
    pub fn new(directory: PathBuf, run: BTreeMap<String, Value>, keep: usize) -> Self {
        Self { directory, run, keep: keep.max(1) }
    }

    /// Writes one, then removes those that are too old.
    pub fn write(&self, loss: &[f64], weights: &Named, state: &Named) -> Result<(), TrainError> {
        let name = format!("{PREFIX}{:08}", loss.len());
        let (last, partial) =
            (self.directory.join(&name), self.directory.join(format!(".{name}.partial")));
        self.write_as(&partial, loss, weights, state)?;
        let moved = || -> io::Result<()> {
            if last.exists() {
                fs::remove_dir_all(&last)?;
            }
            fs::rename(&partial, &last)?;
            File::open(&self.directory)?.sync_all()
        };
        moved().map_err(|error| wrong(&last, format_args!("cannot write: {error}")))?;
        let mut known = self.known()?;
        while known.len() > self.keep {
            // Too many is no harm.
            let _ = fs::remove_dir_all(known.remove(0));
        }
        Ok(())
    }

    fn write_as(
        &self,
        partial: &Path,
        loss: &[f64],
        weights: &Named,
        state: &Named,
    ) -> Result<(), TrainError> {
        let unwritable = |error: io::Error| wrong(partial, format_args!("cannot write: {error}"));
        if partial.exists() {
            fs::remove_dir_all(partial).map_err(unwritable)?;
        }
        fs::create_dir_all(partial).map_err(unwritable)?;
        let mut files = BTreeMap::new();
        for (name, tensors) in [(WEIGHTS, weights), (OPTIMIZER, state)] {
            let path = partial.join(name);
            let named = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor));
            safetensors::write(&path, named, &BTreeMap::new())?;
            let bytes = fs::metadata(&path).map_err(unwritable)?.len();
            let sha256 = file_digest(&path).map_err(unwritable)?;
            files.insert(name.to_owned(), FileEntry { bytes, sha256 });
        }
        let state = CheckpointState {
            format: FORMAT.to_owned(),
            schema_version: CHECKPOINT_VERSION,
            run: self.run.clone(),
            loss: loss.to_vec(),
            files,
        };
        let text = serde_json::to_string_pretty(&state).map_err(|error| wrong(partial, error))?;
        fs::write(partial.join(STATE), text + "\n").map_err(unwritable)?;
        for name in [WEIGHTS, OPTIMIZER, STATE] {
            File::open(partial.join(name)).and_then(|file| file.sync_all()).map_err(unwritable)?;
        }
        Ok(())
    }

    /// The newest one that is whole: what it says, the weights and the optimizer's state. None where there is none at all; an error
    /// where it belongs to another run.
    pub fn latest(&self) -> Result<Option<(CheckpointState, Named, Named)>, TrainError> {
        let mut damaged = None;
        for path in self.known()?.into_iter().rev() {
            match self.read(&path) {
                Ok(found) => return Ok(Some(found)),
                Err(error @ TrainError::Settings(_)) => return Err(error),
                Err(error) => damaged = damaged.or(Some(error)),
            }
        }
        damaged.map_or(Ok(None), Err)
    }

    /// Where the newest one lies.
    pub fn newest(&self) -> Result<Option<PathBuf>, TrainError> {
        Ok(self.known()?.pop())
    }

    fn read(&self, path: &Path) -> Result<Resumed, TrainError> {
        let place = path.join(STATE);
        let state: CheckpointState = serde_json::from_str(&read_text(&place, STATE_LIMIT)?)
            .map_err(|error| wrong(&place, error))?;
        if state.format != FORMAT || state.schema_version != CHECKPOINT_VERSION {
            return Err(wrong(&place, "not a checkpoint of a version that can be read"));
        }
        self.check_run(&state)?;
        let tensors = |name: &str| -> Result<Named, TrainError> {
            let path = path.join(name);
            let found = file_digest(&path)
                .map_err(|error| wrong(&path, format_args!("cannot read: {error}")))?;
            if state.files.get(name).is_none_or(|entry| entry.sha256 != found) {
                return Err(wrong(
                    &path,
                    "damaged: it does not have the digest it was written with",
                ));
            }
            let file = safetensors::File::open(&path)?;
            let names: Vec<String> = file.names().map(str::to_owned).collect();
            names
                .into_iter()
                .map(|name| {
                    let tensor = file.tensor(&name)?;
                    Ok((name, tensor))
                })
                .collect()
        };
        let (weights, optimizer) = (tensors(WEIGHTS)?, tensors(OPTIMIZER)?);
        Ok((state, weights, optimizer))
    }

    /// Refuses to go on with a run that is another one.
    fn check_run(&self, state: &CheckpointState) -> Result<(), TrainError> {
        let names = self.run.keys().chain(state.run.keys());
        for name in names {
            let (now, then) = (self.run.get(name), state.run.get(name));
            if now != then {
                let show = |value: Option<&Value>| {
                    value.map_or_else(|| "nothing".to_owned(), ToString::to_string)
                };
                return Err(TrainError::Settings(format!(
                    "{} holds another run: {name} was {}, now it is {}",
                    self.directory.display(),
                    show(then),
                    show(now)
                )));
            }
        }
        Ok(())
    }

    /// All there are, the oldest first.
    fn known(&self) -> Result<Vec<PathBuf>, TrainError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(wrong(&self.directory, format_args!("cannot read: {error}"))),
        };
        let mut found: Vec<(u64, PathBuf)> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let name = entry.file_name();
                let step = name.to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
                Some((step, entry.path()))
            })
            .collect();
        found.sort();
        Ok(found.into_iter().map(|(_, path)| path).collect())
    }
}

#[cfg(test)]
mod tests {
    use warpforge_tensor::{DType, Shape, Tensor};

    use super::*;

    fn named(value: f64) -> Named {
        vec![(
            "w".to_owned(),
            Tensor::from_floats(DType::F32, Shape::scalar(), vec![value]).unwrap(),
        )]
    }

    fn of(directory: &Path, seed: u64) -> Checkpoints {
        let run = BTreeMap::from([("seed".to_owned(), Value::from(seed))]);
        Checkpoints::new(directory.to_owned(), run, 2)
    }

    #[test]
    fn the_newest_whole_one_is_found_and_old_ones_go() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = of(folder.path(), 1);
        assert!(checkpoints.latest().unwrap().is_none());
        for steps in 1..=3_usize {
            let loss: Vec<f64> = (0..steps).map(|step| step as f64).collect();
            checkpoints.write(&loss, &named(steps as f64), &named(0.5)).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        let (state, weights, _) = checkpoints.latest().unwrap().unwrap();
        assert_eq!((state.loss.len(), weights), (3, named(3.0)));
        // A damaged one gives way to the one before; what was not finished is not seen.
        fs::create_dir(folder.path().join(".step-00000009.partial")).unwrap();
        let newest = checkpoints.newest().unwrap().unwrap().join(WEIGHTS);
        let mut bytes = fs::read(&newest).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&newest, bytes).unwrap();
        assert_eq!(checkpoints.latest().unwrap().unwrap().1, named(2.0));
    }

    #[test]
    fn another_run_is_not_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        of(folder.path(), 1).write(&[1.0], &named(1.0), &named(0.5)).unwrap();
        let error = of(folder.path(), 2).latest().unwrap_err().to_string();
        assert!(error.ends_with("holds another run: seed was 1, now it is 2"), "{error}");
    }
}

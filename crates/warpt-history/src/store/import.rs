//! Records from elsewhere: files and folders of them, from anyone. What cannot be kept is listed with the reason and does
//! not stop the rest; nothing outside the given paths is read, and links are not followed into folders.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Serialize;
use warpt_bench::BenchmarkSuiteRun;
use warpt_bench::record::{SampleData, read_record, read_samples};

use super::row::RunRows;
use super::{Appended, Selection, Store, records};
use crate::error::{HistoryError, Result};

/// Files looked at in one import.
const MAX_FILES: usize = 1_000_000;
/// Folders in folders.
const MAX_DEPTH: usize = 16;
/// Samples taken in from the file beside a record; more stay there.
const MAX_SAMPLES: u64 = 10_000_000;

/// What an import did.
#[derive(Debug, Default, Serialize)]
pub struct Imported {
    /// Records that are new.
    pub added: u64,
    /// Records whose run was known.
    pub present: u64,
    /// Files that hold no record this version can keep, with the reason.
    pub refused: Vec<Refused>,
}

/// A file that was not imported.
#[derive(Debug, Serialize)]
pub struct Refused {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

impl Store {
    /// Takes in record files, and those in folders. Runs that are known are passed over.
    pub fn import(&self, paths: &[PathBuf]) -> Result<Imported> {
        let mut imported = Imported::default();
        let mut files = Vec::new();
        for path in paths {
            let named = path.metadata().map_err(|e| HistoryError::file("cannot read", path, e))?;
            if named.is_dir() {
                find(path, 0, &mut files, &mut imported.refused);
            } else {
                files.push(path.clone());
            }
        }
        let runs = self.runs(&Selection::default())?;
        let mut known: HashSet<String> = runs.into_iter().map(|run| run.run).collect();
        for path in files {
            match self.import_file(&path, &mut known) {
                Ok(Appended::Added(_)) => imported.added += 1,
                Ok(Appended::Present(_)) => imported.present += 1,
                // The store itself failing is no fault of the file.
                Err(error @ HistoryError::File { .. }) if !is_about(&error, &path) => {
                    return Err(error);
                }
                Err(error) => {
                    imported.refused.push(Refused { path, reason: error.to_string() });
                }
            }
        }
        Ok(imported)
    }

    fn import_file(&self, path: &Path, known: &mut HashSet<String>) -> Result<Appended> {
        let packed = path.extension().is_some_and(|extension| extension == "zst");
        let mut record = match packed {
            true => {
                records::read(path)?.ok_or_else(|| HistoryError::malformed(path, "it is gone"))?
            }
            false => read_record(path)?,
        };
        take_in_samples(path, &mut record);
        let run = RunRows::of(&record)?.summary.run;
        if known.contains(&run) {
            return Ok(Appended::Present(run));
        }
        let appended = self.append(&record)?;
        known.insert(run);
        Ok(appended)
    }
}

fn is_about(error: &HistoryError, path: &Path) -> bool {
    matches!(error, HistoryError::File { path: about, .. } if about == path)
}

/// Samples in a file beside the record move into it; where that file is missing, the record says so by naming it still.
fn take_in_samples(path: &Path, record: &mut BenchmarkSuiteRun) {
    let mut left = MAX_SAMPLES;
    let results = record.benchmarks.iter_mut();
    for metric in results.flat_map(|result| result.metrics.iter_mut()) {
        let Some(samples @ SampleData::Sidecar { count, .. }) = &metric.samples else { continue };
        if *count > left {
            continue;
        }
        if let Ok(values) = read_samples(path, samples) {
            left -= *count;
            metric.samples = Some(SampleData::Inline { values });
        }
    }
}

/// Record files below a folder, in the order of their names.
fn find(folder: &Path, depth: usize, files: &mut Vec<PathBuf>, refused: &mut Vec<Refused>) {
    let refusal = |reason: String| Refused { path: folder.to_owned(), reason };
    if depth > MAX_DEPTH {
        return refused.push(refusal(format!("more than {MAX_DEPTH} folders deep")));
    }
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return refused.push(refusal(error.to_string())),
    };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        if files.len() >= MAX_FILES {
            return refused
                .push(refusal(format!("more than {MAX_FILES} files; import them in parts")));
        }
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => find(&path, depth + 1, files, refused),
            Ok(kind) if kind.is_file() => {
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_record = name.ends_with(".json") || name.ends_with(".json.zst");
                if is_record && !name.starts_with('.') {
                    files.push(path);
                }
            }
            _ => {}
        }
    }
}

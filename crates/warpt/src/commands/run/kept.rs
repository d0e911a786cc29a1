//! What a run has measured, kept for this machine among the user's state: files that are whole, and small.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use warpt_bench::BenchmarkComponent;
use warpt_history::state;

use crate::commands::list;

/// A larger file is not ours.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// The file of this kind for this machine, where there is a place for it.
pub(super) fn file(kind: &str) -> Option<PathBuf> {
    let machine = list::collect(&[BenchmarkComponent::Cpu], false);
    state::file(kind, &machine.fingerprint())
}

/// What a file says; nothing where it is not there or says something else.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let small = std::fs::metadata(path).is_ok_and(|file| file.len() <= MOST_BYTES);
    serde_json::from_slice(&small.then(|| std::fs::read(path).ok())??).ok()
}

/// Writes a file whole, or not at all: others may read it meanwhile.
pub(super) fn write(path: &Path, content: &impl Serialize) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, content)?;
    file.persist(path)?;
    Ok(())
}

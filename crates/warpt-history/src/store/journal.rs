//! The journal: runs not yet in Parquet. Writers of any number of processes append whole frames to `current.wj` under a
//! lock and flush before they answer; compaction seals the file by renaming it and a new one begins.
//!
//! Invariant: a run that was acknowledged is in a flushed frame, until the index says that Parquet holds it.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::frame::{self, Frames};
use super::index::Index;
use super::layout::Layout;
use super::row::RunRows;
use crate::error::{HistoryError, Result};

/// The file being appended to.
pub(crate) const CURRENT: &str = "current.wj";
/// A larger journal is read up to here and compaction is advised: it would not fit in memory.
const MAX_BYTES: u64 = 16 << 30;
/// A file of this size is sealed by whoever made it so large: compaction takes whole files into memory.
const ROTATE_BYTES: u64 = 192 << 20;

/// Appends frames and makes them durable.
pub(crate) fn append(layout: &Layout, frames: &[u8]) -> Result<()> {
    let directory = &layout.journal();
    let path = directory.join(CURRENT);
    let fail = |error| HistoryError::file("cannot append to", &path, error);
    loop {
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(fail)?;
        flock(&file, FlockOperation::LockExclusive).map_err(|error| fail(error.into()))?;
        // Sealed between opening and locking: the frame belongs into the new file.
        if !is_at(&file, &path) {
            continue;
        }
        let created = file.metadata().map_err(fail)?.len() == 0;
        file.write_all(frames).map_err(fail)?;
        file.sync_data().map_err(fail)?;
        if created {
            sync_directory(directory);
        }
        if file.metadata().map_err(fail)?.len() > ROTATE_BYTES {
            rename_sealed(layout, &path)?;
        }
        return Ok(());
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), path.metadata()) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Seals the current file, if there is anything in it: it is appended to no more.
pub(crate) fn seal(layout: &Layout) -> Result<()> {
    let path = layout.journal().join(CURRENT);
    let fail = |error| HistoryError::file("cannot seal", &path, error);
    loop {
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(fail(error)),
        };
        flock(&file, FlockOperation::LockExclusive).map_err(|error| fail(error.into()))?;
        if is_at(&file, &path) {
            let empty = file.metadata().map_err(fail)?.len() == 0;
            return if empty { Ok(()) } else { rename_sealed(layout, &path) };
        }
    }
}

/// Gives the locked current file a number above every number there ever was. Numbers in use are looked at before those in the
/// index: a file leaves the first only after it is in the second.
fn rename_sealed(layout: &Layout, path: &Path) -> Result<()> {
    let directory = layout.journal();
    let last = sealed(&directory)?.iter().filter_map(|path| number(path)).max().unwrap_or(0);
    let last = last.max(Index::read(layout)?.unwrap_or_default().journal_through);
    std::fs::rename(path, directory.join(format!("{:012}.wj", last + 1)))
        .map_err(|error| HistoryError::file("cannot seal", path, error))?;
    sync_directory(&directory);
    Ok(())
}

/// The sealed files, oldest first.
pub(crate) fn sealed(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory)
        .map_err(|error| HistoryError::file("cannot list", directory, error))?;
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| number(path).is_some()).collect();
    paths.sort_by_key(|path| number(path));
    Ok(paths)
}

/// The number of a sealed file.
pub(crate) fn number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".wj")?.parse().ok()
}

/// Reads a file of the journal; none when it is gone.
pub(crate) fn read(path: &Path) -> Result<Option<Frames>> {
    let fail = |error| HistoryError::file("cannot read", path, error);
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(file) => file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(fail)?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    };
    Ok(Some(frame::decode_all(&bytes)))
}

/// Frames of several runs in one piece of bytes, to be appended with one flush.
pub(crate) fn frames(runs: &[RunRows]) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(runs.iter().map(|run| 256 + run.rows.len() * 96).sum());
    for run in runs {
        if !frame::encode_into(run, &mut bytes) {
            let rows = run.rows.len();
            return Err(HistoryError::Unsuitable(format!("{rows} rows of too much text")));
        }
    }
    Ok(bytes)
}

/// Makes renames and new files in a directory durable, where the file system can.
pub(crate) fn sync_directory(directory: &Path) {
    if let Ok(directory) = File::open(directory) {
        let _ = directory.sync_all();
    }
}

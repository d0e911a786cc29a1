//! The records themselves: each a compressed JSON document, written beside its place, flushed, and linked into it, so that
//! a reader or a crash sees all of it or nothing, and the first of two writers of the same run wins.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use warpt_bench::BenchmarkSuiteRun;
use warpt_bench::record::{parse_record, random_id};

use super::journal::sync_directory;
use crate::error::{HistoryError, Result};

/// A record larger than this is neither written nor read.
const MAX_BYTES: u64 = 1 << 30;
/// Fast, and within a few percent of the best on JSON.
const LEVEL: i32 = 3;

/// Whether a record was new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    New,
    Present,
}

/// Writes a record to its place unless something is there.
pub(crate) fn write(path: &Path, record: &BenchmarkSuiteRun) -> Result<Kept> {
    if path.exists() {
        return Ok(Kept::Present);
    }
    let fail = |error| HistoryError::file("cannot write", path, error);
    let text = serde_json::to_vec(record)
        .map_err(|error| HistoryError::Unsuitable(format!("it is not JSON: {error}")))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(HistoryError::Unsuitable(format!("it is larger than {MAX_BYTES} bytes")));
    }
    let packed = zstd::bulk::compress(&text, LEVEL).map_err(fail)?;
    let directory = path.parent().unwrap_or(Path::new("."));
    create_directory(directory)?;
    let partial = directory.join(format!(".{}.partial", random_id()));
    let attempt = || -> std::io::Result<Kept> {
        let mut file = File::create_new(&partial)?;
        file.write_all(&packed)?;
        file.sync_data()?;
        let kept = match std::fs::hard_link(&partial, path) {
            Ok(()) => Kept::New,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Kept::Present,
            // A file system without links.
            Err(_) => std::fs::rename(&partial, path).map(|()| Kept::New)?,
        };
        sync_directory(directory);
        Ok(kept)
    };
    let kept = attempt();
    let _ = std::fs::remove_file(&partial);
    kept.map_err(fail)
}

/// Creates a directory and makes the new names on the way to it durable.
pub(crate) fn create_directory(directory: &Path) -> Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(directory)
        .map_err(|error| HistoryError::file("cannot create", directory, error))?;
    directory.ancestors().skip(1).take(3).filter(|path| path.is_dir()).for_each(sync_directory);
    Ok(())
}

/// Reads a record; none when it is not there.
pub(crate) fn read(path: &Path) -> Result<Option<BenchmarkSuiteRun>> {
    let fail = |error| HistoryError::file("cannot read", path, error);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    };
    let mut text = Vec::new();
    let unpacked = zstd::Decoder::new(file).map_err(fail)?;
    // Compression hides sizes: what comes out is counted, not what goes in.
    unpacked.take(MAX_BYTES + 1).read_to_end(&mut text).map_err(fail)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(HistoryError::malformed(path, format!("larger than {MAX_BYTES} bytes")));
    }
    parse_record(&text).map(Some).map_err(|detail| HistoryError::malformed(path, detail))
}

/// Every record file of the store, oldest day first.
pub(crate) fn list(records: &Path) -> Vec<PathBuf> {
    let days = below(records);
    let shards = days.iter().flat_map(|day| below(day));
    let files = shards.flat_map(|shard| below(&shard));
    files.filter(|path| path.to_string_lossy().ends_with(".json.zst")).collect()
}

/// What is in a folder, in the order of the names; nothing when there is no such folder.
pub(crate) fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

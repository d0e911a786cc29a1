//! Files that appear whole or not at all, and messages that name the file.
//!
//! Invariant: under the final name there is the old content or the new one, never a part, whenever the program ends.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::TensorError;

/// A message about a file.
pub(crate) fn wrong(path: &Path, reason: impl fmt::Display) -> TensorError {
    TensorError::File { path: path.to_owned(), reason: reason.to_string() }
}

/// Writes a file under a temporary name beside the final one, then renames it; what is left of a failed attempt is
/// removed.
pub(crate) fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), TensorError> {
    let partial = partial_path(path).ok_or_else(|| wrong(path, "not the name of a file"))?;
    let attempt = || -> io::Result<()> {
        let mut writer = BufWriter::with_capacity(1 << 20, File::create(&partial)?);
        content(&mut writer)?;
        writer.flush()?;
        // Not synced: a trace is thousands of small files, and what is lost with the power can be computed again.
        std::fs::rename(&partial, path)
    };
    attempt().map_err(|error| {
        // The reason for the failure is what counts; a file that was never made cannot be removed.
        let _ = std::fs::remove_file(&partial);
        wrong(path, format_args!("cannot write: {error}"))
    })
}

/// A name beside the final one that no other writer, in this process or another, uses.
fn partial_path(path: &Path) -> Option<PathBuf> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name()?.to_string_lossy();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    Some(path.with_file_name(format!(".{name}.{}.{number}.partial", std::process::id())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_attempt_leaves_the_old_content_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, |writer| writer.write_all(b"old")).unwrap();
        let error = write(&path, |writer| {
            writer.write_all(b"new")?;
            Err(io::Error::other("no more room"))
        });
        assert!(error.unwrap_err().to_string().ends_with("cannot write: no more room"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

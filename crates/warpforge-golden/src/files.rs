//! Files with digests: how they are found, proved and written.
//!
//! Invariant: a file that [`Files::prove`] accepted is a plain file below the directory, reached through no symbolic link, of the
//! size and SHA-256 that the manifest states.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::wrong;
use crate::{FilePath, GoldenError};

/// The largest JSON file that is read.
pub(crate) const JSON_LIMIT: u64 = 64 << 20;

/// The largest text of a program that is read.
pub(crate) const PROGRAM_LIMIT: u64 = 2 << 30;

/// The most files a bundle may have.
const MOST_FILES: usize = 200_000;

/// What a manifest says of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileEntry {
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: String,
}

/// A directory and the files its manifest lists.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) directory: PathBuf,
    pub(crate) entries: BTreeMap<FilePath, FileEntry>,
}

impl Files {
    /// Where a file lies that the manifest lists; an error where it does not.
    pub(crate) fn listed(&self, path: &FilePath) -> Result<PathBuf, GoldenError> {
        let place = path.below(&self.directory);
        if self.entries.contains_key(path) {
            Ok(place)
        } else {
            Err(wrong(&place, "the manifest names this file but has no digest of it"))
        }
    }

    /// Looks at every file: a plain one, of the stated size, with the stated digest.
    pub(crate) fn prove(&self) -> Result<(), GoldenError> {
        if self.entries.len() > MOST_FILES {
            let count = self.entries.len();
            return Err(wrong(
                &self.directory,
                format_args!("{count} files are more than the {MOST_FILES} a bundle may have"),
            ));
        }
        let places: Vec<(PathBuf, &FileEntry)> =
            self.entries.iter().map(|(path, entry)| (path.below(&self.directory), entry)).collect();
        // Cheap looks first: what is missing or cut short is found before anything is read.
        for (path, entry) in self.entries.iter() {
            self.check_plain(path, entry)?;
        }
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get().min(16));
        let next = AtomicUsize::new(0);
        let work = || -> Result<(), GoldenError> {
            while let Some((place, entry)) = places.get(next.fetch_add(1, Ordering::Relaxed)) {
                let found = digest(place)
                    .map_err(|error| wrong(place, format_args!("cannot read: {error}")))?;
                if !found.eq_ignore_ascii_case(&entry.sha256) {
                    let stated: String = entry.sha256.chars().take(64).collect();
                    return Err(wrong(
                        place,
                        format_args!("its SHA-256 is {found}, but the manifest says {stated}"),
                    ));
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let others: Vec<_> =
                (1..threads.min(places.len())).map(|_| scope.spawn(work)).collect();
            let mut outcome = work();
            for other in others {
                outcome = outcome
                    .and(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            outcome
        })
    }

    fn check_plain(&self, path: &FilePath, entry: &FileEntry) -> Result<(), GoldenError> {
        let place = path.below(&self.directory);
        let mut part = self.directory.clone();
        for name in path.as_str().split('/') {
            part.push(name);
            let found = fs::symlink_metadata(&part)
                .map_err(|error| wrong(&place, format_args!("cannot read: {error}")))?;
            if found.file_type().is_symlink() {
                return Err(wrong(&part, "is a symbolic link; a bundle holds its files itself"));
            }
        }
        let found = fs::symlink_metadata(&place)
            .map_err(|error| wrong(&place, format_args!("cannot read: {error}")))?;
        if !found.is_file() {
            return Err(wrong(&place, "is not a file"));
        }
        if found.len() != entry.bytes {
            let (found, stated) = (found.len(), entry.bytes);
            return Err(wrong(
                &place,
                format_args!("has {found} bytes, but the manifest says {stated}"),
            ));
        }
        Ok(())
    }
}

/// The SHA-256 of a file, in hexadecimal.
pub fn digest(path: &Path) -> io::Result<String> {
    let mut file = fs::File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}

/// The SHA-256 of some bytes, in hexadecimal.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a file of JSON.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, GoldenError> {
    let text = read_text(path, JSON_LIMIT)?;
    serde_json::from_str(&text).map_err(|error| wrong(path, error))
}

/// Reads a file of text that has at most `limit` bytes.
pub fn read_text(path: &Path, limit: u64) -> Result<String, GoldenError> {
    let unreadable = |error: io::Error| wrong(path, format_args!("cannot read: {error}"));
    let file = fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(limit + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > limit {
        return Err(wrong(path, format_args!("has more than {limit} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_that_of_the_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"abc").unwrap();
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(&path).unwrap(), known);
        assert_eq!(digest_of(b"abc"), known);
    }

    #[test]
    fn files_are_proved_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = FilePath::new("a/b").unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/b"), b"abc").unwrap();
        let sha256 = digest(&folder.path().join("a/b")).unwrap();
        let prove = |bytes, sha256: &str| {
            let entry = FileEntry { bytes, sha256: sha256.to_owned() };
            let entries = BTreeMap::from([(path.clone(), entry)]);
            let files = Files { directory: folder.path().to_owned(), entries };
            files.prove().map_err(|error| error.to_string())
        };
        assert_eq!(prove(3, &sha256), Ok(()));
        assert!(prove(4, &sha256).unwrap_err().ends_with("has 3 bytes, but the manifest says 4"));
        assert!(prove(3, "00").unwrap_err().ends_with("but the manifest says 00"));
        fs::rename(folder.path().join("a"), folder.path().join("c")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("c"), folder.path().join("a")).unwrap();
        assert!(prove(3, &sha256).unwrap_err().contains("is a symbolic link"));
        fs::remove_file(folder.path().join("a")).unwrap();
        assert!(prove(3, &sha256).unwrap_err().contains("cannot read"));
    }
}

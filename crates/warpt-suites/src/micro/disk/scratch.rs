//! The scratch file: a regular file without a name, so that nothing stays behind however the process ends.
//! Invariants: devices are never opened; the file takes at most a tenth of the free space; it is written
//! completely before anything is read from it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fallocate, fstat, open, statfs, statvfs, unlink};

use super::pattern::{Ledger, Noise, PAGE, PERIOD};
use crate::error::SuiteError;

/// Below this the numbers would say nothing.
const MINIMUM_BYTES: u64 = 16 << 20;
/// The part of the free space the file may take.
const FREE_SHARE: u64 = 10;

/// An open scratch file and what it holds.
#[derive(Debug)]
pub(super) struct Scratch {
    pub(super) file: File,
    pub(super) bytes: u64,
    pub(super) noise: Noise,
    pub(super) ledger: Ledger,
    pub(super) directory: PathBuf,
    /// Why reads and writes go through the page cache, when they do.
    pub(super) buffered: Option<String>,
    /// What a reader of the numbers should know about this place.
    pub(super) remarks: Vec<String>,
    generation: u8,
}

impl Scratch {
    /// Creates the file in `directory`, `wanted_bytes` long or as long as the free space allows.
    pub(super) fn create(
        directory: &Path,
        wanted_bytes: u64,
        direct: bool,
    ) -> Result<Self, SuiteError> {
        check_directory(directory)?;
        let mut remarks = Vec::new();
        let bytes = affordable(directory, wanted_bytes, &mut remarks)?;
        let mut buffered = (!direct).then(|| "direct=false was asked for".to_owned());
        let file = match open_nameless(directory, direct) {
            Err(rustix::io::Errno::INVAL) if direct => {
                buffered = Some("this file system does not take O_DIRECT".to_owned());
                open_nameless(directory, false)
            }
            other => other,
        }
        .map_err(|errno| refusal("cannot create a scratch file", directory, &errno.into()))?;
        let kind = fstat(&file).map(|stat| FileType::from_raw_mode(stat.st_mode));
        if kind != Ok(FileType::RegularFile) {
            return Err(scratch(
                "refusing to test",
                directory,
                "the scratch file is not a regular file",
            ));
        }
        if let Err(errno) = fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
            // Not every file system can reserve; the layout will find out about a full one.
            if matches!(
                errno,
                rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT | rustix::io::Errno::IO
            ) {
                return Err(refusal("cannot reserve the scratch file", directory, &errno.into()));
            }
        }
        if is_memory(directory) {
            remarks.push("the directory is on a memory file system: this is no disk".into());
        }
        Ok(Self {
            file: file.into(),
            bytes,
            noise: Noise::new(),
            ledger: Ledger::new(bytes),
            directory: directory.to_owned(),
            buffered,
            remarks,
            generation: 0,
        })
    }

    /// A number no page of the file carries yet.
    pub(super) fn new_generation(&mut self) -> u8 {
        // A run has a few writing cases; wrapping would need 255 of them.
        self.generation = self.generation.wrapping_add(1).max(1);
        self.generation
    }

    /// Puts an I/O error into words.
    pub(super) fn failed(&self, action: &'static str, error: &io::Error) -> SuiteError {
        refusal(action, &self.directory, error)
    }
}

fn scratch(action: &'static str, directory: &Path, detail: impl Into<String>) -> SuiteError {
    SuiteError::Scratch { action, directory: directory.to_owned(), detail: detail.into() }
}

fn refusal(action: &'static str, directory: &Path, error: &io::Error) -> SuiteError {
    let advice = match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => {
            "; free some space, lower disk_io.size, or choose another place with disk_io.directory"
        }
        Some(libc::EIO | libc::ENXIO | libc::ENODEV) => {
            "; the device reports an error: see the kernel log, and do not trust this disk"
        }
        Some(libc::EACCES | libc::EPERM | libc::EROFS) => {
            "; choose a writable place with disk_io.directory"
        }
        Some(libc::EINVAL) => "; the file system may not take direct I/O: try disk_io.direct=false",
        _ => "",
    };
    scratch(action, directory, format!("{error}{advice}"))
}

fn check_directory(directory: &Path) -> Result<(), SuiteError> {
    const ACTION: &str = "cannot use a scratch file";
    let kind = std::fs::metadata(directory)
        .map_err(|error| refusal(ACTION, directory, &error))?
        .file_type();
    use std::os::unix::fs::FileTypeExt;
    if kind.is_block_device() || kind.is_char_device() {
        return Err(scratch(
            ACTION,
            directory,
            "this is a device, and disk_io never touches devices; name a directory on a file system of it",
        ));
    }
    if !kind.is_dir() {
        return Err(scratch(
            ACTION,
            directory,
            "this is not a directory; disk_io.directory must be one",
        ));
    }
    Ok(())
}

/// The length the file gets.
fn affordable(directory: &Path, wanted: u64, remarks: &mut Vec<String>) -> Result<u64, SuiteError> {
    const ACTION: &str = "cannot create a scratch file";
    let space = statvfs(directory).map_err(|errno| refusal(ACTION, directory, &errno.into()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let bytes = wanted.min(free / FREE_SHARE) / PERIOD as u64 * PERIOD as u64;
    if bytes < MINIMUM_BYTES {
        return Err(scratch(
            ACTION,
            directory,
            format!(
                "a test file of at least {} MiB and at most a tenth of the free space does not fit into {} MiB \
                 free; free some space or choose another place with disk_io.directory",
                MINIMUM_BYTES >> 20,
                free >> 20
            ),
        ));
    }
    if bytes < wanted / PERIOD as u64 * PERIOD as u64 {
        remarks.push(format!(
            "the file has {} MiB instead of {} MiB: a tenth of the free space",
            bytes >> 20,
            wanted >> 20
        ));
    }
    Ok(bytes)
}

/// Opens a file that has no name, or loses it at once.
fn open_nameless(directory: &Path, direct: bool) -> rustix::io::Result<std::os::fd::OwnedFd> {
    let mode = Mode::RUSR | Mode::WUSR;
    let mut flags = OFlags::RDWR | OFlags::CLOEXEC;
    if direct {
        flags |= OFlags::DIRECT;
    }
    match open(directory, flags | OFlags::TMPFILE, mode) {
        Err(
            rustix::io::Errno::OPNOTSUPP
            | rustix::io::Errno::ISDIR
            | rustix::io::Errno::NOENT
            | rustix::io::Errno::NOSYS,
        ) => {
            let path = directory.join(format!(".warpt-disk-{:016x}", fastrand::u64(..)));
            let file = open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode);
            // Also after a failure: O_DIRECT is refused only when the file exists already.
            let _ = unlink(&path);
            file
        }
        other => other,
    }
}

/// Whether the file system is tmpfs or ramfs, by its number.
fn is_memory(directory: &Path) -> bool {
    statfs(directory).is_ok_and(|stat| matches!(stat.f_type, 0x0102_1994 | 0x8584_58f6))
}

/// A page-sized reading for checks is the smallest direct one.
pub(super) const CHECK_BYTES: usize = PAGE;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_leaves_nothing_in_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let scratch = Scratch::create(directory.path(), 16 << 20, true).unwrap();
        assert_eq!(scratch.bytes, 16 << 20);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn devices_files_and_missing_places_are_refused_with_a_reason() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (place, word) in [
            (Path::new("/dev/null"), "never touches devices"),
            (file.path(), "not a directory"),
            (Path::new("/nonexistent/place"), "No such file"),
        ] {
            let message = Scratch::create(place, 16 << 20, true).unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
    }

    #[test]
    fn the_length_is_a_tenth_of_the_free_space_at_most() {
        let directory = tempfile::tempdir().unwrap();
        let mut remarks = Vec::new();
        let bytes = affordable(directory.path(), 1 << 60, &mut remarks).unwrap();
        assert!(bytes.is_multiple_of(PERIOD as u64) && bytes < 1 << 60);
        assert_eq!(remarks.len(), 1);
        assert!(affordable(directory.path(), 1 << 20, &mut remarks).is_err());
    }
}

//! Where facts about the machine are read from: a file-system root, `/` in production and a directory of
//! captured files in tests. Every failed read is a [`Reason`], a sentence a person can act on; reads are capped
//! in size, so a hostile or broken pseudo-file cannot exhaust memory.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Why a fact could not be read, as a sentence fit for a report.
pub type Reason = String;

/// Pseudo-files larger than this are not facts about a machine.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// A root under which `proc`, `sys`, `etc` and `dev` are looked up.
#[derive(Debug, Clone)]
pub struct SystemRoot {
    root: PathBuf,
}

impl Default for SystemRoot {
    fn default() -> Self {
        Self::live()
    }
}

impl SystemRoot {
    /// The running machine.
    pub fn live() -> Self {
        Self { root: PathBuf::from("/") }
    }

    /// A captured tree, as tests use.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Whether this is the running machine, so that system calls describe the same machine as the files.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// The real path of an absolute path of the described machine.
    pub fn path(&self, absolute: &str) -> PathBuf {
        self.root.join(absolute.trim_start_matches('/'))
    }

    /// Whether the path exists.
    pub fn exists(&self, absolute: &str) -> bool {
        self.path(absolute).exists()
    }

    /// The whole text of a file, trailing white space removed; invalid UTF-8 is replaced.
    pub fn text(&self, absolute: &str) -> Result<String, Reason> {
        let bytes = self.bytes(absolute)?;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    /// The whole content of a file, capped.
    pub fn bytes(&self, absolute: &str) -> Result<Vec<u8>, Reason> {
        let file = File::open(self.path(absolute)).map_err(|error| explain(absolute, &error))?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|error| explain(absolute, &error))?;
        Ok(bytes)
    }

    /// The file parsed as a number or any other value with a `FromStr`.
    pub fn parse<T: std::str::FromStr>(&self, absolute: &str) -> Result<T, Reason> {
        let text = self.text(absolute)?;
        let word = text.split_whitespace().next().unwrap_or("");
        word.parse()
            .map_err(|_| format!("{absolute} holds {word:?}, which is not what was expected"))
    }

    /// The names in a directory, sorted; an unreadable directory is a reason.
    pub fn names(&self, absolute: &str) -> Result<Vec<String>, Reason> {
        let entries =
            std::fs::read_dir(self.path(absolute)).map_err(|error| explain(absolute, &error))?;
        let mut names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        Ok(names)
    }

    /// The last component of where a symbolic link points, which is how sysfs names drivers and subsystems.
    pub fn link_name(&self, absolute: &str) -> Result<String, Reason> {
        let target =
            std::fs::read_link(self.path(absolute)).map_err(|error| explain(absolute, &error))?;
        target
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .ok_or_else(|| format!("{absolute} points nowhere"))
    }
}

fn explain(absolute: &str, error: &std::io::Error) -> Reason {
    match error.kind() {
        ErrorKind::NotFound => format!("{absolute} does not exist"),
        ErrorKind::PermissionDenied => format!("{absolute} is not readable by this user"),
        _ => format!("{absolute} could not be read: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_a_reason_and_a_present_one_is_parsed() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("sys/x")).unwrap();
        std::fs::write(directory.path().join("sys/x/size"), "42 kB\n").unwrap();
        let root = SystemRoot::at(directory.path());
        assert_eq!(root.parse::<u64>("/sys/x/size"), Ok(42));
        assert_eq!(root.text("/sys/x/none"), Err("/sys/x/none does not exist".into()));
        assert!(root.parse::<u64>("/sys/x").is_err());
        assert_eq!(root.names("/sys/x"), Ok(vec!["size".to_owned()]));
        assert!(!root.is_live());
    }
}

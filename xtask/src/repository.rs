//! The checkout: where it is, which files belong to it, and programs started at its root.
//!
//! A file belongs to it when git tracks it or would offer to add it, so that a new file is checked before it is
//! committed; ignored files never count.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the workspace")
        .to_owned()
}

/// One file of the checkout.
#[derive(Debug, Clone)]
pub(crate) struct TrackedFile {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    pub(crate) size_bytes: u64,
    /// Absent for binary files.
    pub(crate) text: Option<String>,
}

impl TrackedFile {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_markdown(&self) -> bool {
        self.path.ends_with(".md")
    }

    #[cfg(test)]
    pub(crate) fn sample(path: &str, text: &str) -> Self {
        Self { path: path.into(), size_bytes: text.len() as u64, text: Some(text.into()) }
    }
}

/// Every file of the checkout with its content, in the order of their paths.
pub(crate) fn tracked_files() -> anyhow::Result<Vec<TrackedFile>> {
    let root = root();
    // A clone made by another user is readable too: only names are asked for.
    let output = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .context("cannot start git")?;
    if !output.status.success() {
        bail!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let mut paths: Vec<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut files = Vec::new();
    for path in paths {
        let place = root.join(path);
        // Deleted but not yet committed, or a link to a folder.
        if !place.is_file() {
            continue;
        }
        let bytes = std::fs::read(&place).with_context(|| format!("cannot read {path}"))?;
        let size_bytes = bytes.len() as u64;
        files.push(TrackedFile {
            path: path.into(),
            size_bytes,
            text: String::from_utf8(bytes).ok(),
        });
    }
    Ok(files)
}

/// A cargo command at the root, by the cargo that started this program.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a command to its end with its output shown; whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> anyhow::Result<bool> {
    let program = command.get_program().to_string_lossy().into_owned();
    Ok(command.status().with_context(|| format!("cannot start {program}"))?.success())
}

/// Whether a command starts, succeeds and says nothing worth showing.
pub(crate) fn succeeds_quietly(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

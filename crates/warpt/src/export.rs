//! `--export` and `--export-file`, the same for every command that can leave a file behind.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use jiff::Timestamp;
use warpt_bench::record::{default_file_name, to_json, write_atomically};

/// Where a JSON copy of the answer goes.
#[derive(Debug, Clone, Default, Args)]
pub struct ExportArguments {
    /// Write the result as JSON to a file with the default name in the working directory
    #[arg(long)]
    pub export: bool,
    /// Write the result as JSON to this file
    #[arg(long, value_name = "PATH")]
    pub export_file: Option<PathBuf>,
}

impl ExportArguments {
    /// The file to write, if one was asked for.
    pub fn path(&self, command: &str, subject: &str) -> Option<PathBuf> {
        match &self.export_file {
            Some(path) => Some(path.clone()),
            None if self.export => {
                Some(PathBuf::from(default_file_name(command, subject, Timestamp::now())))
            }
            None => None,
        }
    }
}

/// Writes a value as an exported file.
pub fn write<T: serde::Serialize>(path: &Path, value: &T) -> Result<()> {
    Ok(write_atomically(path, to_json(value).as_bytes())?)
}

/// A name from elsewhere as part of a file's or benchmark's name: whoever made it may have called it anything.
pub fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    name.chars().take(60).map(plain).collect()
}

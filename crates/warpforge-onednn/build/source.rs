//! Where the pinned source of oneDNN lies. Cargo fetches it as the crate `onednn-src`, named with its checksum in
//! `source/Cargo.lock`, and is only asked for the path: that crate's own build script never runs.

use crate::{Outcome, required, setting};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The source tree and the version it says it is.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) version: String,
}

pub(crate) fn locate() -> Outcome<Source> {
    let path = match setting("WARPFORGE_ONEDNN_SOURCE") {
        Some(path) => PathBuf::from(path),
        None => fetched()?,
    };
    let version = version(&path)?;
    Ok(Source { path, version })
}

/// The tree inside the crate that carries it, fetched when it is not here yet.
fn fetched() -> Outcome<PathBuf> {
    let manifest = Path::new(&required("CARGO_MANIFEST_DIR")?).join("source/Cargo.toml");
    let output = Command::new(required("CARGO")?)
        .args(["metadata", "--locked", "--format-version", "1", "--manifest-path"])
        .arg(&manifest)
        .output()
        .map_err(|error| {
            format!("cargo metadata for the source of oneDNN could not be started: {error}")
        })?;
    if !output.status.success() {
        return Err(format!(
            "the source of oneDNN could not be fetched: {}\nwithout a network, name an unpacked source with \
             WARPFORGE_ONEDNN_SOURCE or an installed oneDNN with WARPFORGE_ONEDNN_ROOT",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("cargo metadata for the source of oneDNN cannot be read: {error}")
    })?;
    metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == "onednn-src")
        .and_then(|package| package["manifest_path"].as_str())
        .and_then(|manifest| Path::new(manifest).parent())
        .map(|directory| directory.join("oneDNN"))
        .ok_or_else(|| "cargo metadata names no package onednn-src".to_owned())
}

/// `set(PROJECT_VERSION "3.14.1")` in the tree's CMakeLists.txt.
fn version(path: &Path) -> Outcome<String> {
    let lists = path.join("CMakeLists.txt");
    let text = std::fs::read_to_string(&lists)
        .map_err(|error| format!("{} cannot be read: {error}", lists.display()))?;
    text.lines()
        .find_map(|line| line.trim().strip_prefix("set(PROJECT_VERSION \"")?.split('"').next())
        .map(str::to_owned)
        .ok_or_else(|| format!("{} does not say which version of oneDNN it is", lists.display()))
}

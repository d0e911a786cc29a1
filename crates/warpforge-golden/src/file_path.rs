//! Names of files inside of a bundle.
//!
//! Invariant: a [`FilePath`] joined to a directory lies below it, whoever wrote the manifest: it is relative, and every part of
//! it is a plain name.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The longest name, in bytes.
const LONGEST: usize = 1024;

/// A file of a bundle, by its path below the bundle's directory, with `/` between its parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FilePath(String);

impl FilePath {
    /// A path whose every part is a plain name; the reason where it is not.
    pub fn new(text: impl Into<String>) -> Result<Self, String> {
        let text = text.into();
        let shown: String = text.chars().take(200).collect();
        if text.len() > LONGEST {
            return Err(format!("the path {shown:?}... is longer than {LONGEST} bytes"));
        }
        let plain = |part: &str| {
            let inert = |letter: char| !letter.is_control() && letter != '\\';
            !matches!(part, "" | "." | "..") && part.chars().all(inert)
        };
        if text.split('/').all(plain) {
            Ok(Self(text))
        } else {
            Err(format!("the path {shown:?} does not name a file inside of the bundle"))
        }
    }

    /// The path as the manifest has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where it lies below a directory.
    pub fn below(&self, directory: &Path) -> PathBuf {
        directory.join(&self.0)
    }

    /// Another file in the same folder as this one.
    pub fn beside(&self, name: &Self) -> Self {
        match self.0.rsplit_once('/') {
            Some((folder, _)) => Self(format!("{folder}/{name}")),
            None => name.clone(),
        }
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl TryFrom<String> for FilePath {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::new(text)
    }
}

impl From<FilePath> for String {
    fn from(path: FilePath) -> Self {
        path.0
    }
}

impl JsonSchema for FilePath {
    fn schema_name() -> Cow<'static, str> {
        "FilePath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A file of the bundle: a relative path of plain names with `/` between them.",
            "maxLength": LONGEST,
            "pattern": r"^(?!\.{1,2}(/|$))[^/\\\x00-\x1f]+(/(?!\.{1,2}(/|$))[^/\\\x00-\x1f]+)*$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_stay_inside() {
        for wrong in
            ["", "/etc/passwd", "../a", "a/../b", "a//b", "a/", "./a", "a\\b", "a\0b", "a\nb"]
        {
            let reason = FilePath::new(wrong).unwrap_err();
            assert!(reason.contains("does not name a file inside"), "{reason}");
        }
        assert!(FilePath::new("x".repeat(2000)).unwrap_err().contains("longer than 1024"));
        let path = FilePath::new("steps/0000/..weights.safetensors").unwrap();
        assert_eq!(path.below(Path::new("b")), Path::new("b/steps/0000/..weights.safetensors"));
        let program = FilePath::new("forward.mlir").unwrap();
        assert_eq!(
            FilePath::new("programs/manifest.json").unwrap().beside(&program).as_str(),
            "programs/forward.mlir"
        );
        assert_eq!(program.beside(&program), program);
    }
}

//! Python and the machine learning packages it would import, found by the names of their metadata directories, since
//! importing them would take seconds. The script imports nothing from the working directory.

use super::Answers;
use crate::inventory::facts::{facts, or_reason};
use crate::source::Reason;
use std::collections::BTreeMap;

facts! {
    /// The Python on `PATH`.
    pub struct Python, read as PythonReadings {
        /// Its version.
        version: String,
        /// `CPython`, `PyPy` and so on, in lower case.
        implementation: String,
        /// Where it is.
        path: String,
        /// The version of PyTorch it would import.
        torch: String,
        /// Versions of the other packages that matter for machine learning.
        packages: BTreeMap<String, String>,
    }
}

/// Prints `key value` lines. `sys` and `os` are loaded before any path is searched; entries of the working directory
/// are skipped.
pub(super) const SCRIPT: &str = r#"
import sys, os
print("version", sys.version.split()[0])
print("implementation", sys.implementation.name)
names = {"torch", "numpy", "scipy", "jax", "jaxlib", "tensorflow", "transformers", "onnxruntime", "mkl", "triton"}
seen = set()
for entry in sys.path:
    if not entry or not os.path.isabs(entry):
        continue
    try:
        listing = sorted(os.listdir(entry))
    except OSError:
        continue
    for item in listing:
        stem, kind = os.path.splitext(item)
        if kind not in (".dist-info", ".egg-info"):
            continue
        parts = stem.split("-")
        name = parts[0].lower()
        if len(parts) > 1 and name in names and name not in seen:
            seen.add(name)
            print("package", name, parts[1])
"#;

/// What Python said of itself.
pub(super) fn read(answers: &Answers) -> Result<Python, Reason> {
    let answer = answers.of("python")?;
    let field = |name: &str| {
        let line =
            answer.output.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        or_reason(
            line.map(|value| value.chars().take(64).collect::<String>()),
            "Python did not say",
        )
    };
    let version = field("version");
    if version.is_err() {
        let said = answer.errors.lines().last().unwrap_or("nothing");
        let said: String = said.chars().take(120).collect();
        return Err(format!("the Python on PATH did not run: {said}"));
    }
    let mut packages: BTreeMap<String, String> = answer
        .output
        .lines()
        .filter_map(|line| line.strip_prefix("package ")?.split_once(' '))
        .take(64)
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .collect();
    let readings = PythonReadings {
        version,
        implementation: field("implementation"),
        path: answers.path("python"),
        torch: or_reason(packages.remove("torch"), "PyTorch is not installed for this Python"),
        packages: Ok(packages),
    };
    Ok(readings.settle())
}

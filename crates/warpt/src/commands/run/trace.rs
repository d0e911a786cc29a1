//! `--trace`: every intermediate value as a file of its own, and an index with a line for each.
//!
//! Invariant: a line stands in the index only once its file is whole.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::json;
use warpforge_engine::reference::{Observation, Value};
use warpforge_engine::summary::Summary;
use warpforge_tensor::npy;

use super::program::Source;

/// A directory that is being filled.
pub(super) struct Trace {
    directory: PathBuf,
    index: BufWriter<File>,
}

impl Trace {
    /// A trace in a directory that is new or empty.
    pub(super) fn new(directory: &Path) -> Result<Self> {
        let shown = directory.display();
        std::fs::create_dir_all(directory).with_context(|| format!("cannot make {shown}"))?;
        let mut entries =
            std::fs::read_dir(directory).with_context(|| format!("cannot read {shown}"))?;
        if entries.next().is_some() {
            bail!("{shown} is not empty: a trace needs a directory of its own");
        }
        let path = directory.join("index.jsonl");
        let index =
            File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { directory: directory.to_owned(), index: BufWriter::new(index) })
    }

    /// Writes the results of an op.
    pub(super) fn add(&mut self, source: &Source, seen: &Observation<'_>) -> Result<()> {
        for (index, (value, id)) in seen.results.iter().zip(&seen.op.results).enumerate() {
            let Value::Tensor(tensor) = value else { continue };
            let suffix = if seen.results.len() == 1 { String::new() } else { format!("_{index}") };
            let file = format!("{:08}{suffix}.npy", seen.sequence);
            npy::write(self.directory.join(&file), tensor)?;
            let summary = Summary::of(tensor);
            let locations = &source.program.locations;
            let line = json!({
                "sequence": seen.sequence,
                "function": seen.function.name,
                "op": seen.op.kind.name(),
                "result": &*seen.function.values[id.index()].name,
                "line": source.line(seen.op.offset),
                "location": seen.op.location.and_then(|id| locations.name(id)),
                "dtype": tensor.dtype().name(),
                "shape": tensor.shape().sizes(),
                "file": file,
                "min": summary.min,
                "max": summary.max,
                "mean": summary.mean,
                "nan_count": summary.nan_count,
                "infinite_count": summary.infinite_count,
            });
            writeln!(self.index, "{line}")?;
        }
        Ok(())
    }

    /// Makes the index whole.
    pub(super) fn finish(mut self) -> Result<()> {
        self.index.flush().context("cannot write the index of the trace")
    }
}

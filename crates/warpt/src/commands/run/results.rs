//! What a run computed: a table, JSON, a file of tensors.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value as Json, json};
use warpforge_engine::interface::Port;
use warpforge_engine::reference::Value;
use warpforge_engine::summary::{Summary, first_elements};
use warpforge_tensor::{Tensor, safetensors};
use warpt_report::number::{bytes, seconds, significant};
use warpt_report::table::TextTable;

use crate::arguments::run::{RunArguments, Tier};
use crate::output::Output;

/// Elements of each result that are shown.
const SHOWN: usize = 4;

/// A run that ended well.
pub(super) struct Ran<'a> {
    pub(super) file: &'a Path,
    pub(super) tier: Tier,
    pub(super) function: &'a str,
    /// Ops executed, where they were counted.
    pub(super) ops: Option<u64>,
    pub(super) seconds: f64,
    pub(super) peak_bytes: u64,
    /// The plan's name, where there is a plan.
    pub(super) plan: Option<String>,
    pub(super) results: Vec<(Port, Value)>,
}

impl Ran<'_> {
    /// Every tensor among the results with a name of its own.
    fn tensors(&self) -> Vec<(String, &Tensor)> {
        let mut tensors = Vec::new();
        for (port, value) in &self.results {
            collect(&port.name, value, &mut tensors);
        }
        tensors
    }

    /// Writes the results as tensors by name.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let mut metadata = BTreeMap::from([
            ("producer".to_owned(), format!("warpt {}", env!("CARGO_PKG_VERSION"))),
            ("tier".to_owned(), self.tier.name().to_owned()),
            ("function".to_owned(), self.function.to_owned()),
        ]);
        metadata.extend(self.plan.clone().map(|plan| ("plan".to_owned(), plan)));
        Ok(safetensors::write(path, self.tensors(), &metadata)?)
    }

    /// Writes the results to the file that was asked for.
    pub(super) fn write_if_asked(&self, arguments: &RunArguments) -> Result<()> {
        arguments.outputs.as_deref().map_or(Ok(()), |path| self.write(path))
    }

    /// Writes the results or prints them, as asked.
    pub(super) fn show(&self, arguments: &RunArguments, output: &mut Output) -> Result<()> {
        self.write_if_asked(arguments)?;
        if arguments.json {
            output.line(&self.json(None))?;
        } else if let Some(path) = &arguments.outputs {
            output.note(&format!("{} results written to {}", self.results.len(), path.display()));
        } else {
            let width = output.width();
            output.text(&self.page(width))?;
        }
        Ok(())
    }

    /// The results as a table of at most `width` columns.
    pub(super) fn page(&self, width: usize) -> String {
        let mut table = TextTable::new(&["result", "type", "min", "max", "mean", "first elements"])
            .right(&[2, 3, 4]);
        for (name, tensor) in self.tensors() {
            let summary = Summary::of(tensor);
            let number = |value: Option<f64>| value.map_or_else(|| "-".into(), significant);
            let mut first = first_elements(tensor, SHOWN).join(" ");
            if tensor.shape().elements() > SHOWN {
                first.push_str(" ...");
            }
            for (count, what) in [(summary.nan_count, "NaN"), (summary.infinite_count, "infinite")]
            {
                if count > 0 {
                    first.push_str(&format!(" ({count} {what})"));
                }
            }
            table.row(&[
                name,
                described(tensor),
                number(summary.min),
                number(summary.max),
                number(summary.mean),
                first,
            ]);
        }
        format!(
            "{}\n@{}: {}{}, at most {} of memory planned, {} tier\n",
            table.render(width),
            self.function,
            self.ops.map_or_else(String::new, |ops| format!("{ops} ops in ")),
            seconds(self.seconds),
            bytes(self.peak_bytes),
            self.tier.name()
        )
    }

    /// The results as JSON: what the table has, for programs; with what was seen of kernels.
    pub(super) fn json(&self, kernels: Option<Json>) -> String {
        let results: Vec<Json> = self
            .tensors()
            .into_iter()
            .map(|(name, tensor)| {
                let summary = Summary::of(tensor);
                json!({
                    "name": name,
                    "dtype": tensor.dtype().name(),
                    "shape": tensor.shape().sizes(),
                    "count": summary.count,
                    "nan_count": summary.nan_count,
                    "infinite_count": summary.infinite_count,
                    "min": summary.min,
                    "max": summary.max,
                    "mean": summary.mean,
                    "first": first_elements(tensor, SHOWN),
                })
            })
            .collect();
        let mut answer = json!({
            "file": self.file.display().to_string(),
            "tier": self.tier.name(),
            "function": self.function,
            "ops": self.ops,
            "seconds": self.seconds,
            "planned_bytes": self.peak_bytes,
            "plan": self.plan,
            "results": results,
        });
        if let Some(kernels) = kernels {
            answer["kernels"] = kernels;
        }
        format!("{answer:#}")
    }
}

/// The type of a tensor as programs write it.
pub(super) fn described(tensor: &Tensor) -> String {
    let separator = if tensor.shape().rank() == 0 { "" } else { "x" };
    format!("{}{separator}{}", tensor.shape(), tensor.dtype())
}

fn collect<'v>(name: &str, value: &'v Value, tensors: &mut Vec<(String, &'v Tensor)>) {
    match value {
        Value::Tensor(tensor) => tensors.push((name.to_owned(), tensor)),
        Value::Tuple(parts) => {
            for (index, part) in parts.iter().enumerate() {
                collect(&format!("{name}.{index}"), part, tensors);
            }
        }
        Value::Token => {}
    }
}

//! `cargo xtask models`: whole models from `nn.Module` to numbers. Each is exported with its weights, its inputs and what
//! PyTorch computed; the written text then runs in a tier of the engine on the written tensors, and every result is
//! held against PyTorch's with the presets: outputs as activations, gradients as gradients, the loss as loss.
//!
//! Use a release build: `cargo run --release -p xtask -- models`. Exports are kept in the cache and made again with `--fresh`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, bail};
use serde::Deserialize;
use warpforge_engine::reference::Value;
use warpforge_hlo::parse_verified;
use warpforge_tensor::safetensors::File;
use warpforge_tensor::{Comparison, Tensor, Tolerance};

use crate::measurement::{Goal, Measured, Row, table, write_json};
use crate::tier::Tier;
use crate::{Verdict, exports, install};

/// Options of `cargo xtask models`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only models whose name begins so.
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    only: Vec<String>,
    /// The tier that computes.
    #[arg(long, value_enum, default_value = "correctness")]
    tier: Tier,
    /// Export again although it was done before.
    #[arg(long)]
    fresh: bool,
    /// Also write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A name, and what the exporter is told.
const MODELS: &[(&str, &[&str])] = &[
    ("mlp", &["mlp", "--programs", "forward,gradients"]),
    ("bert-2", &["bert", "--layers", "2", "--programs", "forward,gradients"]),
    ("llama-lora-2", &["llama-lora", "--layers", "2", "--programs", "forward,gradients"]),
    (
        "resnet50-fpn-256",
        &["resnet50-fpn-rpn", "--height", "256", "--width", "256", "--programs", "forward"],
    ),
];

/// The part of an export's manifest that is needed here.
#[derive(Debug, Deserialize)]
struct Manifest {
    programs: Vec<Program>,
}

#[derive(Debug, Deserialize)]
struct Program {
    name: String,
    file: String,
    arguments: Vec<Argument>,
    results: Vec<Outcome>,
}

#[derive(Debug, Deserialize)]
struct Argument {
    name: String,
    tensor: Option<Place>,
}

#[derive(Debug, Deserialize)]
struct Outcome {
    name: String,
    role: String,
    reference: Option<Place>,
}

#[derive(Debug, Deserialize)]
struct Place {
    file: String,
    key: String,
}

/// Exports, runs and compares.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let wanted = |name: &str| {
        arguments.only.is_empty() || arguments.only.iter().any(|only| name.starts_with(only))
    };
    let mut rows = Vec::new();
    for (name, options) in MODELS.iter().filter(|(name, _)| wanted(name)) {
        let directory = export(name, options, arguments.fresh)?;
        let text = std::fs::read_to_string(directory.join("manifest.json"))?;
        let manifest: Manifest = serde_json::from_str(&text).context("the export's manifest")?;
        let mut files = Files { directory, open: HashMap::new() };
        for program in &manifest.programs {
            eprintln!("{name}: {}", program.name);
            rows.push(judge(
                &format!("{name}_{}", program.name),
                program,
                &mut files,
                arguments.tier,
            )?);
        }
    }
    if rows.is_empty() {
        let names: Vec<&str> = MODELS.iter().map(|(name, _)| *name).collect();
        bail!("no such model; there are {}", names.join(", "));
    }
    print!("{}", table(&rows));
    if let Some(path) = &arguments.json {
        write_json(path, &rows)?;
    }
    Ok(Verdict::clean_if(rows.iter().all(|row| row.met)))
}

/// The folder of a model's export.
fn export(name: &str, options: &[&str], fresh: bool) -> anyhow::Result<PathBuf> {
    let directory =
        install::cache("models")?.join(format!("{name}-{}", exports::key(&options.join(" "))?));
    if directory.join("manifest.json").is_file() && !fresh {
        return Ok(directory);
    }
    if directory.exists() {
        std::fs::remove_dir_all(&directory)
            .with_context(|| format!("cannot remove {}", directory.display()))?;
    }
    eprintln!("{name}: exporting");
    exports::write(&exports::environment()?, &[options, &["--reference"]].concat(), &directory)?;
    Ok(directory)
}

/// Runs a program and compares each result that PyTorch has a value for.
fn judge(name: &str, program: &Program, files: &mut Files, tier: Tier) -> anyhow::Result<Row> {
    let text = std::fs::read_to_string(files.directory.join(&program.file))?;
    let parsed = parse_verified(&text)?;
    let inputs = program
        .arguments
        .iter()
        .map(|argument| {
            let place = argument.tensor.as_ref();
            let place = place.with_context(|| format!("{} was not written", argument.name))?;
            Ok(Value::Tensor(files.tensor(place)?))
        })
        .collect::<anyhow::Result<Vec<Value>>>()?;
    let start = Instant::now();
    let entry = parsed.main().context("the program has no main function")?.name.clone();
    let values = tier.run(&parsed, &entry, inputs, &AtomicBool::new(false))?;
    let seconds = start.elapsed().as_secs_f64();
    let (mut agreed, mut total) = (0, 0);
    let mut worst: Option<(f64, String)> = None;
    let mut notes = Vec::new();
    for (result, value) in program.results.iter().zip(&values) {
        let (Some(place), Value::Tensor(value)) = (&result.reference, value) else { continue };
        let tolerance = tolerance(&result.role);
        let comparison = Comparison::new(value, &files.tensor(place)?, &tolerance)?;
        total += 1;
        let what = format!("{} {}", result.role, result.name);
        if comparison.passed() {
            agreed += 1;
        } else {
            let share = comparison.mismatches as f64 / comparison.elements as f64;
            notes.push(format!("{what}: {:.4}% of its elements differ", 100.0 * share));
        }
        let share = comparison.worst.as_ref().map_or(0.0, |worst| worst.share);
        if worst.as_ref().is_none_or(|(most, _)| share > *most) {
            worst = Some((share, what));
        }
    }
    if let Some((share, what)) = worst {
        notes.insert(0, format!("{total} results in {seconds:.1} s; {what} uses most of what is allowed: {share:.3} of it"));
    }
    let share = f64::from(agreed) / f64::from(total.max(1));
    let measured = Measured {
        ours: f64::from(agreed),
        peer: f64::from(total),
        unit: "results",
        ratio: share,
        low: share,
        high: share,
        notes,
    };
    Ok(Row::new(name, Goal::Minimum(1.0), measured))
}

fn tolerance(role: &str) -> Tolerance {
    let preset = match role {
        "loss" => "loss",
        "gradient" => "gradients",
        _ => "activations",
    };
    Tolerance::preset(preset).expect("the presets have these names")
}

/// The safetensors files of an export, each opened once.
struct Files {
    directory: PathBuf,
    open: HashMap<String, File>,
}

impl Files {
    fn tensor(&mut self, place: &Place) -> anyhow::Result<Tensor> {
        if !self.open.contains_key(&place.file) {
            let path = self.directory.join(Path::new(&place.file));
            self.open.insert(place.file.clone(), File::open(path)?);
        }
        Ok(self.open[&place.file].tensor(&place.key)?)
    }
}

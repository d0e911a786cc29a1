//! Models exported by `python/warpforge` into the cache, for every chore that needs one; and the gate over such exports: at
//! their real sizes and without weights, each program is read, verified, printed and read again to the same program.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use warpforge_hlo::parse_verified;

use crate::repository::root;
use crate::{Verdict, install, python};

/// A name, and what the exporter is told.
const EXPORTS: &[(&str, &[&str])] = &[
    ("mlp", &["mlp", "--programs", "forward,gradients,sgd,adamw"]),
    ("bert-24", &["bert", "--layers", "24", "--programs", "forward,gradients"]),
    ("llama-lora-2", &["llama-lora", "--layers", "2", "--programs", "forward,gradients"]),
    (
        "resnet50-fpn-800",
        &[
            "resnet50-fpn-rpn",
            "--height",
            "800",
            "--width",
            "800",
            "--programs",
            "forward,gradients",
        ],
    ),
];

/// The gate.
pub(crate) fn check() -> anyhow::Result<Verdict> {
    let folder = install::cache("exports")?.join(key(&format!("{EXPORTS:?}"))?);
    let (mut programs, mut ops) = (0, 0);
    for (name, options) in EXPORTS {
        for file in export(&folder.join(name), name, options)? {
            ops += comes_back(&file).with_context(|| file.display().to_string())?;
            programs += 1;
        }
    }
    println!("{programs} programs of {ops} ops come back as they were");
    Ok(Verdict::Clean)
}

/// A short name for what an export depends on: the package's sources, the versions it pins, and what is asked of it.
pub(crate) fn key(asked: &str) -> anyhow::Result<String> {
    let mut files = Vec::new();
    collect(&root().join("python/warpforge"), &mut files)?;
    files.push(root().join("python/pyproject.toml"));
    files.sort();
    let texts = files.iter().map(std::fs::read).collect::<Result<Vec<_>, _>>()?;
    let parts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).chain([asked.as_bytes()]).collect();
    Ok(python::key(&parts))
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "py") {
            files.push(path);
        }
    }
    Ok(())
}

/// Calls the exporter of this checkout.
pub(crate) fn write(
    environment: &python::Environment,
    options: &[&str],
    directory: &Path,
) -> anyhow::Result<()> {
    let mut command = environment.program("python");
    command.args(["-m", "warpforge.export"]).args(options).arg("--out").arg(directory);
    install::run(command.env("PYTHONPATH", root().join("python"))).map(|_| ())
}

/// The environment that exports.
pub(crate) fn environment() -> anyhow::Result<python::Environment> {
    python::environment("export,conformance,test", "PyTorch, JAX and tools", "minutes, 6 GB")
}

/// The texts of an export, made if they are not there yet.
fn export(directory: &Path, name: &str, options: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    if !directory.join("manifest.json").is_file() {
        println!("{name}: exporting, once");
        write(&environment()?, &[options, &["--no-weights", "--no-inputs"]].concat(), directory)?;
    }
    let mut texts: Vec<PathBuf> = std::fs::read_dir(directory)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "mlir"))
        .collect();
    texts.sort();
    ensure!(!texts.is_empty(), "{} has no programs", directory.display());
    Ok(texts)
}

/// Reads, prints and reads again; the number of ops.
fn comes_back(file: &Path) -> anyhow::Result<usize> {
    let program = parse_verified(&std::fs::read_to_string(file)?)?;
    let printed = program.to_string();
    let again = parse_verified(&printed).context("the printed program")?;
    ensure!(again.to_string() == printed, "printing is not stable");
    let ops = program.op_count();
    ensure!(program.without_places() == again.without_places(), "it comes back as another program");
    Ok(ops)
}

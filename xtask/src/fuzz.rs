//! `cargo xtask fuzz`: coverage-guided fuzzing on the stable compiler.
//!
//! The targets are the binaries of `fuzz/Cargo.toml`, in cargo-fuzz's layout, so a nightly cargo-fuzz finds them
//! too. Here they are built with LLVM's coverage pass, which stable exposes as `-C passes`, and without a sanitizer:
//! the fuzzed code is safe Rust, so what is looked for is panics, overflow and memory growth.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use cargo_metadata::MetadataCommand;

use crate::Verdict;
use crate::repository::{cargo, root, succeeds};

/// What to fuzz and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A binary of `fuzz/Cargo.toml`.
    target: Option<String>,
    /// How long to look for new inputs.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// How a fuzzed program is compiled: counters per edge, traced comparisons, and every check of a debug build.
const FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
];

/// An input that needs more is a finding: parsers cap what they accept.
const MEMORY_LIMIT_MEGABYTES: u32 = 2048;

/// An input that takes longer than a second is a finding.
const TIMEOUT: &str = "-timeout=1";

/// Fuzzes one target, or checks all.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let Some(target) = &arguments.target else { return check() };
    let programs = build()?;
    let Some(program) = programs.iter().find(|program| program.name == *target) else {
        let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
        bail!("no fuzz target `{target}`; the targets are {}", names.join(", "));
    };
    let corpus = root().join("fuzz/corpus").join(target);
    let artifacts = root().join("fuzz/artifacts").join(target);
    for folder in [&corpus, &artifacts] {
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let mut fuzzer = program.command();
    fuzzer.arg(format!("-max_total_time={}", arguments.seconds));
    fuzzer.arg(format!("-artifact_prefix={}/", artifacts.display()));
    fuzzer.args([TIMEOUT, "-max_len=65536", "-print_final_stats=1"]);
    fuzzer.arg(corpus);
    let seeds = program.seeds();
    if seeds.is_dir() {
        fuzzer.arg(seeds);
    }
    Ok(Verdict::clean_if(succeeds(&mut fuzzer)?))
}

/// Builds every target and replays its seeds, which takes no time once built.
pub(crate) fn check() -> anyhow::Result<Verdict> {
    let mut clean = true;
    for program in build()? {
        let mut seeds: Vec<PathBuf> = Vec::new();
        if let Ok(entries) = std::fs::read_dir(program.seeds()) {
            seeds.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
        }
        seeds.sort();
        if seeds.is_empty() {
            println!("{}: no seeds in fuzz/seeds/{}", program.name, program.name);
            clean = false;
            continue;
        }
        let output = program.command().args([TIMEOUT, "-runs=1"]).args(&seeds).output();
        let output = output.with_context(|| program.path.display().to_string())?;
        if output.status.success() {
            println!("{}: {} seeds replayed", program.name, seeds.len());
        } else {
            println!("{}: {}", program.name, String::from_utf8_lossy(&output.stderr));
            clean = false;
        }
    }
    Ok(Verdict::clean_if(clean))
}

/// A built fuzz target.
#[derive(Debug)]
struct Program {
    name: String,
    path: PathBuf,
}

impl Program {
    fn seeds(&self) -> PathBuf {
        root().join("fuzz/seeds").join(&self.name)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(root());
        command.arg(format!("-rss_limit_mb={MEMORY_LIMIT_MEGABYTES}"));
        command
    }
}

fn build() -> anyhow::Result<Vec<Program>> {
    let manifest = root().join("fuzz/Cargo.toml");
    let metadata = MetadataCommand::new()
        .manifest_path(&manifest)
        .no_deps()
        .exec()
        .context("cannot read fuzz/Cargo.toml")?;
    let workspace = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cannot read Cargo.toml")?;
    // Beside the workspace's own artifacts, whose flags differ, and shared between clones when those are.
    let artifacts = workspace.target_directory.join("fuzz").into_std_path_buf();
    let host = host()?;
    let mut build = cargo();
    build.args(["build", "--release", "--quiet", "--bins", "--target", &host]);
    build.arg("--manifest-path").arg(&manifest).arg("--target-dir").arg(&artifacts);
    build.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
    if !succeeds(&mut build)? {
        bail!("the fuzz targets do not build");
    }
    let package = metadata.packages.first().context("fuzz/Cargo.toml describes no package")?;
    let binaries = package.targets.iter().filter(|target| target.is_bin());
    Ok(binaries
        .map(|target| Program {
            name: target.name.clone(),
            path: artifacts.join(&host).join("release").join(&target.name),
        })
        .collect())
}

/// The compiler's own target: naming it keeps build scripts and macros free of the flags.
pub(crate) fn host() -> anyhow::Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().context("cannot start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

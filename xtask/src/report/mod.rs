//! `cargo xtask report`: makes sample records (one benchmark, 500, hostile names, a real run), every format of each, has each
//! file read by the program it is for or checked against its schema, and photographs the page in both themes, wide, narrow
//! and printed. Prints pass or fail per format; the pictures are for eyes.

mod readers;
mod records;
mod screens;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::{Verdict, repository};

/// What to look at.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The warpt to use; built when not given.
    #[arg(long)]
    warpt: Option<PathBuf>,
    /// Where records, reports and pictures go.
    #[arg(long, default_value = "target/report")]
    out: PathBuf,
    /// Take no pictures.
    #[arg(long)]
    no_pictures: bool,
    /// Validate nothing, only make the files and the pictures.
    #[arg(long)]
    no_readers: bool,
}

/// The formats beside the page and the files they are written to.
const FILES: [(&str, &str); 11] = [
    ("html", "report.html"),
    ("markdown", "report.md"),
    ("csv", "report.csv"),
    ("junit", "report.xml"),
    ("google-benchmark", "google-benchmark.json"),
    ("hyperfine", "hyperfine.json"),
    ("bencher", "bencher.json"),
    ("github-action-smaller", "github-action-smaller.json"),
    ("github-action-bigger", "github-action-bigger.json"),
    ("openmetrics", "report.txt"),
    ("mllog", "report.log"),
];

/// One thing to report on.
struct Sample {
    name: &'static str,
    records: Vec<PathBuf>,
    baseline: Option<PathBuf>,
}

/// Runs the chore.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let out = repository::root().join(&arguments.out);
    std::fs::create_dir_all(&out).with_context(|| format!("cannot create {}", out.display()))?;
    let warpt = match &arguments.warpt {
        Some(path) => path.canonicalize().with_context(|| format!("no {}", path.display()))?,
        None => build()?,
    };
    let samples = samples(&out, &warpt)?;
    for sample in &samples {
        let directory = out.join(sample.name);
        std::fs::create_dir_all(&directory)?;
        export(&warpt, &directory, &sample.records, sample.baseline.as_deref())?;
        if let Some(baseline) = &sample.baseline {
            let directory = out.join(format!("{}-baseline", sample.name));
            std::fs::create_dir_all(&directory)?;
            export(&warpt, &directory, std::slice::from_ref(baseline), None)?;
        }
    }
    let mut clean = true;
    if !arguments.no_readers {
        let readers = readers::Readers::install()?;
        for sample in &samples {
            println!("{}", sample.name);
            clean &= readers.validate(&out, sample.name, sample.baseline.is_some())?;
        }
    }
    if !arguments.no_pictures {
        match screens::Browser::find() {
            Some(browser) => {
                for sample in &samples {
                    browser.pictures(&out.join(sample.name))?;
                }
                println!("pictures are in {}", out.display());
            }
            None => println!("no pictures: chromium is not installed (apt install chromium)"),
        }
    }
    Ok(Verdict::clean_if(clean))
}

fn build() -> anyhow::Result<PathBuf> {
    let built =
        repository::succeeds(repository::cargo().args(["build", "--quiet", "-p", "warpt"]))?;
    ensure!(built, "warpt does not build");
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(repository::root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cargo metadata")?;
    Ok(metadata.target_directory.join("debug").join("warpt").into_std_path_buf())
}

fn samples(out: &Path, warpt: &Path) -> anyhow::Result<Vec<Sample>> {
    let put = |name: &str, run: &warpt_bench::BenchmarkSuiteRun| -> anyhow::Result<PathBuf> {
        let path = out.join(name);
        let text = warpt_bench::record::to_json(run);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    };
    let mut samples = vec![
        Sample {
            name: "one",
            records: vec![put("one.json", &records::run(1, 0, 0.0))?],
            baseline: None,
        },
        Sample {
            name: "many",
            records: vec![put("many.json", &records::run(500, 1, 0.45))?],
            baseline: Some(put("many-before.json", &records::run(500, 0, 0.0))?),
        },
        Sample {
            name: "hostile",
            records: vec![put("hostile.json", &records::hostile(1.0))?],
            baseline: Some(put("hostile-before.json", &records::hostile(2.0))?),
        },
    ];
    let mut history = Vec::new();
    // Long enough for the step to stand out among all the metrics.
    for day in 0..24u32 {
        let change = if day < 14 { 0.0 } else { 0.12 };
        let run = records::run(6, u64::from(day), change);
        history.push(put(&format!("day-{day:02}.json"), &run)?);
    }
    samples.push(Sample { name: "history", records: history, baseline: None });
    let real = out.join("real.json");
    let status = Command::new(warpt)
        .args(["benchmark", "run", "--suite", "micro", "--component", "cpu,ram,system"])
        .args(["--duration", "0.2", "--monitor", "--monitor-interval", "0.1", "--redact"])
        .arg("--export-file")
        .arg(&real)
        .output()
        .context("cannot start warpt")?;
    ensure!(
        real.is_file(),
        "the real run left no record: {}",
        String::from_utf8_lossy(&status.stderr)
    );
    samples.push(Sample { name: "real", records: vec![real], baseline: None });
    Ok(samples)
}

fn export(
    warpt: &Path,
    directory: &Path,
    records: &[PathBuf],
    baseline: Option<&Path>,
) -> anyhow::Result<()> {
    for (format, file) in FILES {
        let mut command = Command::new(warpt);
        command.arg("report").args(records).args(["--format", format, "--output"]);
        command.arg(directory.join(file));
        if let Some(baseline) = baseline {
            command.arg("--baseline").arg(baseline);
        }
        let output = command.output().context("cannot start warpt")?;
        ensure!(
            output.status.success(),
            "warpt report --format {format}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

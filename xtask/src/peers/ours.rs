//! Our side: the release build of `warpt`, asked for single samples.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use warpt_bench::Cancel;
use warpt_bench::paired::{Launch, LineLimits, LineProcess};

use crate::install::run;

/// The binary.
pub(super) struct Ours {
    pub(super) binary: PathBuf,
    cancel: Cancel,
}

/// One case of one of our benchmarks.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted<'a> {
    /// Such as `micro/cpu_flops`.
    pub(super) benchmark: &'a str,
    /// `key=value`.
    pub(super) params: Vec<String>,
    /// All of these are in the case's label.
    pub(super) words: Vec<String>,
    /// What comes before the program: `taskset -c 1`, `ip netns exec NAME`.
    pub(super) prefix: Vec<String>,
    /// Where scratch files go.
    pub(super) directory: Option<PathBuf>,
}

impl Ours {
    /// The given binary, or one built now.
    pub(super) fn new(binary: Option<PathBuf>, cancel: &Cancel) -> anyhow::Result<Self> {
        let binary = match binary {
            Some(binary) => {
                binary.canonicalize().with_context(|| format!("no {}", binary.display()))?
            }
            None => build()?,
        };
        Ok(Self { binary, cancel: cancel.clone() })
    }

    /// A process that answers with samples of the one case that fits.
    pub(super) fn process(&self, wanted: &Wanted<'_>) -> anyhow::Result<LineProcess> {
        let label = self.label(wanted)?;
        let mut arguments = self.serve_samples(wanted);
        arguments.extend(["--case".to_owned(), label]);
        let limits =
            LineLimits { start: Duration::from_secs(180), answer: Duration::from_secs(60) };
        Ok(LineProcess::new("warpt", Launch::new(arguments), limits, self.cancel.clone()))
    }

    /// The record of a short run of ours.
    pub(super) fn record(&self, wanted: &Wanted<'_>, seconds: u32) -> anyhow::Result<Value> {
        let mut command = self.command(&wanted.prefix);
        command.args([
            "benchmark",
            "run",
            "--json",
            "--no-export",
            "--no-history",
            "--benchmark",
            wanted.benchmark,
        ]);
        command.arg("--duration").arg(seconds.to_string());
        for parameter in &wanted.params {
            command.args(["--params", parameter]);
        }
        let text = run(&mut command)?;
        serde_json::from_str(&text).context("warpt benchmark run --json did not print a record")
    }

    fn label(&self, wanted: &Wanted<'_>) -> anyhow::Result<String> {
        let arguments = self.serve_samples(wanted);
        let (program, rest) = arguments.split_first().context("an empty command")?;
        let text = run(Command::new(program).args(rest))?;
        find_label(&text, &wanted.words).with_context(|| format!("cases of {}", wanted.benchmark))
    }

    fn serve_samples(&self, wanted: &Wanted<'_>) -> Vec<String> {
        let mut arguments = wanted.prefix.clone();
        arguments.push(self.binary.display().to_string());
        arguments.extend(
            ["benchmark", "serve-samples", "--benchmark", wanted.benchmark].map(str::to_owned),
        );
        for parameter in &wanted.params {
            arguments.extend(["--params".to_owned(), parameter.clone()]);
        }
        if let Some(directory) = &wanted.directory {
            arguments.extend(["--directory".to_owned(), directory.display().to_string()]);
        }
        arguments
    }

    fn command(&self, prefix: &[String]) -> Command {
        match prefix.split_first() {
            None => Command::new(&self.binary),
            Some((program, rest)) => {
                let mut command = Command::new(program);
                command.args(rest).arg(&self.binary);
                command
            }
        }
    }
}

/// The one line that holds all the words, each as whole words.
fn find_label(listing: &str, words: &[String]) -> anyhow::Result<String> {
    let holds = |line: &str| {
        let padded = format!(
            " {} ",
            line.replace([',', '(', ')', ':'], " ")
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        );
        words.iter().all(|word| padded.contains(&format!(" {word} ")))
    };
    let fitting: Vec<&str> = listing.lines().map(str::trim).filter(|line| holds(line)).collect();
    match fitting.as_slice() {
        [label] => Ok((*label).to_owned()),
        [] => bail!(
            "none of {:?} holds {}",
            listing.trim().lines().collect::<Vec<_>>(),
            words.join(" and ")
        ),
        several => bail!("several hold {}: {}", words.join(" and "), several.join("; ")),
    }
}

/// Builds the release `warpt` and says where it is.
pub(crate) fn build() -> anyhow::Result<PathBuf> {
    eprintln!("building warpt (release)");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no workspace")?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "-p", "warpt", "--message-format=json-render-diagnostics"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(output.status.success(), "cargo build --release -p warpt failed");
    let text = String::from_utf8_lossy(&output.stdout);
    executable(&text).context("cargo built no warpt")
}

/// The executable named `warpt` in cargo's messages.
fn executable(messages: &str) -> Option<PathBuf> {
    let mut paths = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message.get("executable")?.as_str().map(PathBuf::from)
    });
    paths.rfind(|path| path.file_stem().is_some_and(|stem| stem == "warpt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_case_is_found_by_whole_words() {
        let listing = "copy, 1 thread\ntriad, 1 thread\ntriad, 11 threads\n";
        assert_eq!(find_label(listing, &words(&["triad", "1 thread"])).unwrap(), "triad, 1 thread");
        assert_eq!(find_label(listing, &words(&["11 threads"])).unwrap(), "triad, 11 threads");
        assert!(
            find_label(listing, &words(&["triad"])).unwrap_err().to_string().contains("several")
        );
        assert!(
            find_label(listing, &words(&["scale"])).unwrap_err().to_string().contains("none of")
        );
    }

    #[test]
    fn the_binary_is_found_in_cargos_messages() {
        let messages = "{\"executable\":null}\nnot json\n{\"executable\":\"/t/release/warpt\"}\n{\"reason\":\"build-finished\"}";
        assert_eq!(executable(messages), Some("/t/release/warpt".into()));
    }
}

//! Hunter on the same histories. PyPI's `hunter` is another project (a tracer); the change-point detector of that name is
//! published as `apache-otava` since it moved to Apache.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::Judged;
use super::histories::History;
use crate::peers::install::Tools;

const SCRIPT: &str = include_str!("hunter.py");

#[derive(Deserialize)]
struct Answer {
    version: String,
    cpu_seconds: f64,
    points: Vec<Vec<usize>>,
}

/// Installs it where needed and asks it about every history.
pub(super) fn judge(histories: &[History]) -> anyhow::Result<Judged> {
    let python = Tools::new()?.python_with("apache-otava", "otava.analysis")?;
    let series: Vec<&[f64]> = histories.iter().map(|history| history.values.as_slice()).collect();
    let mut child = Command::new(&python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .with_context(|| format!("cannot start {}", python.display()))?;
    let mut input = child.stdin.take().context("its input was piped")?;
    // It reads everything before it writes anything, so this cannot block both.
    input.write_all(serde_json::to_string(&series)?.as_bytes())?;
    drop(input);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "Hunter ended with {}", output.status);
    let answer: Answer = serde_json::from_slice(&output.stdout).context("Hunter's answer")?;
    ensure!(answer.points.len() == histories.len(), "Hunter left histories out");
    let reports: Vec<Vec<(usize, usize)>> = answer
        .points
        .iter()
        .map(|points| points.iter().map(|point| (*point, *point)).collect())
        .collect();
    let mut judged = Judged::new(histories, &reports, answer.cpu_seconds);
    judged.notes.push(format!("apache-otava {} with its defaults", answer.version));
    Ok(judged)
}

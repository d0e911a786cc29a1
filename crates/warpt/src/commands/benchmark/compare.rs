//! `warpt benchmark compare`: read two records, compare them, render. Exit 1 when something got worse or broke, 3 when
//! something cannot be told.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use warpt_bench::record::{read_record, to_json};
use warpt_history::compare::{CompareOptions, NoiseFloors, compare};
use warpt_stats::paired::Verdict;

use crate::arguments::compare::CompareArguments;
use crate::exit::Exit;
use crate::export;
use crate::output::Output;

/// Compares.
pub(super) fn run(arguments: &CompareArguments, output: &mut Output) -> Result<Exit> {
    let (a, b) = (read_record(&arguments.a)?, read_record(&arguments.b)?);
    let options = CompareOptions {
        floor: arguments.floor,
        noise: arguments.null.as_deref().map(noise).transpose()?.unwrap_or_default(),
        allow_unverified: arguments.unverified,
        score: arguments.score.clone(),
        score_allow_missing: arguments.score_allow_missing,
    };
    let name = |path: &Path| path.display().to_string();
    let comparison = compare((&name(&arguments.a), &a), (&name(&arguments.b), &b), &options)
        .map_err(|error| anyhow!(error))?;
    if let Some(path) = arguments.export.path("compare", &comparison.b.suite) {
        export::write(&path, &comparison)?;
        output.note(&format!("comparison: {}", path.display()));
    }
    if arguments.json {
        output.line(&to_json(&comparison))?;
    } else {
        let width = output.width();
        output.text(&warpt_report::compare::page(&comparison, width, arguments.all))?;
    }
    Ok(match comparison.verdict() {
        Verdict::Better | Verdict::Same => Exit::Pass,
        Verdict::Worse => Exit::Failed,
        Verdict::Inconclusive => Exit::Inconclusive,
    })
}

fn noise(path: &Path) -> Result<NoiseFloors> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    NoiseFloors::parse(&text).map_err(|error| anyhow!("{}: {error}", path.display()))
}

//! `warpt benchmark compare`: read two records, compare them, render. Exit 1 when something got worse or broke, 3 when
//! something cannot be told.

use std::path::Path;

use anyhow::{Result, anyhow};
use warpt_bench::BenchmarkSuiteRun;
use warpt_bench::record::{read_record, to_json};
use warpt_history::compare::{CompareOptions, NoiseFloors, compare};
use warpt_history::trends::{Itself, Trends};
use warpt_stats::paired::Verdict;

use crate::arguments::compare::CompareArguments;
use crate::commands::history;
use crate::config::Config;
use crate::exit::Exit;
use crate::export;
use crate::output::Output;

/// Compares.
pub(super) fn run(
    arguments: &CompareArguments,
    config: Option<&Path>,
    output: &mut Output,
) -> Result<Exit> {
    let (a, b) = (read_record(&arguments.a)?, read_record(&arguments.b)?);
    let noise = if arguments.history {
        floors(arguments, config, &b, output)?
    } else {
        NoiseFloors::default()
    };
    let options = CompareOptions {
        floor: arguments.floor,
        noise,
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

/// How far apart the runs before came out on the machine of a record.
fn floors(
    arguments: &CompareArguments,
    config: Option<&Path>,
    record: &BenchmarkSuiteRun,
    output: &mut Output,
) -> Result<NoiseFloors> {
    let store = history::open(arguments.store.as_deref(), &Config::load(config)?)?;
    let floors = NoiseFloors::from_trends(&Trends::behind(&store, record, None, Itself::LeftOut)?);
    let known = floors.len();
    output.note(&format!("history: the noise between runs is known of {known} metrics"));
    Ok(floors)
}

//! Free runs: trained here from every golden start, loss curves judged as wholes.

use anyhow::Result;
use warpforge_golden::Bundle;
use warpforge_validate::{
    ALPHA, Curve, FEWEST_SEEDS, FINAL_SHARE, FreeRun, FreeVerdict, NEGLIGIBLE, Runner, Tier,
    ValidateError, free_run,
};
use warpt_report::number::{percent, seconds, significant};
use warpt_report::table::TextTable;

use super::page::lines;
use super::record::Recording;
use super::{Asked, PRODUCER, html};
use crate::exit::Exit;
use crate::output::Output;
use crate::waiting::Waiting;

/// The names of the columns of [`row`].
pub(super) const COLUMNS: [&str; 6] =
    ["seed", "first loss", "last loss", "golden", "largest difference", "time"];

/// Trains and judges.
pub(super) fn run(
    bundle: &Bundle,
    runner: &Runner<'_>,
    asked: &Asked<'_>,
    output: &mut Output,
) -> Result<Exit> {
    let recording = Recording::begin(asked.arguments, asked.config);
    let mut waiting = Waiting::new(output.progress_is_visible());
    let outcome = free_run(bundle, runner, PRODUCER, same_machine(bundle, runner), |progress| {
        waiting.say(|| {
            let ((run, runs), (step, steps)) = (progress.run, progress.step);
            format!("run {} of {runs}, step {} of {steps}", run + 1, step + 1)
        });
    });
    drop(waiting);
    let found = match outcome {
        Ok(found) => found,
        Err(ValidateError::Cancelled) => return Ok(Exit::Interrupted),
        Err(error) => return Err(error.into()),
    };
    let record = recording.map(|recording| recording.free_run(bundle, &found));
    let judgement = &asked.arguments.judgement;
    if let Some(path) = &judgement.html {
        let about = html::About { directory: asked.directory, bundle, record: record.as_ref() };
        super::write_page(path, &html::free_runs(&found, &about), output)?;
    }
    if judgement.json {
        output.line(&format!("{:#}", serde_json::to_value(&found)?))?;
    } else {
        let width = output.width();
        output.text(&page(&found, width))?;
    }
    asked.keep(record.as_ref(), output)?;
    Ok(match found.verdict {
        FreeVerdict::Match => Exit::Pass,
        FreeVerdict::Mismatch | FreeVerdict::GoldenMissesTarget => Exit::Failed,
        FreeVerdict::Inconclusive => Exit::Inconclusive,
    })
}

/// Whether the golden run was made on a machine like this one, with as many threads.
fn same_machine(bundle: &Bundle, runner: &Runner<'_>) -> bool {
    let manifest = bundle.manifest();
    let threads = match runner.tier {
        Tier::Production { threads } | Tier::Observable { threads } => threads as u64,
        Tier::Correctness => return false,
    };
    let golden = manifest.machine.get("processor").and_then(|name| name.as_str());
    let here = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let here = here.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let same = golden.zip(here).is_some_and(|(golden, (_, here))| golden == here.trim());
    same && manifest.configuration.threads == threads
}

/// The verdict in a sentence.
pub(super) fn headline(found: &FreeRun) -> String {
    match found.verdict {
        FreeVerdict::Match => {
            "match: the loss curves cannot be told from the golden ones".to_owned()
        }
        FreeVerdict::Mismatch => "MISMATCH: this is not the golden training".to_owned(),
        FreeVerdict::GoldenMissesTarget => {
            "GOLDEN MISSES ITS TARGET: both runs match, but neither is what was asked for"
                .to_owned()
        }
        FreeVerdict::Inconclusive => format!(
            "inconclusive: {} seeds are too few, {FEWEST_SEEDS} are needed",
            found.curves.len()
        ),
    }
}

/// What the verdict rests on.
pub(super) fn summary(found: &FreeRun) -> String {
    let p_value = found.p_value.map_or_else(|| "no test".to_owned(), |p| format!("p {p:.4}"));
    format!(
        "whole curves: {p_value} (differ at {ALPHA} and below, if by more than {}); the mean curve is off by at most {}, \
         its end by {} (at most {})",
        percent(NEGLIGIBLE),
        percent(found.largest_share),
        percent(found.final_share),
        percent(FINAL_SHARE)
    )
}

/// A row of the table by seed.
pub(super) fn row(curve: &Curve) -> [String; 6] {
    let shown = |loss: Option<&f64>| loss.map_or_else(String::new, |loss| significant(*loss));
    let differences =
        curve.loss.iter().zip(&curve.golden).map(|(own, golden)| (own - golden).abs());
    [
        curve.seed.to_string(),
        shown(curve.loss.first()),
        shown(curve.loss.last()),
        shown(curve.golden.last()),
        format!("{:.1e}", differences.fold(0.0, f64::max)),
        seconds(curve.seconds),
    ]
}

fn page(found: &FreeRun, width: usize) -> String {
    let mut text = lines(&headline(found), width);
    let steps = found.curves.first().map_or(0, |curve| curve.loss.len());
    let (recipe, run) = (&found.recipe, &found.run);
    text.push_str(&lines(
        &format!("{recipe}: {steps} steps from each start, {} tier, {}", run.tier, run.precision),
        width,
    ));
    let mut table = TextTable::new(&COLUMNS).right(&[0, 1, 2, 3, 4, 5]);
    for curve in &found.curves {
        table.row(&row(curve));
    }
    text.push_str(&table.render(width));
    text.push_str(&lines(&summary(found), width));
    for (line, _) in beside(found) {
        text.push_str(&lines(&line, width));
    }
    text
}

/// What is judged beside the curves, and whether it is as it should be.
pub(super) fn beside(found: &FreeRun) -> Vec<(String, bool)> {
    let mut lines = Vec::new();
    if let Some(batches) = &found.batches {
        let first = batches
            .first
            .as_ref()
            .map_or_else(String::new, |first| format!("; the first is {}", first));
        let line = format!(
            "batches made here from the text: {} of {} tensors are bit for bit the golden ones{first}",
            batches.tensors - batches.different,
            batches.tensors
        );
        lines.push((line, batches.different == 0));
    }
    for metric in &found.metrics {
        let line = format!(
            "{}: {:.2}, golden {:.2} (means; at most {} points apart): {}",
            metric.name,
            metric.own,
            metric.golden,
            metric.allowed,
            if metric.matches { "match" } else { "MISMATCH" }
        );
        lines.push((line, metric.matches));
    }
    if let Some(speed) = &found.speed {
        let line = format!(
            "speed: {} a step, golden {}: {:.2} times as fast{}",
            seconds(speed.own_seconds),
            seconds(speed.golden_seconds),
            speed.ratio(),
            if speed.same_machine { "" } else { ", on another machine or with other threads" }
        );
        lines.push((line, true));
    }
    for target in &found.targets {
        let bound = if target.at_most { "at most" } else { "at least" };
        let reached = target.found.map_or_else(|| "not known".to_owned(), significant);
        let line = format!(
            "target {}: {bound} {}, found {reached}: {}",
            target.name,
            significant(target.target),
            if target.reached { "reached" } else { "MISSED" }
        );
        lines.push((line, target.reached));
    }
    lines
}

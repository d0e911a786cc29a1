//! Free runs: trained here from every golden start, loss curves judged as wholes.

use anyhow::Result;
use warpforge_golden::Bundle;
use warpforge_validate::{
    ALPHA, FEWEST_SEEDS, FINAL_SHARE, FreeRun, FreeVerdict, NEGLIGIBLE, Runner, Tier,
    ValidateError, free_run,
};
use warpt_report::number::{percent, seconds, significant};
use warpt_report::table::TextTable;
use warpt_report::text::{clean, wrap};

use super::PRODUCER;
use crate::arguments::golden::JudgementArguments;
use crate::exit::Exit;
use crate::output::Output;
use crate::waiting::Waiting;

/// Trains and judges.
pub(super) fn run(
    bundle: &Bundle,
    runner: &Runner<'_>,
    arguments: &JudgementArguments,
    output: &mut Output,
) -> Result<Exit> {
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
    if arguments.json {
        output.line(&format!("{:#}", serde_json::to_value(&found)?))?;
    } else {
        let width = output.width();
        output.text(&page(&found, width))?;
    }
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

fn page(found: &FreeRun, width: usize) -> String {
    let verdict = match found.verdict {
        FreeVerdict::Match => {
            "match: the loss curves cannot be told from the golden ones".to_owned()
        }
        FreeVerdict::Mismatch => "MISMATCH: this is not the golden training".to_owned(),
        FreeVerdict::GoldenMissesTarget => {
            "GOLDEN MISSES ITS TARGET: both runs match, but neither is what was asked for"
                .to_owned()
        }
        FreeVerdict::Inconclusive => {
            format!(
                "inconclusive: {} seeds are too few, {FEWEST_SEEDS} are needed",
                found.curves.len()
            )
        }
    };
    let steps = found.curves.first().map_or(0, |curve| curve.loss.len());
    let (recipe, tier, precision) =
        (clean(&found.recipe), clean(&found.run.tier), clean(&found.run.precision));
    let mut text =
        format!("{verdict}\n{recipe}: {steps} steps from each start, {tier} tier, {precision}\n");
    let mut table = TextTable::new(&[
        "seed",
        "first loss",
        "last loss",
        "golden",
        "largest difference",
        "time",
    ])
    .right(&[0, 1, 2, 3, 4, 5]);
    for curve in &found.curves {
        let last =
            |losses: &[f64]| losses.last().map_or_else(String::new, |loss| significant(*loss));
        let differences =
            curve.loss.iter().zip(&curve.golden).map(|(own, golden)| (own - golden).abs());
        table.row(&[
            curve.seed.to_string(),
            curve.loss.first().map_or_else(String::new, |loss| significant(*loss)),
            last(&curve.loss),
            last(&curve.golden),
            format!("{:.1e}", differences.fold(0.0, f64::max)),
            seconds(curve.seconds),
        ]);
    }
    text.push_str(&table.render(width));
    let p_value = found.p_value.map_or_else(|| "no test".to_owned(), |p| format!("p {p:.4}"));
    let line = format!(
        "whole curves: {p_value} (differ at {ALPHA} and below, if by more than {}); the mean curve is off by at most {}, \
         its end by {} (at most {})",
        percent(NEGLIGIBLE),
        percent(found.largest_share),
        percent(found.final_share),
        percent(FINAL_SHARE)
    );
    text.push_str(&wrap(&line, width, "  "));
    text.push('\n');
    for line in beside(found) {
        text.push_str(&wrap(&line, width, "  "));
        text.push('\n');
    }
    text
}

/// What is judged beside the curves.
fn beside(found: &FreeRun) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(batches) = &found.batches {
        let first = batches
            .first
            .as_ref()
            .map_or_else(String::new, |first| format!("; the first is {}", clean(first)));
        lines.push(format!(
            "batches made here from the text: {} of {} tensors are bit for bit the golden ones{first}",
            batches.tensors - batches.different,
            batches.tensors
        ));
    }
    for metric in &found.metrics {
        lines.push(format!(
            "{}: {:.2}, golden {:.2} (means; at most {} points apart): {}",
            clean(&metric.name),
            metric.own,
            metric.golden,
            metric.allowed,
            if metric.matches { "match" } else { "MISMATCH" }
        ));
    }
    if let Some(speed) = &found.speed {
        lines.push(format!(
            "speed: {} a step, golden {}: {:.2} times as fast; {}",
            seconds(speed.own_seconds),
            seconds(speed.golden_seconds),
            speed.ratio(),
            match (speed.same_machine, speed.is_fine()) {
                (false, _) => "made on another machine or with other threads, so not judged",
                (true, true) => "match",
                (true, false) => "MISMATCH",
            }
        ));
    }
    for target in &found.targets {
        let bound = if target.at_most { "at most" } else { "at least" };
        let reached = target.found.map_or_else(|| "not known".to_owned(), significant);
        lines.push(format!(
            "target {}: {bound} {}, found {reached}: {}",
            clean(&target.name),
            significant(target.target),
            if target.reached { "reached" } else { "MISSED" }
        ));
    }
    lines
}

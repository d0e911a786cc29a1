//! Free runs: trained here from every golden start, loss curves judged as wholes.

use anyhow::Result;
use warpforge_golden::Bundle;
use warpforge_validate::{
    ALPHA, FEWEST_SEEDS, FINAL_SHARE, FreeRun, FreeVerdict, NEGLIGIBLE, Runner, ValidateError,
    free_run,
};
use warpt_report::number::{percent, seconds, significant};
use warpt_report::table::TextTable;
use warpt_report::text::{clean, wrap};

use super::PRODUCER;
use crate::arguments::golden::JudgementArguments;
use crate::exit::Exit;
use crate::output::Output;

/// Trains and judges.
pub(super) fn run(
    bundle: &Bundle,
    runner: &Runner<'_>,
    arguments: &JudgementArguments,
    output: &mut Output,
) -> Result<Exit> {
    let visible = output.progress_is_visible();
    let outcome = free_run(bundle, runner, PRODUCER, |number, all| {
        if visible {
            output.note(&format!("run {} of {all}", number + 1));
        }
    });
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
        FreeVerdict::Mismatch => Exit::Failed,
        FreeVerdict::Inconclusive => Exit::Inconclusive,
    })
}

fn page(found: &FreeRun, width: usize) -> String {
    let verdict = match found.verdict {
        FreeVerdict::Match => {
            "match: the loss curves cannot be told from the golden ones".to_owned()
        }
        FreeVerdict::Mismatch => "MISMATCH: the loss curves are not the golden ones".to_owned(),
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
    text
}

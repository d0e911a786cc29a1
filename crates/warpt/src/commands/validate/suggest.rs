//! `warpt validate --suggest-tolerances`: a file of rules from golden bundles of the same training.

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use warpforge_golden::Bundle;
use warpforge_validate::{FACTOR, Rule, Spreads, Suggestion, Tolerances, spreads, suggest};
use warpt_bench::record::write_atomically;
use warpt_report::table::TextTable;
use warpt_report::text::clean;

use super::page::{lines, used};
use crate::arguments::golden::ValidateArguments;
use crate::exit::Exit;
use crate::output::Output;

/// Compares the bundles and writes the rules.
pub(super) fn run(
    arguments: &ValidateArguments,
    directory: &Path,
    file: &Path,
    output: &mut Output,
) -> Result<Exit> {
    let precision = super::precision(arguments);
    let golden = Bundle::open(directory)?;
    let others: Vec<Bundle> =
        arguments.golden.iter().map(Bundle::open).collect::<Result<_, _>>()?;
    let names: Vec<String> =
        arguments.golden.iter().map(|path| clean(&path.display().to_string())).collect();
    let seen = spreads(&golden, &others, &Tolerances::presets(precision))?;
    let found = suggest(&seen, &names, precision);
    let directory = clean(&directory.display().to_string());
    let text = file_text(&directory, &names, &seen, &found);
    write_atomically(file, text.trim_end().as_bytes())?;
    if arguments.judgement.json {
        let answer = json!({
            "bundle": directory,
            "golden": names,
            "factor": FACTOR,
            "precision": precision.name(),
            "steps": seen.steps,
            "kinds": found.kinds,
            "rules": found.rules,
            "tensors": seen.tensors,
        });
        output.line(&format!("{answer:#}"))?;
    } else {
        let width = output.width();
        output.text(&page(&directory, &names, &seen, &found, width))?;
        output.note(&format!("tolerances: {}", file.display()));
    }
    Ok(Exit::Pass)
}

/// The file: comments that say what was compared, then the rules.
fn file_text(directory: &str, names: &[String], seen: &Spreads, found: &Suggestion) -> String {
    let mut text =
        format!("# Tolerances for {directory}, from golden runs of the same training:\n");
    for (name, steps) in names.iter().zip(&seen.steps) {
        text.push_str(&format!("#   {name}: {}\n", listed(steps)));
    }
    text.push_str(&format!(
        "# A rule allows {FACTOR} times the largest difference that was seen, and never less than the preset.\n"
    ));
    for kind in found.kinds.iter().filter(|kind| kind.rules == 0) {
        text.push_str(&format!("# {}: the preset is wide enough\n", kind.kind));
    }
    text.push('\n');
    text + &Rule::to_toml(&found.rules)
}

fn listed(steps: &[u64]) -> String {
    let numbers: Vec<String> = steps.iter().take(10).map(u64::to_string).collect();
    let more = if steps.len() > 10 { ", ..." } else { "" };
    format!("step{} {}{more}", if steps.len() == 1 { "" } else { "s" }, numbers.join(", "))
}

fn page(
    directory: &str,
    names: &[String],
    seen: &Spreads,
    found: &Suggestion,
    width: usize,
) -> String {
    let mut text = lines(&format!("{directory}, and how far from it lie"), width);
    for (name, steps) in names.iter().zip(&seen.steps) {
        text.push_str(&format!("  {}", lines(&format!("{name}: {}", listed(steps)), width - 2)));
    }
    let mut table =
        TextTable::new(&["compared", "tensors", "used", "rules", "in"]).right(&[1, 2, 3]);
    for kind in &found.kinds {
        table.row(&[
            kind.kind.to_string(),
            kind.tensors.to_string(),
            used(kind.share),
            kind.rules.to_string(),
            kind.widest.clone().unwrap_or_default(),
        ]);
    }
    text.push_str(&table.render(width));
    let line = format!(
        "used: of what the preset allows. A rule allows {FACTOR} times the largest difference, and never less than the preset; \
         there is none where the preset is wide enough"
    );
    text.push_str(&lines(&line, width));
    text
}

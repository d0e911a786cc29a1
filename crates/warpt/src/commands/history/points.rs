//! `warpt history points`: where the series of the store changed.

use anyhow::Result;
use warpt_bench::record::to_json;
use warpt_history::store::{Selection, Store};
use warpt_history::trends::{FoundChange, Trends};
use warpt_report::number;
use warpt_stats::change_points::{ChangeKind, ChangePointConfig};

use super::{Answer, selection, when};
use crate::arguments::history::PointsArguments;
use crate::exit::Exit;
use crate::output::Output;

/// Looks for changes and lists them, newest first.
pub(super) fn run(store: &Store, arguments: &PointsArguments, output: &mut Output) -> Result<Exit> {
    let selection = Selection { metric: arguments.metric.clone(), ..selection(&arguments.which)? };
    let trends = Trends::of(store.series(&selection)?, &ChangePointConfig::default());
    let mut found = trends.found();
    found.retain(|change| !(arguments.worse && change.better));
    let form = &arguments.form;
    let json = to_json(&found);
    let answer = if form.csv {
        let header = &[
            "time",
            "machine",
            "metric",
            "params",
            "unit",
            "kind",
            "before",
            "after",
            "relative",
            "direction",
            "p_value",
            "run",
            "before_run",
        ];
        Answer { header, right: &[], rows: found.iter().map(exact).collect(), json }
    } else {
        let header = &["since", "metric", "change", "before", "after", "unit", "run", "machine"];
        Answer { header, right: &[3, 4], rows: found.iter().map(readable).collect(), json }
    };
    let exit = answer.print(form, "no changes", output)?;
    let points: usize = trends.series.iter().map(|trend| trend.points.len()).sum();
    output.note(&format!(
        "{} series with {points} points looked at; a series needs ten points",
        trends.series.len()
    ));
    Ok(exit)
}

fn kind(change: &FoundChange) -> &'static str {
    match change.kind {
        ChangeKind::Step => "step",
        ChangeKind::Drift => "drift",
    }
}

fn direction(change: &FoundChange) -> &'static str {
    if change.better { "better" } else { "worse" }
}

fn readable(change: &FoundChange) -> Vec<String> {
    let size = change.relative.map_or_else(String::new, |share| format!("{:+.1}% ", share * 100.0));
    let drift = if change.kind == ChangeKind::Drift { ", drift" } else { "" };
    vec![
        when::shown(change.time).chars().take("2026-01-31 12:00".len()).collect(),
        change.key.metric.clone(),
        format!("{size}{}{drift}", direction(change)),
        number::significant(change.before),
        number::significant(change.after),
        change.key.unit.clone(),
        change.run.chars().take(8).collect(),
        change.machine.chars().take(16).collect(),
    ]
}

fn exact(change: &FoundChange) -> Vec<String> {
    vec![
        when::shown(change.time),
        change.machine.clone(),
        change.key.metric.clone(),
        change.key.params.clone(),
        change.key.unit.clone(),
        kind(change).to_owned(),
        change.before.to_string(),
        change.after.to_string(),
        change.relative.map(|share| share.to_string()).unwrap_or_default(),
        direction(change).to_owned(),
        change.p_value.to_string(),
        change.run.clone(),
        change.before_run.clone(),
    ]
}

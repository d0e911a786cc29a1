//! The machine as a table, and what differs between the machines and software of several runs.

use warpt_bench::BenchmarkSuiteRun;
use warpt_history::compare::{Fact, facts};

use super::markup::{self, cell, escape_within, fold, table};
use crate::report::Report;

/// Runs shown side by side; more would not fit a screen.
const MAX_RUNS: usize = 8;

/// Every known fact about the last run's machine, by part.
pub(super) fn render(report: &Report) -> String {
    report.runs.last().map(|last| of_run(&last.run)).unwrap_or_default()
}

/// Every known fact about the machine of a run, by part.
pub fn of_run(run: &BenchmarkSuiteRun) -> String {
    let facts = facts(run);
    let mut areas: Vec<(&str, Vec<&Fact>)> = Vec::new();
    for fact in facts.iter().filter(|fact| fact.value.is_some()) {
        match areas.iter_mut().find(|(area, _)| *area == fact.area) {
            Some((_, facts)) => facts.push(fact),
            None => areas.push((&fact.area, vec![fact])),
        }
    }
    let mut body = String::new();
    for (area, facts) in areas {
        let rows = facts.iter().map(|fact| {
            let value = fact.value.as_deref().unwrap_or_default();
            (fact.name.as_str(), escape_within(value, 400))
        });
        let table = markup::facts(rows);
        let noun = if facts.len() == 1 { "fact" } else { "facts" };
        let title = format!("{area}: {} {noun}", facts.len());
        body.push_str(&fold(&title, &table, matches!(area, "cpu" | "software")));
    }
    body
}

/// Facts that are not the same in all runs.
pub(super) fn differences(report: &Report) -> String {
    if let Some(comparison) = report.comparison.as_ref().filter(|c| !c.differences.is_empty()) {
        let show = |value: &Option<String>| {
            value
                .as_ref()
                .map_or("<span class=\"soft\">unknown</span>".into(), |v| escape_within(v, 200))
        };
        let rows: String = comparison
            .differences
            .iter()
            .map(|difference| {
                format!(
                    "<tr>{}{}{}</tr>",
                    cell("", "wide", &escape_within(&difference.name, 80)),
                    cell("A", "", &show(&difference.a)),
                    cell("B", "", &show(&difference.b))
                )
            })
            .collect();
        let table = table(&[("", ""), ("A, baseline", ""), ("B, candidate", "")], &rows);
        return format!("<div class=\"panel\">{table}</div>\n");
    }
    let shown = &report.runs[report.runs.len().saturating_sub(MAX_RUNS)..];
    if shown.len() < 2 {
        return String::new();
    }
    let all: Vec<Vec<Fact>> = shown.iter().map(|named| facts(&named.run)).collect();
    let mut rows = String::new();
    for index in 0..all[0].len() {
        let values: Vec<Option<&str>> =
            all.iter().map(|facts| facts[index].value.as_deref()).collect();
        if values.iter().all(|value| *value == values[0]) {
            continue;
        }
        rows.push_str(&format!("<tr>{}", cell("", "wide", &all[0][index].name)));
        for (value, named) in values.iter().zip(shown) {
            let value = value
                .map_or("<span class=\"soft\">unknown</span>".into(), |v| escape_within(v, 200));
            rows.push_str(&cell(&escape_within(&named.name, 40), "", &value));
        }
        rows.push_str("</tr>");
    }
    if rows.is_empty() {
        return "<p class=\"soft\">The machines and software of these runs do not differ.</p>\n"
            .to_owned();
    }
    let names: Vec<String> = shown.iter().map(|named| escape_within(&named.name, 40)).collect();
    let mut columns = vec![("", "")];
    columns.extend(names.iter().map(|name| (name.as_str(), "")));
    format!("<div class=\"panel\">{}</div>\n", table(&columns, &rows))
}

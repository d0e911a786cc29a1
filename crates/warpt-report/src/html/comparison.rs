//! The last run against its baseline: what got worse, what got better, what could explain it, and what was not compared.
//! Each change is drawn with its interval on one scale for all of them.

use warpt_history::compare::{Change, RecordComparison};
use warpt_stats::paired::Verdict;

use super::markup::{self, cell, escape, escape_within, fold, table};
use super::plot::{Scale, short, svg};
use crate::compare::{explanations, signed};
use crate::number::significant;
use crate::report::Report;

/// Rows of one kind before the rest is folded away.
const SHOWN: usize = 25;

pub(super) fn render(report: &Report) -> String {
    let Some(comparison) = &report.comparison else { return String::new() };
    let mut body = tiles(comparison);
    body.push_str(&format!(
        "<p class=\"small\">Baseline <code>{}</code>, candidate <code>{}</code>. <span class=\"soft\">{}.</span></p>\n",
        escape_within(&comparison.a.name, 150),
        escape_within(&comparison.b.name, 150),
        escape(&sentence(&comparison.caveat))
    ));
    if let Some(score) = &comparison.score {
        let text = match (score.value, &score.refusal) {
            (Some(value), _) => {
                let listed: Vec<String> = score
                    .members
                    .iter()
                    .map(|m| {
                        format!(
                            "<li><code>{}</code> {:.3}</li>",
                            escape_within(&m.metric, 200),
                            m.ratio
                        )
                    })
                    .collect();
                format!(
                    "<b>{value:.3}</b>, geometric mean of {} ratios to the baseline, above 1 is better{}",
                    score.members.len(),
                    fold("members", &format!("<ul>{}</ul>", listed.concat()), false)
                )
            }
            (None, reason) => escape(reason.as_deref().unwrap_or("refused")),
        };
        body.push_str(&format!(
            "<div class=\"panel\">Score {}: {text}</div>\n",
            escape_within(&score.name, 80)
        ));
    }
    let reach = reach(comparison);
    for (verdict, title, open) in [
        (Verdict::Worse, "worse", true),
        (Verdict::Better, "better", true),
        (Verdict::Inconclusive, "inconclusive", false),
        (Verdict::Same, "same", false),
    ] {
        let changes: Vec<&Change> = comparison
            .changes
            .iter()
            .filter(|change| !change.supporting && change.verdict == verdict)
            .collect();
        if !changes.is_empty() {
            let columns = [
                ("metric", ""),
                ("A", "n"),
                ("B", "n"),
                ("change", "n"),
                ("needed", "n"),
                ("", ""),
            ];
            let rows = |changes: &[&Change]| -> String {
                changes.iter().map(|change| row(comparison, change, reach)).collect()
            };
            let (first, rest) = changes.split_at(changes.len().min(SHOWN));
            let mut listed = table(&columns, &rows(first));
            if !rest.is_empty() {
                let title = format!("{} more", rest.len());
                listed.push_str(&fold(&title, &table(&columns, &rows(rest)), false));
            }
            body.push_str(&fold(&format!("{} {title}", changes.len()), &listed, open));
        }
    }
    let refusals: String = comparison
        .refusals
        .iter()
        .filter(|refusal| !refusal.supporting)
        .map(|refusal| {
            let what = refusal.metric.as_deref().unwrap_or(&refusal.benchmark);
            format!(
                "<li><code>{}</code>: {}</li>",
                escape_within(what, 200),
                escape(&refusal.reason)
            )
        })
        .collect();
    if !refusals.is_empty() {
        let title = format!("{} not compared", comparison.counts.refused);
        body.push_str(&fold(&title, &format!("<ul>{refusals}</ul>"), comparison.counts.broken > 0));
    }
    body
}

/// Our own sentence with a capital and without the marks that stand for code in a terminal.
fn sentence(text: &str) -> String {
    let text = text.replace('`', "");
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn tiles(comparison: &RecordComparison) -> String {
    let counts = &comparison.counts;
    let tile = |count: usize, name: &str, class: &str| {
        markup::tile(&count.to_string(), name, if count > 0 { class } else { "" })
    };
    format!(
        "<div class=\"tiles\">{}{}{}{}{}{}</div>\n",
        tile(counts.worse, "worse", "bad"),
        tile(counts.better, "better", "good"),
        tile(counts.same, "same", ""),
        tile(counts.inconclusive, "inconclusive", "warn"),
        tile(counts.refused, "not compared", "warn"),
        tile(counts.broken, "broken", "bad"),
    )
}

/// How far the drawings reach, as a ratio: enough for the middle of the changes, at most a factor of four.
fn reach(comparison: &RecordComparison) -> f64 {
    let largest = comparison
        .changes
        .iter()
        .filter(|change| change.verdict.is_difference())
        .map(|change| change.ratio.ln().abs() * 1.2)
        .fold(0.1, f64::max);
    largest.min(4f64.ln())
}

fn row(comparison: &RecordComparison, change: &Change, reach: f64) -> String {
    let mut name = escape_within(&change.metric, 300);
    if let Some(text) = explanations(comparison, &[change]) {
        name.push_str(&format!("<div class=\"small warn\">{}</div>", escape(&text)));
    }
    let class = match change.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        _ => "",
    };
    let color = match change.verdict {
        Verdict::Better => "good",
        Verdict::Worse => "bad",
        _ => "",
    };
    let unit = escape_within(&change.unit, 24);
    let needed = change.needed().map_or("?".to_owned(), signed);
    format!(
        "<tr class=\"{class}\">{}{}{}{}{}{}</tr>\n",
        cell("metric", "wide", &name),
        cell("A", "n", &format!("{} {unit}", significant(change.a))),
        cell("B", "n", &format!("{} {unit}", significant(change.b))),
        cell("change", &format!("n {color}"), &signed(change.relative())),
        cell("needed", "n", &needed),
        cell("", "wide", &drawing(change, reach)),
    )
}

/// The ratio and its interval around "no change"; to the right is better.
fn drawing(change: &Change, reach: f64) -> String {
    let (width, height) = (150.0, 18.0);
    let scale = Scale::linear(-reach, reach, 4.0, width - 4.0);
    let at = |ratio: f64| scale.at(ratio.max(f64::MIN_POSITIVE).ln());
    let middle = height / 2.0;
    let floor = (1.0 + change.floor).ln();
    let (from, to) = (scale.at(-floor), scale.at(floor));
    let mut content = format!(
        "<rect class=\"shade\" x=\"{}\" y=\"2\" width=\"{}\" height=\"{}\"/>\
         <line class=\"axis\" x1=\"{m}\" x2=\"{m}\" y1=\"0\" y2=\"{height}\"/>",
        short(from),
        short(to - from),
        short(height - 4.0),
        m = short(scale.at(0.0)),
    );
    if let (Some(low), Some(high)) = (change.low, change.high) {
        content.push_str(&format!(
            "<line class=\"wh\" x1=\"{}\" x2=\"{}\" y1=\"{middle}\" y2=\"{middle}\"/>",
            short(at(low)),
            short(at(high))
        ));
    }
    content.push_str(&format!(
        "<circle class=\"pt\" cx=\"{}\" cy=\"{middle}\" r=\"3.5\"/>",
        short(at(change.ratio))
    ));
    let label = format!("{:.3} times as good, to the right is better", change.ratio);
    svg(width, height, "", &label, &content)
}

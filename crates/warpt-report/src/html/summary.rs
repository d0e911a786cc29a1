//! The head of the page: how many passed, what needs a look, and the runs it is made of.

use warpt_bench::record::{BenchmarkSuiteRun, Outcome, RunState};
use warpt_machine::preflight::Severity;

use super::markup::{self, escape, escape_within, fold};
use crate::number;
use crate::report::{NamedRun, Report, start};

/// Entries of a list before the rest is folded away.
const SHOWN: usize = 8;

pub(super) fn render(report: &Report) -> String {
    let Some(last) = report.runs.last() else { return String::new() };
    let run = &last.run;
    let mut body = tiles(run);
    if report.runs.len() > 1 {
        body.push_str(&runs(report));
    }
    let mut found = attention(run);
    if !found.is_empty() {
        let rest = found.split_off(found.len().min(SHOWN));
        body.push_str(&format!(
            "<div class=\"panel\"><b>Worth a look</b><ul>{}</ul>",
            found.concat()
        ));
        if !rest.is_empty() {
            body.push_str(&fold(
                &format!("{} more", rest.len()),
                &format!("<ul>{}</ul>", rest.concat()),
                false,
            ));
        }
        body.push_str("</div>\n");
    }
    body
}

fn tiles(run: &BenchmarkSuiteRun) -> String {
    let metrics: usize = run.benchmarks.iter().map(|result| result.metrics.len()).sum();
    let unverified = run
        .benchmarks
        .iter()
        .flat_map(|result| &result.metrics)
        .filter(|metric| !metric.supporting && metric.verified != Some(true))
        .count();
    let mut tiles = String::new();
    let mut tile = |value: String, name: &str, class: &str| {
        tiles.push_str(&markup::tile(&value, name, class));
    };
    let count = |outcome| run.count(outcome);
    tile(count(Outcome::Passed).to_string(), "passed", "good");
    let failed = count(Outcome::Failed);
    tile(failed.to_string(), "failed", if failed > 0 { "bad" } else { "" });
    let skipped = count(Outcome::Skipped);
    tile(skipped.to_string(), "skipped", if skipped > 0 { "warn" } else { "" });
    tile(metrics.to_string(), "metrics", "");
    if unverified > 0 {
        tile(unverified.to_string(), "unverified", "warn");
    }
    if let (Some(begin), Some(end)) = (start(run), run.end_time) {
        let seconds = end.duration_since(begin).as_secs_f64();
        if seconds >= 0.0 {
            tile(number::seconds(seconds), "in all", "");
        }
    }
    format!("<div class=\"tiles\">{tiles}</div>\n")
}

fn runs(report: &Report) -> String {
    let last = report.runs.len() - 1;
    let row = |(index, named): (usize, &NamedRun)| {
        let run = &named.run;
        let when = start(run).map(|time| time.strftime("%Y-%m-%d %H:%M").to_string());
        let mark = if index == last { " <span class=\"soft\">(in detail)</span>" } else { "" };
        let count = |outcome| run.count(outcome);
        format!(
            "<tr><td><code>{}</code>{mark}</td><td class=\"n\">{}</td><td class=\"n\">{} / {} / {}</td></tr>",
            escape_within(&named.name, 150),
            when.unwrap_or_default(),
            count(Outcome::Passed),
            count(Outcome::Failed),
            count(Outcome::Skipped),
        )
    };
    let rows: String = report.runs.iter().enumerate().map(row).collect();
    let table = format!(
        "<div class=\"scroll\"><table><thead><tr><th>run</th><th class=\"n\">started, UTC</th>\
         <th class=\"n\">passed / failed / skipped</th></tr></thead><tbody>{rows}</tbody></table></div>"
    );
    fold(&format!("{} runs", report.runs.len()), &table, report.runs.len() <= SHOWN)
}

/// Lines about failures, what is missing, and a noisy host.
fn attention(run: &BenchmarkSuiteRun) -> Vec<String> {
    let mut lines = Vec::new();
    if run.state != RunState::Complete {
        let text =
            "<li class=\"warn\">the run did not end by itself: what had finished is here</li>";
        lines.push(text.to_owned());
    }
    for (outcome, word, class) in
        [(Outcome::Failed, "failed", "bad"), (Outcome::Skipped, "skipped", "warn")]
    {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for result in run.benchmarks.iter().filter(|result| result.outcome == outcome) {
            let reason = result.error_message.clone().unwrap_or_else(|| "no reason given".into());
            let name = format!("<code>{}</code>", escape_within(&result.spec.id.to_string(), 120));
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(name),
                None => reasons.push((reason, vec![name])),
            }
        }
        for (reason, names) in reasons {
            let more = names.len().saturating_sub(4);
            let mut named = names.into_iter().take(4).collect::<Vec<_>>().join(", ");
            if more > 0 {
                named.push_str(&format!(" and {more} more"));
            }
            lines.push(format!(
                "<li>{named} <span class=\"{class}\">{word}</span>: {}</li>",
                escape(&reason)
            ));
        }
    }
    let findings = run.preflight.iter().flat_map(|preflight| &preflight.findings);
    for finding in findings.filter(|finding| finding.severity == Severity::Warning) {
        lines.push(format!("<li>noisy host: {}</li>", escape(&finding.message)));
    }
    lines
}

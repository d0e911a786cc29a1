//! Markdown for a comment on a pull request: the verdict first, what changed in a table, the rest folded away. Text from
//! records stands in code spans, where neither mentions nor markup work. A comment on the common hosts holds 65,536
//! characters, so tables stop before that and say what they left out.

use std::fmt::Write;

use warpt_bench::record::{BenchmarkSuiteRun, Outcome};
use warpt_history::compare::{Change, RecordComparison};
use warpt_stats::paired::Verdict;

use crate::compare::signed;
use crate::number::{percent, significant};
use crate::report::{Report, identifier};
use crate::text::inert;

/// Where tables stop.
const MAX_CHARS: usize = 55_000;

pub(super) fn render(report: &Report) -> String {
    let mut text = format!("### {}\n\n", plain(&report.title));
    if let Some(comparison) = &report.comparison {
        compared(&mut text, comparison);
    }
    for named in &report.runs {
        if report.comparison.is_none() || report.runs.len() == 1 {
            run(&mut text, &named.name, &named.run, report.comparison.is_some());
        }
    }
    text
}

fn compared(text: &mut String, comparison: &RecordComparison) {
    let counts = &comparison.counts;
    let verdict = match comparison.verdict() {
        Verdict::Worse => "**Worse.**",
        Verdict::Better => "**Better.**",
        Verdict::Same => "**No change.**",
        Verdict::Inconclusive => "**Inconclusive.**",
    };
    let broken = match counts.broken {
        0 => String::new(),
        count => format!(", {count} passed before and fail now"),
    };
    let (worse, better, same) = (counts.worse, counts.better, counts.same);
    let (inconclusive, refused) = (counts.inconclusive, counts.refused);
    put(
        text,
        &format!(
            "{verdict} {worse} worse, {better} better, {same} same, {inconclusive} inconclusive, {refused} not compared{broken}.\n\n\
         Baseline {}, candidate {}. _{}._\n\n",
            code(&comparison.a.name, 150),
            code(&comparison.b.name, 150),
            plain(&comparison.caveat)
        ),
    );
    if let Some(score) = &comparison.score {
        let sentence = match (score.value, &score.refusal) {
            (Some(value), _) => format!(
                "{value:.3}, geometric mean of {} ratios to {} (above 1 is better)",
                score.members.len(),
                code(&score.baseline, 150)
            ),
            (None, reason) => format!("none: {}", plain(reason.as_deref().unwrap_or_default())),
        };
        put(text, &format!("Score {}: {sentence}.\n\n", code(&score.name, 80)));
    }
    let of = |wanted: &[Verdict]| -> Vec<&Change> {
        let is_result = |change: &&Change| !change.supporting && wanted.contains(&change.verdict);
        comparison.changes.iter().filter(is_result).collect()
    };
    table(text, &of(&[Verdict::Worse]));
    table(text, &of(&[Verdict::Better]));
    if !comparison.differences.is_empty() {
        put(text, "<details><summary>What differs between the two machines and runs</summary>\n\n");
        put(text, "| | baseline | candidate |\n|---|---|---|\n");
        for difference in &comparison.differences {
            let show =
                |value: &Option<String>| value.as_ref().map_or("unknown".into(), |v| code(v, 120));
            put(
                text,
                &format!(
                    "| {} | {} | {} |\n",
                    plain(&difference.name),
                    show(&difference.a),
                    show(&difference.b)
                ),
            );
        }
        put(text, "\n</details>\n\n");
    }
    for (title, wanted) in [("Inconclusive", Verdict::Inconclusive), ("Same", Verdict::Same)] {
        let changes = of(&[wanted]);
        if !changes.is_empty() {
            put(text, &format!("<details><summary>{title}: {}</summary>\n\n", changes.len()));
            table(text, &changes);
            put(text, "</details>\n\n");
        }
    }
    let refusals: Vec<_> = comparison.refusals.iter().filter(|r| !r.supporting).collect();
    if !refusals.is_empty() {
        put(text, &format!("<details><summary>Not compared: {}</summary>\n\n", refusals.len()));
        let mut shown = 0;
        for refusal in &refusals {
            let what = refusal.metric.as_deref().unwrap_or(&refusal.benchmark);
            let line = format!("- {}: {}\n", code(what, 200), code(&refusal.reason, 300));
            if !put_within(text, &line) {
                break;
            }
            shown += 1;
        }
        left_out(text, refusals.len() - shown);
        put(text, "\n</details>\n\n");
    }
}

fn table(text: &mut String, changes: &[&Change]) {
    if changes.is_empty() {
        return;
    }
    put(
        text,
        "| metric | baseline | candidate | change | 95% within runs | verdict |\n|---|--:|--:|--:|--:|---|\n",
    );
    let mut shown = 0;
    for change in changes {
        let interval = change
            .relative_interval()
            .map_or("?".into(), |(low, high)| format!("{} … {}", signed(low), signed(high)));
        let mut line = format!(
            "| {} | {} | {} {} | {} | {interval} | {} |\n",
            code(&change.metric, 200),
            significant(change.a),
            significant(change.b),
            code(&change.unit, 20),
            signed(change.relative()),
            change.verdict
        );
        if let (true, Some(first)) = (change.verdict == Verdict::Worse, change.explanations.first())
        {
            let more = change.explanations.len() - 1;
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            line.push_str(&format!(
                "| ↳ could explain it: {}{more} | | | | | |\n",
                code(first, 150)
            ));
        }
        if !put_within(text, &line) {
            break;
        }
        shown += 1;
    }
    left_out(text, changes.len() - shown);
    put(text, "\n");
}

fn run(text: &mut String, name: &str, run: &BenchmarkSuiteRun, folded: bool) {
    let counts = [Outcome::Passed, Outcome::Failed, Outcome::Skipped].map(|o| run.count(o));
    let [passed, failed, skipped] = counts;
    let line = format!("{}: {passed} passed, {failed} failed, {skipped} skipped", code(name, 150));
    if folded {
        put(text, "<details><summary>Results of the candidate</summary>\n\n");
    }
    put(text, &format!("{line}.\n\n"));
    for result in run.benchmarks.iter().filter(|result| result.outcome == Outcome::Failed) {
        let reason = result.error_message.as_deref().unwrap_or("no reason given");
        let line =
            format!("- {} failed: {}\n", code(&result.spec.id.to_string(), 200), code(reason, 500));
        put_within(text, &line);
    }
    put(text, "\n| metric | median | ± 95% | detects | of limit |\n|---|--:|--:|--:|--:|\n");
    let metrics: Vec<_> = run
        .benchmarks
        .iter()
        .flat_map(|result| result.metrics.iter().map(move |metric| (result, metric)))
        .filter(|(_, metric)| !metric.supporting)
        .collect();
    let mut shown = 0;
    for (result, metric) in &metrics {
        let summary = metric.summary.as_ref();
        let share = |value: Option<f64>| value.map_or_else(String::new, percent);
        let mark = if metric.verified == Some(true) { "" } else { " (unverified)" };
        let line = format!(
            "| {}{mark} | {} {} | {} | {} | {} |\n",
            code(&identifier(result, metric), 200),
            significant(metric.value),
            code(&metric.unit, 20),
            share(summary.map(|summary| summary.relative_half_width)),
            share(summary.map(|summary| summary.minimum_detectable_effect)),
            share(metric.ceiling.as_ref().map(|ceiling| ceiling.fraction)),
        );
        if !put_within(text, &line) {
            break;
        }
        shown += 1;
    }
    left_out(text, metrics.len() - shown);
    put(text, if folded { "\n</details>\n\n" } else { "\n" });
}

fn put(text: &mut String, more: &str) {
    text.write_str(more).expect("text grows");
}

/// Adds a line unless the comment would become too long.
fn put_within(text: &mut String, line: &str) -> bool {
    let fits = text.chars().count() + line.chars().count() <= MAX_CHARS;
    if fits {
        put(text, line);
    }
    fits
}

fn left_out(text: &mut String, count: usize) {
    if count > 0 {
        put(text, &format!("\n{count} more are left out to keep this comment short.\n"));
    }
}

/// Text from outside as a code span: nothing in it is markup, a link or a mention.
fn code(text: &str, max_chars: usize) -> String {
    let inert = inert(text, max_chars).replace('`', "'").replace('|', "¦");
    let inert = inert.trim();
    if inert.is_empty() { String::new() } else { format!("`{inert}`") }
}

/// Words of ours, and short text that reads better outside of a code span; markup in it is escaped.
fn plain(text: &str) -> String {
    let mut escaped = String::new();
    for c in inert(text, 300).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '@' => escaped.push_str("&#64;"),
            '|' => escaped.push('¦'),
            '\\' | '*' | '_' | '[' | ']' | '#' | '~' | '!' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            // Our own sentences name commands this way; an unpaired one only shows itself.
            '`' => escaped.push('\''),
            c => escaped.push(c),
        }
    }
    escaped.replace("://", ":&#47;/").replace("www.", "www&#46;")
}

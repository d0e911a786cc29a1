//! A benchmark's result and a whole run as a page.

use warpt_bench::record::{
    BenchmarkMetric, BenchmarkRunResult, BenchmarkSuiteRun, Outcome, RunState,
};
use warpt_machine::preflight::{Preflight, Severity};

use crate::number::{percent, seconds, significant};
use crate::table::TextTable;
use crate::text::{BAD, CAUTION, FAINT, GOOD, HEADING, clean, inert, styled, wrap};

/// One finished benchmark: a heading, its metrics, what a reader should know.
pub fn benchmark(result: &BenchmarkRunResult, width: usize) -> String {
    let mut page = heading(result);
    let mut table = TextTable::new(&["metric", "median", "unit", "± 95%", "detects", "of limit"])
        .right(&[1, 3, 4, 5]);
    for metric in result.metrics.iter().filter(|metric| !metric.supporting) {
        table.row(&row(metric));
    }
    if !table.is_empty() {
        page.push_str(&table.render(width));
    }
    for ceiling in ceilings(result) {
        page.push_str(&styled(FAINT, &format!("  {}", wrap(&ceiling, width - 2, "    "))));
        page.push('\n');
    }
    for note in notes(result) {
        let text = wrap(&format!("note: {note}"), width - 2, "    ");
        page.push_str(&format!("  {}\n", styled(CAUTION, &text)));
    }
    page
}

fn heading(result: &BenchmarkRunResult) -> String {
    let name = styled(HEADING, &inert(&result.spec.id.to_string(), 200));
    let took = result.end_time.duration_since(result.start_time).as_secs_f64();
    let reason = clean(result.error_message.as_deref().unwrap_or("no reason given"));
    match result.outcome {
        Outcome::Passed => {
            let checks = match result.checks.len() {
                0 => "no checks".to_owned(),
                1 => "1 check held".to_owned(),
                count => format!("{count} checks held"),
            };
            format!("{name}  {} in {}, {checks}\n", styled(GOOD, "passed"), seconds(took))
        }
        Outcome::Failed => {
            let text = wrap(&format!("failed: {reason}"), 78, "    ");
            format!("{name}\n  {}\n", styled(BAD, &text))
        }
        Outcome::Skipped => {
            let text = wrap(&format!("skipped: {reason}"), 78, "    ");
            format!("{name}\n  {}\n", styled(CAUTION, &text))
        }
    }
}

/// What a metric is called in a table: its name and its tags, numbers with their key.
pub fn label(metric: &BenchmarkMetric) -> String {
    let mut label = metric.name.clone();
    for (key, value) in metric.tags.iter().flatten() {
        if value.starts_with(|c: char| c.is_ascii_digit()) {
            label.push_str(&format!(" {key}={value}"));
        } else {
            label.push_str(&format!(" {value}"));
        }
    }
    label
}

fn row(metric: &BenchmarkMetric) -> [String; 6] {
    let summary = metric.summary.as_ref();
    let unverified = metric.verified.is_none_or(|verified| !verified);
    let mark = if unverified { " (unverified)" } else { "" };
    [
        format!("{}{mark}", label(metric)),
        significant(metric.value),
        metric.unit.clone(),
        summary.map_or_else(String::new, |summary| percent(summary.relative_half_width)),
        summary.map_or_else(String::new, |summary| percent(summary.minimum_detectable_effect)),
        metric.ceiling.as_ref().map_or_else(String::new, |ceiling| percent(ceiling.fraction)),
    ]
}

/// One line per kind of warning: the first of its kind in full, and how many more there are in the record.
fn notes(result: &BenchmarkRunResult) -> Vec<String> {
    let hidden: Vec<&str> =
        result.metrics.iter().filter(|m| m.supporting).filter_map(|m| m.id.as_deref()).collect();
    let mut kinds: Vec<(&str, String, usize)> = Vec::new();
    for warning in &result.warnings {
        if warning.metric.as_deref().is_some_and(|metric| hidden.contains(&metric)) {
            continue;
        }
        match kinds.iter_mut().find(|(code, _, _)| *code == warning.code) {
            Some((_, _, more)) => *more += 1,
            None => kinds.push((&warning.code, clean(&warning.message), 0)),
        }
    }
    let line = |(_, message, more): (&str, String, usize)| match more {
        0 => message,
        more => format!("{message} (and {more} more of this kind in the record)"),
    };
    kinds.into_iter().map(line).collect()
}

/// Each distinct limit once.
fn ceilings(result: &BenchmarkRunResult) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for ceiling in result.metrics.iter().filter_map(|metric| metric.ceiling.as_ref()) {
        let source = clean(&ceiling.source);
        if !seen.contains(&source) {
            seen.push(source);
        }
    }
    match seen.len() {
        0 => Vec::new(),
        1..=3 => seen.into_iter().map(|source| format!("limit: {source}")).collect(),
        _ => vec![result.spec.ceiling.as_deref().map_or_else(
            || "limits: each metric's is in the record".to_owned(),
            |sentence| format!("limit: {}", clean(sentence)),
        )],
    }
}

/// The last lines of a run.
pub fn summary(run: &BenchmarkSuiteRun) -> String {
    let (passed, failed, skipped) =
        (run.count(Outcome::Passed), run.count(Outcome::Failed), run.count(Outcome::Skipped));
    let mut parts = vec![format!("{passed} passed")];
    if failed > 0 {
        parts.push(styled(BAD, &format!("{failed} failed")));
    }
    if skipped > 0 {
        parts.push(styled(CAUTION, &format!("{skipped} skipped")));
    }
    let mut line = parts.join(", ");
    if run.state == RunState::Interrupted {
        line.push_str("; interrupted, what had finished is kept");
    }
    format!("{line}\n")
}

/// What makes the host noisy, before a run.
pub fn preflight(preflight: &Preflight, width: usize) -> String {
    let mut page = String::new();
    for finding in preflight.findings.iter().filter(|finding| finding.severity == Severity::Warning)
    {
        let text = format!("{}: {}", clean(&finding.message), clean(&finding.advice));
        page.push_str(&format!(
            "{}\n",
            styled(CAUTION, &wrap(&format!("noise: {text}"), width, "  "))
        ));
    }
    page
}

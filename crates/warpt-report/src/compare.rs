//! Two records side by side in the terminal: what changed, what could explain it, what was not compared and why.
//! Differences come first; where there are many metrics, those that stayed the same are only counted.

use warpt_history::compare::{Change, RecordComparison, RecordSide, Refusal, Score};
use warpt_stats::paired::Verdict;

use crate::number::{percent, significant};
use crate::table::TextTable;
use crate::text::{BAD, CAUTION, FAINT, GOOD, HEADING, clean, inert, styled, wrap};

/// Up to so many results are all shown; beyond it the unchanged ones are counted.
const SHOW_ALL: usize = 40;
/// Refusals shown in full.
const SHOW_REFUSALS: usize = 12;
/// Explanations shown with a benchmark.
const SHOW_EXPLANATIONS: usize = 7;

/// The whole page. `everything` shows unchanged and supporting metrics too.
pub fn page(comparison: &RecordComparison, width: usize, everything: bool) -> String {
    let mut page = String::new();
    page.push_str(&side("A", &comparison.a));
    page.push_str(&side("B", &comparison.b));
    page.push_str(&note(&comparison.caveat, width));
    page.push('\n');
    let shown = |change: &&Change| {
        everything
            || (!change.supporting
                && (comparison.changes.len() <= SHOW_ALL || change.verdict != Verdict::Same))
    };
    let shown: Vec<&Change> = comparison.changes.iter().filter(shown).collect();
    let mut names: Vec<&str> = shown.iter().map(|change| change.benchmark.as_str()).collect();
    names.dedup();
    for name in names {
        let changes: Vec<&Change> =
            shown.iter().copied().filter(|change| change.benchmark == name).collect();
        page.push_str(&benchmark(comparison, name, &changes, width));
    }
    page.push_str(&differences(comparison, width));
    page.push_str(&refusals(&comparison.refusals, width, everything));
    if let Some(found) = &comparison.score {
        page.push_str(&score(found, width));
    }
    page.push_str(&summary(comparison));
    page
}

fn side(letter: &str, side: &RecordSide) -> String {
    let when = side
        .start_time
        .map_or_else(String::new, |time| format!(", {}", time.strftime("%Y-%m-%d %H:%M:%S UTC")));
    let host =
        side.hostname.as_ref().map_or_else(String::new, |host| format!(", {}", inert(host, 40)));
    format!("{}  {}{when}{host}\n", styled(HEADING, letter), inert(&side.name, 120))
}

fn note(text: &str, width: usize) -> String {
    format!("{}\n", styled(FAINT, &wrap(&format!("note: {}", clean(text)), width, "  ")))
}

fn benchmark(
    comparison: &RecordComparison,
    name: &str,
    changes: &[&Change],
    width: usize,
) -> String {
    let mut page = format!("{}\n", styled(HEADING, &inert(name, 120)));
    for change in changes {
        page.push_str(&entry(change, width));
    }
    if let Some(text) = explanations(comparison, changes) {
        page.push_str(&format!("  {}\n", styled(CAUTION, &wrap(&text, width - 2, "    "))));
    }
    page
}

/// What could explain these changes in one sentence: differences of the machines by name, since they are listed in full
/// elsewhere, and what went on meanwhile with its numbers.
pub(crate) fn explanations(comparison: &RecordComparison, changes: &[&Change]) -> Option<String> {
    let sentences: Vec<(String, &str)> =
        comparison.differences.iter().map(|d| (d.sentence(), d.name.as_str())).collect();
    let mut said: Vec<String> = Vec::new();
    for explanation in changes.iter().flat_map(|change| &change.explanations) {
        let known = sentences.iter().find(|(sentence, _)| sentence == explanation);
        let text = inert(known.map_or(explanation.as_str(), |(_, name)| name), 200);
        if !said.contains(&text) {
            said.push(text);
        }
    }
    if said.is_empty() {
        return None;
    }
    // What went on meanwhile stands last and is the most telling.
    said.reverse();
    let more = said.len().saturating_sub(SHOW_EXPLANATIONS);
    said.truncate(SHOW_EXPLANATIONS);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Some(format!("could explain it: {}{more}", said.join("; ")))
}

/// Two lines: the verdict and the metric, then the values, the change, its interval and what it needs.
fn entry(change: &Change, width: usize) -> String {
    const COLUMN: usize = 16;
    let style = match change.verdict {
        Verdict::Better => GOOD,
        Verdict::Worse => BAD,
        Verdict::Inconclusive => CAUTION,
        Verdict::Same => FAINT,
    };
    let verdict = styled(style, &format!("{:<14}", change.verdict));
    let indent = " ".repeat(COLUMN);
    let label = wrap(&inert(&label(change), 300), width.saturating_sub(COLUMN), &indent);
    let interval = change
        .relative_interval()
        .map_or("?".into(), |(low, high)| format!("{} … {}", signed(low), signed(high)));
    let needed = change.threshold.map_or("?".into(), |needed| signed(needed).replace('+', "±"));
    let values = format!(
        "{} -> {} {}   {}   ({interval}; needs {needed})",
        significant(change.a),
        significant(change.b),
        inert(&change.unit, 24),
        styled(style, &signed(change.relative())),
    );
    format!("  {verdict}{label}\n{indent}{values}\n")
}

/// The metric's name and tags; a word is clear without its key, a number is not.
fn label(change: &Change) -> String {
    let mut label = change.name.clone();
    for tag in &change.tags {
        let value = tag.split_once('=').map_or(tag.as_str(), |(_, value)| value);
        let number = value.starts_with(|c: char| c.is_ascii_digit());
        label.push_str(&format!(" {}", if number { tag } else { value }));
    }
    label
}

/// A relative change: per cent with its sign, or a factor where that says more.
pub(crate) fn signed(share: f64) -> String {
    let factor = 1.0 + share;
    match factor {
        _ if !share.is_finite() => "?".to_owned(),
        factor if factor >= 1000.0 => "> x999".to_owned(),
        factor if factor >= 3.0 => format!("x{}", brief(factor)),
        factor if factor <= 0.001 => "< x0.001".to_owned(),
        _ if share >= 0.0 => format!("+{}", percent(share)),
        _ => percent(share),
    }
}

fn brief(factor: f64) -> String {
    if factor >= 10.0 { format!("{factor:.0}") } else { format!("{factor:.1}") }
}

fn differences(comparison: &RecordComparison, width: usize) -> String {
    if comparison.differences.is_empty() {
        return format!("{}\n", styled(FAINT, "machine and software: no difference found"));
    }
    let mut table = TextTable::new(&["", "A", "B"]);
    for difference in &comparison.differences {
        let show = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
        table.row(&[difference.name.clone(), show(&difference.a), show(&difference.b)]);
    }
    format!("{}\n{}", styled(HEADING, "what differs"), table.render(width))
}

fn refusals(refusals: &[Refusal], width: usize, everything: bool) -> String {
    let shown: Vec<&Refusal> =
        refusals.iter().filter(|refusal| everything || !refusal.supporting).collect();
    if shown.is_empty() {
        return String::new();
    }
    let mut page = format!("{}\n", styled(HEADING, "not compared"));
    let limit = if everything { usize::MAX } else { SHOW_REFUSALS };
    for refusal in shown.iter().take(limit) {
        let what = refusal.metric.as_deref().unwrap_or(&refusal.benchmark);
        let text = format!("{}: {}", inert(what, 200), inert(&refusal.reason, 500));
        page.push_str(&format!("  {}\n", wrap(&text, width - 2, "    ")));
    }
    if shown.len() > limit {
        page.push_str(&format!("  and {} more (--all shows them)\n", shown.len() - limit));
    }
    page
}

fn score(score: &Score, width: usize) -> String {
    let name = inert(&score.name, 80);
    let baseline = inert(&score.baseline, 120);
    let Some(value) = score.value else {
        let reason = score.refusal.as_deref().unwrap_or("no reason given");
        let text = wrap(&format!("no score {name}: {reason}"), width, "  ");
        return format!("{}\n", styled(CAUTION, &text));
    };
    let interval = match (score.low, score.high) {
        (Some(low), Some(high)) => format!(" ({low:.3} … {high:.3})"),
        _ => String::new(),
    };
    let members: Vec<String> = score
        .members
        .iter()
        .map(|member| format!("{} {:.3}", inert(&member.metric, 120), member.ratio))
        .collect();
    let mut text = format!(
        "score {name}: {value:.3}{interval}, geometric mean of {} ratios to {baseline} (above 1 is better)",
        members.len()
    );
    if !score.missing.is_empty() {
        text.push_str(&format!("; {} members are missing", score.missing.len()));
    }
    let members = wrap(&format!("members: {}", members.join("; ")), width - 2, "    ");
    format!("{}\n  {}\n", styled(HEADING, &wrap(&text, width, "  ")), styled(FAINT, &members))
}

fn summary(comparison: &RecordComparison) -> String {
    let counts = &comparison.counts;
    let part = |count: usize, word: &str, style| {
        let text = format!("{count} {word}");
        if count > 0 { styled(style, &text) } else { text }
    };
    let mut parts = vec![
        part(counts.worse, "worse", BAD),
        part(counts.better, "better", GOOD),
        format!("{} same", counts.same),
        part(counts.inconclusive, "inconclusive", CAUTION),
        part(counts.refused, "not compared", CAUTION),
    ];
    if counts.broken > 0 {
        parts.push(styled(BAD, &format!("{} passed in A and failed in B", counts.broken)));
    }
    format!("{}\n", parts.join(", "))
}

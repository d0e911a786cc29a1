//! The gate's report as a page: the verdict, then every finding with what it was held to and what it could have seen.

use warpt_history::gate::{Finding, GateReport, Outcome};

use crate::number::{percent, significant};
use crate::table::TextTable;
use crate::text::{BAD, CAUTION, FAINT, GOOD, HEADING, clean, styled, wrap};

/// The page.
pub fn page(report: &GateReport, width: usize) -> String {
    let mut page = format!(
        "{}\n",
        wrap(
            &format!(
                "{}  {} against {}, by {}",
                styled(style(report.verdict), report.verdict.word()),
                clean(&report.candidate),
                clean(&report.baseline),
                clean(&report.rules),
            ),
            width,
            "  "
        )
    );
    let judged: Vec<&Finding> =
        report.findings.iter().filter(|finding| finding.worsening.is_some()).collect();
    let mut benchmarks: Vec<&str> = Vec::new();
    for finding in &judged {
        let (benchmark, _) = parts(&finding.subject);
        if !benchmarks.contains(&benchmark) {
            benchmarks.push(benchmark);
        }
    }
    for benchmark in benchmarks {
        page.push_str(&format!("{}\n", styled(HEADING, &clean(benchmark))));
        let mut table = TextTable::new(&[
            "metric", "verdict", "before", "after", "worse", "limit", "detects", "again",
        ])
        .right(&[2, 3, 4, 5, 6, 7]);
        for finding in judged.iter().filter(|one| parts(&one.subject).0 == benchmark) {
            table.row(&row(finding));
        }
        page.push_str(&table.render(width));
    }
    for finding in report.findings.iter().filter(|one| one.outcome != Outcome::Pass) {
        let subject = styled(HEADING, &clean(&finding.subject));
        let word = styled(style(finding.outcome), finding.outcome.word());
        page.push_str(&format!("{subject}  {word}\n"));
        for reason in &finding.reasons {
            page.push_str(&format!(
                "  {}\n",
                wrap(&clean(reason), width.saturating_sub(2), "    ")
            ));
        }
    }
    for note in &report.notes {
        let text = wrap(&format!("note: {}", clean(note)), width, "    ");
        page.push_str(&format!("{}\n", styled(CAUTION, &text)));
    }
    page.push_str(&format!("{}\n", styled(FAINT, &summary(report))));
    page
}

fn summary(report: &GateReport) -> String {
    let mut parts = vec![format!("{} guarded", report.guarded)];
    for outcome in [
        Outcome::Pass,
        Outcome::Regression,
        Outcome::Broken,
        Outcome::ExpiredException,
        Outcome::Inconclusive,
        Outcome::Excepted,
    ] {
        match report.count(outcome) {
            0 => {}
            count => parts.push(format!("{count} {}", outcome.word())),
        }
    }
    for (count, word) in [(report.unguarded, "not guarded"), (report.ignored, "ignored")] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    parts.join(", ")
}

fn row(finding: &Finding) -> [String; 8] {
    let number = |value: Option<f64>| value.map_or_else(String::new, significant);
    // Beyond tenfold only the size matters, and the columns are narrow.
    let short = |share: f64| if share >= 10.0 { ">999%".to_owned() } else { percent(share) };
    let share = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), short);
    [
        label(parts(&finding.subject).1, finding.unit.as_deref()),
        finding.outcome.word().to_owned(),
        number(finding.before),
        number(finding.after),
        share(finding.worsening),
        share(finding.limit),
        share(finding.minimum_detectable_effect),
        finding.remeasured.map_or_else(String::new, short),
    ]
}

/// The benchmark and the metric of an identifier.
fn parts(id: &str) -> (&str, &str) {
    let name_end = id.find('{').unwrap_or(id.len());
    match id[..name_end].rfind('/') {
        Some(slash) => (&id[..slash], &id[slash + 1..]),
        None => ("", id),
    }
}

/// A metric as tables name it: its name, its tags (numbers with their key), its unit.
fn label(metric: &str, unit: Option<&str>) -> String {
    let (name, tags) = metric.split_once('{').unwrap_or((metric, ""));
    let mut label = name.to_owned();
    for tag in tags.trim_end_matches('}').split(',').filter(|tag| !tag.is_empty()) {
        let value = tag.split_once('=').map_or(tag, |(_, value)| value);
        let shown = if value.starts_with(|c: char| c.is_ascii_digit()) { tag } else { value };
        label.push_str(&format!(" {shown}"));
    }
    match unit {
        Some(unit) => format!("{label}, {unit}"),
        None => label,
    }
}

fn style(outcome: Outcome) -> anstyle::Style {
    match outcome {
        Outcome::Pass => GOOD,
        Outcome::Inconclusive | Outcome::Excepted => CAUTION,
        Outcome::Regression | Outcome::ExpiredException | Outcome::Broken => BAD,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_taken_apart_whatever_they_hold() {
        assert_eq!(parts("micro/mem/rate{path=/a/b}"), ("micro/mem", "rate{path=/a/b}"));
        assert_eq!(parts("odd"), ("", "odd"));
        assert_eq!(label("rate{kernel=copy,threads=2}", Some("GB/s")), "rate copy threads=2, GB/s");
        assert_eq!(label("rate", None), "rate");
    }

    #[test]
    fn the_page_is_narrow_and_inert() {
        let json = serde_json::json!({
            "schema_version": 1, "verdict": "regression", "baseline": "a\u{1b}[2J.json", "candidate": "b.json",
            "rules": "warpt-gate.toml", "judged_at": "2026-01-01T00:00:00Z", "guarded": 1, "unguarded": 2, "ignored": 0,
            "findings": [
                {"subject": "s/b/time{n=1}", "outcome": "regression", "before": 100.0, "after": 120.0, "unit": "ns",
                 "worsening": 0.2, "limit": 0.05, "minimum_detectable_effect": 0.01, "remeasured": 0.19,
                 "reasons": ["measured again it is 19.0% worse; the limit is 5.0%"]},
                {"subject": "s/c *", "outcome": "expired_exception", "reasons": ["the exception ended\u{7}"]},
            ],
            "notes": ["x".repeat(300)],
        });
        let report: GateReport = serde_json::from_value(json).unwrap();
        let text = page(&report, 80);
        let plain: String = anstream_free(&text);
        assert!(!plain.contains('\u{1b}') && !plain.contains('\u{7}'), "{plain:?}");
        assert!(plain.lines().all(|line| line.chars().count() <= 80), "{plain}");
        for part in
            ["regression", "time n=1, ns", "20%", "5.0%", "1.0%", "19%", "expired", "2 not guarded"]
        {
            assert!(plain.contains(part), "{part}: {plain}");
        }
    }

    /// The text without the styles this crate adds itself.
    fn anstream_free(text: &str) -> String {
        let mut plain = text.to_owned();
        for style in [HEADING, FAINT, GOOD, CAUTION, BAD] {
            plain = plain
                .replace(&style.render().to_string(), "")
                .replace(&style.render_reset().to_string(), "");
        }
        plain
    }
}

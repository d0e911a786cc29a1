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
    let mut table = TextTable::new(&[
        "metric", "verdict", "before", "after", "worse by", "limit", "detects", "again",
    ])
    .right(&[2, 3, 4, 5, 6, 7]);
    for finding in report.findings.iter().filter(|finding| finding.worsening.is_some()) {
        table.row(&row(finding));
    }
    if !table.is_empty() {
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
    let share = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), percent);
    let unit = finding.unit.as_deref().unwrap_or_default();
    [
        finding.subject.clone(),
        finding.outcome.word().to_owned(),
        number(finding.before),
        format!("{} {unit}", number(finding.after)),
        share(finding.worsening),
        share(finding.limit),
        share(finding.minimum_detectable_effect),
        finding.remeasured.map_or_else(String::new, percent),
    ]
}

fn style(outcome: Outcome) -> anstyle::Style {
    match outcome {
        Outcome::Pass => GOOD,
        Outcome::Inconclusive | Outcome::Excepted => CAUTION,
        Outcome::Regression | Outcome::ExpiredException | Outcome::Broken => BAD,
    }
}

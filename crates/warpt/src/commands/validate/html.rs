//! A validation as one HTML page that needs nothing else. Names in bundles and results come from strangers: every text of theirs
//! goes through `escape`.

use std::path::Path;

use jiff::Timestamp;
use warpforge_golden::{Bundle, Run};
use warpforge_validate::{FreeRun, FreeVerdict, Judged, Validation};
use warpt_bench::BenchmarkSuiteRun;
use warpt_report::html::markup::{cell, escape, escape_within, facts, fold, table, tile};
use warpt_report::html::{Section, curves, document, machine};
use warpt_report::number::seconds;

use super::divergence::Found;
use super::{free_run, page};
use crate::commands::golden;

/// Mismatches, and activations that were not judged, that are shown.
const SHOWN: usize = 200;
/// Charts that are open from the start.
const OPEN: usize = 24;
/// What stands at the end of a page.
const NOTE: &str = "Judged by a golden bundle of plain PyTorch.";

/// What a page shows beside what was found.
pub(super) struct About<'a> {
    /// Where the bundle lies, as it was named.
    pub(super) directory: &'a Path,
    pub(super) bundle: &'a Bundle,
    /// The machine and what happened on it; none where the results came from elsewhere.
    pub(super) record: Option<&'a BenchmarkSuiteRun>,
}

/// The page of steps.
pub(super) fn steps(validation: &Validation, found: Option<&Found>, about: &About<'_>) -> String {
    let wrong = validation.mismatches().count();
    let judged = validation.judged();
    let class = match (judged, wrong) {
        (0, _) => "warn",
        (_, 0) => "good",
        _ => "bad",
    };
    let tiles = [
        tile(&judged.to_string(), "judged", ""),
        tile(&(judged - wrong).to_string(), "match", if wrong == 0 { "good" } else { "" }),
        tile(&wrong.to_string(), "mismatch", if wrong > 0 { "bad" } else { "" }),
        tile(&validation.unobserved.len().to_string(), "not judged", ""),
        tile(&validation.timing.len().to_string(), "steps", ""),
    ];
    let sections = [
        verdict(&page::headline(validation), class, &tiles, &validation.run, about),
        Section::new("begins", "Where it begins", found.map(begins).unwrap_or_default()),
        Section::new("mismatches", "Mismatches", mismatches(validation)),
        Section::new("steps", "By step and kind", by_kind(validation)),
        Section::new("unjudged", "Not judged", unjudged(validation)),
        Section::new("time", "Time", times(validation)),
        bundle(about),
        here(about),
    ];
    whole(&validation.recipe, &sections)
}

/// The page of free runs.
pub(super) fn free_runs(found: &FreeRun, about: &About<'_>) -> String {
    let class = match found.verdict {
        FreeVerdict::Match => "good",
        FreeVerdict::Mismatch | FreeVerdict::GoldenMissesTarget => "bad",
        FreeVerdict::Inconclusive => "warn",
    };
    let p_value = found.p_value.map_or_else(|| "none".to_owned(), |p| format!("{p:.4}"));
    let steps = found.curves.first().map_or(0, |curve| curve.loss.len());
    let tiles = [
        tile(&found.curves.len().to_string(), "seeds", ""),
        tile(&steps.to_string(), "steps of each", ""),
        tile(&p_value, "p of whole curves", ""),
    ];
    let rows: String =
        found.curves.iter().map(|curve| cells(&free_run::COLUMNS, &free_run::row(curve))).collect();
    let columns: Vec<(&str, &str)> = free_run::COLUMNS.iter().map(|name| (*name, "n")).collect();
    let seeds = format!("<p>{}</p>\n{}", escape(&free_run::summary(found)), table(&columns, &rows));
    let mark = |holds: bool| if holds { "good" } else { "bad" };
    let beside: String = free_run::beside(found)
        .iter()
        .map(|(line, holds)| {
            format!("<p class=\"{}\">{}</p>\n", mark(*holds), escape_within(line, 2000))
        })
        .collect();
    let sections = [
        verdict(&free_run::headline(found), class, &tiles, &found.run, about),
        Section::new("beside", "Beside the curves", beside),
        Section::new("curves", "Loss curves", charts(found)),
        Section::new("seeds", "By seed", seeds),
        bundle(about),
        here(about),
    ];
    whole(&found.recipe, &sections)
}

fn whole(recipe: &str, sections: &[Section]) -> String {
    document(&format!("warpt validate: {recipe}"), sections, Some(Timestamp::now()), NOTE)
}

/// The verdict and how it was run.
fn verdict(headline: &str, class: &str, tiles: &[String], run: &Run, about: &About<'_>) -> Section {
    let threads = run.threads.map_or_else(|| "one".to_owned(), |threads| threads.to_string());
    let how = facts([
        ("bundle", escape(&about.directory.display().to_string())),
        ("tier", escape(&run.tier)),
        ("precision", escape(&run.precision)),
        ("threads", threads),
        ("run by", escape(&run.producer)),
    ]);
    let body = format!(
        "<div class=\"panel\"><b class=\"{class}\">{}</b></div>\n\
         <div class=\"tiles\">{}</div>\n<div class=\"panel\">{how}</div>\n",
        escape(headline),
        tiles.concat()
    );
    Section::new("verdict", "Verdict", body)
}

fn begins(found: &Found) -> String {
    let mut body =
        format!("<div class=\"panel\"><p>{}</p>", escape_within(&found.sentence(), 2000));
    if let Some(command) = found.command() {
        body.push_str(&format!(
            "<p class=\"small\">Alone: <code>{}</code></p>\
             <p class=\"small soft\">found0 in that file is what was computed, wanted0 what it should be.</p>",
            escape_within(&command.join(" "), 2000)
        ));
    }
    body.push_str("</div>\n");
    body
}

fn mismatches(validation: &Validation) -> String {
    let wrong = validation.mismatches().count();
    if wrong == 0 {
        return String::new();
    }
    let columns = ["step", "compared", "tensor", "elements beyond", "used", "worst", "allowed"];
    let row = |judged: &Judged| {
        let comparison = &judged.comparison;
        let worst = comparison.worst.as_ref().map_or_else(String::new, ToString::to_string);
        cells(
            &columns,
            &[
                judged.step.map_or_else(|| "end".to_owned(), |step| step.to_string()),
                judged.kind.to_string(),
                page::named(judged),
                format!("{} of {}", comparison.mismatches, comparison.elements),
                page::used(judged.share()),
                worst,
                comparison.tolerance.to_string(),
            ],
        )
    };
    let rows: String = validation.mismatches().take(SHOWN).map(row).collect();
    let columns: Vec<(&str, &str)> = columns.iter().map(|name| (*name, "")).collect();
    let mut body = String::from(
        "<p class=\"soft\">In the order of the computation: the first is where to look.</p>\n",
    );
    body.push_str(&table(&columns, &rows));
    body.push_str(&more(wrong, "--json has all"));
    body
}

fn by_kind(validation: &Validation) -> String {
    let rows: String = validation
        .summaries()
        .iter()
        .map(|summary| cells(&page::COLUMNS, &page::row(summary)))
        .collect();
    let columns: Vec<(&str, &str)> = page::COLUMNS.iter().map(|name| (*name, "")).collect();
    table(&columns, &rows)
        + "<p class=\"small soft\">own-weight is shown, not judged. Used: how much of what is allowed the worst \
           element uses.</p>\n"
}

fn unjudged(validation: &Validation) -> String {
    if validation.unobserved.is_empty() {
        return String::new();
    }
    let row = |each: &warpforge_golden::Unobserved| {
        cells(&["activation", "reason"], &[each.activation.clone(), each.reason.clone()])
    };
    let rows: String = validation.unobserved.iter().take(SHOWN).map(row).collect();
    table(&[("activation", ""), ("reason", "")], &rows)
        + &more(validation.unobserved.len(), "--json has all")
}

fn times(validation: &Validation) -> String {
    if validation.timing.is_empty() {
        return String::new();
    }
    let columns = ["step", "gradients", "update", "golden step"];
    let row = |timing: &warpforge_validate::Timing| {
        cells(
            &columns,
            &[
                timing.step.to_string(),
                seconds(timing.gradients_seconds),
                seconds(timing.update_seconds),
                timing.golden_seconds.map_or_else(String::new, seconds),
            ],
        )
    };
    let rows: String = validation.timing.iter().map(row).collect();
    let columns: Vec<(&str, &str)> = columns.iter().map(|name| (*name, "n")).collect();
    table(&columns, &rows)
        + "<p class=\"small soft\">Once each, on machines that may differ: no comparison.</p>\n"
}

fn charts(found: &FreeRun) -> String {
    let chart = |curve: &warpforge_validate::Curve| {
        let lines: [curves::Curve<'_>; 2] = [("line2", &curve.golden), ("line", &curve.loss)];
        format!(
            "<div class=\"panel\"><div class=\"small\">seed {}</div>{}</div>",
            curve.seed,
            curves::chart(&lines, &format!("losses from seed {}, here and golden", curve.seed))
        )
    };
    let grid = |charts: &[warpforge_validate::Curve]| {
        let charts: String = charts.iter().map(chart).collect();
        format!("<div class=\"grid\">{charts}</div>\n")
    };
    if found.curves.is_empty() {
        return String::new();
    }
    let (first, rest) = found.curves.split_at(found.curves.len().min(OPEN));
    let mut body = String::from(
        "<p class=\"key\"><span><i></i>here</span><span><i class=\"k2\"></i>golden</span></p>\n",
    );
    body.push_str(&grid(first));
    if !rest.is_empty() {
        body.push_str(&fold(&format!("{} more", rest.len()), &grid(rest), false));
    }
    body
}

/// What the golden run was.
fn bundle(about: &About<'_>) -> Section {
    let known = golden::facts(about.bundle);
    let known = known.iter().map(|(name, fact)| (*name, escape_within(fact, 1500)));
    Section::new("golden", "Golden run", format!("<div class=\"panel\">{}</div>\n", facts(known)))
}

/// The machine it was run on.
fn here(about: &About<'_>) -> Section {
    let body = about.record.map_or_else(
        || "<p class=\"soft\">The results do not say which machine they are from.</p>\n".to_owned(),
        machine::of_run,
    );
    Section::new("machine", "Machine", body)
}

/// A row of a table; its cells are text from anywhere.
fn cells(names: &[&str], texts: &[String]) -> String {
    let cells: String = names
        .iter()
        .zip(texts)
        .map(|(name, text)| {
            let wide = ["in", "tensor", "worst", "allowed", "activation", "reason"].contains(name);
            cell(name, if wide { "wide" } else { "n" }, &escape_within(text, 400))
        })
        .collect();
    format!("<tr>{cells}</tr>\n")
}

fn more(all: usize, where_else: &str) -> String {
    match all.saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("<p class=\"soft\">and {more} more ({where_else})</p>\n"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use warpforge_validate::{Curve, MetricJudged};

    use super::super::page::tests::strange;
    use super::*;

    const HOSTILE: &str = "<script>alert('1')</script>\"onload=x \u{202e}\u{1b}[2J&amp;";

    fn about(test: impl Fn(&About<'_>) -> String) -> String {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/mlp");
        let bundle = Bundle::open(place).unwrap();
        let page = test(&About { directory: Path::new(HOSTILE), bundle: &bundle, record: None });
        assert_eq!(page.matches("<script").count(), 1, "only ours");
        assert!(!page.contains("alert('1')") && !page.contains("\"onload"), "{page}");
        assert!(!page.contains(['\u{202e}', '\u{1b}']), "{page}");
        assert!(page.contains("default-src 'none'"), "{page}");
        assert!(!page.contains("http:") && !page.contains("https:"), "{page}");
        page
    }

    #[test]
    fn names_of_strangers_stay_text() {
        let page = about(|about| steps(&strange(HOSTILE), None, about));
        for part in ["MISMATCH: 12 of 12", "id=\"mismatches\"", "id=\"unjudged\"", "Golden run"] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(page.contains("do not say which machine"), "{page}");
        assert!(!page.contains("id=\"begins\""), "{page}");
    }

    #[test]
    fn free_runs_are_drawn() {
        let curve = |seed| Curve {
            seed,
            loss: vec![2.0, f64::NAN, 1.0],
            golden: vec![2.0, 1.5, 1.0],
            seconds: 0.1,
            step_seconds: Vec::new(),
            metrics: BTreeMap::new(),
            golden_metrics: BTreeMap::new(),
        };
        let found = FreeRun {
            recipe: HOSTILE.to_owned(),
            run: strange(HOSTILE).run,
            curves: (0..30).map(curve).collect(),
            p_value: None,
            largest_share: f64::NAN,
            final_share: 0.0,
            metrics: vec![MetricJudged {
                name: HOSTILE.to_owned(),
                own: 1.0,
                golden: 2.0,
                allowed: 0.5,
                matches: false,
            }],
            batches: None,
            targets: Vec::new(),
            speed: None,
            verdict: FreeVerdict::Mismatch,
        };
        let page = about(|about| free_runs(&found, about));
        assert_eq!(page.matches("<svg").count(), 30, "{page}");
        assert!(page.contains("6 more"), "{page}");
    }
}

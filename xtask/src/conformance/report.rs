//! What was found: a table with a row per group, the cases that did not pass, and rows in the form of the peers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::judge::Outcome;
use crate::measurement::{Goal, Measured, Row};

/// Of a group's wrong cases so many are shown unless all are asked for.
const SHOWN_PER_GROUP: usize = 3;

/// The longest text of a wrong case.
const LONGEST: usize = 400;

/// Counts of one group, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    cases: usize,
    passed: usize,
    arbitrated: usize,
    outside: usize,
    skipped: usize,
    wrong: usize,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        self.cases += 1;
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Arbitrated => {
                self.passed += 1;
                self.arbitrated += 1;
            }
            Outcome::Outside(_) => self.outside += 1,
            Outcome::Skipped(_) => self.skipped += 1,
            Outcome::Wrong(_) => self.wrong += 1,
        }
    }

    /// Those that could have been wrong.
    fn judged(self) -> usize {
        self.passed + self.wrong
    }
}

/// Everything found.
pub(super) struct Report<'a> {
    groups: &'a BTreeMap<&'a str, Vec<(&'a str, Outcome)>>,
    counts: BTreeMap<&'a str, Counts>,
    all: Counts,
    /// How many cases need each target.
    targets: BTreeMap<&'a str, usize>,
    skipped_at_most: f64,
}

impl<'a> Report<'a> {
    /// Counts.
    pub(super) fn new(
        groups: &'a BTreeMap<&'a str, Vec<(&'a str, Outcome)>>,
        skipped_at_most: f64,
    ) -> Self {
        let mut report = Self {
            groups,
            counts: BTreeMap::new(),
            all: Counts::default(),
            targets: BTreeMap::new(),
            skipped_at_most,
        };
        for (group, cases) in groups {
            let counts = report.counts.entry(group).or_default();
            for (_, outcome) in cases {
                counts.add(outcome);
                report.all.add(outcome);
                if let Outcome::Outside(targets) = outcome {
                    for target in targets {
                        *report.targets.entry(target).or_default() += 1;
                    }
                }
            }
        }
        report
    }

    /// Nothing wrong, and no more skipped than allowed.
    pub(super) fn clean(&self) -> bool {
        self.all.wrong == 0 && self.skipped_share() <= self.skipped_at_most
    }

    /// Whether a case was found wrong.
    pub(super) fn is_wrong(&self, name: &str) -> bool {
        let mut cases = self.groups.values().flatten();
        cases.any(|(case, outcome)| *case == name && matches!(outcome, Outcome::Wrong(_)))
    }

    fn skipped_share(&self) -> f64 {
        let could = self.all.judged() + self.all.skipped;
        self.all.skipped as f64 / could.max(1) as f64
    }

    /// For people.
    pub(super) fn text(&self, verbose: bool) -> String {
        let mut text = String::new();
        let heads = ["cases", "passed", "arbitrated", "outside", "skipped", "wrong"];
        let _ = write!(text, "{:<30}", "group");
        heads.iter().for_each(|head| {
            let _ = write!(text, " {head:>10}");
        });
        text.push('\n');
        let all = ("all", &self.all);
        for (group, counts) in self.counts.iter().map(|(name, counts)| (*name, counts)).chain([all])
        {
            let _ = write!(text, "{group:<30}");
            for count in [
                counts.cases,
                counts.passed,
                counts.arbitrated,
                counts.outside,
                counts.skipped,
                counts.wrong,
            ] {
                let _ = write!(text, " {count:>10}");
            }
            text.push('\n');
        }
        self.wrong(&mut text, verbose);
        for (target, count) in &self.targets {
            let _ = writeln!(text, "outside the specification: {target} in {count} cases");
        }
        let _ = write!(
            text,
            "{} cases: {} passed, {} outside the specification, {} skipped ({:.2}%), {} wrong",
            self.all.cases,
            self.all.passed,
            self.all.outside,
            self.all.skipped,
            self.skipped_share() * 100.0,
            self.all.wrong
        );
        text
    }

    fn wrong(&self, text: &mut String, verbose: bool) {
        for (group, cases) in self.groups {
            let wrong: Vec<(&str, &str)> = cases
                .iter()
                .filter_map(|(name, outcome)| match outcome {
                    Outcome::Wrong(reason) => Some((*name, reason.as_str())),
                    _ => None,
                })
                .collect();
            let shown = if verbose { wrong.len() } else { SHOWN_PER_GROUP };
            for (name, reason) in wrong.iter().take(shown) {
                let reason: String = reason.chars().take(LONGEST).collect();
                let _ = writeln!(text, "WRONG {name}: {reason}");
            }
            if wrong.len() > shown {
                let _ = writeln!(text, "WRONG and {} more of {group}", wrong.len() - shown);
            }
        }
    }

    /// In the form of the peers: how many cases passed of those that had to.
    pub(super) fn rows(&self) -> Vec<Row> {
        let row = |name: &str, counts: Counts| {
            let share = match counts.judged() {
                0 => 1.0,
                judged => counts.passed as f64 / judged as f64,
            };
            let mut notes = Vec::new();
            for (count, what) in [
                (counts.arbitrated, "decided by another oracle"),
                (counts.outside, "outside the specification"),
                (counts.skipped, "skipped"),
                (counts.wrong, "wrong"),
            ] {
                if count > 0 {
                    notes.push(format!("{count} {what}"));
                }
            }
            let measured = Measured {
                ours: counts.passed as f64,
                peer: counts.judged() as f64,
                unit: "cases",
                ratio: share,
                low: share,
                high: share,
                notes,
            };
            Row::new(name, Goal::Minimum(1.0), measured)
        };
        let mut rows: Vec<Row> =
            self.counts.iter().map(|(name, counts)| row(name, *counts)).collect();
        let mut all = row("all", self.all);
        all.met = self.clean();
        for (target, count) in &self.targets {
            all.notes.push(format!("{target} in {count} cases"));
        }
        rows.push(all);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn groups_are_counted_and_targets_named() {
        let outside = Outcome::Outside(BTreeSet::from(["lapack_sgeqrf".to_owned()]));
        let mut groups = BTreeMap::new();
        groups.insert("qr", vec![("qr_1", outside), ("qr_2", Outcome::Passed)]);
        groups.insert("add", vec![("add_1", Outcome::Passed), ("add_2", Outcome::Arbitrated)]);
        let report = Report::new(&groups, 0.02);
        assert!(report.clean());
        assert!(report.text(false).contains("outside the specification: lapack_sgeqrf in 1 cases"));
        let rows = report.rows();
        assert_eq!(rows.len(), 3);
        assert!(rows.iter().all(|row| row.met));
        assert_eq!(rows[0].notes, ["1 decided by another oracle"]);
    }

    #[test]
    fn a_wrong_case_and_too_many_skips_are_not_clean() {
        let mut groups = BTreeMap::new();
        groups.insert("add", vec![("add_1", Outcome::Wrong("2 is not 3".into()))]);
        let report = Report::new(&groups, 0.02);
        assert!(!report.clean() && report.text(false).contains("WRONG add_1: 2 is not 3"));
        let skipped = Outcome::Skipped("needs time".into());
        groups.insert("add", vec![("add_1", Outcome::Passed), ("add_2", skipped)]);
        assert!(!Report::new(&groups, 0.02).clean());
        assert!(Report::new(&groups, 0.5).clean());
    }
}

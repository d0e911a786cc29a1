//! Kept trials as rows: shares of comparisons that came out right against the share demanded, or against the share of
//! another tool. All values are shares of right answers, so that a ratio above 1 is always good.

use super::experiments::{Experiment, Kind};
use super::state::{Outcome, State};
use crate::measurement::{Goal, Measured, Row};

/// At most 1 of 100 comparisons of equal things may see a difference.
const NOT_FLAGGED: f64 = 0.99;
/// When quiet, at least so many must say `same`.
const SAME: f64 = 0.90;
/// Ours has to be better than another tool, not level with it.
const BETTER: Goal = Goal::Above { above: 1.0 };
/// Of effects of exactly the stated size at least so many must be found.
const HONEST: f64 = 0.72;

impl Experiment {
    /// The rows of what is kept.
    pub(super) fn rows(&self, state: &State) -> Vec<Row> {
        let outcomes = |arm: &str| state.outcomes(self.name, arm);
        let rows = match self.kind {
            Kind::Itself { spinners } => {
                let ours = outcomes("ours");
                let mut rows = vec![self.demanded("silent", &ours, NOT_FLAGGED, |o| !o.flagged)];
                if spinners == 0 {
                    rows.push(self.demanded("same", &ours, SAME, |o| o.verdict == "same"));
                }
                rows
            }
            Kind::Slower { power, .. } => {
                vec![self.demanded("found", &outcomes("ours"), power, |o| self.is_found(o))]
            }
            Kind::Stated => {
                vec![self.demanded("found", &outcomes("ours"), HONEST, |o| self.is_found(o))]
            }
            Kind::Rival(_) => self.beside(state).unwrap_or_else(|| {
                let name = |what: &str| format!("{}_{what}", self.name);
                let reason = "no trials of both sides";
                vec![
                    Row::unmeasured(&name("silent"), BETTER, reason),
                    Row::unmeasured(&name("found"), BETTER, reason),
                ]
            }),
        };
        let note = |mut row: Row| {
            row.notes.extend(state.why(self.name).map(|why| format!("ended early: {why}")));
            row
        };
        rows.into_iter().map(note).collect()
    }

    /// Found as slower and within the time.
    fn is_found(&self, outcome: &Outcome) -> bool {
        outcome.slower && outcome.flagged && outcome.seconds <= self.limit_seconds
    }

    fn demanded(
        &self,
        what: &str,
        outcomes: &[&Outcome],
        demanded: f64,
        is_right: impl Fn(&Outcome) -> bool,
    ) -> Row {
        let name = format!("{}_{what}", self.name);
        let goal = Goal::Minimum(1.0);
        if outcomes.is_empty() {
            return Row::unmeasured(&name, goal, "no trials");
        }
        let right = outcomes.iter().filter(|outcome| is_right(outcome)).count();
        let share = right as f64 / outcomes.len() as f64;
        let (low, high) = wilson(right, outcomes.len());
        Row::new(
            &name,
            goal,
            Measured {
                ours: share,
                peer: demanded,
                unit: "share",
                ratio: share / demanded,
                low: low / demanded,
                high: high / demanded,
                notes: vec![self.described(outcomes)],
            },
        )
    }

    fn described(&self, outcomes: &[&Outcome]) -> String {
        let count = |verdict: &str| outcomes.iter().filter(|o| o.verdict == verdict).count();
        let seconds: Vec<f64> = outcomes.iter().map(|outcome| outcome.seconds).collect();
        let longest = seconds.iter().copied().fold(0.0, f64::max);
        let stated: Vec<f64> = outcomes.iter().filter_map(|outcome| outcome.detectable).collect();
        let mut text = format!(
            "{} trials of at most {:.0} s: {} better, {} worse, {} same, {} inconclusive; took {:.1} s in the middle, {longest:.1} s at most",
            outcomes.len(),
            self.limit_seconds,
            count("better"),
            count("worse"),
            count("same"),
            count("inconclusive"),
            warpt_stats::median(&seconds),
        );
        if !stated.is_empty() {
            let middle = 100.0 * warpt_stats::median(&stated);
            text.push_str(&format!("; detectable effect stated: {middle:.2}% in the middle"));
        }
        text
    }

    /// Ours beside another tool: how often each is silent about nothing, and how often each finds 2% once the other's
    /// threshold is raised until it raises no more false alarms than ours.
    fn beside(&self, state: &State) -> Option<Vec<Row>> {
        let arm = |arm: &str| Some(state.outcomes(self.name, arm)).filter(|all| !all.is_empty());
        let (their_aa, their_2) = (arm("their_aa")?, arm("their_2")?);
        let (our_aa, our_2) = (arm("our_aa")?, arm("our_2")?);
        let share = |of: usize, all: &[&Outcome]| of as f64 / all.len() as f64;
        let flagged = |all: &[&Outcome]| all.iter().filter(|outcome| outcome.flagged).count();
        let (our_alarms, their_alarms) = (flagged(&our_aa), flagged(&their_aa));
        let threshold = matched_threshold(&their_aa, share(our_alarms, &our_aa));
        let theirs_found = their_2.iter().filter(|outcome| exceeds(outcome, threshold)).count();
        let theirs_own = their_2.iter().filter(|outcome| outcome.flagged && outcome.slower).count();
        let ours_found = our_2.iter().filter(|outcome| self.is_found(outcome)).count();
        let row = |what: &str, ours: (usize, usize), theirs: (usize, usize), note: String| {
            let (ours_share, theirs_share) =
                (ours.0 as f64 / ours.1 as f64, theirs.0 as f64 / theirs.1 as f64);
            let (our_low, our_high) = wilson(ours.0, ours.1);
            let (their_low, their_high) = wilson(theirs.0, theirs.1);
            // Nothing found by the other and something by ours is better without bound.
            let ratio = |ours: f64, theirs: f64| {
                if ours == theirs { 1.0 } else { ours / theirs.max(1e-9) }
            };
            Row::new(
                &format!("{}_{what}", self.name),
                BETTER,
                Measured {
                    ours: ours_share,
                    peer: theirs_share,
                    unit: "share",
                    ratio: ratio(ours_share, theirs_share),
                    low: ratio(our_low, their_high),
                    high: ratio(our_high, their_low),
                    notes: vec![note],
                },
            )
        };
        let alarms = format!(
            "false alarms: ours {our_alarms} of {}, theirs {their_alarms} of {} by its own rule",
            our_aa.len(),
            their_aa.len()
        );
        let power = format!(
            "+2% found: ours {ours_found} of {}, theirs {theirs_own} of {} by its own rule and {theirs_found} at our rate of false alarms",
            our_2.len(),
            their_2.len()
        );
        let silent = |alarms: usize, all: &[&Outcome]| (all.len() - alarms, all.len());
        Some(vec![
            row("silent", silent(our_alarms, &our_aa), silent(their_alarms, &their_aa), alarms),
            row("found", (ours_found, our_2.len()), (theirs_found, their_2.len()), power),
        ])
    }
}

/// The score that at most `rate` of these comparisons of equal things exceed.
fn matched_threshold(equal: &[&Outcome], rate: f64) -> f64 {
    let mut scores: Vec<f64> = equal.iter().filter_map(|outcome| outcome.score).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    let allowed = (rate * equal.len() as f64 + 1e-9) as usize;
    scores.get(allowed).copied().unwrap_or(0.0)
}

fn exceeds(outcome: &Outcome, threshold: f64) -> bool {
    outcome.slower && outcome.score.is_some_and(|score| score > threshold)
}

/// Wilson's 95% interval of a share.
fn wilson(hits: usize, trials: usize) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    let (n, p) = (trials as f64, hits as f64 / trials as f64);
    let center = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    (((center - half) / scale).max(0.0), ((center + half) / scale).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::experiments::EXPERIMENTS;
    use super::super::state::Trial;
    use super::*;

    fn state_of(trials: &[(&str, &str, Outcome)]) -> (tempfile::TempDir, State) {
        let directory = tempfile::tempdir().unwrap();
        let mut state = State::open(&directory.path().join("trials")).unwrap();
        for (index, (experiment, arm, outcome)) in trials.iter().enumerate() {
            let (experiment, arm) = ((*experiment).to_owned(), (*arm).to_owned());
            let index = u32::try_from(index).unwrap();
            state.keep(Trial { experiment, arm, index, outcome: outcome.clone() }).unwrap();
        }
        (directory, state)
    }

    fn experiment(name: &str) -> &'static Experiment {
        EXPERIMENTS.iter().find(|experiment| experiment.name == name).unwrap()
    }

    #[test]
    fn shares_are_held_against_what_is_demanded() {
        let mut trials: Vec<_> =
            (0..95).map(|_| ("aa_quiet", "ours", Outcome::sample("same", None))).collect();
        trials.extend((0..4).map(|_| ("aa_quiet", "ours", Outcome::sample("inconclusive", None))));
        trials.push(("aa_quiet", "ours", Outcome::sample("worse", None)));
        let (_directory, state) = state_of(&trials);
        let rows = experiment("aa_quiet").rows(&state);
        assert!(rows.iter().all(|row| row.met), "{rows:?}");
        assert_eq!((rows[0].ours, rows[1].ours), (Some(0.99), Some(0.95)));
        let late = Outcome { seconds: 10.1, ..Outcome::sample("worse", None) };
        let (_directory, state) = state_of(&[("slower_2", "ours", late)]);
        assert!(!experiment("slower_2").rows(&state)[0].met, "found too late is not found");
        assert!(!experiment("slower_5").rows(&state)[0].met, "not measured is not met");
    }

    #[test]
    fn another_tool_is_held_to_our_rate_of_false_alarms() {
        let theirs = |verdict: &str, score: f64| Outcome::sample(verdict, Some(score));
        let trials = [
            ("hyperfine", "their_aa", theirs("different", 4.0)),
            ("hyperfine", "their_aa", theirs("not different", 1.0)),
            ("hyperfine", "their_2", theirs("different", 3.0)),
            ("hyperfine", "their_2", theirs("different", 5.0)),
            ("hyperfine", "our_aa", Outcome::sample("same", None)),
            ("hyperfine", "our_2", Outcome::sample("worse", None)),
        ];
        let (_directory, state) = state_of(&trials);
        let rows = experiment("hyperfine").rows(&state);
        assert_eq!((rows[0].ours, rows[0].peer), (Some(1.0), Some(0.5)));
        assert_eq!((rows[1].ours, rows[1].peer), (Some(1.0), Some(0.5)), "{rows:?}");
        assert!(rows.iter().all(|row| row.met));
        let (_directory, none) = state_of(&[]);
        assert!(experiment("hyperfine").rows(&none).iter().all(|row| !row.met));
    }

    #[test]
    fn wilson_covers_its_share() {
        let (low, high) = wilson(80, 100);
        assert!((low - 0.7112).abs() < 1e-3 && (high - 0.8667).abs() < 1e-3, "{low} {high}");
        assert_eq!(wilson(100, 100).1, 1.0);
    }
}

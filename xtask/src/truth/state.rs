//! The trials kept so far: one line of JSON each, appended and flushed as they end. A line that a kill cut short is left
//! out; nothing else is ever dropped but by request.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// What one comparison said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// `better`, `worse`, `same` or `inconclusive`; for other tools `different` or `not different`.
    pub(super) verdict: String,
    /// It saw a difference.
    pub(super) flagged: bool,
    /// It saw that B is slower.
    pub(super) slower: bool,
    /// The strength of the evidence, where thresholds other than the tool's own are asked for.
    pub(super) score: Option<f64>,
    /// Cost of A over cost of B.
    pub(super) ratio: Option<f64>,
    /// The effect stated as detectable.
    pub(super) detectable: Option<f64>,
    /// How long it took.
    pub(super) seconds: f64,
}

/// One kept trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Trial {
    pub(super) experiment: String,
    pub(super) arm: String,
    pub(super) index: u32,
    pub(super) outcome: Outcome,
}

/// All of them.
pub(super) struct State {
    path: PathBuf,
    trials: Vec<Trial>,
    notes: BTreeMap<String, String>,
}

impl State {
    /// Reads what is there.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let trials = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { path: path.to_owned(), trials, notes: BTreeMap::new() })
    }

    /// Drops the trials of the experiments that `of` names.
    pub(super) fn forget(&mut self, of: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        self.trials.retain(|trial| !of(&trial.experiment));
        let mut text = String::new();
        for trial in &self.trials {
            text.push_str(&serde_json::to_string(trial)?);
            text.push('\n');
        }
        Ok(warpt_bench::record::write_atomically(&self.path, text.as_bytes())?)
    }

    /// A trial, if it was made.
    pub(super) fn find(&self, experiment: &str, arm: &str, index: u32) -> Option<&Outcome> {
        let same = |trial: &&Trial| {
            trial.index == index && trial.arm == arm && trial.experiment == experiment
        };
        self.trials.iter().find(same).map(|trial| &trial.outcome)
    }

    /// Every trial of an arm.
    pub(super) fn outcomes(&self, experiment: &str, arm: &str) -> Vec<&Outcome> {
        let of = |trial: &&Trial| trial.arm == arm && trial.experiment == experiment;
        self.trials.iter().filter(of).map(|trial| &trial.outcome).collect()
    }

    /// Keeps a trial.
    pub(super) fn keep(&mut self, trial: Trial) -> anyhow::Result<()> {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        // A line break first: a line cut short by a kill must not swallow this one.
        writeln!(file, "\n{}", serde_json::to_string(&trial)?)?;
        file.sync_data()?;
        self.trials.push(trial);
        Ok(())
    }

    /// Remembers why an experiment ended early, for the rows of this run.
    pub(super) fn note(&mut self, experiment: &str, note: &str) {
        self.notes.insert(experiment.to_owned(), note.to_owned());
    }

    /// Why an experiment ended early.
    pub(super) fn why(&self, experiment: &str) -> Option<&str> {
        self.notes.get(experiment).map(String::as_str)
    }
}

#[cfg(test)]
impl Outcome {
    pub(super) fn sample(verdict: &str, score: Option<f64>) -> Self {
        Self {
            verdict: verdict.into(),
            flagged: matches!(verdict, "worse" | "better" | "different"),
            slower: verdict != "better",
            score,
            ratio: None,
            detectable: None,
            seconds: 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_survive_and_a_torn_line_costs_only_itself() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trials.jsonl");
        let trial = |index| Trial {
            experiment: "aa_quiet".into(),
            arm: "ours".into(),
            index,
            outcome: Outcome::sample("same", None),
        };
        let mut state = State::open(&path).unwrap();
        state.keep(trial(0)).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"exp").unwrap();
        let mut state = State::open(&path).unwrap();
        state.keep(trial(1)).unwrap();
        let mut state = State::open(&path).unwrap();
        assert_eq!(state.outcomes("aa_quiet", "ours").len(), 2);
        assert!(state.find("aa_quiet", "ours", 1).is_some());
        assert!(state.find("aa_quiet", "ours", 2).is_none());
        state.forget(|name| name == "aa_quiet").unwrap();
        assert!(State::open(&path).unwrap().outcomes("aa_quiet", "ours").is_empty());
    }
}

//! The experiments of the protocol, one line each: which comparisons, how many, how long each may take, and what is
//! demanded. docs/truth.md states them for people; the two must agree.

use super::programs::Programs;
use super::spinners::Spinners;
use super::state::{Outcome, State, Trial};
use super::{ours, rivals};

/// Steps of the chain in the command form: about 25 ms.
pub(super) const COMMAND_LENGTH: u64 = 8_000_000;
/// Steps of the chain in the served form: about 100 us.
pub(super) const SERVED_LENGTH: u64 = 40_000;

/// What an experiment compares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// The kernel with itself, among so many spinners.
    Itself { spinners: usize },
    /// The kernel with one that is longer by this share.
    Slower { by: f64, power: f64 },
    /// The kernel with one that is longer by what a comparison just stated as detectable.
    Stated,
    /// Another tool and ours in turns, on equal kernels and on ones that differ by 2%.
    Rival(Rival),
}

/// Another tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rival {
    Hyperfine,
    Criterion,
    GoogleBenchmark,
}

/// One experiment.
#[derive(Debug)]
pub(super) struct Experiment {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) count: u32,
    pub(super) limit_seconds: f64,
    pub(super) kind: Kind,
}

/// The slowdown that rivals have to find.
const RIVAL_SLOWDOWN: f64 = 0.02;

/// The protocol.
pub(super) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "aa_quiet",
        what: "the same command twice, nothing else running",
        count: 100,
        limit_seconds: 10.0,
        kind: Kind::Itself { spinners: 0 },
    },
    Experiment {
        name: "aa_spinners_2",
        what: "the same command twice, two busy spinners",
        count: 100,
        limit_seconds: 10.0,
        kind: Kind::Itself { spinners: 2 },
    },
    Experiment {
        name: "aa_spinners_8",
        what: "the same command twice, eight busy spinners",
        count: 100,
        limit_seconds: 10.0,
        kind: Kind::Itself { spinners: 8 },
    },
    Experiment {
        name: "slower_2",
        what: "a command 2% longer, found within 10 s",
        count: 100,
        limit_seconds: 10.0,
        kind: Kind::Slower { by: 0.02, power: 0.80 },
    },
    Experiment {
        name: "slower_5",
        what: "a command 5% longer, found within 5 s",
        count: 100,
        limit_seconds: 5.0,
        kind: Kind::Slower { by: 0.05, power: 0.95 },
    },
    Experiment {
        name: "stated_effect",
        what: "a command longer by exactly the stated detectable effect",
        count: 100,
        limit_seconds: 5.0,
        kind: Kind::Stated,
    },
    Experiment {
        name: "hyperfine",
        what: "hyperfine with Welch's t test, beside ours",
        count: 40,
        limit_seconds: 5.0,
        kind: Kind::Rival(Rival::Hyperfine),
    },
    Experiment {
        name: "criterion",
        what: "criterion with a fresh baseline, beside ours",
        count: 40,
        limit_seconds: 5.0,
        kind: Kind::Rival(Rival::Criterion),
    },
    Experiment {
        name: "google",
        what: "Google Benchmark, interleaved, with its U test, beside ours",
        count: 40,
        limit_seconds: 5.0,
        kind: Kind::Rival(Rival::GoogleBenchmark),
    },
];

impl Experiment {
    /// Makes the trials that are not kept yet.
    pub(super) fn run(
        &self,
        count: u32,
        programs: &Programs,
        state: &mut State,
    ) -> anyhow::Result<()> {
        let missing = |state: &State| {
            (0..count).any(|index| {
                self.arms().iter().any(|arm| state.find(self.name, arm, index).is_none())
            })
        };
        if !missing(state) {
            return Ok(());
        }
        eprintln!("{}: {}", self.name, self.what);
        let spinners = match self.kind {
            Kind::Itself { spinners } => spinners,
            _ => 0,
        };
        let _neighbours = Spinners::start(spinners, programs)?;
        for index in 0..count {
            let mut arms = self.arms().to_vec();
            // Whoever comes second meets a machine that the first one warmed; take turns. What was stated comes first.
            if index % 2 == 1 && self.kind != Kind::Stated {
                arms.reverse();
            }
            for arm in arms {
                if state.find(self.name, arm, index).is_some() {
                    continue;
                }
                let outcome = self.trial(arm, index, programs, state)?;
                if programs.cancel.is_cancelled() {
                    anyhow::bail!("interrupted");
                }
                eprintln!(
                    "  {:>3}/{count} {arm:<12} {:<13} {:.1} s",
                    index + 1,
                    outcome.verdict,
                    outcome.seconds
                );
                let experiment = self.name.to_owned();
                state.keep(Trial { experiment, arm: arm.to_owned(), index, outcome })?;
            }
        }
        Ok(())
    }

    /// The comparisons of one trial.
    fn arms(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Itself { .. } | Kind::Slower { .. } => &["ours"],
            Kind::Stated => &["states", "ours"],
            Kind::Rival(_) => &["their_aa", "their_2", "our_aa", "our_2"],
        }
    }

    fn trial(
        &self,
        arm: &str,
        index: u32,
        programs: &Programs,
        state: &State,
    ) -> anyhow::Result<Outcome> {
        let limit = self.limit_seconds;
        let seed = seed(self.name, arm, index);
        match self.kind {
            Kind::Itself { .. } => ours::commands(0.0, limit, seed, programs),
            Kind::Slower { by, .. } => ours::commands(by, limit, seed, programs),
            Kind::Stated => {
                let stated = match arm {
                    "states" => 0.0,
                    _ => state
                        .find(self.name, "states", index)
                        .and_then(|outcome| outcome.detectable)
                        .ok_or_else(|| anyhow::anyhow!("trial {index} stated no effect"))?,
                };
                // What was stated is of the whole time, so the chain has to grow by more.
                let by = stated / programs.chain_share(COMMAND_LENGTH)?;
                ours::commands(by, limit, seed, programs)
            }
            Kind::Rival(rival) => {
                let by = if arm.ends_with("_aa") { 0.0 } else { RIVAL_SLOWDOWN };
                match (arm.starts_with("our_"), rival) {
                    (true, Rival::Hyperfine) => ours::commands(by, limit, seed, programs),
                    (true, _) => ours::served(by, limit, seed, programs),
                    (false, Rival::Hyperfine) => rivals::hyperfine(by, limit, programs),
                    (false, Rival::Criterion) => rivals::criterion(by, limit, programs),
                    (false, Rival::GoogleBenchmark) => {
                        rivals::google_benchmark(by, limit, programs)
                    }
                }
            }
        }
    }
}

/// A seed of its own for each comparison, the same whenever it is made (FNV-1a over its name).
fn seed(experiment: &str, arm: &str, index: u32) -> u64 {
    let text = format!("{experiment}/{arm}/{index}");
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step) & ((1 << 53) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_names_each_experiment_once_and_the_page_names_them_all() {
        let page =
            std::fs::read_to_string(crate::repository::root().join("docs/truth.md")).unwrap();
        let mut names: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
        for name in &names {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), EXPERIMENTS.len());
    }

    #[test]
    fn seeds_differ() {
        assert_ne!(seed("a", "b", 1), seed("a", "b", 2));
        assert_eq!(seed("a", "b", 1), seed("a", "b", 1));
    }
}

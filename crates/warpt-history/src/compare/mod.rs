//! Two records side by side: aligned by benchmark, parameters and metric, judged with the noise between runs in mind,
//! with what differs between their machines beside each change.
//!
//! What always holds: a metric of either record is either in [`RecordComparison::changes`] or covered by a refusal with
//! its reason, nothing is dropped in silence; A is the baseline and B the candidate; `ratio` is above 1 where B is better,
//! whatever the metric's direction. The two runs were not interleaved, so this is weaker than a paired comparison,
//! and [`CAVEAT`] says so wherever the result is shown.

mod align;
mod change;
mod environment;
mod noise;
mod score;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpt_bench::record::{BenchmarkSuiteRun, RunState};
use warpt_stats::paired::Verdict;

pub use align::{Refusal, RefusalKind};
pub use change::Change;
pub use environment::{Difference, Fact, conditions, differences, facts};
pub use noise::NoiseFloors;
pub use score::{Score, ScoreMember};

/// The version of the exported form of a comparison.
pub const COMPARISON_VERSION: u32 = 1;

/// What every reader of a comparison of two records has to know.
pub const CAVEAT: &str = "two separate runs are not interleaved: whatever changed on the machine between them counts \
as a change here. To decide about a few percent, use `warpt ab`, which runs both sides in turns";

/// Smallest change that is ever called when no measured noise floor is given: what separate runs of unchanged code
/// commonly differ by.
pub const DEFAULT_FLOOR: f64 = 0.05;

/// How to compare.
#[derive(Debug, Clone)]
pub struct CompareOptions {
    /// The relative difference between separate runs of the same thing that is taken for noise.
    pub floor: f64,
    /// Measured noise floors by metric; each replaces `floor` where it is larger.
    pub noise: NoiseFloors,
    /// Whether metrics whose result was not checked are compared too.
    pub allow_unverified: bool,
    /// The name of a score over everything compared.
    pub score: Option<String>,
    /// Whether the score may leave members out.
    pub score_allow_missing: bool,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            floor: DEFAULT_FLOOR,
            noise: NoiseFloors::default(),
            allow_unverified: false,
            score: None,
            score_allow_missing: false,
        }
    }
}

/// One of the two records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordSide {
    /// What the caller calls it, usually the file.
    pub name: String,
    /// The suite, or the components joined by `-`.
    pub suite: String,
    /// The run's own identifier.
    pub run_id: Option<String>,
    /// When it started.
    pub start_time: Option<Timestamp>,
    /// How far it got.
    pub state: RunState,
    /// The host's name, where the record has it.
    pub hostname: Option<String>,
    /// The identity of the hardware.
    pub fingerprint: Option<String>,
    /// What the user and the program noted.
    pub metadata: BTreeMap<String, String>,
}

/// How many of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// B is better.
    pub better: usize,
    /// B is worse.
    pub worse: usize,
    /// No difference beyond the noise between runs.
    pub same: usize,
    /// The records cannot tell.
    pub inconclusive: usize,
    /// Not compared, for a stated reason.
    pub refused: usize,
    /// Passed in A and failed in B.
    pub broken: usize,
}

/// What two records say about each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecordComparison {
    /// The version of this form.
    pub comparison_version: u32,
    /// The baseline.
    pub a: RecordSide,
    /// The candidate.
    pub b: RecordSide,
    /// What limits every verdict below.
    pub caveat: String,
    /// Every metric that could be compared, in the order of the baseline.
    pub changes: Vec<Change>,
    /// Everything that could not, and why.
    pub refusals: Vec<Refusal>,
    /// What differs between the machines and their software.
    pub differences: Vec<Difference>,
    /// Verdicts of the results, supporting metrics not counted.
    pub counts: Counts,
    /// The score, when one was asked for.
    pub score: Option<Score>,
}

impl RecordComparison {
    /// What a gate would make of it: worse when anything got worse or broke; inconclusive when nothing could be
    /// compared, something cannot be told or the score was refused; better when something got better; else same.
    pub fn verdict(&self) -> Verdict {
        let counts = &self.counts;
        let compared = counts.better + counts.worse + counts.same + counts.inconclusive;
        let score_refused = self.score.as_ref().is_some_and(|score| score.refusal.is_some());
        match () {
            () if counts.worse + counts.broken > 0 => Verdict::Worse,
            () if compared == 0 || counts.inconclusive > 0 || score_refused => {
                Verdict::Inconclusive
            }
            () if counts.better > 0 => Verdict::Better,
            () => Verdict::Same,
        }
    }
}

/// Compares B with the baseline A. The error says why the two cannot stand side by side at all.
pub fn compare(
    a: (&str, &BenchmarkSuiteRun),
    b: (&str, &BenchmarkSuiteRun),
    options: &CompareOptions,
) -> Result<RecordComparison, String> {
    if a.1.schema_version != b.1.schema_version {
        return Err(format!(
            "{} has record schema {} and {} has {}: their fields may mean different things",
            a.0, a.1.schema_version, b.0, b.1.schema_version
        ));
    }
    if !(options.floor.is_finite() && (0.0..10.0).contains(&options.floor)) {
        return Err(format!("the floor must be a share from 0 to 10, found {}", options.floor));
    }
    let differences = differences(a.1, b.1);
    let aligned = align::align(a.1, b.1, options.allow_unverified);
    let changes: Vec<Change> =
        aligned.pairs.iter().map(|pair| change::judge(pair, options, &differences)).collect();
    let counts = count(&changes, &aligned.refusals);
    let score = options.score.as_ref().map(|name| {
        score::score(name, a.0, &changes, &aligned.refusals, options.score_allow_missing)
    });
    Ok(RecordComparison {
        comparison_version: COMPARISON_VERSION,
        a: side(a.0, a.1),
        b: side(b.0, b.1),
        caveat: if a.1.run_id.is_some() && a.1.run_id == b.1.run_id {
            "A and B are the same run".to_owned()
        } else {
            CAVEAT.to_owned()
        },
        changes,
        refusals: aligned.refusals,
        differences,
        counts,
        score,
    })
}

fn side(name: &str, run: &BenchmarkSuiteRun) -> RecordSide {
    let machine = environment::machine(run);
    RecordSide {
        name: name.to_owned(),
        suite: run.suite.clone(),
        run_id: run.run_id.clone(),
        start_time: run
            .start_time
            .or_else(|| run.benchmarks.first().map(|result| result.start_time)),
        state: run.state,
        hostname: machine.and_then(|m| m.host.as_ref()).and_then(|host| host.hostname.clone()),
        fingerprint: machine.map(warpt_machine::inventory::Machine::fingerprint),
        metadata: run.metadata.clone().unwrap_or_default(),
    }
}

fn count(changes: &[Change], refusals: &[Refusal]) -> Counts {
    let mut counts = Counts {
        refused: refusals.iter().filter(|refusal| !refusal.supporting).count(),
        broken: refusals.iter().filter(|refusal| refusal.kind == RefusalKind::Broken).count(),
        ..Counts::default()
    };
    for change in changes.iter().filter(|change| !change.supporting) {
        match change.verdict {
            Verdict::Better => counts.better += 1,
            Verdict::Worse => counts.worse += 1,
            Verdict::Same => counts.same += 1,
            Verdict::Inconclusive => counts.inconclusive += 1,
        }
    }
    counts
}

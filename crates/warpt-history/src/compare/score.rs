//! A score over everything two records have in common: the geometric mean of the ratios to the baseline, which is the
//! only mean that does not depend on which side is called the baseline. It names its baseline and lists its members, and
//! is refused rather than silently taken over fewer members than the baseline has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::align::Refusal;
use super::change::Change;

/// One ratio of a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreMember {
    /// The metric's identifier.
    pub metric: String,
    /// How much better than the baseline.
    pub ratio: f64,
}

/// A named score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// Its name.
    pub name: String,
    /// What 1 stands for.
    pub baseline: String,
    /// The geometric mean of the members' ratios; absent when refused.
    pub value: Option<f64>,
    /// Lower end of its interval, from the members' own intervals taken as independent; absent when a member has none.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What it is made of.
    pub members: Vec<ScoreMember>,
    /// What is missing from it, and why.
    pub missing: Vec<Refusal>,
    /// Why there is no score.
    pub refusal: Option<String>,
}

pub(super) fn score(
    name: &str,
    baseline: &str,
    changes: &[Change],
    refusals: &[Refusal],
    allow_missing: bool,
) -> Score {
    let results: Vec<&Change> = changes.iter().filter(|change| !change.supporting).collect();
    let members: Vec<ScoreMember> = results
        .iter()
        .map(|change| ScoreMember { metric: change.metric.clone(), ratio: change.ratio })
        .collect();
    let missing: Vec<Refusal> =
        refusals.iter().filter(|refusal| !refusal.supporting).cloned().collect();
    let refusal = match (members.len(), missing.len()) {
        (0, _) => Some("no metric could be compared".to_owned()),
        (_, count) if count > 0 && !allow_missing => Some(format!(
            "{count} member{} missing: a score over the rest would be another score \
             (--score-allow-missing takes it and says so)",
            if count == 1 { " is" } else { "s are" }
        )),
        _ => None,
    };
    let mut score = Score {
        name: name.to_owned(),
        baseline: baseline.to_owned(),
        value: None,
        low: None,
        high: None,
        members,
        missing,
        refusal,
    };
    if score.refusal.is_none() {
        fill(&mut score, &results);
    }
    score
}

fn fill(score: &mut Score, results: &[&Change]) {
    let count = results.len() as f64;
    let mean = results.iter().map(|change| change.ratio.ln()).sum::<f64>() / count;
    score.value = Some(mean.exp());
    let distance = |end: fn(&Change) -> Option<f64>| -> Option<f64> {
        let squares: Option<Vec<f64>> = results
            .iter()
            .map(|change| end(change).map(|end| (end / change.ratio).ln().powi(2)))
            .collect();
        Some(squares?.iter().sum::<f64>().sqrt() / count)
    };
    score.low = distance(|change| change.low).map(|below| (mean - below).exp());
    score.high = distance(|change| change.high).map(|above| (mean + above).exp());
}

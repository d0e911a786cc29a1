//! The second look: what fresh measurements of a suspect say. Only this can make a regression.

use warpt_stats::paired::Verdict;
use warpt_stats::{mad, median};

use super::{DETECTABLE, Gate, Remeasured, blind_to, chance, percent, worsening};
use crate::gate::baseline::BaselineMetric;
use crate::gate::report::Outcome;

/// Fewer repeated runs cannot confirm anything.
const FEWEST_RUNS: usize = 5;

/// What measuring again says.
pub(super) struct Second {
    worsening: Option<f64>,
    pub(super) p_value: f64,
    detectable: Option<f64>,
    method: String,
    verdict: Option<Verdict>,
    reasons: Vec<String>,
}

impl Gate<'_> {
    /// What a fresh measurement says about a suspect.
    pub(super) fn second_look(&self, place: usize, measured: &Remeasured) -> Second {
        let finding = &self.findings[place];
        let suspect = self.suspects.iter().find(|(_, at)| *at == place).map(|(suspect, _)| suspect);
        let higher = suspect.is_some_and(|suspect| suspect.higher_is_better);
        match measured {
            Remeasured::Failed(reason) => Second {
                worsening: None,
                p_value: 1.0,
                detectable: None,
                method: "failed".into(),
                verdict: None,
                reasons: vec![format!("it could not be measured again: {reason}")],
            },
            Remeasured::Paired(comparison) => Second {
                worsening: Some(1.0 / comparison.ratio - 1.0).filter(|change| change.is_finite()),
                p_value: comparison.p_value,
                detectable: Some(comparison.minimum_detectable_effect).filter(|e| e.is_finite()),
                method: "paired with the baseline's program".into(),
                verdict: Some(comparison.verdict),
                reasons: comparison.reasons.clone(),
            },
            Remeasured::Repeated(values) => {
                let before = self.baseline.metrics.get(&finding.subject);
                let changes: Vec<f64> = values
                    .iter()
                    .filter_map(|value| worsening(before?.value, *value, higher))
                    .collect();
                repeated(&changes, before)
            }
        }
    }

    pub(super) fn settle(&mut self, place: usize, second: Second, threshold: f64) {
        let finding = &mut self.findings[place];
        let limit = finding.limit.unwrap_or(0.0);
        let exception = self.allowed.get(&place);
        let allowed = exception.map_or(limit, |(allowed, _)| *allowed);
        finding.remeasured = second.worsening;
        finding.p_value = Some(second.p_value);
        finding.minimum_detectable_effect = second.detectable;
        finding.method = Some(second.method.clone());
        finding.reasons.extend(second.reasons);
        let Some(again) = second.worsening else {
            finding.outcome = Outcome::Inconclusive;
            return;
        };
        let significant = second.verdict == Some(Verdict::Worse);
        if let Some((_, words)) = exception
            && again > limit
            && again <= allowed
        {
            finding.outcome = Outcome::Excepted;
            finding.reasons.push(words.clone());
        } else if significant && again > allowed && second.p_value <= threshold {
            finding.outcome = Outcome::Regression;
            finding.reasons.push(format!(
                "measured again it is {} worse; the limit is {}",
                percent(again),
                percent(limit)
            ));
        } else if significant && again > allowed {
            finding.outcome = Outcome::Inconclusive;
            finding.reasons.push(format!(
                "measured again it is {} worse, which among so many measured again is not certain enough",
                percent(again)
            ));
        } else if again <= allowed && second.detectable.is_some_and(|effect| effect <= limit) {
            finding.outcome = Outcome::Pass;
            finding.reasons.push(format!(
                "it looked {} worse; measured again it is {} worse, within its limit",
                percent(finding.worsening.unwrap_or(0.0)),
                percent(again)
            ));
        } else {
            finding.outcome = Outcome::Inconclusive;
            match second.detectable {
                Some(effect) if effect > limit => finding.reasons.push(blind_to(effect, limit)),
                _ => finding.reasons.push(format!(
                    "measured again it is {} worse, which noise alone could be",
                    percent(again)
                )),
            }
        }
    }
}

/// Repeated runs of the candidate against the old baseline: it is worse when the typical run is, and every run was. What the
/// baseline's own run was lucky by is only covered as far as its error says, so this is weaker than a paired comparison.
fn repeated(changes: &[f64], before: Option<&BaselineMetric>) -> Second {
    let count = changes.len();
    let typical = median(changes);
    let spread = if count >= 2 { mad(changes) } else { f64::NAN };
    let baseline = before.and_then(|before| before.relative_error).unwrap_or(0.0);
    let own = before.and_then(|before| before.spread).unwrap_or(spread);
    // A baseline of one run may have been lucky by as much as a run differs from the next.
    let luck = if before.is_some_and(|before| before.runs > 1) { 0.0 } else { own };
    let error = (1.57 * spread * spread / count as f64 + baseline * baseline + luck * luck).sqrt();
    let enough = count >= FEWEST_RUNS && error.is_finite();
    let all_worse = changes.iter().all(|change| *change > 0.0);
    let p_value = if enough { chance(typical, error) } else { 1.0 };
    let verdict = match enough {
        true if all_worse && p_value <= 0.01 => Verdict::Worse,
        true if typical.abs() <= DETECTABLE * error => Verdict::Same,
        _ => Verdict::Inconclusive,
    };
    let mut reasons = Vec::new();
    if !enough {
        reasons.push(format!("{count} usable runs; {FEWEST_RUNS} are needed"));
    }
    Second {
        worsening: Some(typical).filter(|change| change.is_finite()),
        p_value,
        detectable: enough.then_some(DETECTABLE * error),
        method: format!("{count} more runs of the candidate"),
        verdict: Some(verdict),
        reasons,
    }
}

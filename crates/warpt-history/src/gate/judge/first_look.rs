//! The first look: the numbers at hand. What is within its limit passes where the measurement could have seen more; what
//! is over it becomes a suspect and no more.

use jiff::civil::Date;
use warpt_bench::nearest::nearest;
use warpt_bench::record::{BenchmarkMetric, BenchmarkRunResult};

use super::{DETECTABLE, Gate, Suspect, blind_to, chance, worsening};
use crate::gate::baseline::{BaselineMetric, NoiseFloor, relative_error, uncertainty};
use crate::gate::report::{Finding, Outcome};
use crate::gate::rules::{Limit, Rule};

/// A metric of the candidate under its names.
pub(super) struct Metric<'a> {
    pub(super) metric: &'a BenchmarkMetric,
    pub(super) id: String,
    pub(super) benchmark: &'a str,
    pub(super) short: String,
}

impl Gate<'_> {
    pub(super) fn expired(&mut self, today: Date) {
        for exception in self.rules.exceptions.iter().filter(|one| one.expires < today) {
            let subject = format!("{} {}", exception.benchmark, exception.metric);
            let reason = format!(
                "the exception ended on {}: renew it with a reason or remove it (it said: {})",
                exception.expires, exception.reason
            );
            self.findings.push(Finding::about(subject, Outcome::ExpiredException, reason));
        }
    }

    pub(super) fn not_passed(&mut self, result: &BenchmarkRunResult, benchmark: &str) {
        let why = result.error_message.as_deref().unwrap_or("no reason given");
        let before = self.baseline.benchmarks.iter().any(|name| name == benchmark);
        let (outcome, reason) = match (result.outcome, before) {
            (warpt_bench::Outcome::Failed, true) => {
                (Outcome::Broken, format!("it passed before and fails now: {why}"))
            }
            (warpt_bench::Outcome::Failed, false) => {
                (Outcome::Inconclusive, format!("it failed, and did not pass before either: {why}"))
            }
            (_, true) => (Outcome::Inconclusive, format!("it was skipped: {why}")),
            // Skipped on both sides: this machine cannot run it, and nothing changed.
            (_, false) => return,
        };
        self.findings.push(Finding::about(benchmark, outcome, reason));
    }

    /// Rules that match nothing are most often misspelt, and then guard nothing.
    pub(super) fn unmatched(&mut self, matched: &[bool], names: &[String]) {
        for (index, rule) in self.rules.rules.iter().enumerate().filter(|(i, _)| !matched[*i]) {
            if rule.limit == Limit::Ignored {
                continue;
            }
            let near = nearest(rule.benchmark.text(), names.iter().map(String::as_str));
            let hint = match near.first() {
                Some(name) if !rule.benchmark.text().contains(['*', '?']) => {
                    format!("; did you mean {name}?")
                }
                _ => String::new(),
            };
            let reason = format!("rule {} matches nothing in the candidate{hint}", index + 1);
            let subject = format!("{} {}", rule.benchmark, rule.metric);
            self.findings.push(Finding::about(subject, Outcome::Inconclusive, reason));
        }
    }

    /// Guarded benchmarks of the baseline that the candidate does not have.
    pub(super) fn vanished(&mut self, names: &[String]) {
        for benchmark in self.baseline.benchmarks.iter().filter(|name| !names.contains(name)) {
            let guarded =
                |rule: &Rule| rule.limit != Limit::Ignored && rule.benchmark.matches(benchmark);
            if self.rules.rules.iter().any(guarded) {
                let reason = "the baseline has it and the candidate does not".to_owned();
                self.findings.push(Finding::about(benchmark, Outcome::Inconclusive, reason));
            }
        }
    }

    /// Judges one metric from the numbers at hand; true when nothing is known about differences between runs.
    pub(super) fn first_look(
        &mut self,
        seen: &Metric<'_>,
        limit: &Limit,
        noise: &dyn NoiseFloor,
        today: Date,
    ) -> bool {
        self.guarded += 1;
        let Metric { metric, id, benchmark, short } = seen;
        let inconclusive = |reason: String| Finding::about(id, Outcome::Inconclusive, reason);
        let Some(before) = self.baseline.metrics.get(id) else {
            self.findings.push(inconclusive("the baseline does not have it".into()));
            return false;
        };
        let relative = match relative_limit(limit, before, metric) {
            Ok(relative) => relative,
            Err(reason) => {
                self.findings.push(inconclusive(reason));
                return false;
            }
        };
        let Some(worsening) = worsening(before.value, metric.value, metric.higher_is_better) else {
            let reason =
                format!("{} and {} cannot be compared as a ratio", before.value, metric.value);
            self.findings.push(inconclusive(reason));
            return false;
        };
        let known = noise.noise(id);
        let uncertainty = uncertainty(before, relative_error(metric), known);
        let stated = known.and_then(|noise| noise.mde_relative).unwrap_or(0.0);
        let detectable = uncertainty.error.map(|error| (DETECTABLE * error).max(stated));
        let exception = self.rules.exception(benchmark, short, today);
        let allowed = match exception {
            Some(exception) => exception.relative.unwrap_or(f64::INFINITY).max(relative),
            None => relative,
        };
        let mut finding = Finding {
            before: Some(before.value),
            after: Some(metric.value),
            unit: Some(metric.unit.clone()),
            worsening: Some(worsening),
            limit: Some(relative),
            minimum_detectable_effect: detectable,
            p_value: uncertainty.error.map(|error| chance(worsening, error)),
            reasons: Vec::new(),
            ..Finding::about(id, Outcome::Pass, String::new())
        };
        if metric.verified != Some(true) {
            finding.reasons.push("the candidate's result was not verified".into());
        }
        if worsening > allowed {
            finding.outcome = Outcome::Inconclusive;
            let suspect = Suspect {
                metric: id.clone(),
                benchmark: (*benchmark).to_owned(),
                higher_is_better: metric.higher_is_better,
                worsening,
            };
            if let Some(exception) = exception {
                let words = format!("until {}: {}", exception.expires, exception.reason);
                self.allowed.insert(self.findings.len(), (allowed, words));
            }
            self.suspects.push((suspect, self.findings.len()));
        } else if worsening > relative {
            finding.outcome = Outcome::Excepted;
            if let Some(exception) = exception {
                let until = exception.expires;
                finding.reasons.push(format!("until {until}: {}", exception.reason));
            }
        } else {
            match detectable {
                Some(detectable) if detectable > relative => {
                    finding.outcome = Outcome::Inconclusive;
                    finding.reasons.push(blind_to(detectable, relative));
                }
                None => {
                    finding.outcome = Outcome::Inconclusive;
                    finding.reasons.push("neither side says how well its value is known".into());
                }
                Some(_) => {}
            }
        }
        self.findings.push(finding);
        !uncertainty.covers_runs
    }
}

/// The limit as a share of the cost before.
fn relative_limit(
    limit: &Limit,
    before: &BaselineMetric,
    metric: &BenchmarkMetric,
) -> Result<f64, String> {
    if let Some(unit) = &before.unit
        && *unit != metric.unit
    {
        return Err(format!("the baseline is in {unit}, the candidate in {}", metric.unit));
    }
    match limit {
        Limit::Relative(share) => Ok(*share),
        Limit::Absolute { unit, .. } if *unit != metric.unit => {
            Err(format!("its rule's limit is in {unit}, the metric in {}", metric.unit))
        }
        Limit::Absolute { amount, .. } => {
            let at_limit =
                if metric.higher_is_better { before.value - amount } else { before.value + amount };
            worsening(before.value, at_limit, metric.higher_is_better).ok_or_else(|| {
                format!("a limit of {amount} is more than the whole {}", before.value)
            })
        }
        Limit::Ignored => Ok(f64::INFINITY),
    }
}

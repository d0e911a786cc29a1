//! The judgement in two stages. First the numbers at hand: what is within its limit and what is suspicious. Then, for the
//! suspicious alone, fresh measurements that the caller takes; only those can make a regression. Because the second
//! stage uses new data, its false alarms are corrected for the number measured again, not for the number guarded.

mod first_look;
mod second_look;

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use warpt_bench::record::BenchmarkSuiteRun;
use warpt_stats::change_points::false_discovery_threshold;
use warpt_stats::distribution::normal_two_sided;
use warpt_stats::paired::Comparison;

use self::first_look::Metric;
use self::second_look::Second;
use super::baseline::{Baseline, NoiseFloor, identifier};
use super::report::{Finding, GATE_SCHEMA_VERSION, GateReport, Outcome};
use super::rules::{Limit, Rules, concerns};

/// Standard errors between nothing and an effect found with 80% probability at a two-sided 5%: 1.96 + 0.84.
const DETECTABLE: f64 = 2.8;

/// A metric to be measured again.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// Its identifier.
    pub metric: String,
    /// The benchmark, as `suite/name`.
    pub benchmark: String,
    /// Which direction is good.
    pub higher_is_better: bool,
    /// How much worse it looked.
    pub worsening: f64,
}

/// What measuring again gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Remeasured {
    /// A paired comparison with the baseline's program as A.
    Paired(Box<Comparison>),
    /// The metric's value in repeated runs of the candidate's program.
    Repeated(Vec<f64>),
    /// It could not be measured, for this reason.
    Failed(String),
}

/// A judgement under way.
pub struct Gate<'a> {
    rules: &'a Rules,
    baseline: &'a Baseline,
    candidate: String,
    findings: Vec<Finding>,
    suspects: Vec<(Suspect, usize)>,
    /// What an exception allows a suspect beyond its limit.
    allowed: BTreeMap<usize, (f64, String)>,
    remeasured: Vec<(usize, Remeasured)>,
    guarded: usize,
    unguarded: usize,
    ignored: usize,
    notes: Vec<String>,
}

impl<'a> Gate<'a> {
    /// The first stage: every metric of the candidate against the baseline.
    #[must_use]
    pub fn open(
        rules: &'a Rules,
        baseline: &'a Baseline,
        (name, candidate): (&str, &BenchmarkSuiteRun),
        noise: &dyn NoiseFloor,
        today: Date,
    ) -> Self {
        let mut gate = Self {
            rules,
            baseline,
            candidate: name.to_owned(),
            findings: Vec::new(),
            suspects: Vec::new(),
            allowed: BTreeMap::new(),
            remeasured: Vec::new(),
            guarded: 0,
            unguarded: 0,
            ignored: 0,
            notes: Vec::new(),
        };
        gate.expired(today);
        let mut matched = vec![false; rules.rules.len()];
        let mut names = Vec::new();
        let mut blind = 0;
        for result in &candidate.benchmarks {
            let benchmark = result.spec.id.to_string();
            names.push(benchmark.clone());
            let concerned = rules
                .rules
                .iter()
                .any(|rule| rule.limit != Limit::Ignored && rule.benchmark.matches(&benchmark));
            if result.outcome != warpt_bench::Outcome::Passed {
                for (rule, matched) in rules.rules.iter().zip(&mut matched) {
                    *matched |= rule.benchmark.matches(&benchmark);
                }
                if concerned {
                    gate.not_passed(result, &benchmark);
                }
                continue;
            }
            for metric in &result.metrics {
                let id = identifier(result, metric);
                let short = id.strip_prefix(&format!("{benchmark}/")).unwrap_or(&id).to_owned();
                // Every matching rule counts as used; only the first decides.
                for (rule, matched) in rules.rules.iter().zip(&mut matched) {
                    *matched |= concerns(&rule.benchmark, &rule.metric, &benchmark, &short);
                }
                match rules.rule(&benchmark, &short) {
                    None => gate.unguarded += 1,
                    Some((_, rule)) if rule.limit == Limit::Ignored => gate.ignored += 1,
                    // A number that explains another is only judged when a rule asks for it by name.
                    Some((_, rule)) if metric.supporting && rule.metric.text() == "*" => {
                        gate.unguarded += 1;
                    }
                    Some((_, rule)) => {
                        let limit = rule.limit.clone();
                        let seen = Metric { metric, id, benchmark: &benchmark, short };
                        blind += usize::from(gate.first_look(&seen, &limit, noise, today));
                    }
                }
            }
        }
        gate.unmatched(&matched, &names);
        gate.vanished(&names);
        if blind > 0 {
            gate.notes.push(format!(
                "for {blind} metrics only the noise within a run is known, not how runs differ: measure it with \
                 `warpt benchmark null`, or judge against several runs"
            ));
        }
        gate
    }

    /// What has to be measured again before anything is said about it.
    pub fn suspects(&self) -> impl Iterator<Item = &Suspect> {
        self.suspects.iter().map(|(suspect, _)| suspect)
    }

    /// Takes the fresh measurement of a suspect.
    pub fn remeasured(&mut self, metric: &str, measured: Remeasured) {
        let place = self.suspects.iter().find(|(suspect, _)| suspect.metric == metric);
        if let Some((_, finding)) = place {
            self.remeasured.push((*finding, measured));
        }
    }

    /// The verdict.
    #[must_use]
    pub fn finish(mut self, rules_file: &str) -> GateReport {
        let mut seconds: Vec<(usize, Second)> = Vec::new();
        for (place, measured) in std::mem::take(&mut self.remeasured) {
            let second = self.second_look(place, &measured);
            seconds.push((place, second));
        }
        let p_values: Vec<f64> = seconds.iter().map(|(_, second)| second.p_value).collect();
        let threshold = (!seconds.is_empty())
            .then(|| false_discovery_threshold(&p_values, self.rules.discovery_rate));
        for (place, second) in seconds {
            self.settle(place, second, threshold.unwrap_or(0.0));
        }
        for (suspect, place) in &self.suspects {
            let finding = &mut self.findings[*place];
            if finding.method.is_none() {
                finding.reasons.push(format!(
                    "{} worse than before, over its limit, and not measured again: a slow run looks the same",
                    percent(suspect.worsening)
                ));
            }
        }
        let rank = |outcome: Outcome| match outcome {
            outcome if outcome.fails() => 0,
            Outcome::Inconclusive => 1,
            Outcome::Excepted => 2,
            _ => 3,
        };
        self.findings.sort_by(|left, right| {
            let size = |finding: &Finding| finding.worsening.unwrap_or(f64::INFINITY);
            rank(left.outcome).cmp(&rank(right.outcome)).then(size(right).total_cmp(&size(left)))
        });
        if self.guarded == 0 {
            self.notes
                .push("no metric was judged: no rule matches what both sides measured".into());
        }
        let any = |is: fn(Outcome) -> bool| self.findings.iter().any(|finding| is(finding.outcome));
        let verdict = if any(Outcome::fails) {
            Outcome::Regression
        } else if self.guarded == 0 || any(|outcome| outcome == Outcome::Inconclusive) {
            Outcome::Inconclusive
        } else {
            Outcome::Pass
        };
        GateReport {
            schema_version: GATE_SCHEMA_VERSION,
            verdict,
            baseline: self.baseline.name.clone(),
            candidate: self.candidate,
            rules: rules_file.to_owned(),
            judged_at: Timestamp::now(),
            guarded: self.guarded,
            unguarded: self.unguarded,
            ignored: self.ignored,
            threshold,
            findings: self.findings,
            notes: self.notes,
        }
    }
}

/// How often noise of this standard error alone would be so far off.
fn chance(worsening: f64, error: f64) -> f64 {
    if worsening == 0.0 {
        1.0
    } else if error == 0.0 {
        f64::MIN_POSITIVE
    } else {
        normal_two_sided(worsening / error).max(f64::MIN_POSITIVE)
    }
}

/// How much worse, as a share of the cost before. Nothing for values that have no ratio.
fn worsening(before: f64, after: f64, higher_is_better: bool) -> Option<f64> {
    let (before, after) = if higher_is_better { (after, before) } else { (before, after) };
    let change = after / before - 1.0;
    (before > 0.0 && after >= 0.0 && change.is_finite()).then_some(change)
}

fn blind_to(detectable: f64, limit: f64) -> String {
    format!(
        "the smallest worsening this could have shown is {}, more than the limit of {}: it cannot see what it guards",
        percent(detectable),
        percent(limit)
    )
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

//! The judgement in two stages. First the numbers at hand: what is within its limit and what is suspicious. Then, for the
//! suspicious alone, fresh measurements that the caller takes; only those can make a regression. Because the second
//! stage uses new data, its false alarms are corrected for the number measured again, not for the number guarded.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use warpt_bench::nearest::nearest;
use warpt_bench::record::{BenchmarkMetric, BenchmarkRunResult, BenchmarkSuiteRun};
use warpt_stats::change_points::false_discovery_threshold;
use warpt_stats::distribution::normal_two_sided;
use warpt_stats::paired::{Comparison, Verdict};
use warpt_stats::{mad, median};

use super::baseline::{
    Baseline, BaselineMetric, NoiseFloor, identifier, relative_error, uncertainty,
};
use super::report::{Finding, GATE_SCHEMA_VERSION, GateReport, Outcome};
use super::rules::{Limit, Rules, concerns};

/// Standard errors between nothing and an effect found with 80% probability at a two-sided 5%: 1.96 + 0.84.
const DETECTABLE: f64 = 2.8;
/// Fewer repeated runs cannot confirm anything.
const FEWEST_RUNS: usize = 5;

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

    fn expired(&mut self, today: Date) {
        for exception in self.rules.exceptions.iter().filter(|one| one.expires < today) {
            let subject = format!("{} {}", exception.benchmark, exception.metric);
            let reason = format!(
                "the exception ended on {}: renew it with a reason or remove it (it said: {})",
                exception.expires, exception.reason
            );
            self.findings.push(Finding::about(subject, Outcome::ExpiredException, reason));
        }
    }

    fn not_passed(&mut self, result: &BenchmarkRunResult, benchmark: &str) {
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
    fn unmatched(&mut self, matched: &[bool], names: &[String]) {
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
    fn vanished(&mut self, names: &[String]) {
        for benchmark in self.baseline.benchmarks.iter().filter(|name| !names.contains(name)) {
            let guarded = |rule: &super::Rule| {
                rule.limit != Limit::Ignored && rule.benchmark.matches(benchmark)
            };
            if self.rules.rules.iter().any(guarded) {
                let reason = "the baseline has it and the candidate does not".to_owned();
                self.findings.push(Finding::about(benchmark, Outcome::Inconclusive, reason));
            }
        }
    }

    /// Judges one metric from the numbers at hand; true when nothing is known about differences between runs.
    fn first_look(
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

    /// What a fresh measurement says about a suspect.
    fn second_look(&self, place: usize, measured: &Remeasured) -> Second {
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

    fn settle(&mut self, place: usize, second: Second, threshold: f64) {
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

/// A metric of the candidate under its names.
struct Metric<'a> {
    metric: &'a BenchmarkMetric,
    id: String,
    benchmark: &'a str,
    short: String,
}

/// What measuring again says.
struct Second {
    worsening: Option<f64>,
    p_value: f64,
    detectable: Option<f64>,
    method: String,
    verdict: Option<Verdict>,
    reasons: Vec<String>,
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

//! Which metric of A stands beside which of B, and why the others stand alone. Benchmarks align by identifier and parameters,
//! metrics by their identifier; a metric that has no partner, or a partner it cannot be compared with, is refused with a
//! reason.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpt_bench::params::ParamValue;
use warpt_bench::record::{
    BenchmarkMetric, BenchmarkRunResult, BenchmarkSuiteRun, Outcome, metric_id,
};

/// Why something was not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// Only one of the records has it.
    Missing,
    /// It failed or was skipped in A, or was skipped in B.
    Outcome,
    /// It passed in A and failed in B: not a number to compare, but a change for the worse.
    Broken,
    /// It ran with other parameters.
    Parameters,
    /// A record has it several times, so that no single partner exists.
    Ambiguous,
    /// The units differ.
    Unit,
    /// The records disagree on which direction is good.
    Direction,
    /// The result was not checked.
    Unverified,
    /// A value has no ratio: zero, negative or not a number.
    Value,
}

/// Something that was not compared, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// The benchmark, as `suite/name`.
    pub benchmark: String,
    /// The metric's identifier; absent when the whole benchmark is refused.
    pub metric: Option<String>,
    /// The kind, for tools.
    pub kind: RefusalKind,
    /// The sentence, for people.
    pub reason: String,
    /// Only a supporting metric is concerned.
    #[serde(default)]
    pub supporting: bool,
}

/// Two metrics that may be compared, with the results they belong to.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    pub(super) id: String,
    pub(super) a: (&'a BenchmarkRunResult, &'a BenchmarkMetric),
    pub(super) b: (&'a BenchmarkRunResult, &'a BenchmarkMetric),
}

/// Everything of both records, in pairs or refused.
#[derive(Debug, Default)]
pub(super) struct Aligned<'a> {
    pub(super) pairs: Vec<Pair<'a>>,
    pub(super) refusals: Vec<Refusal>,
}

type Parameters = BTreeMap<String, ParamValue>;
type Results<'a> = BTreeMap<String, Vec<&'a BenchmarkRunResult>>;

pub(super) fn align<'a>(
    a: &'a BenchmarkSuiteRun,
    b: &'a BenchmarkSuiteRun,
    allow_unverified: bool,
) -> Aligned<'a> {
    let (of_a, of_b) = (by_name(a), by_name(b));
    let mut aligned = Aligned::default();
    let mut used: HashSet<*const BenchmarkRunResult> = HashSet::new();
    for result in &a.benchmarks {
        let name = result.spec.id.to_string();
        let twins = |of: &Results<'a>| -> Vec<&'a BenchmarkRunResult> {
            let same = |other: &&&BenchmarkRunResult| parameters(other) == parameters(result);
            of.get(&name).into_iter().flatten().filter(same).copied().collect()
        };
        let candidates = of_b.get(&name).map_or(&[][..], Vec::as_slice);
        let (own, partners) = (twins(&of_a), twins(&of_b));
        used.extend(partners.iter().map(|partner| std::ptr::from_ref(*partner)));
        match (own.len(), partners.as_slice(), candidates) {
            (1, [partner], _) => aligned.results(result, partner, allow_unverified),
            (1, [], []) => aligned.refuse(&name, RefusalKind::Missing, "only A has it".to_owned()),
            (1, [], [other, ..]) => {
                used.extend(candidates.iter().map(|partner| std::ptr::from_ref(*partner)));
                aligned.refuse(
                    &name,
                    RefusalKind::Parameters,
                    format!("other parameters: {}", differing(result, other)),
                );
            }
            _ => aligned.refuse(
                &name,
                RefusalKind::Ambiguous,
                "a record has it several times with the same parameters".to_owned(),
            ),
        }
    }
    for result in &b.benchmarks {
        if !used.contains(&std::ptr::from_ref(result)) {
            let reason = if of_a.contains_key(&result.spec.id.to_string()) {
                "only B has it with these parameters"
            } else {
                "only B has it"
            };
            aligned.refuse(&result.spec.id.to_string(), RefusalKind::Missing, reason.to_owned());
        }
    }
    aligned
}

fn by_name(run: &BenchmarkSuiteRun) -> Results<'_> {
    let mut results = Results::new();
    for result in &run.benchmarks {
        results.entry(result.spec.id.to_string()).or_default().push(result);
    }
    results
}

fn parameters(result: &BenchmarkRunResult) -> Option<&Parameters> {
    // A record that states none and one that states an empty list mean the same.
    result.spec.params.as_ref().filter(|params| !params.is_empty())
}

/// The parameters that differ, as `key=value in A, key=value in B`.
fn differing(a: &BenchmarkRunResult, b: &BenchmarkRunResult) -> String {
    let none = Parameters::new();
    let (of_a, of_b) = (parameters(a).unwrap_or(&none), parameters(b).unwrap_or(&none));
    let mut keys: Vec<&String> = of_a.keys().chain(of_b.keys()).collect();
    keys.sort();
    keys.dedup();
    let show =
        |value: Option<&ParamValue>| value.map_or("not stated".to_owned(), ToString::to_string);
    keys.into_iter()
        .filter(|key| of_a.get(*key) != of_b.get(*key))
        .map(|key| {
            format!("{key} is {} in A and {} in B", show(of_a.get(key)), show(of_b.get(key)))
        })
        .collect::<Vec<_>>()
        .join("; ")
}

impl<'a> Aligned<'a> {
    fn refuse(&mut self, benchmark: &str, kind: RefusalKind, reason: String) {
        let benchmark = benchmark.to_owned();
        self.refusals.push(Refusal { benchmark, metric: None, kind, reason, supporting: false });
    }

    fn results(
        &mut self,
        a: &'a BenchmarkRunResult,
        b: &'a BenchmarkRunResult,
        allow_unverified: bool,
    ) {
        let name = a.spec.id.to_string();
        if let Some((kind, reason)) = unusable(a, b) {
            return self.refuse(&name, kind, reason);
        }
        let (of_a, of_b) = (by_id(a), by_id(b));
        for (id, metric) in &of_a {
            let refuse = |kind, reason: &str| Refusal {
                benchmark: name.clone(),
                metric: Some(id.clone()),
                kind,
                reason: reason.to_owned(),
                supporting: metric.supporting,
            };
            let partners: Vec<_> = of_b.iter().filter(|(other, _)| other == id).collect();
            let twins = of_a.iter().filter(|(other, _)| other == id).count();
            match partners.as_slice() {
                [(_, partner)] if twins == 1 => {
                    match incomparable(metric, partner, allow_unverified) {
                        Some((kind, reason)) => self.refusals.push(refuse(kind, &reason)),
                        None => self.pairs.push(Pair {
                            id: id.clone(),
                            a: (a, metric),
                            b: (b, partner),
                        }),
                    }
                }
                [] => self.refusals.push(refuse(RefusalKind::Missing, "only A has it")),
                _ => self.refusals.push(refuse(
                    RefusalKind::Ambiguous,
                    "a record has several metrics of this identifier",
                )),
            }
        }
        for (id, metric) in of_b.iter().filter(|(id, _)| of_a.iter().all(|(other, _)| other != id))
        {
            self.refusals.push(Refusal {
                benchmark: name.clone(),
                metric: Some(id.clone()),
                kind: RefusalKind::Missing,
                reason: "only B has it".to_owned(),
                supporting: metric.supporting,
            });
        }
    }
}

fn by_id(result: &BenchmarkRunResult) -> Vec<(String, &BenchmarkMetric)> {
    result.metrics.iter().map(|metric| (identifier(result, metric), metric)).collect()
}

/// A metric's identifier, also in records from before it was written down.
fn identifier(result: &BenchmarkRunResult, metric: &BenchmarkMetric) -> String {
    let none = BTreeMap::new();
    let tags = metric.tags.as_ref().unwrap_or(&none);
    metric.id.clone().unwrap_or_else(|| metric_id(&result.spec.id, &metric.name, tags))
}

/// Why two results of one benchmark have nothing to compare.
fn unusable(a: &BenchmarkRunResult, b: &BenchmarkRunResult) -> Option<(RefusalKind, String)> {
    let state = |result: &BenchmarkRunResult| match result.outcome {
        Outcome::Passed if result.success => None,
        Outcome::Passed | Outcome::Failed => Some("failed"),
        Outcome::Skipped => Some("was skipped"),
    };
    let why = |result: &BenchmarkRunResult| {
        result.error_message.clone().unwrap_or_else(|| "no reason given".to_owned())
    };
    match (state(a), state(b)) {
        (None, None) => None,
        (None, Some("failed")) => {
            Some((RefusalKind::Broken, format!("passed in A, failed in B: {}", why(b))))
        }
        (None, Some(state)) => Some((RefusalKind::Outcome, format!("{state} in B: {}", why(b)))),
        (Some(state), None) => Some((RefusalKind::Outcome, format!("{state} in A: {}", why(a)))),
        (Some(one), Some(other)) if one == other && why(a) == why(b) => {
            Some((RefusalKind::Outcome, format!("{one} in both: {}", why(a))))
        }
        (Some(one), Some(other)) => Some((
            RefusalKind::Outcome,
            format!("{one} in A: {}; {other} in B: {}", why(a), why(b)),
        )),
    }
}

/// Why two metrics of one identifier cannot be compared.
fn incomparable(
    a: &BenchmarkMetric,
    b: &BenchmarkMetric,
    allow_unverified: bool,
) -> Option<(RefusalKind, String)> {
    if a.unit != b.unit {
        return Some((RefusalKind::Unit, format!("{} in A and {} in B", a.unit, b.unit)));
    }
    if a.higher_is_better != b.higher_is_better {
        return Some((
            RefusalKind::Direction,
            "the records disagree on which direction is good".to_owned(),
        ));
    }
    for (side, metric) in [("A", a), ("B", b)] {
        if !metric.value.is_finite() || metric.value <= 0.0 {
            return Some((
                RefusalKind::Value,
                format!("{} in {side} has no ratio to anything", metric.value),
            ));
        }
    }
    let checked = |metric: &BenchmarkMetric| metric.verified == Some(true) || metric.supporting;
    let sides = match (checked(a), checked(b)) {
        (true, true) => return None,
        _ if allow_unverified => return None,
        (false, false) => "A and B",
        (false, true) => "A",
        (true, false) => "B",
    };
    Some((
        RefusalKind::Unverified,
        format!("its result was not checked in {sides} (--unverified compares it anyway)"),
    ))
}

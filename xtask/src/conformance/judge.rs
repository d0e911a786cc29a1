//! What becomes of a case.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use warpforge_hlo::ir::OpKind;
use warpforge_hlo::{Program, Region, parse_verified};
use warpforge_tensor::Tensor;

use super::case::{self, Case, Oracle};
use super::compare::{Allowed, compare};
use super::corpus::Corpus;
use super::evaluate::{Answer, evaluate, guarded, keep_panics_quiet};
use super::lists::{Arbitration, Lists};
use super::tolerance::Tolerances;
use crate::tier::Tier;

/// The end of a case.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    /// Ours is XLA's.
    Passed,
    /// Ours is another oracle's where XLA's is not.
    Arbitrated,
    /// It calls something that the specification does not define.
    Outside(BTreeSet<String>),
    /// It stands in the skip list.
    Skipped(String),
    /// Anything else.
    Wrong(String),
}

/// Judges cases.
pub(super) struct Judge {
    tolerances: Tolerances,
    lists: Lists,
    limit: Duration,
    tier: Tier,
}

/// What was computed of a case.
pub(super) struct Computed {
    pub(super) program: Program,
    inputs: Vec<Tensor>,
    pub(super) outputs: Vec<Tensor>,
}

/// Why nothing was computed.
pub(super) enum Refusal {
    Outside(BTreeSet<String>),
    Wrong(String),
}

impl Judge {
    /// With the committed tables, a time limit for each case and the tier that computes.
    pub(super) fn new(limit: Duration, tier: Tier) -> anyhow::Result<Self> {
        keep_panics_quiet();
        Ok(Self { tolerances: Tolerances::committed()?, lists: Lists::committed()?, limit, tier })
    }

    /// Entries of the lists that fit none of these cases.
    pub(super) fn unused(&self, cases: &[String]) -> Vec<&str> {
        self.lists.unused(cases)
    }

    /// Judges one case.
    pub(super) fn judge(&self, corpus: &Corpus, case: &Case) -> Outcome {
        let outcome = self.without_skips(corpus, case);
        match (self.lists.skip(&case.name), outcome) {
            (Some(skip), Outcome::Wrong(_)) => Outcome::Skipped(skip.reason.clone()),
            (Some(_), other) => {
                Outcome::Wrong(format!("stands in skips.toml, but is not wrong: {other:?}"))
            }
            (None, outcome) => outcome,
        }
    }

    fn without_skips(&self, corpus: &Corpus, case: &Case) -> Outcome {
        let place = match &case.place {
            Ok(place) => place,
            Err(reason) => return Outcome::Wrong(format!("it could not be made: {reason}")),
        };
        let computed = match self.compute(place) {
            Ok(computed) => computed,
            Err(Refusal::Outside(targets)) => return Outcome::Outside(targets),
            Err(Refusal::Wrong(reason)) => return Outcome::Wrong(reason),
        };
        let arbitration = self.lists.arbitration(&case.name);
        match (self.against_xla(place, &case.group, &computed), arbitration) {
            (Ok(()), None) => Outcome::Passed,
            (Ok(()), Some(_)) => {
                Outcome::Wrong("stands in arbitration.toml, but agrees with XLA".to_owned())
            }
            (Err(reason), None) => Outcome::Wrong(reason),
            (Err(_), Some(arbitration)) => {
                match against_other(corpus, case, place, &computed, arbitration, self.tier) {
                    Ok(()) => Outcome::Arbitrated,
                    Err(reason) => Outcome::Wrong(reason),
                }
            }
        }
    }

    /// Runs a case.
    pub(super) fn compute(&self, place: &Path) -> Result<Computed, Refusal> {
        let wrong = |error: &dyn std::fmt::Display| Refusal::Wrong(first_line(error));
        let text = case::text(place).map_err(|error| wrong(&error))?;
        let program = parse_verified(&text).map_err(|error| wrong(&error))?;
        let inputs = case::inputs(place, &program).map_err(|error| wrong(&error))?;
        let (shared, handed, tier) = (program.clone(), inputs.clone(), self.tier);
        let run = move |cancel: &AtomicBool| {
            let main = shared.main().map_or("main", |function| function.name.as_str());
            evaluate(tier, &shared, main, handed, cancel)
        };
        match guarded(self.limit, run) {
            Answer::Ended(Ok(outputs)) => Ok(Computed { program, inputs, outputs }),
            Answer::Ended(Err(reason)) => {
                let targets = targets(&program);
                let outside = targets.iter().any(|target| self.lists.outside(target));
                Err(if outside { Refusal::Outside(targets) } else { Refusal::Wrong(reason) })
            }
            Answer::Panicked(said) => Err(Refusal::Wrong(format!("panicked: {said}"))),
            Answer::Late => {
                Err(Refusal::Wrong(format!("had not ended after {} s", self.limit.as_secs())))
            }
        }
    }

    fn against_xla(&self, place: &Path, group: &str, computed: &Computed) -> Result<(), String> {
        let Computed { program, inputs, outputs } = computed;
        let theirs =
            case::outputs(place, program, Oracle::Xla).map_err(|error| first_line(&error))?;
        let allowed = self.tolerances.allowed(group, program, inputs, outputs);
        agree(outputs, &theirs, &allowed)
    }
}

/// What functions of the production tier may be off by: docs/numerics.md states it.
const PRODUCTION_ULPS: f64 = 2.0;

/// Compares with the oracle that an entry of the list names.
fn against_other(
    corpus: &Corpus,
    case: &Case,
    place: &Path,
    computed: &Computed,
    arbitration: &Arbitration,
    tier: Tier,
) -> Result<(), String> {
    let outputs = || case::outputs(place, &computed.program, arbitration.by);
    let theirs = outputs().or_else(|_| {
        corpus.ask(arbitration.by, &BTreeSet::from([case.name.clone()]))?;
        outputs()
    });
    let theirs = theirs.map_err(|error| first_line(&error))?;
    if arbitration.by == Oracle::Reordered {
        return reordered(&computed.outputs, &theirs);
    }
    let ulps = match tier {
        Tier::Correctness => arbitration.ulps,
        Tier::Production | Tier::Observable => arbitration.ulps.max(PRODUCTION_ULPS),
    };
    let allowed = Allowed { ulps, floor: arbitration.floor, norm: false };
    agree(&computed.outputs, &theirs, &vec![allowed; theirs.len()])
}

/// Whether two lists of one-dimensional results have the same first result, and the same rows in some order.
fn reordered(ours: &[Tensor], theirs: &[Tensor]) -> Result<(), String> {
    let rows = |tensors: &[Tensor]| -> Option<Vec<Vec<Vec<u8>>>> {
        let length = tensors.first()?.shape().elements();
        if tensors.iter().any(|tensor| tensor.shape().sizes() != [length]) {
            return None;
        }
        let row = |place: usize| tensors.iter().map(move |one| one.element_bytes(place).to_vec());
        let mut rows: Vec<Vec<Vec<u8>>> = (0..length).map(|place| row(place).collect()).collect();
        rows.sort_unstable();
        Some(rows)
    };
    match (ours.first() == theirs.first(), rows(ours), rows(theirs)) {
        (true, Some(ours), Some(theirs)) if ours == theirs => Ok(()),
        (false, ..) => Err("the keys are not those of XLA".to_owned()),
        _ => Err("the rows are not those of XLA in another order".to_owned()),
    }
}

/// Whether every output lies within what is allowed.
fn agree(ours: &[Tensor], theirs: &[Tensor], allowed: &[Allowed]) -> Result<(), String> {
    if ours.len() != theirs.len() {
        return Err(format!("{} results, not {}", ours.len(), theirs.len()));
    }
    for (index, ((ours, theirs), allowed)) in ours.iter().zip(theirs).zip(allowed).enumerate() {
        let found = compare(ours, theirs, *allowed)
            .map_err(|reason| format!("result {index} ({}): {reason}", ours.dtype()))?;
        if let Some(difference) = found
            && difference.ulps > allowed.ulps
        {
            return Err(format!(
                "result {index} ({}): element {} is {}, not {}: {:.3} ULP, {:.3} allowed",
                ours.dtype(),
                difference.place,
                element(ours, difference.place),
                element(theirs, difference.place),
                difference.ulps,
                allowed.ulps
            ));
        }
    }
    Ok(())
}

/// One element, for a message.
fn element(tensor: &Tensor, place: usize) -> String {
    use warpforge_tensor::Elements;
    match tensor.elements() {
        Elements::Integers(values) => values[place].to_string(),
        Elements::Floats(values) => format!("{:e}", values[place]),
        Elements::Complex(values) => format!("{:e}", values[place]),
    }
}

/// The targets of the custom calls in a program.
fn targets(program: &Program) -> BTreeSet<String> {
    fn walk(region: &Region, found: &mut BTreeSet<String>) {
        for op in &region.ops {
            if let OpKind::CustomCall(call) = &op.kind {
                found.insert(call.target.clone());
            }
            op.regions.iter().for_each(|region| walk(region, found));
        }
    }
    let mut found = BTreeSet::new();
    program.functions.iter().for_each(|function| walk(&function.body, &mut found));
    found
}

fn first_line(error: &dyn std::fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpforge_tensor::{DType, Shape};

    fn tensor(values: &[i64]) -> Tensor {
        let shape = Shape::new([values.len()]).unwrap();
        Tensor::from_integers(DType::I32, shape, values.to_vec()).unwrap()
    }

    #[test]
    fn equal_keys_may_come_in_any_order() {
        let ours = [tensor(&[1, 1, 2]), tensor(&[5, 6, 7])];
        assert_eq!(reordered(&ours, &[tensor(&[1, 1, 2]), tensor(&[6, 5, 7])]), Ok(()));
        assert!(reordered(&ours, &[tensor(&[1, 1, 2]), tensor(&[5, 7, 6])]).is_err());
        assert!(reordered(&ours, &[tensor(&[1, 2, 1]), tensor(&[5, 7, 6])]).is_err());
    }

    #[test]
    fn what_is_beyond_the_tolerance_is_said() {
        let (ours, theirs) = ([tensor(&[1, 2])], [tensor(&[1, 3])]);
        assert_eq!(agree(&ours, &ours, &[Allowed::NOTHING]), Ok(()));
        let said = agree(&ours, &theirs, &[Allowed::NOTHING]).unwrap_err();
        assert_eq!(said, "result 0 (i32): element 1 is 2, not 3; the type is exact");
        assert!(agree(&ours, &[], &[]).is_err());
    }
}

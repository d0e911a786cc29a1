//! Whether a side computed what PyTorch computes: every result against PyTorch's in f32, or in f64 where the workload has it,
//! as the largest difference over the largest magnitude. A result that is missing, of another shape or not a number is wrong, not ignored.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, ensure};
use warpforge_tensor::Tensor;
use warpforge_tensor::safetensors::File;
use warpt_bench::paired::Subject as _;

use super::exports::{Export, Outcome, Place};
use super::rows::Wanted;
use super::session::{Prepared, Session};
use super::settings;
use super::sides::{Engine, ModelProcess, launch, reason};
use super::workloads::{Case, Precision, Workload};
use crate::measurement::{Goal, Measured, Row};

/// The result that is furthest away.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Furthest {
    pub(super) relative: f64,
    pub(super) name: String,
}

/// Results of this share of the largest one of their role count as that large: some gradients are zero in exact arithmetic
/// (a bias that softmax cancels), and what is computed is rounding only.
const NEGLIGIBLE: f64 = 1e-2;

/// Where results may lie: at most this many times as far from PyTorch's in f64 as PyTorch's own in f32 are, where those are
/// known and that is more than the precision allows.
const TIMES: f64 = 2.0;

/// Compares the results in a file with PyTorch's of an f32 export.
pub(super) fn furthest(outputs: &Path, export: &Export) -> anyhow::Result<Furthest> {
    let outputs = File::open(outputs)?;
    compare(export, |result| {
        outputs
            .mapped(&result.name)
            .with_context(|| format!("the result {} was not written", result.name))
    })
}

/// How far results may be.
fn allowed(export: &Export, precision: Precision) -> anyhow::Result<f64> {
    let tolerance = precision.tolerance();
    if export.exact.is_none() {
        return Ok(tolerance);
    }
    let mut files = Files::default();
    let own = compare(export, |result| {
        let place = result.reference.as_ref().context("a result without a reference")?;
        Ok(files.of(export, &place.file)?.mapped(&place.key)?)
    })?;
    Ok(tolerance.max(TIMES * own.relative))
}

/// The files of an export that were opened.
#[derive(Default)]
struct Files(HashMap<String, File>);

impl Files {
    fn of(&mut self, export: &Export, name: &str) -> anyhow::Result<&File> {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), File::open(export.directory.join(name))?);
        }
        self.0.get(name).context("a file that was opened")
    }
}

/// The result of those found that is furthest from PyTorch's: in f64 where the export has them, else in f32.
fn compare(
    export: &Export,
    mut found: impl FnMut(&Outcome) -> anyhow::Result<Tensor>,
) -> anyhow::Result<Furthest> {
    let mut files = Files::default();
    let mut expected = |place: &Place| -> anyhow::Result<Tensor> {
        let file = export.exact.as_ref().unwrap_or(&place.file);
        Ok(files.of(export, file)?.mapped(&place.key)?)
    };
    let mut largest: HashMap<&str, f64> = HashMap::new();
    for result in &export.entry.results {
        let Some(place) = &result.reference else { continue };
        let values = numbers(&expected(place)?)?;
        let most = largest.entry(&result.role).or_default();
        *most = values.iter().fold(*most, |most, value| most.max(value.abs()));
    }
    let mut worst: Option<Furthest> = None;
    for result in &export.entry.results {
        let Some(place) = &result.reference else { continue };
        let least = NEGLIGIBLE * largest[result.role.as_str()];
        let relative = relative_difference(&found(result)?, &expected(place)?, least)
            .with_context(|| format!("the result {}", result.name))?;
        if worst.as_ref().is_none_or(|worst| relative > worst.relative) {
            worst = Some(Furthest { relative, name: result.name.clone() });
        }
    }
    worst.context("the export has no reference to compare with")
}

/// The largest difference as a share of the largest expected magnitude, or of `least` where that is larger; infinite where
/// one is not a number.
fn relative_difference(found: &Tensor, expected: &Tensor, least: f64) -> anyhow::Result<f64> {
    ensure!(
        found.shape() == expected.shape(),
        "has the shape {:?}, PyTorch's {:?}",
        found.shape().sizes(),
        expected.shape().sizes()
    );
    let (found, expected) = (numbers(found)?, numbers(expected)?);
    let largest = expected.iter().fold(least, |most, value| most.max(value.abs()));
    let mut difference = 0.0_f64;
    for (found, expected) in found.iter().zip(&expected) {
        // Equal infinities differ by nothing; anything else that is not finite is as wrong as can be.
        let apart = if found == expected { 0.0 } else { (found - expected).abs() };
        difference = difference.max(if apart.is_finite() { apart } else { f64::INFINITY });
    }
    Ok(if largest > 0.0 && largest.is_finite() { difference / largest } else { difference })
}

fn numbers(tensor: &Tensor) -> anyhow::Result<Vec<f64>> {
    if tensor.dtype().is_float() {
        return Ok(tensor.floats()?);
    }
    Ok(tensor.integers()?.into_iter().map(|value| value as f64).collect())
}

/// How far the results of the last run are from PyTorch's; an error where that is too far.
pub(super) fn checked(
    session: &Session,
    process: &mut ModelProcess,
    prepared: &Prepared<'_>,
) -> anyhow::Result<f64> {
    let directory = tempfile::tempdir_in(session.folder("outputs")?)?;
    let path = directory.path().join("outputs.safetensors");
    process.outputs(&path)?;
    let furthest = furthest(&path, &prepared.f32)?;
    let allowed = allowed(&prepared.f32, prepared.case.precision)?;
    anyhow::ensure!(
        furthest.relative <= allowed,
        "wrong results: {} differs from PyTorch's by {:.1e} of its largest value, {allowed:.0e} is allowed",
        furthest.name,
        furthest.relative
    );
    Ok(furthest.relative)
}

/// `--check`: every side's results against PyTorch's, with its default setting and without timing. The value of ours is the
/// largest difference, that of the peer what is allowed.
pub(super) fn rows(
    session: &Session,
    workload: &Workload,
    case: &Case,
    wanted: &Wanted<'_>,
) -> Vec<Row> {
    let goal = Goal::Minimum(1.0);
    let name = |engine: &Engine| format!("{}_{}", workload.case_name(case), engine.name());
    let engines: Vec<Engine> =
        std::iter::once(Engine::Ours).chain(wanted.peers.iter().copied()).collect();
    let engines: Vec<Engine> =
        engines.into_iter().filter(|engine| wanted.wants(&name(engine))).collect();
    let prepared = match session.prepare(workload, case) {
        Ok(prepared) => prepared,
        Err(error) => {
            let why = reason(&format!("{error:#}"));
            return engines.iter().map(|each| Row::unmeasured(&name(each), goal, &why)).collect();
        }
    };
    let mut rows = Vec::new();
    for engine in &engines {
        eprintln!("  checking {}", engine.title());
        rows.push(match check_one(session, *engine, &prepared) {
            Ok(measured) => Row::new(&name(engine), goal, measured),
            Err(error) => Row::unmeasured(&name(engine), goal, reason(&format!("{error:#}"))),
        });
        if session.cancel.is_cancelled() {
            break;
        }
    }
    rows
}

fn check_one(
    session: &Session,
    engine: Engine,
    prepared: &Prepared<'_>,
) -> anyhow::Result<Measured> {
    let precision = prepared.case.precision;
    let settings = settings::of(engine, prepared.workload, precision, &session.cpus);
    let setting = settings.first().context("an engine has at least one setting")?;
    let launch = launch(session, engine, setting, prepared)?;
    let mut process = ModelProcess::new(engine.title(), launch, &session.cancel);
    process.restart()?;
    process.sample()?;
    let error = checked(session, &mut process, prepared)?;
    let allowed = allowed(&prepared.f32, precision)?;
    // An error of nothing is no more than a thousandth of what is allowed.
    let ratio = allowed / error.max(allowed / 1000.0);
    Ok(Measured {
        ours: error,
        peer: allowed,
        unit: "of max",
        ratio,
        low: ratio,
        high: ratio,
        notes: vec![format!("{}: {}", setting.name, process.about())],
    })
}

#[cfg(test)]
mod tests {
    use warpforge_tensor::{DType, Shape};

    use super::*;

    fn tensor(values: &[f64]) -> Tensor {
        let shape = Shape::new(vec![values.len()]).unwrap();
        Tensor::from_floats(DType::F32, shape, values.to_vec()).unwrap()
    }

    #[test]
    fn differences_are_shares_of_the_largest_value() {
        let expected = tensor(&[-4.0, 1.0]);
        assert_eq!(relative_difference(&tensor(&[-4.0, 2.0]), &expected, 0.0).unwrap(), 0.25);
        assert_eq!(relative_difference(&expected, &expected, 0.0).unwrap(), 0.0);
        assert_eq!(
            relative_difference(&tensor(&[0.5, 0.0]), &tensor(&[0.0, 0.0]), 0.0).unwrap(),
            0.5
        );
        let wrong = relative_difference(&tensor(&[f64::NAN, 1.0]), &expected, 0.0).unwrap();
        assert_eq!(wrong, f64::INFINITY);
        assert!(relative_difference(&tensor(&[1.0]), &expected, 0.0).is_err());
    }
}

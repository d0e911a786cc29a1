//! The committed bundles, validated: they match as they are, and a damaged run of them does not.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use warpforge_golden::Bundle;
use warpforge_tensor::{DType, Tensor};
use warpforge_validate::{
    Kind, Outcome, Precision, Runner, Saved, StepLocked, Tier, Tolerances, Validation, compare,
    judge, spreads, validate,
};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

fn run(bundle: &Bundle, tier: Tier, save: Option<&Path>) -> Validation {
    let runner = Runner::new(tier, Precision::AsWritten).unwrap();
    let tolerances = Tolerances::presets(Precision::AsWritten);
    validate(bundle, &runner, "a test", &tolerances, usize::MAX, save, |_| {}).unwrap()
}

fn count(validation: &Validation, kind: Kind) -> usize {
    validation.comparisons.iter().filter(|judged| judged.kind == kind).count()
}

#[test]
fn a_bundle_matches_in_every_tier() {
    let bundle = Bundle::open(fixture("mlp")).unwrap();
    for tier in
        [Tier::Correctness, Tier::Production { threads: 1 }, Tier::Production { threads: 2 }]
    {
        let validation = run(&bundle, tier, None);
        let wrong: Vec<String> =
            validation.mismatches().map(|judged| format!("{judged:?}")).collect();
        assert!(validation.passed(), "{wrong:?}");
        assert_eq!(validation.unobserved, []);
        // Two steps; four parameters; each of three modules returns one tensor.
        let expected = [
            (Kind::Activation, 6),
            (Kind::Loss, 2),
            (Kind::Gradient, 8),
            (Kind::MeanGradient, 0),
            (Kind::Weight, 8),
            (Kind::Update, 8),
            (Kind::State, 18),
            (Kind::OwnWeight, 8),
            (Kind::Output, 1),
        ];
        for (kind, number) in expected {
            assert_eq!(count(&validation, kind), number, "{kind}");
        }
        assert_eq!(validation.judged(), 51);
        assert_eq!(validation.timing.len(), 2);
    }
}

#[test]
fn ranks_are_judged_before_and_after_their_mean() {
    let bundle = Bundle::open(fixture("mlp-ranks")).unwrap();
    let validation = run(&bundle, Tier::Production { threads: 1 }, None);
    assert!(validation.passed(), "{:?}", validation.mismatches().next());
    assert_eq!(count(&validation, Kind::Gradient), 8);
    assert_eq!(count(&validation, Kind::MeanGradient), 4);
    let ranks: Vec<Option<u64>> = validation
        .comparisons
        .iter()
        .filter(|judged| judged.kind == Kind::Loss)
        .map(|judged| judged.rank)
        .collect();
    assert_eq!(ranks, [Some(0), Some(1)]);
}

#[test]
fn saved_results_are_judged_as_they_were() {
    let bundle = Bundle::open(fixture("mlp")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("results");
    let live = run(&bundle, Tier::Correctness, Some(&place));
    let saved = Saved::open(&place, &bundle).unwrap();
    let later = compare(&bundle, &saved, &Tolerances::presets(Precision::AsWritten)).unwrap();
    let kept = |validation: &Validation| -> Vec<(Kind, String, f64)> {
        let judged = validation.comparisons.iter().filter(|judged| judged.kind != Kind::OwnWeight);
        let mut found: Vec<_> = judged
            .map(|judged| (judged.kind, judged.name.clone(), judged.comparison.max_absolute_error))
            .collect();
        found.sort_by(|left, right| left.partial_cmp(right).unwrap());
        found
    };
    assert_eq!(kept(&live), kept(&later));
    assert!(later.passed());
    // Of another bundle, into a directory that is not empty, cut short.
    let other = Bundle::open(fixture("mlp-ranks")).unwrap();
    let error = Saved::open(&place, &other).unwrap_err().to_string();
    assert!(error.contains("started from another bundle"), "{error}");
    let runner = Runner::new(Tier::Correctness, Precision::AsWritten).unwrap();
    let tolerances = Tolerances::presets(Precision::AsWritten);
    let again = validate(&bundle, &runner, "a test", &tolerances, 1, Some(&place), |_| {});
    assert!(again.unwrap_err().to_string().contains("is not empty"));
    std::fs::write(place.join("steps/0000/weights.safetensors"), b"").unwrap();
    let error = Saved::open(&place, &bundle).unwrap_err().to_string();
    assert!(error.contains("bytes, but the manifest says"), "{error}");
}

/// A tensor with its largest element changed.
fn nudged(tensor: &Tensor, by: f64) -> Tensor {
    let mut values = tensor.floats().unwrap();
    let largest =
        values.iter_mut().max_by(|left, right| left.abs().total_cmp(&right.abs())).unwrap();
    *largest += by;
    Tensor::from_floats(DType::F32, tensor.shape().clone(), values).unwrap()
}

#[test]
fn one_wrong_element_is_found_and_named() {
    let bundle = Bundle::open(fixture("mlp")).unwrap();
    let runner = Runner::new(Tier::Correctness, Precision::AsWritten).unwrap();
    let step = &bundle.manifest().steps[1];
    let right = StepLocked::new(&runner, &bundle).unwrap().step(step).unwrap();
    type Fault = (Kind, &'static str, fn(&mut Outcome));
    let faults: [Fault; 6] = [
        (Kind::Activation, "up", |outcome| {
            let place =
                outcome.ranks[0].activations.iter().position(|(name, _)| name == "up").unwrap();
            let tensor = &mut outcome.ranks[0].activations[place].1;
            *tensor = nudged(tensor, 0.01);
        }),
        (Kind::Loss, "loss", |outcome| {
            outcome.ranks[0].loss = nudged(&outcome.ranks[0].loss, 0.001);
        }),
        (Kind::Gradient, "up.bias", |outcome| {
            let place =
                outcome.ranks[0].gradients.iter().position(|(name, _)| name == "up.bias").unwrap();
            let tensor = &mut outcome.ranks[0].gradients[place].1;
            *tensor = nudged(tensor, 0.001);
        }),
        // Less than a preset for weights would see, but far more than an update may differ by.
        (Kind::Update, "up.weight", |outcome| {
            let place = outcome.weights.iter().position(|(name, _)| name == "up.weight").unwrap();
            let tensor = &mut outcome.weights[place].1;
            *tensor = nudged(tensor, 2e-5);
        }),
        (Kind::State, "up.bias.exp_avg_sq", |outcome| {
            let place =
                outcome.state.iter().position(|(name, _)| name == "up.bias.exp_avg_sq").unwrap();
            let tensor = &mut outcome.state[place].1;
            *tensor = nudged(tensor, 1e-6);
        }),
        (Kind::Gradient, "up.weight", |outcome| {
            let place = outcome.ranks[0]
                .gradients
                .iter()
                .position(|(name, _)| name == "up.weight")
                .unwrap();
            let tensor = &mut outcome.ranks[0].gradients[place].1;
            *tensor = nudged(tensor, f64::NAN);
        }),
    ];
    for (kind, name, fault) in faults {
        let mut outcome = right.clone();
        fault(&mut outcome);
        let mut validation = Validation::new("mlp", bundle.digest(), runner.described("a test"));
        judge(&mut validation, &bundle, &outcome, &Tolerances::presets(Precision::AsWritten))
            .unwrap();
        let first =
            validation.mismatches().next().unwrap_or_else(|| panic!("{kind} {name} was not seen"));
        assert_eq!((first.step, first.kind, first.name.as_str()), (Some(1), kind, name));
        assert!(!validation.passed());
    }
}

#[test]
fn what_is_missing_is_an_error() {
    let bundle = Bundle::open(fixture("mlp")).unwrap();
    let runner = Runner::new(Tier::Correctness, Precision::AsWritten).unwrap();
    let right =
        StepLocked::new(&runner, &bundle).unwrap().step(&bundle.manifest().steps[0]).unwrap();
    let judged = |change: fn(&mut Outcome)| {
        let mut outcome = right.clone();
        change(&mut outcome);
        let mut validation = Validation::new("mlp", bundle.digest(), runner.described("a test"));
        let tolerances = Tolerances::presets(Precision::AsWritten);
        judge(&mut validation, &bundle, &outcome, &tolerances).map_err(|error| error.to_string())
    };
    assert_eq!(judged(|_| {}), Ok(()));
    let said = |change| judged(change).unwrap_err();
    assert!(
        said(|outcome| drop(outcome.ranks[0].gradients.pop()))
            .contains("the results have no gradient")
    );
    assert!(
        said(|outcome| drop(outcome.ranks[0].activations.pop()))
            .contains("the results have no activation")
    );
    assert!(said(|outcome| drop(outcome.weights.pop())).contains("not all that are trained"));
    assert!(said(|outcome| outcome.ranks.clear()).contains("run by 0 ranks"));
    assert!(said(|outcome| outcome.index = 9).contains("no step 9"));
    assert!(
        said(|outcome| outcome.state[0].0 = "other".into()).contains("no tensor named \"other\"")
    );
    assert!(
        said(|outcome| outcome.ranks[0].gradients[0].1 = outcome.ranks[0].loss.clone())
            .contains("cannot compare")
    );
}

#[test]
fn only_bundles_of_the_same_training_are_held_against_each_other() {
    let golden = Bundle::open(fixture("mlp")).unwrap();
    let presets = Tolerances::presets(Precision::AsWritten);
    for (other, reason) in
        [("mlp", "it is the same bundle"), ("mlp-ranks", "it was trained by 2 ranks, not 1")]
    {
        let other = Bundle::open(fixture(other)).unwrap();
        let error = spreads(&golden, &[other], &presets).unwrap_err().to_string();
        assert!(error.contains("cannot be compared with") && error.contains(reason), "{error}");
    }
    let nothing = spreads(&golden, &[], &presets).unwrap();
    assert_eq!((nothing.tensors.len(), nothing.steps.len()), (0, 0));
}

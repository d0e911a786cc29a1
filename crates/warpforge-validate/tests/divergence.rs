//! A fault that was planted is named where it was planted, and shown alone.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use warpforge_golden::Bundle;
use warpforge_hlo::ir::{Binary, OpKind};
use warpforge_tensor::{DType, Tensor, safetensors};
use warpforge_validate::{
    Divergence, Origin, Precision, Runner, Tier, Tolerances, first_divergence, validate,
};

fn bundle() -> Bundle {
    Bundle::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/mlp")).unwrap()
}

/// The divergence of a run with a fault in it.
fn found(bundle: &Bundle, runner: &Runner<'_>) -> Divergence {
    let tolerances = Tolerances::presets(Precision::AsWritten);
    let validation =
        validate(bundle, runner, "a test", &tolerances, usize::MAX, None, |_| {}).unwrap();
    let first = validation.mismatches().next().unwrap();
    first_divergence(bundle, runner, first, &mut |_| {}).unwrap()
}

#[test]
fn a_wrong_op_is_named_and_shown_alone() {
    let bundle = bundle();
    for (name, tier) in [
        ("gradients", Tier::Production { threads: 1 }),
        ("gradients", Tier::Correctness),
        ("adamw", Tier::Production { threads: 2 }),
    ] {
        let entry = bundle.program(name).unwrap();
        let mut program = Runner::read(&bundle, entry).unwrap();
        let main = program.functions.iter_mut().find(|each| each.name == entry.entry).unwrap();
        let types: Vec<_> = main.values.iter().map(|value| value.ty.clone()).collect();
        let is_large_sum = |op: &&mut warpforge_hlo::ir::Op| {
            op.kind == OpKind::Binary(Binary::Add)
                && types[op.results[0].index()].tensor().is_some_and(|ty| ty.rank() == 2)
        };
        let op = main.body.ops.iter_mut().find(is_large_sum).unwrap();
        op.kind = OpKind::Binary(Binary::Subtract);
        let value = format!("%{}", main.values[op.results[0].index()].name);
        let mut runner = Runner::new(tier, Precision::AsWritten).unwrap();
        runner.replaced.insert(name.to_owned(), program);
        let divergence = found(&bundle, &runner);
        assert_eq!((divergence.step, divergence.program.as_str()), (Some(0), name));
        match &divergence.origin {
            Origin::Op { op, value: named, .. } => {
                assert_eq!((op.as_str(), named), ("stablehlo.add", &value), "{name} {tier:?}");
            }
            other => panic!("{other:?}"),
        }
        let folder = tempfile::tempdir().unwrap();
        let path = divergence.reproducer.unwrap().write(folder.path(), "alone").unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(warpforge_hlo::parse_verified(&text).is_ok(), "{text}");
        let tensors = safetensors::File::open(path.with_extension("safetensors")).unwrap();
        assert_ne!(tensors.tensor("found0").unwrap(), tensors.tensor("wanted0").unwrap());
    }
}

#[test]
fn an_argument_that_is_not_the_golden_one_is_named() {
    let bundle = bundle();
    let disturb = |name: &str, arguments: &mut [Tensor]| {
        if name == "gradients" {
            let shape = arguments[0].shape().clone();
            arguments[0] = Tensor::zeros(DType::F32, shape);
        }
    };
    let mut runner = Runner::new(Tier::Correctness, Precision::AsWritten).unwrap();
    runner.disturbed = Some(&disturb);
    let wanted = bundle.program("gradients").unwrap().arguments[0].name.clone();
    match found(&bundle, &runner).origin {
        Origin::Argument { role, name } => assert_eq!((role.as_str(), name), ("parameter", wanted)),
        other => panic!("{other:?}"),
    }
}

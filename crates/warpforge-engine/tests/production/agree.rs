//! Both tiers on one program: they agree, and which kernels were launched.

use std::collections::HashMap;
use std::sync::Arc;

use warpforge_codegen::instructions::Isa;
use warpforge_engine::interface::random_value;
use warpforge_engine::pool::{Placement, Pool};
use warpforge_engine::reference::{Interpreter, Value};
use warpforge_engine::{Executable, Fusion, Options, StepReport};
use warpforge_hlo::{Program, parse_verified};
use warpforge_tensor::{DType, Tensor};

pub(super) fn program(text: &str) -> Program {
    parse_verified(text).unwrap()
}

pub(super) fn inputs(program: &Program) -> Vec<Value> {
    let main = program.main().unwrap();
    let value = |(index, argument): (usize, &warpforge_hlo::ir::Argument)| {
        random_value(main.ty(argument.value), 7, index as u64).unwrap()
    };
    main.arguments.iter().enumerate().map(value).collect()
}

pub(super) fn pool(threads: usize) -> Arc<Pool> {
    Arc::new(Pool::new(threads, &Placement::Anywhere).unwrap())
}

/// Whether the vectors for tiles are used.
pub(super) fn has_tiles() -> bool {
    Isa::usable() == Isa::Avx512
}

/// Whether this machine multiplies f32 in parts, by a matrix unit.
pub(super) fn has_matrix_unit() -> bool {
    // Of so many rows that tiles take it, whoever else could.
    let text = "func.func @main(%a: tensor<128x64xf32>, %b: tensor<64x64xf32>) -> tensor<128x64xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<128x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  return %0 : tensor<128x64xf32>
}";
    let made = Executable::compile(&program(text), pool(1), &Options::default()).unwrap();
    made.report().iter().any(|step| step.in_parts)
}

/// Runs a program in both tiers, with inputs given and with all of them fixed, and compares; what was launched.
pub(super) fn check(text: &str) -> Vec<StepReport> {
    let program = program(text);
    let inputs = inputs(&program);
    let wanted = Interpreter::new(&program).run(inputs.clone()).unwrap();
    let mut report = Vec::new();
    for threads in [1, 3] {
        let mut executable =
            Executable::compile(&program, pool(threads), &Options::default()).unwrap();
        for _ in 0..2 {
            compare(&executable.run(&inputs).unwrap(), &wanted);
        }
        report = executable.report();
    }
    check_fixed(&program, &inputs, &wanted);
    check_fused(&program, &inputs, &wanted);
    check_unfused(&program, &inputs, &wanted);
    check_observed(&program, &inputs);
    report
}

/// Less is computed together, and the numbers are the same within what they may differ.
fn check_unfused(program: &Program, inputs: &[Value], wanted: &[Value]) {
    for fusion in [Fusion::NoChains, Fusion::None] {
        let options = Options { fusion, ..Options::default() };
        let mut executable = Executable::compile(program, pool(2), &options).unwrap();
        compare(&executable.run(inputs).unwrap(), wanted);
    }
}

/// Looking changes nothing, and there is something to be seen of every kernel.
fn check_observed(program: &Program, inputs: &[Value]) {
    let run = |observed: bool| {
        let options = Options { observed, ..Options::default() };
        let mut executable = Executable::compile(program, pool(2), &options).unwrap();
        let results = executable.run(inputs).unwrap();
        (results, executable.plan_hash(), executable.report())
    };
    let (plain, plan, _) = run(false);
    let (seen, same_plan, report) = run(true);
    assert_eq!(plan, same_plan);
    for (plain, seen) in plain.iter().zip(&seen) {
        let (Value::Tensor(plain), Value::Tensor(seen)) = (plain, seen) else { panic!() };
        assert!(plain.bytes() == seen.bytes(), "looking changed a result");
    }
    for step in report.iter().filter(|step| step.launches > 0) {
        let observed = step.observed.as_ref().unwrap();
        assert_eq!(observed.busy.len(), 2);
    }
}

/// A program as it is fused reads back, verifies and computes the same in the reference tier.
fn check_fused(program: &Program, inputs: &[Value], wanted: &[Value]) {
    let text = warpforge_engine::fused(program, &Options::default()).unwrap().to_string();
    let fused = parse_verified(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    compare(&Interpreter::new(&fused).run(inputs.to_vec()).unwrap(), wanted);
}

/// As [`check`], but what was launched when all inputs but the first never change.
pub(super) fn check_with_weights(text: &str) -> Vec<StepReport> {
    check(text);
    let program = program(text);
    let inputs = inputs(&program);
    let wanted = Interpreter::new(&program).run(inputs.clone()).unwrap();
    check_fixed(&program, &inputs, &wanted)
}

pub(super) fn check_fixed(
    program: &Program,
    inputs: &[Value],
    wanted: &[Value],
) -> Vec<StepReport> {
    let fixed: HashMap<usize, Tensor> = inputs
        .iter()
        .enumerate()
        .skip(1)
        .filter_map(|(place, value)| match value {
            Value::Tensor(tensor) => Some((place, tensor.clone())),
            _ => None,
        })
        .collect();
    let options = Options { fixed, ..Options::default() };
    let mut executable = Executable::compile(program, pool(2), &options).unwrap();
    compare(&executable.run(&inputs[..1]).unwrap(), wanted);
    executable.report()
}

pub(super) fn compare(found: &[Value], wanted: &[Value]) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        let (Value::Tensor(found), Value::Tensor(wanted)) = (found, wanted) else { panic!() };
        assert_eq!((found.dtype(), found.shape()), (wanted.dtype(), wanted.shape()));
        if !found.dtype().is_float() {
            assert_eq!(found, wanted);
            continue;
        }
        // Narrow results may be rounded once more on the way than in the other tier.
        let tolerance = match found.dtype() {
            DType::BF16 => 8e-3,
            DType::F16 => 1e-3,
            _ => 2e-6,
        };
        let (found, wanted) = (found.floats().unwrap(), wanted.floats().unwrap());
        let largest = wanted.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        for (found, wanted) in found.iter().zip(&wanted) {
            let near = (found - wanted).abs() <= tolerance * largest.max(1e-30);
            assert!(near || found == wanted, "{found} for {wanted}");
        }
    }
}

///
/// Loops go by one name, whether there is machine code for them or not.
pub(super) fn backends(report: &[StepReport]) -> Vec<&str> {
    let name = |step: &StepReport| match step.backend {
        "generated" => "loop",
        other => other,
    };
    report.iter().map(name).collect()
}

/// Runs a program whose first result is of floats in both tiers, which may differ by so much of the largest element; what was
/// launched, and the result.
pub(super) fn within(text: &str, threads: usize, tolerance: f64) -> (Vec<&'static str>, Vec<f64>) {
    within_with(text, threads, tolerance, &Options::default())
}

/// The same with these options.
pub(super) fn within_with(
    text: &str,
    threads: usize,
    tolerance: f64,
    options: &Options,
) -> (Vec<&'static str>, Vec<f64>) {
    let program = parse_verified(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let inputs = inputs(&program);
    let wanted = Interpreter::new(&program).run(inputs.clone()).unwrap();
    let mut executable = Executable::compile(&program, pool(threads), options).unwrap();
    let found = executable.run(&inputs).unwrap();
    let (Value::Tensor(wanted), Value::Tensor(found)) = (&wanted[0], &found[0]) else {
        panic!("no tensors")
    };
    let (wanted, found) = (wanted.floats().unwrap(), found.floats().unwrap());
    let largest = wanted.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    for (at, (ours, theirs)) in found.iter().zip(&wanted).enumerate() {
        let near = (ours - theirs).abs() <= tolerance * largest;
        assert!(near, "{at}: {ours}, not {theirs}\n{text}");
    }
    (executable.report().iter().map(|step| step.backend).collect(), found)
}

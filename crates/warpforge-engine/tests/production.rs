//! The production tier against the reference: what is fused, placed and planned computes what the program says.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::sync::Arc;

use warpforge_engine::interface::random_value;
use warpforge_engine::pool::{Placement, Pool};
use warpforge_engine::reference::{Interpreter, Value};
use warpforge_engine::{Executable, Options, StepReport};
use warpforge_hlo::{Program, parse_verified};
use warpforge_tensor::{DType, Tensor};

fn program(text: &str) -> Program {
    parse_verified(text).unwrap()
}

fn inputs(program: &Program) -> Vec<Value> {
    let main = program.main().unwrap();
    let value = |(index, argument): (usize, &warpforge_hlo::ir::Argument)| {
        random_value(main.ty(argument.value), 7, index as u64).unwrap()
    };
    main.arguments.iter().enumerate().map(value).collect()
}

fn pool(threads: usize) -> Arc<Pool> {
    Arc::new(Pool::new(threads, &Placement::Anywhere).unwrap())
}

/// Runs a program in both tiers, with inputs given and with all of them fixed, and compares; what was launched.
fn check(text: &str) -> Vec<StepReport> {
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
    let mut executable = Executable::compile(&program, pool(2), &options).unwrap();
    compare(&executable.run(&inputs[..1]).unwrap(), &wanted);
    report
}

fn compare(found: &[Value], wanted: &[Value]) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        let (Value::Tensor(found), Value::Tensor(wanted)) = (found, wanted) else { panic!() };
        assert_eq!((found.dtype(), found.shape()), (wanted.dtype(), wanted.shape()));
        if !found.dtype().is_float() {
            assert_eq!(found, wanted);
            continue;
        }
        let (found, wanted) = (found.floats().unwrap(), wanted.floats().unwrap());
        let largest = wanted.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!((found - wanted).abs() <= 2e-6 * largest.max(1e-30), "{found} for {wanted}");
        }
    }
}

fn backends(report: &[StepReport]) -> Vec<&str> {
    report.iter().map(|step| step.backend).collect()
}

#[test]
fn softmax_is_one_loop() {
    let report = check(
        "func.func @main(%x: tensor<6x50xf32>, %m: tensor<50xf32>) -> tensor<6x50xf32> {
           %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
           %zero = stablehlo.constant dense<0.0> : tensor<f32>
           %mask = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<50xf32>) -> tensor<6x50xf32>
           %a = stablehlo.add %x, %mask : tensor<6x50xf32>
           %max = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<6x50xf32>, tensor<f32>) -> tensor<6xf32>
           %mb = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<6xf32>) -> tensor<6x50xf32>
           %s = stablehlo.subtract %a, %mb : tensor<6x50xf32>
           %e = stablehlo.exponential %s : tensor<6x50xf32>
           %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<6x50xf32>, tensor<f32>) -> tensor<6xf32>
           %sb = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<6xf32>) -> tensor<6x50xf32>
           %r = stablehlo.divide %e, %sb : tensor<6x50xf32>
           return %r : tensor<6x50xf32>
         }",
    );
    assert_eq!(backends(&report), ["loop"]);
}

#[test]
fn heads_are_read_and_written_in_place() {
    let report = check(
        "func.func @main(%x: tensor<5x12xf32>, %w: tensor<12x12xf32>, %b: tensor<12xf32>, %o: tensor<12x12xf32>) -> tensor<5x12xf32> {
           %q = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<5x12xf32>, tensor<12x12xf32>) -> tensor<5x12xf32>
           %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<12xf32>) -> tensor<5x12xf32>
           %qb = stablehlo.add %q, %bb : tensor<5x12xf32>
           %h = stablehlo.reshape %qb : (tensor<5x12xf32>) -> tensor<5x3x4xf32>
           %t = stablehlo.transpose %h, dims = [1, 0, 2] : (tensor<5x3x4xf32>) -> tensor<3x5x4xf32>
           %s = stablehlo.dot_general %t, %t, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<3x5x4xf32>, tensor<3x5x4xf32>) -> tensor<3x5x5xf32>
           %c = stablehlo.dot_general %s, %t, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<3x5x5xf32>, tensor<3x5x4xf32>) -> tensor<3x5x4xf32>
           %u = stablehlo.transpose %c, dims = [1, 0, 2] : (tensor<3x5x4xf32>) -> tensor<5x3x4xf32>
           %v = stablehlo.reshape %u : (tensor<5x3x4xf32>) -> tensor<5x12xf32>
           %r = stablehlo.dot_general %v, %o, contracting_dims = [1] x [0] : (tensor<5x12xf32>, tensor<12x12xf32>) -> tensor<5x12xf32>
           return %r : tensor<5x12xf32>
         }",
    );
    if cfg!(feature = "onednn") {
        assert_eq!(backends(&report), ["library"; 4]);
    }
    assert!(report.iter().all(|step| step.backend != "reference"));
}

#[test]
fn what_follows_a_product_is_done_with_it() {
    let report = check(
        "func.func @main(%x: tensor<7x8xf32>, %w: tensor<8x9xf32>, %b: tensor<9xf32>) -> tensor<7x9xf32> {
           %half = stablehlo.constant dense<0.5> : tensor<7x9xf32>
           %root = stablehlo.constant dense<0.707106769> : tensor<7x9xf32>
           %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<7x8xf32>, tensor<8x9xf32>) -> tensor<7x9xf32>
           %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<9xf32>) -> tensor<7x9xf32>
           %a = stablehlo.add %d, %bb : tensor<7x9xf32>
           %h = stablehlo.multiply %half, %a : tensor<7x9xf32>
           %n = stablehlo.negate %a : tensor<7x9xf32>
           %s = stablehlo.multiply %n, %root : tensor<7x9xf32>
           %e = chlo.erfc %s : tensor<7x9xf32> -> tensor<7x9xf32>
           %r = stablehlo.multiply %h, %e : tensor<7x9xf32>
           return %r : tensor<7x9xf32>
         }",
    );
    if cfg!(feature = "onednn") {
        assert_eq!(backends(&report), ["library"]);
    }
}

#[test]
fn values_read_by_several_stay_whole() {
    // The sum is read by two loops and returned; a reduction of columns reads it too.
    check(
        "func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<6xf32>, tensor<6x4xf32>, tensor<4xf32>) {
           %zero = stablehlo.constant dense<0.0> : tensor<f32>
           %s = stablehlo.add %x, %y : tensor<4x6xf32>
           %c = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
           %t = stablehlo.transpose %s, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
           %n = stablehlo.negate %t : tensor<6x4xf32>
           %m = stablehlo.multiply %s, %s : tensor<4x6xf32>
           %r = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
           return %s, %c, %n, %r : tensor<4x6xf32>, tensor<6xf32>, tensor<6x4xf32>, tensor<4xf32>
         }",
    );
}

#[test]
fn sizes_of_none_and_one() {
    check(
        "func.func @main(%x: tensor<0x3xf32>, %y: tensor<1x1xf32>) -> (tensor<0x3xf32>, tensor<3xf32>, tensor<1xf32>) {
           %zero = stablehlo.constant dense<2.5> : tensor<f32>
           %a = stablehlo.add %x, %x : tensor<0x3xf32>
           %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
           %r = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1x1xf32>, tensor<f32>) -> tensor<1xf32>
           return %a, %s, %r : tensor<0x3xf32>, tensor<3xf32>, tensor<1xf32>
         }",
    );
}

#[test]
fn empty_products_are_zero() {
    check(
        "func.func @main(%x: tensor<2x0xf32>, %y: tensor<0x3xf32>) -> tensor<2x3xf32> {
           %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
           return %r : tensor<2x3xf32>
         }",
    );
}

#[test]
fn a_plan_above_the_limit_is_refused() {
    let program = program(
        "func.func @main(%x: tensor<100xf32>) -> tensor<100xf32> {
           %r = stablehlo.negate %x : tensor<100xf32>
           return %r : tensor<100xf32>
         }",
    );
    let options = Options { memory_bytes: Some(100), ..Options::default() };
    let refused = Executable::compile(&program, pool(1), &options).err().unwrap();
    assert!(refused.to_string().contains("above the limit of 100"), "{refused}");
}

#[test]
fn narrow_floats_are_rounded_where_they_are_stored() {
    let program = program(
        "func.func @main(%x: tensor<40xbf16>) -> tensor<40xbf16> {
           %a = stablehlo.multiply %x, %x : tensor<40xbf16>
           %b = stablehlo.add %a, %x : tensor<40xbf16>
           return %b : tensor<40xbf16>
         }",
    );
    let inputs = inputs(&program);
    let mut executable = Executable::compile(&program, pool(2), &Options::default()).unwrap();
    let found = executable.run(&inputs).unwrap();
    let (Value::Tensor(input), Value::Tensor(found)) = (&inputs[0], &found[0]) else { panic!() };
    let exact = input.floats().unwrap().iter().map(|x| x * x + x).collect();
    let wanted = Tensor::from_floats(DType::BF16, input.shape().clone(), exact).unwrap();
    assert_eq!(*found, wanted);
}

//! Runs that hand their results on give what as many separate runs give.

use warpforge_engine::reference::Value;
use warpforge_engine::{Executable, Options, Sequence, interface};
use warpforge_tensor::{DType, Shape, Tensor};

use super::agree::{pool, program};

/// A step of momentum: the parameter and its momentum are donated; a counter is, too.
const STEP: &str = "func.func @main(%w: tensor<70x3xf32> {tf.aliasing_output = 1 : i32}, %x: tensor<3x5xf32>, %m: tensor<70x3xf32> {tf.aliasing_output = 2 : i32}, %n: tensor<f32> {tf.aliasing_output = 3 : i32}) -> (tensor<f32>, tensor<70x3xf32>, tensor<70x3xf32>, tensor<f32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %rate = stablehlo.constant dense<0.01> : tensor<70x3xf32>
    %keep = stablehlo.constant dense<0.9> : tensor<70x3xf32>
    %y = stablehlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<70x3xf32>, tensor<3x5xf32>) -> tensor<70x5xf32>
    %sq = stablehlo.multiply %y, %y : tensor<70x5xf32>
    %loss = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<70x5xf32>, tensor<f32>) -> tensor<f32>
    %g = stablehlo.dot_general %y, %x, contracting_dims = [1] x [1] : (tensor<70x5xf32>, tensor<3x5xf32>) -> tensor<70x3xf32>
    %k = stablehlo.multiply %m, %keep : tensor<70x3xf32>
    %m1 = stablehlo.add %k, %g : tensor<70x3xf32>
    %d = stablehlo.multiply %m1, %rate : tensor<70x3xf32>
    %w1 = stablehlo.subtract %w, %d : tensor<70x3xf32>
    %n1 = stablehlo.add %n, %one : tensor<f32>
    return %loss, %w1, %m1, %n1 : tensor<f32>, tensor<70x3xf32>, tensor<70x3xf32>, tensor<f32>
  }";

/// Results that are arguments: two change places, one stays, and one is given twice.
const MOVED: &str = "func.func @main(%a: tensor<9xf32> {tf.aliasing_output = 1 : i32}, %b: tensor<9xf32> {tf.aliasing_output = 0 : i32}, %c: tensor<9xf32> {tf.aliasing_output = 2 : i32}, %d: tensor<9xf32> {tf.aliasing_output = 3 : i32}) -> (tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>) {
    %s = stablehlo.add %a, %b : tensor<9xf32>
    return %a, %b, %c, %s, %s : tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>
  }";

fn compiled(text: &str) -> Executable {
    Executable::compile(&program(text), pool(2), &Options::default()).unwrap()
}

fn inputs(text: &str, seed: u64) -> Vec<Value> {
    let program = program(text);
    let ports = interface::arguments(&program.functions[0]);
    let each = ports.iter().zip(0..);
    each.map(|(port, place)| interface::random_value(&port.ty, seed, place).unwrap()).collect()
}

/// The same steps by separate runs; `carried` says which result becomes which argument.
fn separately(
    text: &str,
    mut values: Vec<Value>,
    carried: &[(usize, usize)],
    steps: usize,
) -> Vec<Value> {
    let mut executable = compiled(text);
    let mut results = Vec::new();
    for _ in 0..steps {
        let given = values.clone();
        results = executable.run(&values).unwrap();
        assert_eq!(given, values, "what was given is as it was");
        for (result, argument) in carried {
            values[*argument] = results[*result].clone();
        }
    }
    results
}

#[test]
fn steps_are_those_of_separate_runs() {
    for (text, carried) in
        [(STEP, vec![(1, 0), (2, 2), (3, 3)]), (MOVED, vec![(1, 0), (0, 1), (2, 2), (3, 3)])]
    {
        let values = inputs(text, 3);
        for steps in 1..4 {
            let mut sequence = Sequence::new(compiled(text), &values).unwrap();
            for _ in 0..steps {
                sequence.step().unwrap();
            }
            let expected = separately(text, values.clone(), &carried, steps);
            assert_eq!(sequence.results().unwrap(), expected, "{steps} steps");
        }
    }
}

#[test]
fn a_sequence_begins_anew_with_other_values() {
    let values = inputs(STEP, 5);
    let mut sequence = Sequence::new(compiled(STEP), &values).unwrap();
    sequence.step().unwrap();
    let first = sequence.results().unwrap();
    sequence.step().unwrap();
    assert_ne!(sequence.results().unwrap(), first);
    for (place, value) in values.iter().enumerate() {
        sequence.set(place, value).unwrap();
    }
    sequence.step().unwrap();
    assert_eq!(sequence.results().unwrap(), first);
    let wrong = Value::Tensor(Tensor::zeros(DType::F32, Shape::new(vec![3]).unwrap()));
    assert!(sequence.set(0, &wrong).is_err() && sequence.set(9, &wrong).is_err());
}

#[test]
fn results_stay_as_they_were_while_somebody_has_them() {
    let values = inputs(STEP, 7);
    let mut executable = compiled(STEP);
    let first = executable.run(&values).unwrap();
    let copy: Vec<Vec<u8>> = first.iter().map(bytes).collect();
    let other = inputs(STEP, 8);
    let second = executable.run(&other).unwrap();
    assert_ne!(bytes(&second[1]), copy[1]);
    assert_eq!(first.iter().map(bytes).collect::<Vec<_>>(), copy);
}

fn bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::Tensor(tensor) => tensor.bytes().to_vec(),
        other => panic!("{other:?}"),
    }
}

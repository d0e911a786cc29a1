//! Updates of weights: what an optimizer writes takes the place of what it read.

use warpforge_engine::reference::Interpreter;
use warpforge_engine::{Executable, Options, Sequence};

use super::agree::{check, compare, inputs, pool, program};

/// A step of Adam for one weight of `rows` times `columns`, with `batch` rows of input; the weight is also read to make what
/// is returned first, after its gradient in the order of the text.
fn step(rows: usize, columns: usize, batch: usize, donated: bool) -> String {
    let (weight, input, slope) = (
        format!("tensor<{rows}x{columns}xf32>"),
        format!("tensor<{batch}x{columns}xf32>"),
        format!("tensor<{batch}x{rows}xf32>"),
    );
    let place = |number: usize| match donated {
        true => format!(" {{tf.aliasing_output = {number} : i32}}"),
        false => String::new(),
    };
    let splat = |name: &str, number: f64| {
        format!("  %{name} = stablehlo.constant dense<{number:?}> : {weight}\n")
    };
    let two = |to: &str, op: &str, a: &str, b: &str| {
        format!("  %{to} = stablehlo.{op} %{a}, %{b} : {weight}\n")
    };
    [
        format!(
            "func.func @main(%w: {weight}{}, %x: {input}, %s: {slope}, %m: {weight}{}, %v: {weight}{}) -> ({input}, {weight}, {weight}, {weight}) {{\n",
            place(1),
            place(2),
            place(3)
        ),
        format!("  %g = stablehlo.dot_general %s, %x, contracting_dims = [0] x [0] : ({slope}, {input}) -> {weight}\n"),
        [("a", 0.9), ("b", 0.1), ("c", 0.99), ("d", 0.01), ("rate", 0.001), ("tiny", 0.5)].map(|(name, number)| splat(name, number)).concat(),
        two("m1", "multiply", "m", "a"),
        two("m2", "multiply", "g", "b"),
        two("m3", "add", "m1", "m2"),
        two("v1", "multiply", "v", "c"),
        two("g2", "multiply", "g", "g"),
        two("v2", "multiply", "g2", "d"),
        two("v3", "add", "v1", "v2"),
        format!("  %p = stablehlo.abs %v3 : {weight}\n  %root = stablehlo.sqrt %p : {weight}\n"),
        two("below", "add", "root", "tiny"),
        two("share", "divide", "m3", "below"),
        two("less", "multiply", "share", "rate"),
        two("w1", "subtract", "w", "less"),
        format!("  %back = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : ({slope}, {weight}) -> {input}\n"),
        format!("  return %back, %w1, %m3, %v3 : {input}, {weight}, {weight}, {weight}\n}}\n"),
    ]
    .concat()
}

#[test]
fn updates_agree() {
    for (rows, columns, batch) in [(640, 416, 70), (97, 280, 33)] {
        check(&step(rows, columns, batch, false));
    }
}

#[test]
fn what_is_updated_stays_where_it_is() {
    for (rows, columns, batch) in [(640, 416, 70), (61, 64, 50), (7, 5, 3)] {
        let text = step(rows, columns, batch, true);
        let program = program(&text);
        let mut values = inputs(&program);
        let executable = Executable::compile(&program, pool(2), &Options::default()).unwrap();
        let mut sequence = Sequence::new(executable, &values).unwrap();
        // Weight and state, each once.
        assert_eq!(sequence.carried_bytes(), 3 * 4 * rows * columns, "{rows}x{columns}");
        for _ in 0..3 {
            sequence.step().unwrap();
            let wanted = Interpreter::new(&program).run(values.clone()).unwrap();
            let found = sequence.results().unwrap();
            compare(&found, &wanted);
            // From what was found, so that differences do not add up.
            values[0].clone_from(&found[1]);
            values[3..].clone_from_slice(&found[2..]);
        }
    }
}

/// Elements that a later instruction reads where an earlier one writes its result.
#[test]
fn an_element_is_read_before_it_is_overwritten() {
    let text = "func.func @main(%a: tensor<1000xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<1000xf32> {tf.aliasing_output = 1 : i32}, %c: tensor<1000xf64> {tf.aliasing_output = 2 : i32}, %d: tensor<1000xf64> {tf.aliasing_output = 3 : i32}) -> (tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf64>, tensor<1000xf64>) {
  %0 = stablehlo.add %a, %b : tensor<1000xf32>
  %s = stablehlo.subtract %a, %b : tensor<1000xf32>
  %1 = stablehlo.multiply %0, %s : tensor<1000xf32>
  %2 = stablehlo.add %c, %d : tensor<1000xf64>
  %t = stablehlo.subtract %c, %d : tensor<1000xf64>
  %3 = stablehlo.multiply %2, %t : tensor<1000xf64>
  return %0, %1, %2, %3 : tensor<1000xf32>, tensor<1000xf32>, tensor<1000xf64>, tensor<1000xf64>
}";
    let program = program(text);
    let values = inputs(&program);
    let executable = Executable::compile(&program, pool(2), &Options::default()).unwrap();
    let mut sequence = Sequence::new(executable, &values).unwrap();
    assert_eq!(sequence.carried_bytes(), 2 * 1000 * (4 + 8));
    sequence.step().unwrap();
    assert_eq!(sequence.results().unwrap(), Interpreter::new(&program).run(values).unwrap());
}

/// A row whose last elements are written where it was, and one that is needed again after something was made of it.
#[test]
fn a_row_is_read_before_it_is_overwritten() {
    let rows = |which: [&str; 2]| {
        format!(
            "func.func @main(%a: tensor<40x96xf32> {{tf.aliasing_output = 0 : i32}}) -> (tensor<40x96xf32>, tensor<40x96xf32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.multiply %a, %a : tensor<40x96xf32>
  %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<40x96xf32>, tensor<f32>) -> tensor<40xf32>
  %t = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<40xf32>) -> tensor<40x96xf32>
  %d = stablehlo.subtract %a, %t : tensor<40x96xf32>
  return %{}, %{} : tensor<40x96xf32>, tensor<40x96xf32>
}}",
            which[0], which[1]
        )
    };
    for (which, carried) in [(["d", "e"], 1), (["e", "d"], 2)] {
        let program = program(&rows(which));
        let values = inputs(&program);
        let executable = Executable::compile(&program, pool(2), &Options::default()).unwrap();
        let mut sequence = Sequence::new(executable, &values).unwrap();
        assert_eq!(sequence.carried_bytes(), carried * 40 * 96 * 4, "{which:?}");
        sequence.step().unwrap();
        compare(&sequence.results().unwrap(), &Interpreter::new(&program).run(values).unwrap());
    }
}

/// A product is written where something it is added to was, if nobody else needs that.
#[test]
fn a_product_is_written_over_what_is_added() {
    for (of, to) in [("f32", "f32"), ("bf16", "f32"), ("bf16", "bf16")] {
        for (rows, depth, columns) in [(160, 96, 64), (130, 1100, 70), (128, 2112, 1056)] {
            let text = format!(
                "func.func @main(%x: tensor<{rows}x{depth}x{of}>, %w: tensor<{depth}x{columns}x{of}>, %v: tensor<{depth}x{columns}x{of}>, %r: tensor<{rows}x{columns}x{to}> {{tf.aliasing_output = 0 : i32}}) -> (tensor<{rows}x{columns}x{to}>, tensor<{rows}x{columns}x{to}>) {{
  %two = stablehlo.constant dense<2.0> : tensor<{rows}x{columns}x{to}>
  %h = stablehlo.multiply %r, %two : tensor<{rows}x{columns}x{to}>
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<{rows}x{depth}x{of}>, tensor<{depth}x{columns}x{of}>) -> tensor<{rows}x{columns}x{to}>
  %y = stablehlo.add %p, %h : tensor<{rows}x{columns}x{to}>
  %q = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<{rows}x{depth}x{of}>, tensor<{depth}x{columns}x{of}>) -> tensor<{rows}x{columns}x{to}>
  %z = stablehlo.add %q, %r : tensor<{rows}x{columns}x{to}>
  return %z, %y : tensor<{rows}x{columns}x{to}>, tensor<{rows}x{columns}x{to}>
}}"
            );
            let program = program(&text);
            let mut values = inputs(&program);
            let executable = Executable::compile(&program, pool(2), &Options::default()).unwrap();
            let mut sequence = Sequence::new(executable, &values).unwrap();
            for _ in 0..2 {
                sequence.step().unwrap();
                let wanted = Interpreter::new(&program).run(values.clone()).unwrap();
                let found = sequence.results().unwrap();
                compare(&found, &wanted);
                values[3].clone_from(&found[0]);
            }
        }
    }
}

/// Two updates of one argument, one after the other: what lies between them is where the argument was, too.
#[test]
fn an_argument_is_updated_twice_in_its_place() {
    let text = "func.func @main(%cache: tensor<64x16xf32> {tf.aliasing_output = 0 : i32}, %a: tensor<1x16xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<64x16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %cache, %a, %i, %zero : (tensor<64x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
  %1 = stablehlo.dynamic_update_slice %0, %a, %j, %zero : (tensor<64x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>
  return %1 : tensor<64x16xf32>
}";
    let program = program(text);
    let values = inputs(&program);
    let executable = Executable::compile(&program, pool(2), &Options::default()).unwrap();
    assert_eq!(executable.memory().arena_bytes, 0);
    let mut sequence = Sequence::new(executable, &values).unwrap();
    assert_eq!(sequence.carried_bytes(), 64 * 16 * 4);
    sequence.step().unwrap();
    assert_eq!(sequence.results().unwrap(), Interpreter::new(&program).run(values).unwrap());
}

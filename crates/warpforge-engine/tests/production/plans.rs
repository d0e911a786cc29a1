//! What is fused, placed and planned computes what the program says.

use warpforge_engine::reference::Value;
use warpforge_engine::{Executable, Fusion, Options};
use warpforge_tensor::{DType, Tensor};

use super::agree::{backends, check, check_with_weights, inputs, pool, program};

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
fn layer_norm_written_as_batch_norm_is_one_loop() {
    // As PyTorch/XLA exports it: a batch of rows, each a feature.
    let report = check(
        "func.func @main(%x: tensor<6x50xf32>, %g: tensor<50xf32>) -> tensor<6x50xf32> {
           %one = stablehlo.constant dense<1.0> : tensor<6xf32>
           %zero = stablehlo.constant dense<0.0> : tensor<6xf32>
           %r = stablehlo.reshape %x : (tensor<6x50xf32>) -> tensor<1x6x50xf32>
           %n:3 = \"stablehlo.batch_norm_training\"(%r, %one, %zero) <{epsilon = 1.000000e-12 : f32, feature_index = 1 : i64}> : (tensor<1x6x50xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<1x6x50xf32>, tensor<6xf32>, tensor<6xf32>)
           %b = stablehlo.reshape %n#0 : (tensor<1x6x50xf32>) -> tensor<6x50xf32>
           %gb = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<50xf32>) -> tensor<6x50xf32>
           %s = stablehlo.multiply %b, %gb : tensor<6x50xf32>
           return %s : tensor<6x50xf32>
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
    // In memory that held something else before.
    check(
        "func.func @main(%x: tensor<2x0xf32>, %y: tensor<0x3xf32>, %z: tensor<2x3xf32>) -> tensor<2x3xf32> {
           %a = stablehlo.exponential %z : tensor<2x3xf32>
           %b = stablehlo.dot_general %a, %z, contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
           %c = stablehlo.dot_general %b, %z, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
           %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>
           %r = stablehlo.subtract %c, %d : tensor<2x3xf32>
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

/// A convolution of 3x3 with a stride, as PyTorch's programs have it: features before space.
fn convolution(
    result: &str,
    x: &str,
    w: &str,
    [features, from, to]: [usize; 3],
    size: usize,
) -> String {
    format!(
        "{result} = stablehlo.convolution({x}, {w}) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], \
         window = {{stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]}} \
         {{batch_group_count = 1 : i64, feature_group_count = {features} : i64}} : \
         (tensor<2x{from}x{size}x{size}xf32>, tensor<{to}x{}x3x3xf32>) -> tensor<2x{to}x{size}x{size}xf32>\n",
        from / features
    )
}

/// A residual block with batch norm and a pool, features before space.
fn block() -> String {
    let first = convolution("%c", "%x", "%w", [1, 3, 16], 9);
    let second = convolution("%d", "%p", "%v", [1, 16, 16], 5);
    format!(
        "func.func @main(%x: tensor<2x3x9x9xf32>, %w: tensor<16x3x3x3xf32>, %m: tensor<16xf32>, %s: tensor<16xf32>,
             %b: tensor<16xf32>, %v: tensor<16x16x3x3xf32>, %u: tensor<16xf32>) -> (tensor<2x16x5x5xf32>, tensor<2x16xf32>) {{
           {first}
           %zero = stablehlo.constant dense<0.0> : tensor<f32>
           %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
           %mr = stablehlo.reshape %m : (tensor<16xf32>) -> tensor<1x16x1x1xf32>
           %mb = stablehlo.broadcast_in_dim %mr, dims = [0, 1, 2, 3] : (tensor<1x16x1x1xf32>) -> tensor<2x16x9x9xf32>
           %n = stablehlo.subtract %c, %mb : tensor<2x16x9x9xf32>
           %sb = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<16xf32>) -> tensor<2x16x9x9xf32>
           %t = stablehlo.multiply %n, %sb : tensor<2x16x9x9xf32>
           %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<2x16x9x9xf32>
           %a = stablehlo.add %t, %bb : tensor<2x16x9x9xf32>
           %z = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2x16x9x9xf32>
           %r = stablehlo.maximum %a, %z : tensor<2x16x9x9xf32>
           %p = \"stablehlo.reduce_window\"(%r, %low) <{{padding = dense<[[0, 0], [0, 0], [1, 1], [1, 1]]> : tensor<4x2xi64>,
               window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 2, 2>}}> ({{
             ^bb0(%i: tensor<f32>, %j: tensor<f32>):
               %k = stablehlo.maximum %i, %j : tensor<f32>
               stablehlo.return %k : tensor<f32>
           }}) : (tensor<2x16x9x9xf32>, tensor<f32>) -> tensor<2x16x5x5xf32>
           {second}
           %ub = stablehlo.broadcast_in_dim %u, dims = [1] : (tensor<16xf32>) -> tensor<2x16x5x5xf32>
           %e = stablehlo.multiply %d, %ub : tensor<2x16x5x5xf32>
           %f = stablehlo.add %e, %p : tensor<2x16x5x5xf32>
           %y = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<2x16x5x5xf32>
           %g = stablehlo.maximum %f, %y : tensor<2x16x5x5xf32>
           %h = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [2, 3] : (tensor<2x16x5x5xf32>, tensor<f32>) -> tensor<2x16xf32>
           return %g, %h : tensor<2x16x5x5xf32>, tensor<2x16xf32>
         }}"
    )
}

#[cfg(feature = "onednn")]
#[test]
fn a_residual_block_is_convolutions_and_a_pool() {
    let report = check_with_weights(&block());
    // Batch norm is in the kernels; sums and `relu` follow the convolutions; one copy gives the result its own order.
    assert_eq!(backends(&report), ["library", "window", "library", "move", "loop"]);
}

#[test]
fn a_residual_block_in_both_tiers() {
    check_with_weights(&block());
}

#[test]
fn windows_of_every_kind() {
    for (combine, ty, initial) in [
        ("add", "f32", "1.0"),
        ("maximum", "bf16", "0.5"),
        ("multiply", "i32", "3"),
        ("minimum", "f64", "0.0"),
    ] {
        for (window, strides, dilations, padding, to) in [
            ("1, 2, 1", "1, 1, 1", "1, 1, 1", "[[0, 0], [0, 0], [0, 0]]", "4x5x7"),
            ("2, 1, 3", "1, 2, 2", "1, 1, 1", "[[1, 0], [0, 0], [2, 1]]", "4x3x4"),
            ("4, 6, 7", "1, 1, 1", "1, 1, 1", "[[3, 0], [0, 0], [-1, 1]]", "4x1x1"),
            ("1, 1, 2", "2, 1, 3", "1, 1, 5", "[[0, 0], [1, 1], [4, 4]]", "2x8x4"),
            ("2, 3, 1", "1, 1, 1", "1, 1, 1", "[[1, 1], [1, 1], [0, 0]]", "5x6x7"),
            ("1, 3, 1", "1, 1, 1", "1, 2, 1", "[[0, 0], [2, 3], [0, 0]]", "4x7x7"),
            ("1, 2, 1", "1, 2, 1", "1, 1, 1", "[[0, 0], [1, 1], [0, 0]]", "4x4x7"),
        ] {
            check(&format!(
                "func.func @main(%x: tensor<4x6x7x{ty}>) -> tensor<{to}x{ty}> {{
                   %i = stablehlo.constant dense<{initial}> : tensor<{ty}>
                   %r = \"stablehlo.reduce_window\"(%x, %i) <{{padding = dense<{padding}> : tensor<3x2xi64>,
                       window_dimensions = array<i64: {window}>, window_strides = array<i64: {strides}>,
                       window_dilations = array<i64: {dilations}>}}> ({{
                     ^bb0(%a: tensor<{ty}>, %b: tensor<{ty}>):
                       %c = stablehlo.{combine} %a, %b : tensor<{ty}>
                       stablehlo.return %c : tensor<{ty}>
                   }}) : (tensor<4x6x7x{ty}>, tensor<{ty}>) -> tensor<{to}x{ty}>
                   return %r : tensor<{to}x{ty}>
                 }}"
            ));
        }
    }
}

#[test]
fn copies_in_another_order() {
    for (from, order, to) in [
        ("3x40x70", "2, 0, 1", "70x3x40"),
        ("65x33", "1, 0", "33x65"),
        ("2x3x4x5", "3, 2, 1, 0", "5x4x3x2"),
        ("1x64x1", "2, 1, 0", "1x64x1"),
        ("0x3", "1, 0", "3x0"),
    ] {
        for ty in ["f32", "i8", "bf16", "i64"] {
            check(&format!(
                "func.func @main(%x: tensor<{from}x{ty}>) -> tensor<{to}x{ty}> {{
                   %r = stablehlo.transpose %x, dims = [{order}] : (tensor<{from}x{ty}>) -> tensor<{to}x{ty}>
                   return %r : tensor<{to}x{ty}>
                 }}"
            ));
        }
    }
}

#[test]
fn a_plan_has_one_name() {
    let program = program(&block());
    let name = |threads, precision| {
        let options = Options { precision, ..Options::default() };
        Executable::compile(&program, pool(threads), &options).unwrap().plan_hash()
    };
    let as_written = warpforge_engine::passes::Precision::AsWritten;
    assert_eq!(name(2, as_written), name(2, as_written));
    assert_ne!(name(2, as_written), name(1, as_written));
    assert_ne!(name(2, as_written), name(2, warpforge_engine::passes::Precision::Bf16));
}

#[test]
fn the_same_plan_gives_the_same_bits() {
    let program = program(&block());
    let inputs = inputs(&program);
    let mut seen: Vec<Vec<Vec<u8>>> = Vec::new();
    for _ in 0..5 {
        let mut executable = Executable::compile(&program, pool(2), &Options::default()).unwrap();
        for _ in 0..5 {
            let bits = executable.run(&inputs).unwrap().into_iter().map(|value| match value {
                Value::Tensor(tensor) => tensor.bytes().to_vec(),
                _ => Vec::new(),
            });
            seen.push(bits.collect());
        }
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]));
}

/// Reductions whose result lies innermost, or between: along columns.
#[test]
fn reductions_along_columns() {
    for (from, dimensions, to) in [
        ("70x33", "0", "33"),
        ("3x50x7", "1", "3x7"),
        ("2x9x5x6", "0, 2", "9x6"),
        ("1x130x1x5000", "1", "1x1x5000"),
        ("400x3", "0", "3"),
        ("5x1", "0", "1"),
        ("0x4", "0", "4"),
    ] {
        for (combine, ty, initial) in [
            ("add", "f32", "0.5"),
            ("maximum", "f32", "0xFF800000"),
            ("multiply", "f64", "1.0"),
            ("add", "bf16", "0.0"),
            ("minimum", "i32", "2147483647"),
            ("add", "i8", "3"),
            ("or", "i1", "false"),
        ] {
            let double = if ty == "i1" { "xor" } else { "add" };
            check(&format!(
                "func.func @main(%x: tensor<{from}x{ty}>, %y: tensor<{from}x{ty}>) -> (tensor<{to}x{ty}>, tensor<{from}x{ty}>) {{
                   %i = stablehlo.constant dense<{initial}> : tensor<{ty}>
                   %s = stablehlo.{double} %x, %y : tensor<{from}x{ty}>
                   %r = stablehlo.reduce(%s init: %i) applies stablehlo.{combine} across dimensions = [{dimensions}] : (tensor<{from}x{ty}>, tensor<{ty}>) -> tensor<{}x{ty}>
                   %q = stablehlo.reshape %r : (tensor<{}x{ty}>) -> tensor<{to}x{ty}>
                   %t = stablehlo.{double} %q, %q : tensor<{to}x{ty}>
                   return %t, %s : tensor<{to}x{ty}>, tensor<{from}x{ty}>
                 }}",
                reduced(from, dimensions),
                reduced(from, dimensions)
            ));
        }
    }
}

/// The sizes that are left.
#[test]
fn what_is_reduced_along_columns_is_read_before_its_place_is_used_again() {
    let report = check(
        "func.func @main(%x: tensor<6x8x5xf32>, %y: tensor<f32>) -> (tensor<6x8x5xf32>, tensor<6x5xf32>, tensor<6x8x5xf32>) {
           %low = stablehlo.constant dense<-1000.0> : tensor<f32>
           %half = stablehlo.constant dense<0.5> : tensor<6x8x5xf32>
           %two = stablehlo.constant dense<2.0> : tensor<6x8x5xf32>
           %t = stablehlo.tanh %x : tensor<6x8x5xf32>
           %a = stablehlo.add %t, %two : tensor<6x8x5xf32>
           %l = stablehlo.log %a : tensor<6x8x5xf32>
           %m = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<6x8x5xf32>, tensor<f32>) -> tensor<6x5xf32>
           %b = stablehlo.broadcast_in_dim %y, dims = [] : (tensor<f32>) -> tensor<6x8x5xf32>
           %s = stablehlo.logistic %b : tensor<6x8x5xf32>
           %h = stablehlo.add %s, %half : tensor<6x8x5xf32>
           %d = stablehlo.divide %l, %h : tensor<6x8x5xf32>
           return %t, %m, %d : tensor<6x8x5xf32>, tensor<6x5xf32>, tensor<6x8x5xf32>
         }",
    );
    assert_eq!(backends(&report), ["loop"]);
}

fn reduced(from: &str, dimensions: &str) -> String {
    let gone: Vec<&str> = dimensions.split(", ").collect();
    let kept: Vec<&str> = from
        .split('x')
        .enumerate()
        .filter(|(at, _)| !gone.contains(&at.to_string().as_str()))
        .map(|(_, size)| size)
        .collect();
    kept.join("x")
}

/// Query, key and value of one input, with what is added to each.
#[cfg(feature = "onednn")]
#[test]
fn products_of_one_operand_are_one() {
    let product = |name: &str, weights: &str, bias: &str| {
        format!(
            "%{name}d = stablehlo.dot_general %x, %{weights}, contracting_dims = [1] x [1] : (tensor<5x6xf32>, tensor<8x6xf32>) -> tensor<5x8xf32>
             %{name}b = stablehlo.broadcast_in_dim %{bias}, dims = [1] : (tensor<8xf32>) -> tensor<5x8xf32>
             %{name}s = stablehlo.add %{name}d, %{name}b : tensor<5x8xf32>
             %{name}r = stablehlo.reshape %{name}s : (tensor<5x8xf32>) -> tensor<5x2x4xf32>
             %{name} = stablehlo.transpose %{name}r, dims = [1, 0, 2] : (tensor<5x2x4xf32>) -> tensor<2x5x4xf32>\n"
        )
    };
    let text = format!(
        "func.func @main(%x: tensor<5x6xf32>, %wq: tensor<8x6xf32>, %wk: tensor<8x6xf32>, %wv: tensor<8x6xf32>,
             %bq: tensor<8xf32>, %bk: tensor<8xf32>, %bv: tensor<8xf32>) -> tensor<2x5x4xf32> {{
           {}{}{}
           %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> tensor<2x5x5xf32>
           %o = stablehlo.dot_general %s, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x5x5xf32>, tensor<2x5x4xf32>) -> tensor<2x5x4xf32>
           return %o : tensor<2x5x4xf32>
         }}",
        product("q", "wq", "bq"),
        product("k", "wk", "bk"),
        product("v", "wv", "bv")
    );
    assert_eq!(backends(&check(&text)).len(), 5);
    assert_eq!(backends(&check_with_weights(&text)), ["library"; 3]);
}

/// Keys that several heads share: each is shown several times, then all are turned.
#[test]
fn shared_keys_are_spread_before_a_product() {
    let report = check(
        "func.func @main(%q: tensor<6x5x4xf32>, %k: tensor<1x2x7x4xf32>) -> tensor<6x5x7xf32> {
           %b = stablehlo.broadcast_in_dim %k, dims = [0, 1, 3, 4] : (tensor<1x2x7x4xf32>) -> tensor<1x2x3x7x4xf32>
           %r = stablehlo.reshape %b : (tensor<1x2x3x7x4xf32>) -> tensor<1x6x7x4xf32>
           %t = stablehlo.transpose %r, dims = [0, 1, 3, 2] : (tensor<1x6x7x4xf32>) -> tensor<1x6x4x7xf32>
           %s = stablehlo.reshape %t : (tensor<1x6x4x7xf32>) -> tensor<6x4x7xf32>
           %d = stablehlo.dot_general %q, %s, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<6x5x4xf32>, tensor<6x4x7xf32>) -> tensor<6x5x7xf32>
           return %d : tensor<6x5x7xf32>
         }",
    );
    assert!(!backends(&report).contains(&"reference"), "{:?}", backends(&report));
}

/// Larger products of sizes that fit no tile, with what follows them.
#[test]
fn large_products_with_weights() {
    for (rows, columns, depth) in [(24, 64, 64), (53, 97, 70), (384, 100, 1100), (31, 64, 513)] {
        let ty = |a: usize, b: usize| format!("tensor<{a}x{b}xf32>");
        let (x, w, out) = (ty(rows, depth), ty(columns, depth), ty(rows, columns));
        check_with_weights(&format!(
            "func.func @main(%x: {x}, %w: {w}, %b: tensor<{columns}xf32>, %r: {out}) -> {out} {{
               %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : ({x}, {w}) -> {out}
               %s = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<{columns}xf32>) -> {out}
               %a = stablehlo.add %d, %s : {out}
               %half = stablehlo.constant dense<0.5> : {out}
               %h = stablehlo.multiply %a, %half : {out}
               %root = stablehlo.constant dense<0.70710678118654757> : {out}
               %n = stablehlo.negate %a : {out}
               %i = stablehlo.multiply %n, %root : {out}
               %e = chlo.erfc %i : {out} -> {out}
               %g = stablehlo.multiply %h, %e : {out}
               %t = stablehlo.add %g, %r : {out}
               return %t : {out}
             }}"
        ));
        check_with_weights(&format!(
            "func.func @main(%x: {}, %w: {}) -> {out} {{
               %d = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0] : ({}, {}) -> {out}
               return %d : {out}
             }}",
            ty(depth, rows),
            ty(depth, columns),
            ty(depth, rows),
            ty(depth, columns)
        ));
    }
}

#[test]
fn what_is_not_finite_is_seen_where_it_is_made() {
    let program = program(
        "func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
           %zero = stablehlo.constant dense<0.0> : tensor<64x64xf32>
           %p = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
           %t = stablehlo.transpose %p, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
           %q = stablehlo.dot_general %t, %p, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
           %d = stablehlo.divide %q, %zero : tensor<64x64xf32>
           return %d : tensor<64x64xf32>
         }",
    );
    let options = Options { observed: true, fusion: Fusion::None, ..Options::default() };
    let mut executable = Executable::compile(&program, pool(2), &options).unwrap();
    executable.run(&inputs(&program)).unwrap();
    let seen: Vec<(String, bool)> = executable
        .report()
        .iter()
        .map(|step| {
            let outputs = &step.observed.as_ref().unwrap().outputs;
            (step.ops.join(" "), outputs.iter().flatten().all(|range| range.is_finite()))
        })
        .collect();
    let first = seen.iter().find(|(_, finite)| !finite).unwrap();
    assert_eq!(first.0, "divide", "{seen:?}");
}

/// What a later loop reads of an earlier one is made again from what both read, where that moves less memory.
#[test]
fn what_is_cheap_is_made_again() {
    let report = check(
        "func.func @main(%x: tensor<300x256xf32>, %w: tensor<256x256xf32>) -> tensor<300x256xf32> {
           %half = stablehlo.constant dense<0.5> : tensor<300x256xf32>
           %s = stablehlo.multiply %x, %half : tensor<300x256xf32>
           %h = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<300x256xf32>, tensor<256x256xf32>) -> tensor<300x256xf32>
           %t = stablehlo.tanh %h : tensor<300x256xf32>
           %a = stablehlo.multiply %h, %half : tensor<300x256xf32>
           %y = stablehlo.multiply %a, %t : tensor<300x256xf32>
           %p = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<300x256xf32>, tensor<256x256xf32>) -> tensor<300x256xf32>
           %u = stablehlo.logistic %p : tensor<300x256xf32>
           %q = stablehlo.multiply %u, %t : tensor<300x256xf32>
           %r = stablehlo.add %q, %a : tensor<300x256xf32>
           return %r : tensor<300x256xf32>
         }",
    );
    // The last loop reads the second product and what the first made, and nothing that the loop between them would write.
    let (tensor, last) = (300 * 256 * 4, report.last().unwrap());
    assert_eq!(last.cost.bytes, 3 * tensor, "{report:?}");
    assert!(
        report
            .iter()
            .filter(|step| step.backend == "generated")
            .all(|step| step.cost.bytes <= 3 * tensor)
    );
}

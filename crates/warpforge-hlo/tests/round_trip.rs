//! Programs of both forms are read, printed, and read again to the same program.
#![allow(clippy::unwrap_used)]

use warpforge_hlo::{OpKind, Program, parse};

fn comes_back(text: &str) -> Program {
    let program = parse(text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
    let printed = program.to_string();
    let again = parse(&printed).unwrap_or_else(|error| panic!("{error}\nin\n{printed}"));
    assert_eq!(program.clone().without_places(), again.clone().without_places(), "\n{printed}");
    assert_eq!(again.to_string(), printed, "printing is stable");
    program
}

/// A function around some ops.
fn function(arguments: &str, ops: &str) -> String {
    format!("func.func @main({arguments}) {{\n{ops}\n  return\n}}\n")
}

#[test]
fn pretty_forms() {
    let x = "%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %s: tensor<f32>, %i: tensor<i32>, %p: tensor<2x3xi1>, \
             %m: tensor<3x3xf32>, %c: tensor<4xcomplex<f32>>, %t: tensor<2xui32>";
    for op in [
        "%0 = stablehlo.add %x, %y : tensor<2x3xf32>",
        "%0 = stablehlo.add %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
        "%0 = stablehlo.exponential %x {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<2x3xf32>",
        "%0 = stablehlo.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>",
        "%0 = stablehlo.compare  LT, %x, %y,  FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>",
        "%0 = stablehlo.compare EQ, %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>",
        "%0 = stablehlo.compare EQ : tensor<2x3xi1>",
        "%0 = stablehlo.compare EQ, FLOAT : tensor<2x3xi1>",
        "%0 = stablehlo.select %p, %x, %y : tensor<2x3xi1>, tensor<2x3xf32>",
        "%0 = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>",
        "%0 = stablehlo.convert %x : (tensor<2x3xf32>) -> tensor<2x3xbf16>",
        "%0 = stablehlo.iota dim = 1 : tensor<2x3xi64>",
        "%0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>",
        "%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
        "%0 = stablehlo.reverse %x, dims = [0] : tensor<2x3xf32>",
        "%0 = stablehlo.slice %x [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>",
        "%0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>",
        "%0 = stablehlo.pad %x, %s, low = [0, 1], high = [0, -1], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>",
        "%0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>",
        "%0 = stablehlo.dot_general %x, %m, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>",
        "%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>",
        "%0 = stablehlo.reduce(%x init: %s) applies stablehlo.maximum across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>",
        "%0 = stablehlo.fft %c, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>",
        "%0 = stablehlo.cholesky %m, lower = true : tensor<3x3xf32>",
        "%0 = stablehlo.reduce_precision %x, format = e5m10 : tensor<2x3xf32>",
        "%0 = stablehlo.complex %x, %y : tensor<2x3xcomplex<f32>>",
        "%0, %1 = stablehlo.rng_bit_generator %t, algorithm = THREE_FRY : (tensor<2xui32>) -> (tensor<2xui32>, tensor<7xui32>)",
        "%0 = stablehlo.custom_call @foo(%x) {backend_config = \"a\\00\\22\", api_version = 2 : i32, mhlo.x = {k = 1 : i64}} : (tensor<2x3xf32>) -> tensor<2x3xf32>",
        "%0 = chlo.erf %x : tensor<2x3xf32> -> tensor<2x3xf32>",
        "%0, %1 = chlo.top_k(%x, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)",
        "%0 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>",
        "%0:2 = stablehlo.optimization_barrier %x, %s : tensor<2x3xf32>, tensor<f32>",
        "%0 = stablehlo.partition_id : tensor<ui32>",
        "%0 = stablehlo.create_token : !stablehlo.token",
        "%0 = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8<-127:127>:f32:1, {0.5:3,0.25,1.0e-3:-1}>>",
        "%0 = stablehlo.composite \"my.op\" %x {composite_attributes = {n = 1 : i64}, decomposition = @main, version = 2 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>",
    ] {
        comes_back(&function(x, op));
    }
}

#[test]
fn generic_forms_mean_the_same_as_pretty_ones() {
    let pretty = comes_back(&function(
        "%x: tensor<2x3xf32>",
        "%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>\n\
         %1 = stablehlo.compare GT, %x, %x, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>",
    ));
    let generic = comes_back(
        r#""builtin.module"() ({
          "func.func"() <{function_type = (tensor<2x3xf32>) -> (), sym_name = "main"}> ({
          ^bb0(%x: tensor<2x3xf32>):
            %0 = "stablehlo.transpose"(%x) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
            %1 = "stablehlo.compare"(%x, %x) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
            "func.return"() : () -> ()
          }) : () -> ()
        }) : () -> ()"#,
    );
    assert_eq!(pretty.without_places(), generic.without_places());
}

#[test]
fn regions_and_several_results() {
    let program = comes_back(&function(
        "%n: tensor<i32>, %x: tensor<4xf32>",
        r#"%0:2 = stablehlo.while(%iterArg = %n, %iterArg_0 = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.compare LT, %iterArg, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = stablehlo.add %iterArg_0, %iterArg_0 : tensor<4xf32>
      stablehlo.return %iterArg, %1 : tensor<i32>, tensor<4xf32>
    }
    %1:2 = "stablehlo.sort"(%0#1, %x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %2 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %2:2 = stablehlo.reduce(%1#0 init: %cst), (%1#1 init: %cst) across dimensions = [0] : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<f32>, %d: tensor<f32>)  {
      %3 = stablehlo.add %a, %b : tensor<f32>
      %4 = stablehlo.add %c, %d : tensor<f32>
      stablehlo.return %3, %4 : tensor<f32>, tensor<f32>
    }"#,
    ));
    let ops = &program.functions[0].body.ops;
    assert!(matches!(ops[0].kind, OpKind::While));
    assert_eq!(ops[0].regions[1].ops.len(), 2);
    assert_eq!(ops[3].regions[0].arguments.len(), 4);
    assert_eq!(program.op_count(), 15);
}

#[test]
fn constants_of_every_form() {
    for constant in [
        "dense<1.0> : tensor<f32>",
        "dense<0x7FC00001> : tensor<f32>",
        "dense<[1.5, -2.0e-3]> : tensor<2xbf16>",
        "dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>",
        "dense<true> : tensor<3xi1>",
        "dense<[true, false, true]> : tensor<3xi1>",
        "dense<\"0x0500\"> : tensor<9xi1>",
        "dense<\"0x000102FF\"> : tensor<4xui2>",
        "dense<\"0xF8\"> : tensor<3xi4>",
        "dense<\"0x0000803F00000040\"> : tensor<2xf32>",
        "dense<\"0x0000803F\"> : tensor<4xf32>",
        "dense<(1.0, -2.0)> : tensor<complex<f64>>",
        "dense<[(1.0, -2.0), (0.0, 1.0)]> : tensor<2xcomplex<f32>>",
        "dense<> : tensor<0x3xf32>",
        "dense<18446744073709551615> : tensor<ui64>",
        "dense<-9223372036854775808> : tensor<i64>",
        "dense<[0.1, 448.0]> : tensor<2xf8E4M3FN>",
    ] {
        comes_back(&function("", &format!("%0 = stablehlo.constant {constant}")));
    }
}

#[test]
fn symbols_with_colons_and_nested_ones_stay_what_they_are() {
    let long = "a::@b".repeat(100);
    let program = comes_back(&format!(
        "module @\"{long}\" attributes {{x = @a::@\"b::c\"}} {{ func.func @f() {{ return }} }}"
    ));
    assert_eq!(program.name.as_deref(), Some(long.as_str()));
    assert!(program.to_string().contains("@a::@\"b::c\""));
}

#[test]
fn locations_names_and_attributes() {
    let program = comes_back(
        r##"#map = {a = 1 : i64}
#loc2 = loc("model.py":3:4)
module @jit_f attributes {mhlo.num_partitions = 1 : i32, x = #map} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<2xf32> {jax.arg_info = "x"} loc("x")) -> (tensor<2xf32> {jax.result_info = "result"}) {
    %0 = call @g(%arg0) : (tensor<2xf32>) -> tensor<2xf32> loc(#loc4)
    %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<2xf32>
    return %1 : tensor<2xf32> loc(#loc)
  } loc(unknown)
  func.func private @g(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    return %arg0 : tensor<2xf32>
  }
}
#loc = loc(unknown)
#loc3 = loc(callsite(#loc2 at fused<"m">[#loc, "y"]))
#loc4 = loc("dense/dot_general"(#loc3))
"##,
    );
    let main = program.main().unwrap();
    let call = &main.body.ops[0];
    assert_eq!(program.locations.name(call.location.unwrap()), Some("dense/dot_general"));
    assert_eq!(main.body.ops[1].operands, call.results, "sharding does not change a value");
    assert_eq!(program.notes.len(), 2);
}

//! Right programs pass, and what holds of whole functions is looked at; `constraints/` has the rules of each op.
#![allow(clippy::unwrap_used)]

use warpforge_hlo::{parse_verified, verify};

const ARGUMENTS: &str = "%x: tensor<2x3xf32>, %y: tensor<3x2xf32>, %s: tensor<f32>, %i: tensor<i32>, %p: tensor<i1>, \
                         %v: tensor<3xf32>, %n: tensor<2xi32>, %t: tensor<4x4xf32>, %q: tensor<2x3xi32>";

fn judged(op: &str) -> Result<(), String> {
    let text = format!("func.func @main({ARGUMENTS}) {{\n  {op}\n  return\n}}\n");
    parse_verified(&text).map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn right_programs_pass() {
    for op in [
        "%0 = stablehlo.add %x, %x : tensor<2x3xf32>",
        "%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>",
        "%0 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>",
        "%0 = stablehlo.pad %x, %s, low = [1, -1], high = [0, 0], interior = [2, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<5x2xf32>",
        "%0 = stablehlo.slice %t [0:4:3, 1:2] : (tensor<4x4xf32>) -> tensor<2x1xf32>",
        "%0 = stablehlo.bitcast_convert %x : (tensor<2x3xf32>) -> tensor<2x3x4xi8>",
        "%0 = stablehlo.abs %x : tensor<2x3xf32>",
        "%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
        "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], pad = [[1, 1]]} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x4xf32>",
    ] {
        let op = op.replace("%a, %b", "%c, %d");
        let op = if op.contains("convolution") {
            format!(
                "%c = stablehlo.constant dense<0.0> : tensor<1x3x8xf32>\n  %d = stablehlo.constant dense<0.0> : tensor<4x3x3xf32>\n  {op}"
            )
        } else {
            op
        };
        assert_eq!(judged(&op), Ok(()), "{op}");
    }
}

#[test]
fn functions_return_what_they_say() {
    let text =
        "func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {\n  return %x : tensor<2xf32>\n}\n";
    let message = parse_verified(text).unwrap_err().to_string();
    assert!(
        message.contains("result 1 of @main is a tensor<3xf32>, but a tensor<2xf32> is returned"),
        "{message}"
    );
    let open =
        "func.func @main(%x: tensor<2xf32>) {\n  %0 = stablehlo.negate %x : tensor<2xf32>\n}\n";
    assert!(parse_verified(open).unwrap_err().to_string().contains("does not end with `return`"));
}

#[test]
fn values_of_a_region_end_with_it() {
    // Built by hand: text cannot name a value outside its region.
    let mut program = parse_verified(
        "func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {\n\
         %0 = \"stablehlo.if\"(%p) ({\n %1 = stablehlo.negate %x : tensor<f32>\n stablehlo.return %1 : tensor<f32>\n }, {\n\
         stablehlo.return %x : tensor<f32>\n }) : (tensor<i1>) -> tensor<f32>\n return %0 : tensor<f32>\n}",
    )
    .unwrap();
    let inner = program.functions[0].body.ops[0].regions[0].ops[0].results[0];
    program.functions[0].body.ops[1].operands[0] = inner;
    let violation = verify(&program).unwrap_err();
    assert!(violation.message.contains("not defined before"), "{violation:?}");
    assert!(violation.without_text().to_string().contains("in @main"));
}

//! What holds of every program: definitions before uses, one definition for each value, returns at the end.

use warpforge_hlo::{Program, ValueId, parse_verified, verify};

use super::message;

const SMALL: &str = "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n\
                     %0 = stablehlo.negate %x : tensor<f32>\n return %0 : tensor<f32>\n}\n";

/// What is said of a program that no text can be: a right one with something changed.
fn changed(change: impl FnOnce(&mut Program)) -> String {
    let mut program = parse_verified(SMALL).unwrap();
    change(&mut program);
    verify(&program).unwrap_err().without_text().to_string()
}

pub(crate) fn messages() -> Vec<String> {
    vec![
        message(
            "func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {\n return %x : tensor<f32>\n}\n",
        ),
        message("func.func @main(%x: tensor<f32>) -> tensor<i32> {\n return %x : tensor<f32>\n}\n"),
        message("func.func @main(%x: tensor<f32>) {\n %0 = stablehlo.negate %x : tensor<f32>\n}\n"),
        message(
            "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n return %x : tensor<f32>\n return %x : tensor<f32>\n}\n",
        ),
        message(
            "func.func @main(%p: tensor<i1>) {\n \"stablehlo.if\"(%p) ({\n %0 = stablehlo.not %p : tensor<i1>\n }, {\n stablehlo.return\n }) : (tensor<i1>) -> ()\n return\n}\n",
        ),
        changed(|program| program.functions[0].body.ops[1].operands[0] = ValueId(7)),
        changed(|program| program.functions[0].body.ops[0].results[0] = ValueId(7)),
        changed(|program| program.functions[0].body.ops[0].results[0] = ValueId(0)),
    ]
}

#[test]
fn structure_is_kept() {
    let expected = [
        "@main has 2 results, but 1 are returned",
        "result 1 of @main is a tensor<i32>, but a tensor<f32> is returned",
        "@main does not end with `return`",
        "nothing can follow a return",
        "a region of an op ends with `stablehlo.return`",
        "an operand is not defined before this op",
        "a value has no entry in its function",
        "a value is defined twice",
    ];
    for (message, expected) in messages().iter().zip(expected) {
        assert!(message.contains(expected), "{message}\nshould say\n{expected}");
    }
}

//! What is wrong is said with its place and what was expected; hostile text neither panics nor takes much.
#![allow(clippy::unwrap_used)]

use warpforge_hlo::{HloError, Limits, parse, parse::parse_within};

fn message(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

fn in_main(op: &str) -> String {
    message(&format!("func.func @main(%x: tensor<2x3xf32>) {{\n  {op}\n  return\n}}\n"))
}

#[test]
fn messages_a_person_can_act_on() {
    for (op, expected) in [
        ("%0 = stablehlo.add %x, %z : tensor<2x3xf32>", "2:26: %z is not defined before this"),
        (
            "%0 = stablehlo.add %x, %x : tensor<2x3xi32>",
            "operand 1 of stablehlo.add, %x, is a tensor<2x3xf32>, but the op states tensor<2x3xi32>",
        ),
        (
            "%0 = stablehlo.addd %x, %x : tensor<2x3xf32>",
            "`stablehlo.addd` is not an op of StableHLO",
        ),
        ("%0 = linalg.matmul %x, %x : tensor<2x3xf32>", "the dialect `linalg` is not read"),
        (
            "%0 = stablehlo.transpose %x, dim = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
            "stablehlo.transpose has no `dim`",
        ),
        (
            "%0 = stablehlo.transpose %x : (tensor<2x3xf32>) -> tensor<3x2xf32>",
            "stablehlo.transpose: attribute `permutation` is missing",
        ),
        ("%x = stablehlo.negate %x : tensor<2x3xf32>", "%x is defined twice"),
        (
            "%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>",
            "expected 3 entries in this list, found 2",
        ),
        ("%0 = stablehlo.constant dense<300> : tensor<i8>", "`300` is not a value of type i8"),
        (
            "%0 = stablehlo.constant dense<1.0e999> : tensor<f64>",
            "`1.0e999` is not a value of type f64",
        ),
        (
            "%0 = \"stablehlo.custom_call\"(%x) {call_target_name = \"f\", scale = 1.0e999} : (tensor<2x3xf32>) -> tensor<2xf32>",
            "`1.0e999` is not a float of type f64",
        ),
        (
            "%0 = stablehlo.constant dense<0x1F> : tensor<f4E2M1FN>",
            "`0x1F` is not a value of type f4E2M1FN",
        ),
        ("%0 = stablehlo.negate %x : tensor<2x3xf33>", "`f33` is not an element type"),
        ("%0 = stablehlo.negate %x", "expected `:` and the types of stablehlo.negate"),
        (
            "%0:2 = stablehlo.negate %x : tensor<2x3xf32>",
            "stablehlo.negate has 1 results, but 2 are named",
        ),
        (
            "%0 = stablehlo.negate %x : tensor<99999999999x99999999999xf32>",
            "more elements than can be counted",
        ),
    ] {
        let message = in_main(op);
        assert!(message.contains(expected), "{message}\nshould say\n{expected}");
        assert!(message.contains(" | "), "the line is shown: {message}");
    }
}

#[test]
fn other_files_are_named_in_one_line() {
    for (text, expected) in [
        ("", "it is empty"),
        ("HloModule jit_f", "HLO text"),
        ("import torch\n", "begins with `import torch"),
        ("{\"a\": 1}", "begins with"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(matches!(error, HloError::NotStablehlo(_)));
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.to_string().lines().count(), 1);
    }
}

#[test]
fn limits_hold_on_a_small_stack() {
    let deep = |open: &str, close: &str, count: usize| {
        format!("{}{}", open.repeat(count), close.repeat(count))
    };
    let texts = [
        format!("module attributes {{x = {}}} {{}}", deep("[", "]", 100_000)),
        format!("module attributes {{x = {}}} {{}}", deep("{a = ", "}", 100_000)),
        format!(
            "func.func @f(%x: {}tensor<f32>{}) {{ return }}",
            "tuple<".repeat(100_000),
            ">".repeat(100_000)
        ),
        format!("func.func @f() {{ {} }}", "\"stablehlo.case\"() ({ ".repeat(100_000)),
        format!("#loc = loc({})", "callsite(".repeat(100_000)),
        format!("module attributes {{x = @a{}}} {{}}", "::@b".repeat(100_000)),
        format!("module attributes {{x = #a.b<{}>}} {{}}", "<".repeat(100_000)),
    ];
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || {
            for text in texts {
                assert!(parse(&text).is_err());
            }
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn ops_constants_and_text_are_capped() {
    let limits = Limits { ops: 2, constant_bytes: 16, text_bytes: 4000, ..Limits::default() };
    let many = "func.func @f(%x: tensor<f32>) { %0 = stablehlo.negate %x : tensor<f32> %1 = stablehlo.negate %0 : tensor<f32> return }";
    assert!(matches!(parse_within(many, &limits), Err(HloError::Limit(_))));
    let big = "func.func @f() { %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64> return }";
    assert!(matches!(parse_within(big, &limits), Err(HloError::Limit(_))));
    let splat =
        "func.func @f() { %0 = stablehlo.constant dense<1> : tensor<1000000000xi64> return }";
    assert!(parse_within(splat, &limits).is_ok());
    assert!(matches!(parse_within(&" ".repeat(5000), &limits), Err(HloError::Limit(_))));
}

#[test]
fn locations_that_go_in_circles_are_refused() {
    let text = "#loc1 = loc(callsite(#loc2 at #loc2))\n#loc2 = loc(callsite(#loc1 at #loc1))\n\
                func.func @f() { return loc(#loc1) }";
    assert!(message(text).contains("refers to itself"));
    assert!(message("func.func @f() { return loc(#loc9) }").contains("#loc9 is not defined"));
}

#[test]
fn cut_and_garbled_text_never_panics() {
    let text = "#loc = loc(\"a\")\nmodule @m attributes {a = 1 : i32} {\n func.func @main(%x: tensor<2x?xf32>) -> (tensor<2x3xf32>) {\n\
                %0 = stablehlo.constant dense<\"0x0000803F\"> : tensor<2x3xf32> loc(#loc)\n\
                %1:2 = \"stablehlo.sort\"(%0, %0) <{dimension = 0 : i64}> ({\n ^bb0(%a: tensor<f32>):\n stablehlo.return %a : tensor<f32>\n }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)\n\
                return %1#0 : tensor<2x3xf32>\n } }\n";
    parse(text).unwrap();
    for end in 0..text.len() {
        let _ = parse(&text[..end]);
    }
    for at in 0..text.len() {
        for byte in ["", "%", "<", ">", "{", "\"", "é", "0", "#", "x"] {
            let _ = parse(&format!("{}{byte}{}", &text[..at], &text[at + 1..]));
        }
    }
}

//! A broken program for each constraint of the verifier, and the sentence that says what is broken.
//!
//! The tables are held against the verifier's source: a sentence in it that no program here provokes fails the test.
#![allow(clippy::unwrap_used)]

mod collective;
mod control;
mod elementwise;
mod indexing;
mod linear_algebra;
mod product;
mod reduction;
mod shape;
mod structure;

use warpforge_hlo::parse_verified;

/// An op that breaks one rule: name, operands by the names below, attributes, regions separated by `|` (`{A}`, `{L}` and
/// `{N}` stand for the ones below), the types of its results, and what the message says.
type Case = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

/// The values that broken ops read.
const VALUES: &[(&str, &str)] = &[
    ("f", "tensor<2x3xf32>"),
    ("g", "tensor<3x2xf32>"),
    ("s", "tensor<f32>"),
    ("v", "tensor<3xf32>"),
    ("w", "tensor<2xf32>"),
    ("m", "tensor<4x4xf32>"),
    ("i", "tensor<i32>"),
    ("l", "tensor<i64>"),
    ("n", "tensor<2xi32>"),
    ("q", "tensor<2x3xi32>"),
    ("p", "tensor<i1>"),
    ("b", "tensor<2x3xi1>"),
    ("c", "tensor<2x3xcomplex<f32>>"),
    ("u", "tensor<2xui64>"),
    ("h", "tensor<2x3xf16>"),
    ("e", "tensor<2x3xf8E4M3FN>"),
    ("z", "tensor<2x3x!quant.uniform<i8:f32, 0.5>>"),
    ("image", "tensor<1x3x8x8xf32>"),
    ("kernel", "tensor<4x3x3x3xf32>"),
    ("token", "!stablehlo.token"),
    ("pair", "tuple<tensor<f32>, tensor<i32>>"),
];

/// Regions that several tables use.
const ADD: &str = "^r(%ra: tensor<f32>, %rb: tensor<f32>): %rc = stablehlo.add %ra, %rb : tensor<f32> stablehlo.return %rc : tensor<f32>";
const ADD_INTEGERS: &str = "^r(%ra: tensor<i32>, %rb: tensor<i32>): %rc = stablehlo.add %ra, %rb : tensor<i32> stablehlo.return %rc : tensor<i32>";
const LESS: &str = "^r(%ra: tensor<f32>, %rb: tensor<f32>): %rc = stablehlo.compare LT, %ra, %rb : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %rc : tensor<i1>";
const NOTHING: &str = "stablehlo.return";

/// A program with the op of a case in it.
fn program((op, operands, attributes, regions, results, _): Case) -> String {
    let ty = |name: &str| VALUES.iter().find(|(other, _)| *other == name).unwrap().1;
    let arguments: Vec<String> = VALUES.iter().map(|(name, ty)| format!("%{name}: {ty}")).collect();
    let operands: Vec<&str> = operands.split_whitespace().collect();
    let values: Vec<String> = operands.iter().map(|name| format!("%{name}")).collect();
    let types: Vec<&str> = operands.iter().map(|name| ty(name)).collect();
    let results: Vec<String> = results
        .split_whitespace()
        .map(|ty| if ty.starts_with('!') { ty.to_owned() } else { format!("tensor<{ty}>") })
        .collect();
    let names: Vec<String> = (0..results.len()).map(|index| format!("%r{index}")).collect();
    let equals = if names.is_empty() { "" } else { " = " };
    let dialect = if op.contains('.') { "" } else { "stablehlo." };
    let attributes =
        if attributes.is_empty() { String::new() } else { format!(" <{{{attributes}}}>") };
    let regions = regions.replace("{A}", ADD).replace("{L}", LESS).replace("{N}", NOTHING);
    let regions: Vec<String> = regions
        .split('|')
        .filter(|region| !region.trim().is_empty())
        .map(|region| format!("{{\n    {region}\n  }}"))
        .collect();
    let regions =
        if regions.is_empty() { String::new() } else { format!(" ({})", regions.join(", ")) };
    format!(
        "func.func @main({}) {{\n  {}{equals}\"{dialect}{op}\"({}){attributes}{regions} : ({}) -> ({})\n  return\n}}\n",
        arguments.join(", "),
        names.join(", "),
        values.join(", "),
        types.join(", "),
        results.join(", ")
    )
}

fn message(text: &str) -> String {
    match parse_verified(text) {
        Ok(_) => panic!("nothing is wrong with\n{text}"),
        Err(error) => error.to_string(),
    }
}

/// What the verifier says of each case of a table; each must say what the table expects.
fn judged(cases: &[Case]) -> Vec<String> {
    let judge = |case: &Case| {
        let text = program(*case);
        let message = message(&text);
        assert!(message.contains(case.5), "{text}\n{message}\nshould say\n{}", case.5);
        message
    };
    cases.iter().map(judge).collect()
}

fn messages() -> Vec<String> {
    let tables = [
        collective::CASES,
        control::CASES,
        elementwise::CASES,
        indexing::CASES,
        linear_algebra::CASES,
        product::CASES,
        reduction::CASES,
        shape::CASES,
    ];
    let mut messages: Vec<String> = tables.into_iter().flat_map(judged).collect();
    messages.extend(structure::messages());
    messages
}

/// The texts in quotes of a source file that are sentences or parts of one.
fn sentences(source: &str) -> Vec<&str> {
    let code = source.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    code.flat_map(|line| line.split('"').skip(1).step_by(2))
        .filter(|text| text.trim().contains(' '))
        .collect()
}

/// Whether the fixed parts of a sentence with `{}` in it occur in a message, in order.
fn says(message: &str, sentence: &str) -> bool {
    let mut rest = message;
    let parts = sentence.split('{').map(|part| part.split_once('}').map_or(part, |(_, end)| end));
    parts.into_iter().all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[test]
fn every_constraint_has_a_program_that_breaks_it() {
    let messages = messages();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/verify");
    let mut unseen = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let source = std::fs::read_to_string(&path).unwrap();
        for sentence in sentences(&source) {
            // Said where types are asked for, which no text does.
            let of_the_builder = sentence.contains("it must be stated");
            if !of_the_builder && !messages.iter().any(|message| says(message, sentence)) {
                unseen.push(format!("{}: {sentence}", path.display()));
            }
        }
    }
    assert!(unseen.is_empty(), "no program provokes\n{}", unseen.join("\n"));
}

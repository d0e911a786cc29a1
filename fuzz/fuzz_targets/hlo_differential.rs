//! Random well-typed programs: they verify, print and read back to themselves, and compute what a naive evaluation says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpforge_engine::reference::{Interpreter, Value};
use warpforge_fuzz::differential::{Kind, Naive, Number, generate};
use warpforge_hlo::{Program, parse, parse_verified};
use warpforge_tensor::Tensor;

fuzz_target!(|bytes: &[u8]| {
    let generated = generate(bytes);
    let program = match parse_verified(&generated.text) {
        Ok(program) => program,
        Err(error) => panic!("{error}\n{}", generated.text),
    };
    let printed = program.to_string();
    let again = parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(again.to_string(), printed);
    for program in [&program, &again] {
        let results = run(program).unwrap_or_else(|error| panic!("{error}\n{}", generated.text));
        assert_eq!(results.len(), generated.results.len());
        for (place, (ours, naive)) in results.iter().zip(&generated.results).enumerate() {
            assert!(same(ours, naive), "%v{place} is {ours:?}, not {naive:?}\n{}", generated.text);
        }
    }
});

/// Whether every element has the same bits; NaN has many.
fn same(ours: &Tensor, naive: &Naive) -> bool {
    if ours.shape().sizes() != naive.sizes {
        return false;
    }
    if naive.kind == Kind::Float {
        let Ok(floats) = ours.floats() else { return false };
        return floats.iter().zip(&naive.numbers).all(|(ours, naive)| match naive {
            Number::Float(number) if number.is_nan() => ours.is_nan(),
            Number::Float(number) => ours.to_bits() == f64::from(*number).to_bits(),
            _ => false,
        });
    }
    let bytes: Vec<u8> = naive.numbers.iter().flat_map(|number| number.bytes()).collect();
    ours.bytes() == bytes
}

/// Runs a program in the reference interpreter.
fn run(program: &Program) -> Result<Vec<Tensor>, String> {
    let results = Interpreter::new(program).run(Vec::new()).map_err(|error| error.to_string())?;
    let tensor = |value| match value {
        Value::Tensor(tensor) => Ok(tensor),
        other => Err(format!("{other:?} is no tensor")),
    };
    results.into_iter().map(tensor).collect()
}

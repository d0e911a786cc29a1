//! Programs that can be read: printed and read again they are the same, and are printed the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpforge_hlo::{Program, parse};

/// What must be the same beside the text: numbers of functions, values and ops.
fn counts(program: &Program) -> (usize, usize, usize) {
    let values = program.functions.iter().map(|function| function.values.len()).sum();
    (program.functions.len(), values, program.op_count())
}

fuzz_target!(|text: &str| {
    let Ok(program) = parse(text) else { return };
    let printed = program.to_string();
    let again = parse(&printed).expect("what is printed can be read");
    assert_eq!(counts(&program), counts(&again));
    // Text is compared because values that are not numbers are never equal to themselves.
    assert_eq!(printed, again.to_string(), "a program changed on its way through text");
});

//! Programs that can be read: judging one never panics, a broken rule has a sentence and a place, and a program that passes
//! still does after it was printed and read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpforge_hlo::{parse, parse_verified, verify};

fuzz_target!(|text: &str| {
    let Ok(program) = parse(text) else { return };
    match verify(&program) {
        Ok(()) => {
            let printed = program.to_string();
            parse_verified(&printed).expect("a right program is right when it was printed");
        }
        Err(violation) => {
            assert!(violation.offset <= text.len() && !violation.message.is_empty());
            assert!(violation.in_text(text).to_string().contains(" | "));
        }
    }
});

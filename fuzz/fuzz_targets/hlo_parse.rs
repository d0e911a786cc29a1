//! Programs from anywhere: reading one never panics, and what is wrong with it is said.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpforge_hlo::{Limits, parse::parse_within};

fuzz_target!(|text: &str| {
    match parse_within(text, &Limits::default()) {
        Ok(program) => assert!(!program.functions.is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});

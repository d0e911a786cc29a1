//! Configuration files from anywhere: checking one never panics, and its mistakes have a place.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use warpt::config::parse;

fuzz_target!(|text: &str| {
    if let Err(error) = parse(Path::new("warpt.toml"), text) {
        assert!(!error.to_string().is_empty());
    }
});

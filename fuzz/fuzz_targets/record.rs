//! Result records from anywhere: reading one never panics, and what was read is written and read back unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpt_bench::record::{parse_record, to_json};

fuzz_target!(|text: &[u8]| {
    let Ok(run) = parse_record(text) else { return };
    let written = to_json(&run);
    let again = parse_record(written.as_bytes()).expect("a written record can be read");
    // Text is compared because values that are not numbers are never equal to themselves.
    assert_eq!(written, to_json(&again), "a record changed on its way through a file");
});

//! The network benchmark's messages from any peer: parsing never panics, what is accepted is within its caps, and
//! what is accepted is sent again as the same message.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpt_suites::micro::net::wire::{
    BLOCK_BYTES, Command, Greeting, MAX_ECHO_BYTES, MAX_TRANSFER_NS, Opening, Report, Verdict,
};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(greeting) = Greeting::parse(bytes) {
        assert_eq!(Greeting::parse(&greeting.encode()), Ok(greeting));
    }
    if let Ok(opening) = Opening::parse(bytes) {
        assert!(BLOCK_BYTES.contains(&opening.block_bytes));
        assert_eq!(Opening::parse(&opening.encode()), Ok(opening));
    }
    if let Ok(verdict) = Verdict::parse(bytes) {
        assert_eq!(Verdict::parse(&verdict.encode()), Ok(verdict));
    }
    if let Ok(command) = Command::parse(bytes) {
        match command {
            Command::Upload => {}
            Command::Download { nanoseconds } => assert!(nanoseconds <= MAX_TRANSFER_NS),
            Command::Echo { bytes, .. } => assert!(bytes <= MAX_ECHO_BYTES),
        }
        assert_eq!(Command::parse(&command.encode()), Ok(command));
    }
    if let Ok(report) = Report::parse(bytes) {
        assert_eq!(Report::parse(&report.encode()), Ok(report));
    }
});

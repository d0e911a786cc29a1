//! Rules files from anywhere: checking one never panics, its mistakes are named, and what is accepted is within its caps.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpt_history::gate::Rules;

fuzz_target!(|text: &str| {
    match Rules::parse(text) {
        Err(detail) => assert!(!detail.is_empty()),
        Ok(rules) => {
            assert!(!rules.rules.is_empty() && rules.rules.len() + rules.exceptions.len() <= 1000);
            assert!(rules.exceptions.iter().all(|exception| !exception.reason.is_empty()));
            for rule in &rules.rules {
                let _ = rule.benchmark.matches("micro/mem_bandwidth");
                assert!(rule.benchmark.text().chars().count() <= 256);
            }
        }
    }
});

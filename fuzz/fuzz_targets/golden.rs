//! Manifests of golden bundles and files of tolerances from anywhere: reading one never panics, and no path it names leads out.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpforge_golden::Manifest;
use warpforge_validate::Tolerances;

fuzz_target!(|text: &str| {
    match Manifest::parse(text) {
        Err(reason) => assert!(!reason.is_empty()),
        Ok(manifest) => {
            for path in manifest.files.keys() {
                let inside = path.as_str().split('/').all(|part| !matches!(part, "" | "." | ".."));
                assert!(inside, "{path}");
            }
        }
    }
    match Tolerances::parse(text) {
        Err(reason) => assert!(!reason.is_empty()),
        Ok(rules) => assert!(rules.len() <= 1000),
    }
});

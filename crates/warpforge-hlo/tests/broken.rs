//! Broken programs as people bring them, and all that is said about each: `tests/broken/*.mlir` beside `*.txt`.
//!
//! `cargo xtask bless` writes the texts anew; look at the difference before committing it.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use warpforge_hlo::parse_verified;

#[test]
fn messages_are_as_committed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let mut programs: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "mlir"))
        .collect();
    programs.sort();
    assert!(programs.len() >= 10);
    let bless = std::env::var_os("WARPFORGE_BLESS").is_some();
    for program in programs {
        let text = std::fs::read_to_string(&program).unwrap();
        let message = format!("{}\n", parse_verified(&text).unwrap_err());
        let expected = program.with_extension("txt");
        if bless {
            std::fs::write(expected, message).unwrap();
        } else {
            let expected = std::fs::read_to_string(expected).unwrap_or_default();
            assert_eq!(message, expected, "{}", program.display());
        }
    }
}

//! `cargo xtask sanitize`: the tests of what has unsafe code below them, under AddressSanitizer.
//!
//! The stable compiler carries the sanitizer's runtime but hides the switch, hence `RUSTC_BOOTSTRAP`. The vendor library is not
//! instrumented; what it is handed comes from instrumented code and an allocator that is watched.

use anyhow::Context;
use cargo_metadata::MetadataCommand;

use crate::Verdict;
use crate::fuzz::host;
use crate::repository::{cargo, root, succeeds};

/// The crates whose tests reach unsafe code of ours.
const PACKAGES: [&str; 4] =
    ["warpforge-tensor", "warpforge-onednn", "warpforge-engine", "warpt-suites"];

/// The stack of a test.
const STACK_BYTES: &str = "33554432";

/// Builds and runs the tests.
pub(crate) fn run() -> anyhow::Result<Verdict> {
    let workspace = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cannot read Cargo.toml")?;
    // Flags differ from those of every other build, so artifacts are apart.
    let artifacts = workspace.target_directory.join("sanitize");
    let mut tests = cargo();
    tests.args(["nextest", "run", "--profile", "sanitize", "--target", &host()?]);
    tests.args(PACKAGES.iter().flat_map(|package| ["-p", package]));
    tests.env("CARGO_TARGET_DIR", artifacts);
    tests.env("RUSTC_BOOTSTRAP", "1");
    tests.env("CARGO_ENCODED_RUSTFLAGS", "-Zsanitizer=address");
    // Instrumented frames are several times as large as those that limits of nesting were chosen for.
    tests.env("RUST_MIN_STACK", STACK_BYTES);
    Ok(Verdict::clean_if(succeeds(&mut tests)?))
}

//! `cargo xtask bless`: every committed snapshot, written anew from the code.

use crate::Verdict;
use crate::repository::{cargo, succeeds};
use crate::schema;

/// Tests that write what they otherwise compare, when the environment says so.
const TESTS: [(&str, &str); 2] = [("warpforge-hlo", "broken"), ("warpforge-engine", "passes")];

pub(crate) fn run() -> anyhow::Result<Verdict> {
    let mut clean = schema::write()? == Verdict::Clean;
    for (package, test) in TESTS {
        let mut command = cargo();
        command.args(["test", "--quiet", "--package", package, "--test", test]);
        command.env("WARPFORGE_BLESS", "1");
        clean &= succeeds(&mut command)?;
    }
    Ok(Verdict::clean_if(clean))
}

//! The committed lists of cases that are not simply compared with XLA: skipped, arbitrated, outside the specification.
//!
//! An entry says why. `*` at the end of a name stands for any rest.

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::case::Oracle;

const SKIPS: &str = include_str!("skips.toml");
const ARBITRATIONS: &str = include_str!("arbitration.toml");
const OUTSIDE: &str = include_str!("outside.toml");

/// A case that cannot be judged.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Skip {
    case: String,
    pub(super) reason: String,
}

/// A case that another oracle decides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arbitration {
    case: String,
    pub(super) by: Oracle,
    /// Units of the result's type between ours and that oracle's.
    pub(super) ulps: f64,
    /// The size below which the units no longer shrink.
    #[serde(default)]
    pub(super) floor: f64,
    pub(super) reason: String,
}

/// The lists.
#[derive(Debug)]
pub(super) struct Lists {
    skips: Vec<Skip>,
    arbitrations: Vec<Arbitration>,
    outside: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SkipFile {
    skip: Vec<Skip>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArbitrationFile {
    arbitration: Vec<Arbitration>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OutsideFile {
    targets: Vec<String>,
}

impl Lists {
    /// Reads the committed ones.
    pub(super) fn committed() -> anyhow::Result<Self> {
        Self::read(SKIPS, ARBITRATIONS, OUTSIDE)
    }

    fn read(skips: &str, arbitrations: &str, outside: &str) -> anyhow::Result<Self> {
        let skips: SkipFile = toml::from_str(skips).context("skips.toml")?;
        let arbitrations: ArbitrationFile =
            toml::from_str(arbitrations).context("arbitration.toml")?;
        let outside: OutsideFile = toml::from_str(outside).context("outside.toml")?;
        let reasons = skips.skip.iter().map(|skip| &skip.reason);
        let reasons = reasons.chain(arbitrations.arbitration.iter().map(|entry| &entry.reason));
        for reason in reasons {
            ensure!(reason.split_whitespace().count() >= 3, "`{reason}` is not a reason");
        }
        Ok(Self {
            skips: skips.skip,
            arbitrations: arbitrations.arbitration,
            outside: outside.targets,
        })
    }

    pub(super) fn skip(&self, case: &str) -> Option<&Skip> {
        self.skips.iter().find(|entry| matches(&entry.case, case))
    }

    pub(super) fn arbitration(&self, case: &str) -> Option<&Arbitration> {
        self.arbitrations.iter().find(|entry| matches(&entry.case, case))
    }

    /// Entries that fit none of these cases.
    pub(super) fn unused(&self, cases: &[String]) -> Vec<&str> {
        let skips = self.skips.iter().map(|entry| entry.case.as_str());
        let entries = skips.chain(self.arbitrations.iter().map(|entry| entry.case.as_str()));
        entries.filter(|entry| !cases.iter().any(|case| matches(entry, case))).collect()
    }

    /// Whether a custom call's target is known to lie outside the specification.
    pub(super) fn outside(&self, target: &str) -> bool {
        self.outside.iter().any(|pattern| matches(pattern, target))
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_lists_can_be_read() {
        Lists::committed().unwrap();
    }

    #[test]
    fn entries_have_reasons_and_patterns() {
        let skips = "skip = [{ case = \"a_*\", reason = \"needs a second device\" }]";
        let none = "arbitration = []";
        let outside = "targets = [\"lapack_*\"]";
        let lists = Lists::read(skips, none, outside).unwrap();
        assert!(lists.skip("a_b").is_some() && lists.skip("b").is_none());
        assert!(lists.outside("lapack_sgesdd_ffi") && !lists.outside("mhlo.topk"));
        let unexplained = skips.replace("needs a second device", "todo");
        assert!(Lists::read(&unexplained, none, outside).is_err());
    }
}

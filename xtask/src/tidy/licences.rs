//! The licences of everything the workspace builds against, from `cargo metadata` and the list in deny.toml.
//!
//! cargo-deny applies the same list when it is installed; this rule needs nothing but cargo.

use anyhow::Context;
use cargo_metadata::Metadata;
use serde::Deserialize;

use super::Finding;

pub(super) const POLICY: &str = "deny.toml";

#[derive(Debug, Deserialize)]
struct Policy {
    licenses: Licenses,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

/// The SPDX identifiers that deny.toml allows.
pub(super) fn allowed(policy: &str) -> anyhow::Result<Vec<String>> {
    let policy: Policy = toml::from_str(policy).context(POLICY)?;
    Ok(policy.licenses.allow)
}

/// Every package, of the workspace or from a registry, has an allowed licence.
pub(super) fn check(metadata: &Metadata, allowed: &[String]) -> Vec<Finding> {
    let packages = metadata.packages.iter();
    let judged = packages.filter_map(|package| {
        let problem = problem(package.license.as_deref(), allowed)?;
        let message = format!("{} {}: {problem}", package.name, package.version);
        Some(Finding::error("Cargo.lock", None, message))
    });
    judged.collect()
}

fn problem(licence: Option<&str>, allowed: &[String]) -> Option<String> {
    let Some(licence) = licence else {
        return Some("no licence expression".into());
    };
    match satisfied(licence, allowed) {
        Some(true) => None,
        Some(false) => Some(format!("the licence {licence} is not allowed")),
        None => Some(format!("the licence {licence} is not an SPDX expression")),
    }
}

/// Whether an SPDX expression can be met with allowed licences; none when it is malformed.
fn satisfied(expression: &str, allowed: &[String]) -> Option<bool> {
    // Before SPDX, `/` meant a choice.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let value = choice(&mut rest, allowed)?;
    rest.is_empty().then_some(value)
}

fn choice(rest: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut value = conjunction(rest, allowed)?;
    while take(rest, "OR") {
        value |= conjunction(rest, allowed)?;
    }
    Some(value)
}

fn conjunction(rest: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut value = licence(rest, allowed)?;
    while take(rest, "AND") {
        value &= licence(rest, allowed)?;
    }
    Some(value)
}

fn licence(rest: &mut &[&str], allowed: &[String]) -> Option<bool> {
    if take(rest, "(") {
        let value = choice(rest, allowed)?;
        return take(rest, ")").then_some(value);
    }
    let (name, tail) = rest.split_first()?;
    *rest = tail;
    if ["OR", "AND", "WITH", ")"].contains(name) {
        return None;
    }
    let mut name = (*name).to_owned();
    if take(rest, "WITH") {
        let (exception, tail) = rest.split_first()?;
        *rest = tail;
        name = format!("{name} WITH {exception}");
    }
    Some(allowed.contains(&name))
}

fn take(rest: &mut &[&str], word: &str) -> bool {
    let Some((first, tail)) = rest.split_first() else { return false };
    if *first == word {
        *rest = tail;
    }
    *first == word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_evaluated() {
        let allowed = ["MIT", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"].map(String::from);
        let check = |expression| satisfied(expression, &allowed);
        assert_eq!(check("MIT OR GPL-3.0-only"), Some(true));
        assert_eq!(check("MIT/GPL-3.0"), Some(true));
        assert_eq!(check("MIT AND GPL-3.0-only"), Some(false));
        assert_eq!(check("(MIT OR Apache-2.0) AND Unicode-3.0"), Some(true));
        assert_eq!(check("Apache-2.0 WITH LLVM-exception"), Some(true));
        assert_eq!(check("Apache-2.0"), Some(false));
        for malformed in ["", "MIT OR", "(MIT", "MIT MIT", "OR", "MIT WITH", ")"] {
            assert_eq!(check(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn problems_are_sentences() {
        let allowed = allowed("[licenses]\nallow = [\"MIT\"]\n").unwrap();
        assert_eq!(problem(Some("MIT"), &allowed), None);
        assert_eq!(problem(None, &allowed).unwrap(), "no licence expression");
        assert_eq!(problem(Some("X"), &allowed).unwrap(), "the licence X is not allowed");
    }
}

//! Which crate may know which: the list in ARCHITECTURE.md against what the manifests say.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;
use cargo_metadata::Metadata;

use super::{Finding, architecture};

/// A workspace crate as its manifest has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkspaceCrate {
    pub(super) name: String,
    /// Relative to the root.
    pub(super) folder: String,
    /// The workspace crates it depends on, in any section of its manifest.
    pub(super) arrows: BTreeSet<String>,
}

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Reads lines such as `warpt-bench -> warpt-machine, warpt-stats`; a crate alone knows no other.
pub(super) fn documented(lines: &[String]) -> anyhow::Result<Arrows> {
    let mut arrows = Arrows::new();
    for line in lines {
        let (from, to) = line.split_once("->").unwrap_or((line, ""));
        let from = from.trim();
        if from.is_empty() || from.contains(char::is_whitespace) {
            bail!("{}: expected `crate -> crate, crate`, found `{line}`", architecture::PATH);
        }
        let to = to.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        if arrows.insert(from.to_owned(), to.collect()).is_some() {
            bail!("{}: `{from}` is listed twice among the arrows", architecture::PATH);
        }
    }
    if let Some(name) = cycle(&arrows) {
        bail!("{}: the arrows run in a circle through `{name}`", architecture::PATH);
    }
    Ok(arrows)
}

/// A crate that can reach itself.
fn cycle(arrows: &Arrows) -> Option<&str> {
    arrows.keys().map(String::as_str).find(|start| {
        let mut reached = BTreeSet::new();
        let mut open = vec![*start];
        while let Some(name) = open.pop() {
            for next in arrows.get(name).into_iter().flatten() {
                if reached.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        reached.contains(start)
    })
}

/// The workspace's crates from `cargo metadata`.
pub(super) fn workspace(metadata: &Metadata) -> Vec<WorkspaceCrate> {
    let packages = metadata.workspace_packages();
    let names: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let describe = |package: &&cargo_metadata::Package| {
        let folder = package.manifest_path.parent().unwrap_or(&metadata.workspace_root);
        let folder = folder.strip_prefix(&metadata.workspace_root).unwrap_or(folder);
        let known = package.dependencies.iter().map(|dependency| dependency.name.as_str());
        WorkspaceCrate {
            name: package.name.to_string(),
            folder: folder.as_str().to_owned(),
            arrows: known.filter(|name| names.contains(name)).map(str::to_owned).collect(),
        }
    };
    packages.iter().map(describe).collect()
}

/// Every arrow must be documented, and every documented arrow must exist.
pub(super) fn compare(documented: &Arrows, crates: &[WorkspaceCrate]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut report = |path: &str, message: String| found.push(Finding::error(path, None, message));
    for member in crates {
        let manifest = format!("{}/Cargo.toml", member.folder);
        let Some(listed) = documented.get(&member.name) else {
            report(architecture::PATH, format!("`{}` is missing from the arrows", member.name));
            continue;
        };
        for extra in member.arrows.difference(listed) {
            report(&manifest, format!("the arrow {} -> {extra} is not in the list", member.name));
        }
        for absent in listed.difference(&member.arrows) {
            report(architecture::PATH, format!("no such arrow: {} -> {absent}", member.name));
        }
    }
    for name in documented.keys() {
        if !crates.iter().any(|member| member.name == *name) {
            report(architecture::PATH, format!("the arrows name `{name}`, which is no crate here"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(lines: &[&str]) -> anyhow::Result<Arrows> {
        documented(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    fn member(name: &str, arrows: &[&str]) -> WorkspaceCrate {
        WorkspaceCrate {
            name: name.into(),
            folder: format!("crates/{name}"),
            arrows: arrows.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    #[test]
    fn arrows_must_match_in_both_directions() {
        let listed = sample(&["stats", "bench -> stats, machine", "machine", "gone"]).unwrap();
        let crates = [
            member("stats", &["bench"]),
            member("bench", &["stats"]),
            member("machine", &[]),
            member("new", &[]),
        ];
        let messages: Vec<String> =
            compare(&listed, &crates).iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "crates/stats/Cargo.toml: the arrow stats -> bench is not in the list",
                "ARCHITECTURE.md: no such arrow: bench -> machine",
                "ARCHITECTURE.md: `new` is missing from the arrows",
                "ARCHITECTURE.md: the arrows name `gone`, which is no crate here",
            ]
        );
    }

    #[test]
    fn circles_duplicates_and_prose_are_refused() {
        assert!(sample(&["a -> b", "b -> c", "c -> a"]).is_err());
        assert!(sample(&["a", "a -> b"]).is_err());
        assert!(sample(&["some words -> b"]).is_err());
        assert!(sample(&["a -> b, c", "b -> c", "c"]).is_ok());
    }
}

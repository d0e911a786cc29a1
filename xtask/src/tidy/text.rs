//! What no text file of the project holds: somebody's own paths, a private package mirror, leftover marks.
//!
//! The patterns are written in pieces so that this file does not match itself.

use super::{Finding, TrackedFile};

/// Places of the machine somebody happened to work on.
const PERSONAL_FOLDERS: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];

const MARKS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Settings that send package downloads elsewhere.
const MIRROR_SETTINGS: [&str; 6] = [
    concat!("replace", "-with"),
    concat!("index", "-url"),
    concat!("find", "-links"),
    concat!("PIP_IND", "EX_URL"),
    concat!("PIP_FIND", "_LINKS"),
    concat!("CARGO_", "REGISTRIES_"),
];

/// Endings of host names that only resolve inside some network.
const PRIVATE_HOSTS: [&str; 5] = [".internal", ".local", ".lan", ".corp", ".intranet"];

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Nobody in particular: tests need a home directory sometimes.
const EXAMPLE_NAMES: [&str; 8] =
    ["alice", "bob", "me", "redacted", "somebody", "someone", "user", "you"];

/// No path that exists only on the machine of whoever wrote it.
pub(super) fn no_development_paths(file: &TrackedFile) -> Vec<Finding> {
    lines(file, |line| {
        let folder = PERSONAL_FOLDERS.into_iter().find(|folder| {
            line.match_indices(folder).any(|(at, _)| {
                let starts_a_path =
                    !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/~}".contains(c));
                starts_a_path && is_personal(&line[at + folder.len()..])
            })
        })?;
        Some(format!("a path of somebody's machine: {folder}..."))
    })
}

/// Whether what follows such a folder is a name, and not one made up for an example.
fn is_personal(rest: &str) -> bool {
    let end = rest.find(|c: char| !c.is_alphanumeric() && !"._-".contains(c));
    let name = &rest[..end.unwrap_or(rest.len())];
    name.len() > 1 && !EXAMPLE_NAMES.contains(&name)
}

/// Packages come from the public registries, by their public names.
pub(super) fn no_private_registries(file: &TrackedFile) -> Vec<Finding> {
    let lock = file.path.ends_with("Cargo.lock");
    lines(file, |line| {
        if lock {
            let source = line.strip_prefix("source = ")?.trim_matches('"');
            return (source != CRATES_IO).then(|| format!("a package from {source}"));
        }
        if let Some(setting) = MIRROR_SETTINGS.iter().find(|setting| line.contains(**setting)) {
            return Some(format!("`{setting}` points at a package mirror"));
        }
        let host = line.split("://").skip(1).map(host_of).find(|host| is_private(host))?;
        Some(format!("the host {host} is known only inside some network"))
    })
}

fn host_of(after_scheme: &str) -> &str {
    let end = after_scheme.find(|c: char| !c.is_alphanumeric() && !".-_@".contains(c));
    let authority = &after_scheme[..end.unwrap_or(after_scheme.len())];
    authority.rsplit('@').next().unwrap_or(authority)
}

fn is_private(host: &str) -> bool {
    PRIVATE_HOSTS.iter().any(|ending| host.trim_end_matches('.').ends_with(ending))
}

/// What is left to do is an issue, not a mark in the source.
pub(super) fn no_leftover_marks(file: &TrackedFile) -> Vec<Finding> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let stands = |line: &str, mark: &str| {
        line.match_indices(mark).any(|(at, _)| {
            !line[..at].ends_with(in_word) && !line[at + mark.len()..].starts_with(in_word)
        })
    };
    lines(file, |line| {
        let mark = MARKS.into_iter().find(|mark| stands(line, mark))?;
        Some(format!("a leftover {mark}"))
    })
}

fn lines(file: &TrackedFile, rule: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let text = file.text.as_deref().unwrap_or_default();
    let found = text.lines().enumerate().filter_map(|(index, line)| Some((index + 1, rule(line)?)));
    found.map(|(line, message)| Finding::error(&file.path, Some(line), message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_machine_are_found() {
        let check = |text: &str| no_development_paths(&TrackedFile::sample("a.md", text)).len();
        assert_eq!(check(concat!("see /ho", "me/jdoe/code")), 1);
        assert_eq!(check("/home/somebody/code, /work/x, /home/<name>"), 0);
        assert_eq!(check(concat!("\"/wo", "rk/tree\"")), 1);
        assert_eq!(check("mounted at /home and /root"), 0);
        assert_eq!(check("https://example.org/work/x and ./work/x and /proc/1"), 0);
        assert_eq!(check(concat!("${prefix}/ro", "ot/x")), 0);
    }

    #[test]
    fn private_registries_are_found() {
        let check =
            |path: &str, text: &str| no_private_registries(&TrackedFile::sample(path, text)).len();
        assert_eq!(check("Cargo.lock", &format!("source = \"{CRATES_IO}\"")), 0);
        assert_eq!(check("Cargo.lock", "source = \"registry+https://mirror.example/index\""), 1);
        assert_eq!(check("a.toml", concat!("replace", "-with = \"mirror\"")), 1);
        assert_eq!(check("a.md", concat!("from https://packages.example.co", "rp/simple")), 1);
        assert_eq!(check("a.md", "from https://pypi.org/simple, see x.local"), 0);
    }

    #[test]
    fn leftover_marks_are_found() {
        let check = |text: &str| no_leftover_marks(&TrackedFile::sample("a.rs", text)).len();
        assert_eq!(check(concat!("// TO", "DO: later")), 1);
        assert_eq!(check(concat!("FIX", "ME")), 1);
        assert_eq!(check(concat!("TO", "DOS and todo are words")), 0);
    }
}

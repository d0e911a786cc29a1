//! Where `unsafe` may stand: in the modules that ARCHITECTURE.md lists, and crates without such a module forbid it.

use super::arrows::WorkspaceCrate;
use super::rust_tokens::{code_only, lines_with};
use super::{Finding, TrackedFile, architecture};

/// Whether `path` is `module` or lies in it; a module is listed as a file or as a folder.
fn lies_in(path: &str, module: &str) -> bool {
    path.strip_prefix(module.trim_end_matches('/'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `unsafe` stands only in listed modules.
pub(super) fn only_in_listed_modules(file: &TrackedFile, modules: &[String]) -> Vec<Finding> {
    let listed = modules.iter().any(|module| lies_in(&file.path, module));
    let Some(text) = file.text.as_deref().filter(|_| file.is_rust() && !listed) else {
        return Vec::new();
    };
    let code = code_only(text);
    let message = format!("`unsafe` outside the modules listed in {}", architecture::PATH);
    lines_with(&code, "unsafe", "")
        .map(|line| Finding::error(&file.path, Some(line), message.clone()))
        .collect()
}

/// A crate that has no listed module says `#![forbid(unsafe_code)]` in each of its roots.
pub(super) fn crates_without_unsafe_forbid_it(
    crates: &[WorkspaceCrate],
    modules: &[String],
    files: &[TrackedFile],
) -> Vec<Finding> {
    let mut found = Vec::new();
    for member in crates {
        if modules.iter().any(|module| lies_in(module, &member.folder)) {
            continue;
        }
        let roots = ["lib.rs", "main.rs"].map(|root| format!("{}/src/{root}", member.folder));
        for file in files.iter().filter(|file| roots.contains(&file.path)) {
            let forbids = |text: &str| text.lines().any(|line| line == "#![forbid(unsafe_code)]");
            if !file.text.as_deref().is_some_and(forbids) {
                let message =
                    "the crate lists no unsafe module, so it says #![forbid(unsafe_code)]";
                found.push(Finding::error(&file.path, None, message));
            }
        }
    }
    found
}

/// A listed module that is gone, or has no `unsafe` left, is taken off the list.
pub(super) fn listed_modules_exist(modules: &[String], files: &[TrackedFile]) -> Vec<Finding> {
    let needs_it = |module: &&String| {
        files.iter().filter(|file| lies_in(&file.path, module)).any(|file| {
            let code = code_only(file.text.as_deref().unwrap_or_default());
            lines_with(&code, "unsafe", "").next().is_some()
        })
    };
    let stale = modules.iter().filter(|module| !needs_it(module));
    let message = |module| format!("`{module}` is listed for unsafe but holds none");
    stale.map(|module| Finding::error(architecture::PATH, None, message(module))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: &str = "//! a b\nfn f() { unsafe { g() } }\n";

    fn list(modules: &[&str]) -> Vec<String> {
        modules.iter().map(|module| (*module).to_owned()).collect()
    }

    #[test]
    fn unsafe_stands_where_it_is_listed() {
        let check = |path, text, modules: &[&str]| {
            only_in_listed_modules(&TrackedFile::sample(path, text), &list(modules)).len()
        };
        assert_eq!(check("crates/a/src/kernel/x.rs", BLOCK, &[]), 1);
        assert_eq!(check("crates/a/src/kernel/x.rs", BLOCK, &["crates/a/src/kernel"]), 0);
        assert_eq!(check("crates/a/src/kernel/x.rs", BLOCK, &["crates/a/src/kernel/x.rs"]), 0);
        assert_eq!(check("crates/a/src/kernels.rs", BLOCK, &["crates/a/src/kernel"]), 1);
        assert_eq!(check("crates/a/src/x.rs", "// unsafe\n#![forbid(unsafe_code)]", &[]), 0);
    }

    #[test]
    fn crates_without_a_listed_module_forbid_it() {
        let member = WorkspaceCrate {
            name: "a".into(),
            folder: "crates/a".into(),
            arrows: std::collections::BTreeSet::new(),
        };
        let check = |text: &str, modules: &[&str]| {
            let files = [TrackedFile::sample("crates/a/src/lib.rs", text)];
            crates_without_unsafe_forbid_it(std::slice::from_ref(&member), &list(modules), &files)
                .len()
        };
        assert_eq!(check("//! a b\n", &[]), 1);
        assert_eq!(check("//! a b\n#![forbid(unsafe_code)]\n", &[]), 0);
        assert_eq!(check("//! a b\n", &["crates/a/src/kernel.rs"]), 0);
        assert_eq!(check("//! a b\n", &["crates/ab/src/kernel.rs"]), 1);
    }

    #[test]
    fn stale_modules_are_named() {
        let files = [TrackedFile::sample("crates/a/src/x.rs", BLOCK)];
        let stale =
            listed_modules_exist(&list(&["crates/a/src/x.rs", "crates/a/src/y.rs"]), &files);
        assert_eq!(stale.len(), 1);
        assert!(stale[0].message.contains("y.rs"));
    }
}

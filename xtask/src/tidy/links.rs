//! Relative links in Markdown lead somewhere.

use super::{Finding, TrackedFile};

/// Every relative link names an existing file or folder; `exists` is asked with paths relative to the root.
pub(super) fn resolve(file: &TrackedFile, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let Some(text) = file.text.as_deref().filter(|_| file.is_markdown()) else {
        return Vec::new();
    };
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut found = Vec::new();
    let mut in_fence = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        for target in targets(&without_code_spans(line)) {
            let problem = match join(folder, target) {
                None => "leaves the repository",
                Some(path) if !exists(&path) => "leads nowhere",
                Some(_) => continue,
            };
            let message = format!("the link `{target}` {problem}");
            found.push(Finding::error(&file.path, Some(index + 1), message));
        }
    }
    found
}

fn without_code_spans(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// The relative targets of `[text](target)` and `[name]: target`, without their `#section`.
fn targets(line: &str) -> Vec<&str> {
    let inline = line.split("](").skip(1).filter_map(|after| after.split([')', ' ']).next());
    let defined = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, t)| t);
    let relative = |target: &&str| {
        !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
    };
    inline
        .chain(defined)
        .map(|target| target.trim().split('#').next().unwrap_or_default())
        .filter(relative)
        .collect()
}

/// The path of `target` as seen from `folder`, none when it climbs above the root.
fn join(folder: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    if target.starts_with('/') {
        parts.clear();
    }
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Vec<String> {
        let file = TrackedFile::sample("docs/page.md", text);
        let found = resolve(&file, |path| path == "docs/other.md" || path == "README.md");
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn broken_links_are_named() {
        assert_eq!(
            check("[a](other.md#part) [b](../README.md) [c](#here) [d](https://x.y/z)"),
            [""; 0]
        );
        assert_eq!(check("\n[a](gone.md)"), ["docs/page.md:2: the link `gone.md` leads nowhere"]);
        assert_eq!(check("[a]: gone.md"), ["docs/page.md:1: the link `gone.md` leads nowhere"]);
        assert_eq!(
            check("[a](../../x)"),
            ["docs/page.md:1: the link `../../x` leaves the repository"]
        );
    }

    #[test]
    fn code_is_not_prose() {
        assert_eq!(check("```\n[a](gone.md)\n```\n`[b](gone.md)`"), [""; 0]);
    }
}

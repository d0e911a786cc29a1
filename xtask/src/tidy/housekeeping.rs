//! The checkout stays small, and changes are announced.

use super::{Finding, TrackedFile};

/// Larger things are generated or downloaded, never committed.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// No file is large.
pub(super) fn size(file: &TrackedFile) -> Option<Finding> {
    (file.size_bytes > MAX_FILE_BYTES).then(|| {
        let message = format!("{} bytes, more than {MAX_FILE_BYTES}", file.size_bytes);
        Finding::error(&file.path, None, message)
    })
}

/// The changelog has a place for the next change.
pub(super) fn changelog_has_unreleased(text: &str) -> Option<Finding> {
    let heading = |line: &str| matches!(line.trim_end(), "## Unreleased" | "## [Unreleased]");
    (!text.lines().any(heading))
        .then(|| Finding::error("CHANGELOG.md", None, "there is no section `## Unreleased`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_refused() {
        let mut file = TrackedFile::sample("a.bin", "");
        file.size_bytes = MAX_FILE_BYTES;
        assert_eq!(size(&file), None);
        file.size_bytes += 1;
        assert!(size(&file).is_some());
    }

    #[test]
    fn the_changelog_is_open() {
        assert_eq!(changelog_has_unreleased("# Changelog\n\n## Unreleased\n"), None);
        assert!(changelog_has_unreleased("# Changelog\n\n## 0.1.0\n").is_some());
    }
}

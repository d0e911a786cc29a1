//! Captured trees for tests: a temporary directory filled from path and content pairs, removed when dropped. It is
//! kept in memory where that is possible, because the property tests write thousands of small files.

use crate::source::SystemRoot;
use tempfile::TempDir;

/// A directory of captured files and the root that reads it.
pub(crate) struct Captured {
    directory: TempDir,
    pub(crate) root: SystemRoot,
}

impl Captured {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let root = SystemRoot::at(directory.path());
        let captured = Self { directory, root };
        for (path, content) in files {
            captured.write(path, content);
        }
        captured
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        let path = self.root.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.root.path(path)).unwrap();
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        self.directory.path()
    }
}

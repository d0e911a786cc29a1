//! Python environments in the cache, and the gate of the Python package: lint, types, tests, and that it builds.
//!
//! An environment is named after the hash of what it was made from, so a changed list of packages makes a new one and an
//! unchanged one costs nothing. It counts only once it is complete, and one at a time makes it.

use std::fs::{File, FileTimes};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Context, ensure};

use crate::Verdict;
use crate::install::{self, run};
use crate::repository::{root, succeeds};

/// An environment that nobody used for so long is removed when a new one is made: one takes gigabytes.
const KEPT: Duration = Duration::from_secs(14 * 24 * 3600);

/// A virtual environment.
pub(crate) struct Environment {
    directory: PathBuf,
}

impl Environment {
    /// Makes one, without packages.
    pub(crate) fn create(directory: &Path) -> anyhow::Result<Self> {
        let python = install::program("python3", "python3")?;
        let create = || run(Command::new(&python).args(["-m", "venv"]).arg(directory));
        if create().is_err() {
            install::apt_install("python3-venv")?;
            create()?;
        }
        Ok(Self { directory: directory.to_owned() })
    }

    /// Installs packages, by name or path.
    pub(crate) fn install(&self, packages: &[&str]) -> anyhow::Result<()> {
        let mut pip = self.program("python");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        run(pip.args(packages)).map(|_| ())
    }

    /// Installs what a file lists.
    pub(crate) fn install_list(&self, list: &Path) -> anyhow::Result<()> {
        let list = list.to_str().context("the path of the list is not UTF-8")?;
        self.install(&["--requirement", list])
    }

    /// Where its packages are.
    fn packages(&self) -> anyhow::Result<PathBuf> {
        let script = "import sysconfig; print(sysconfig.get_path('purelib'))";
        Ok(PathBuf::from(run(self.program("python").args(["-c", script]))?.trim()))
    }

    /// A short name for what it was made from.
    pub(crate) fn name(&self) -> String {
        self.directory.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// A program of the environment.
    pub(crate) fn program(&self, name: &str) -> Command {
        Command::new(self.directory.join("bin").join(name))
    }
}

/// The gate: the package in `python/` is formatted, typed, tested and can be built.
pub(crate) fn check() -> anyhow::Result<Verdict> {
    let package = root().join("python");
    let environment =
        environment("export,conformance,test", "PyTorch, JAX and tools", "minutes, 6 GB")?;
    let caches = environment.directory.join("caches");
    // The environment has a copy from when it was made; the checkout's own source goes before it.
    let program = |name: &str, arguments: &[&str]| {
        let mut command = environment.program(name);
        command.args(arguments).current_dir(&package).env("PYTHONPATH", &package);
        command.env("RUFF_CACHE_DIR", caches.join("ruff"));
        command.env("MYPY_CACHE_DIR", caches.join("mypy"));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    let wheels = tempfile::tempdir().context("cannot make a temporary folder")?;
    let wheel_folder = wheels.path().display().to_string();
    let build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"];
    let build = [&build[..], &["--disable-pip-version-check", "--wheel-dir", &wheel_folder, "."]];
    let mut clean = true;
    for mut command in [
        program("ruff", &["check"]),
        program("ruff", &["format", "--check"]),
        program("mypy", &[]),
        program("python", &build.concat()),
        program("python", &["-m", "pytest", "--durations=5"]),
    ] {
        clean &= succeeds(&mut command)?;
    }
    Ok(Verdict::clean_if(clean))
}

/// The environment with what the package in `python/` needs for `extras`, made if there is none yet; `content` and
/// `cost` say to the person waiting what is installed and how much that is.
pub(crate) fn environment(extras: &str, content: &str, cost: &str) -> anyhow::Result<Environment> {
    let package = root().join("python");
    let project = package.join("pyproject.toml");
    let wanted =
        std::fs::read(&project).with_context(|| format!("cannot read {}", project.display()))?;
    let python = install::program("python3", "python3")?;
    let version =
        run(Command::new(&python).args(["-c", "import sys; print(sys.version, sys.prefix)"]))?;
    cached(&[&wanted, version.as_bytes(), extras.as_bytes()], content, cost, |environment| {
        environment.install(&[&format!("{}[{extras}]", package.display())])
    })
}

/// An environment that has the packages of another one and what a file lists on top of them.
pub(crate) fn layer(
    base: &Environment,
    list: &Path,
    content: &str,
    cost: &str,
) -> anyhow::Result<Environment> {
    let wanted = std::fs::read(list).with_context(|| format!("cannot read {}", list.display()))?;
    cached(&[b"layer", base.name().as_bytes(), &wanted], content, cost, |environment| {
        let below = environment.packages()?.join("below.pth");
        std::fs::write(&below, format!("{}\n", base.packages()?.display()))
            .with_context(|| format!("cannot write {}", below.display()))?;
        environment.install_list(list)
    })
}

/// The environment made from these parts by `fill`, which happens at most once.
fn cached(
    parts: &[&[u8]],
    content: &str,
    cost: &str,
    fill: impl FnOnce(&Environment) -> anyhow::Result<()>,
) -> anyhow::Result<Environment> {
    let cache = install::cache("python")?;
    let directory = cache.join(key(parts));
    let complete = directory.join("complete");
    let lock = File::create(cache.join("lock")).context("cannot create the lock of the cache")?;
    lock.lock().context("cannot lock the cache")?;
    if !complete.is_file() {
        remove_unused(&cache)?;
        if directory.exists() {
            std::fs::remove_dir_all(&directory)
                .with_context(|| format!("cannot remove {}", directory.display()))?;
        }
        eprintln!("  installing {content} into {}: once, {cost}", directory.display());
        fill(&Environment::create(&directory)?)?;
    }
    let marker = File::create(&complete).context("cannot mark the environment as complete")?;
    marker.set_times(FileTimes::new().set_modified(SystemTime::now()))?;
    ensure!(directory.join("bin/python").exists(), "{} has no python", directory.display());
    Ok(Environment { directory })
}

/// Removes environments that have not been used for long.
fn remove_unused(cache: &Path) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(cache)?.flatten() {
        let used = entry.path().join("complete").metadata().and_then(|found| found.modified());
        let age = used.ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > KEPT) {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// A short name for what an environment is made from.
pub(crate) fn key(parts: &[&[u8]]) -> String {
    // FNV-1a: the same on every machine and in every build, which the standard hasher does not promise.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in parts {
        for byte in part.iter().chain(&[0]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_depends_on_every_part_and_where_it_ends() {
        assert_eq!(key(&[b"a", b"b"]), key(&[b"a", b"b"]));
        assert_ne!(key(&[b"a", b"b"]), key(&[b"ab", b""]));
        assert_ne!(key(&[b"a", b"b"]), key(&[b"a", b"c"]));
        assert_eq!(key(&[]), "cbf29ce484222325");
    }

    #[test]
    fn only_old_environments_are_removed() {
        let cache = tempfile::tempdir().unwrap();
        for (name, age) in [("old", KEPT + Duration::from_secs(60)), ("new", Duration::ZERO)] {
            std::fs::create_dir(cache.path().join(name)).unwrap();
            let marker = File::create(cache.path().join(name).join("complete")).unwrap();
            let times = FileTimes::new().set_modified(SystemTime::now() - age);
            marker.set_times(times).unwrap();
        }
        std::fs::create_dir(cache.path().join("unfinished")).unwrap();
        remove_unused(cache.path()).unwrap();
        let exists = |name: &str| cache.path().join(name).exists();
        assert_eq!((exists("old"), exists("new"), exists("unfinished")), (false, true, true));
    }
}

//! Getting other people's programs onto this machine, and the cache where what was made once is kept.
//!
//! The cache is `$WARPFORGE_CACHE`, or `warpforge` in `$XDG_CACHE_HOME` or `~/.cache`: always outside of the checkout.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

/// A folder of the cache, made if missing.
pub(crate) fn cache(name: &str) -> anyhow::Result<PathBuf> {
    let variable =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let below = |base: PathBuf| base.join("warpforge");
    let cache = variable("WARPFORGE_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(below))
        .or_else(|| variable("HOME").map(|home| below(home.join(".cache"))))
        .context("none of WARPFORGE_CACHE, XDG_CACHE_HOME and HOME is set")?;
    let folder = cache.join(name);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// A program, installed from a Debian package if it is not there.
pub(crate) fn program(name: &str, package: &str) -> anyhow::Result<PathBuf> {
    if let Some(path) = find_program(name) {
        return Ok(path);
    }
    apt_install(package)?;
    find_program(name)
        .with_context(|| format!("package {package} is installed but brings no {name}"))
}

/// Where a program is, looking where root's programs are too.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    places.map(|place| place.join(name)).find(|candidate| candidate.is_file())
}

/// Installs a Debian package.
pub(crate) fn apt_install(package: &str) -> anyhow::Result<()> {
    ensure!(
        find_program("apt-get").is_some(),
        "package {package} is missing and this is not a Debian system (no apt-get)"
    );
    eprintln!("  installing package {package}");
    let prefix = if Path::new("/root").metadata().is_ok() && is_root() {
        None
    } else {
        find_program("sudo")
    };
    let apt = |arguments: &[&str]| {
        let mut command = match &prefix {
            Some(sudo) => {
                let mut command = Command::new(sudo);
                command.args(["-n", "apt-get"]);
                command
            }
            None => Command::new("apt-get"),
        };
        run(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    let install = ["install", "-y", "-q", package];
    if apt(&install).is_ok() {
        return Ok(());
    }
    apt(&["update", "-q"])?;
    apt(&install).map(|_| ())
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let user = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    user.and_then(|ids| ids.split_whitespace().nth(1).map(|id| id == "0")).unwrap_or(false)
}

/// Runs a command to its end; a failure carries the last lines it said.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {name}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last: Vec<&str> = said.trim().lines().rev().take(3).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    bail!("{name}: {}: {}", output.status, last.join(" "));
}

//! Gets the peers onto this machine: Debian packages by apt, MKL from PyPI into an environment of its own, our C
//! sources through gcc. Everything of ours lives in `${XDG_CACHE_HOME:-~/.cache}/warpforge/peers`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

/// Where peers are kept and how they are found.
pub(crate) struct Tools {
    pub(crate) cache: PathBuf,
}

/// Our C peers, compiled.
#[derive(Debug, Clone)]
pub(super) struct Harness {
    directory: PathBuf,
}

impl Harness {
    /// The path of one of them.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

const SOURCES: [(&str, &str); 6] = [
    ("protocol.h", include_str!("c/protocol.h")),
    ("triad.c", include_str!("c/triad.c")),
    ("fma_peak.c", include_str!("c/fma_peak.c")),
    ("amx_peak.c", include_str!("c/amx_peak.c")),
    ("sgemm.c", include_str!("c/sgemm.c")),
    ("stream_gate.c", include_str!("c/stream_gate.c")),
];

impl Tools {
    /// Finds the cache.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let variable = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let base = variable("XDG_CACHE_HOME")
            .or_else(|| variable("HOME").map(|home| home.join(".cache")))
            .context("neither XDG_CACHE_HOME nor HOME is set")?;
        let cache = base.join("warpforge").join("peers");
        std::fs::create_dir_all(&cache)
            .with_context(|| format!("cannot create {}", cache.display()))?;
        Ok(Self { cache })
    }

    /// A program, installed from a Debian package if it is not there.
    pub(crate) fn program(&self, name: &str, package: &str) -> anyhow::Result<PathBuf> {
        if let Some(path) = find_program(name) {
            return Ok(path);
        }
        apt_install(package)?;
        find_program(name)
            .with_context(|| format!("package {package} is installed but brings no {name}"))
    }

    /// Debian's OpenBLAS with threads.
    pub(super) fn openblas(&self) -> anyhow::Result<PathBuf> {
        let places = || {
            let triplet = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
            let file = PathBuf::from(triplet).join("openblas-pthread/libopenblas.so.0");
            file.exists().then_some(file)
        };
        if let Some(found) = places() {
            return Ok(found);
        }
        apt_install("libopenblas0-pthread")?;
        places().context("package libopenblas0-pthread brings no libopenblas.so.0")
    }

    /// MKL's runtime library from PyPI.
    pub(super) fn mkl(&self) -> anyhow::Result<PathBuf> {
        let environment = self.cache.join("mkl-venv");
        let library = || -> Option<PathBuf> {
            let entries = std::fs::read_dir(environment.join("lib")).ok()?;
            let is_runtime = |path: &PathBuf| {
                path.file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with("libmkl_rt.so"))
            };
            entries.flatten().map(|entry| entry.path()).find(is_runtime)
        };
        if let Some(found) = library() {
            return Ok(found);
        }
        self.python(&environment, "mkl")?;
        library().context("PyPI's mkl brings no libmkl_rt.so")
    }

    /// The Python of an environment with a package from PyPI in it, made at `environment`.
    pub(crate) fn python(&self, environment: &Path, package: &str) -> anyhow::Result<PathBuf> {
        let python = self.program("python3", "python3")?;
        eprintln!("  installing {package} from PyPI");
        let create = || run(Command::new(&python).args(["-m", "venv"]).arg(environment));
        if create().is_err() {
            apt_install("python3-venv")?;
            create()?;
        }
        let python = environment.join("bin").join("python");
        run(Command::new(&python).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            package,
        ]))?;
        Ok(python)
    }

    /// A Python with a package from PyPI in an environment of its own; `module` shows that it is there.
    pub(crate) fn python_with(&self, package: &str, module: &str) -> anyhow::Result<PathBuf> {
        let environment = self.cache.join(format!("{package}-venv"));
        let python = environment.join("bin").join("python");
        let import = format!("import {module}");
        let works = || run(Command::new(&python).args(["-c", &import])).map(|_| ());
        if python.exists() && works().is_ok() {
            return Ok(python);
        }
        let system = self.program("python3", "python3")?;
        eprintln!("  installing {package} from PyPI");
        let create = || run(Command::new(&system).args(["-m", "venv"]).arg(&environment));
        if create().is_err() {
            apt_install("python3-venv")?;
            create()?;
        }
        let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(&python).args(quiet).arg(package))?;
        works().with_context(|| format!("PyPI's {package} brings no {module}"))?;
        Ok(python)
    }

    /// Compiles our C sources for this machine.
    pub(super) fn compile(&self) -> anyhow::Result<Harness> {
        let gcc = self.program("gcc", "gcc")?;
        let directory = self.cache.join("harness");
        std::fs::create_dir_all(&directory)?;
        for (name, text) in SOURCES {
            let path = directory.join(name);
            std::fs::write(&path, text)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        for (name, _) in SOURCES.iter().filter(|(name, _)| name.ends_with(".c")) {
            let stem = name.trim_end_matches(".c");
            let mut command = Command::new(&gcc);
            command.args(["-O3", "-march=native", "-Wall", "-o"]).current_dir(&directory);
            if stem == "stream_gate" {
                command.args(["stream_gate.so", "-shared", "-fPIC"]);
            } else {
                command.arg(stem);
            }
            run(command.arg(name).args(["-lpthread", "-ldl", "-lm"]))?;
        }
        Ok(Harness { directory })
    }
}

/// Where a program is, looking where root's programs are too.
fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    places.map(|place| place.join(name)).find(|candidate| candidate.is_file())
}

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

//! Gets the peers onto this machine: Debian packages by apt, MKL from PyPI into an environment of its own, our C
//! sources through gcc. Everything of ours lives in the folder `peers` of the cache.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::install::run;
use crate::{install, python};

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
        Ok(Self { cache: install::cache("peers")? })
    }

    /// A program, installed from a Debian package if it is not there.
    pub(crate) fn program(&self, name: &str, package: &str) -> anyhow::Result<PathBuf> {
        install::program(name, package)
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
        install::apt_install("libopenblas0-pthread")?;
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
        eprintln!("  installing mkl from PyPI");
        python::Environment::create(&environment)?.install(&["mkl"])?;
        library().context("PyPI's mkl brings no libmkl_rt.so")
    }

    /// The Python of an environment with a package from PyPI in it, made at `environment`.
    pub(crate) fn python(&self, environment: &Path, package: &str) -> anyhow::Result<PathBuf> {
        eprintln!("  installing {package} from PyPI");
        python::Environment::create(environment)?.install(&[package])?;
        Ok(environment.join("bin").join("python"))
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
        self.python(&environment, package)?;
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

//! The programs that reports are for: Google Benchmark's `compare.py` from Debian, the others from PyPI into an environment of
//! their own below `${XDG_CACHE_HOME:-~/.cache}/warpforge/report`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::repository;

const PACKAGES: [&str; 8] = [
    "prometheus-client",
    "mlperf-logging",
    "junitparser",
    "xmlschema",
    "jsonschema",
    "markdown-it-py",
    "pandas",
    "scipy",
];

const VALIDATE: &str = include_str!("validate.py");
const SCHEMA: &str = include_str!("junit.xsd");
const COMPARE: &str = "/usr/share/benchmark/compare.py";

/// Everything that reads.
pub(super) struct Readers {
    cache: PathBuf,
}

impl Readers {
    /// Installs what is missing.
    pub(super) fn install() -> anyhow::Result<Self> {
        let variable = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let base = variable("XDG_CACHE_HOME")
            .or_else(|| variable("HOME").map(|home| home.join(".cache")))
            .context("neither XDG_CACHE_HOME nor HOME is set")?;
        let cache = base.join("warpforge").join("report");
        std::fs::create_dir_all(&cache)
            .with_context(|| format!("cannot create {}", cache.display()))?;
        std::fs::write(cache.join("validate.py"), VALIDATE)?;
        std::fs::write(cache.join("junit.xsd"), SCHEMA)?;
        let readers = Self { cache };
        readers.packages()?;
        if !Path::new(COMPARE).is_file() {
            eprintln!("  installing package libbenchmark-tools");
            let mut apt = Command::new("apt-get");
            apt.args(["install", "-y", "-q", "libbenchmark-tools"])
                .env("DEBIAN_FRONTEND", "noninteractive");
            if !repository::succeeds_quietly(&mut apt) {
                println!("no {COMPARE}: install Debian's libbenchmark-tools as root");
            }
        }
        Ok(readers)
    }

    fn python(&self) -> PathBuf {
        self.cache.join("venv").join("bin").join("python")
    }

    fn packages(&self) -> anyhow::Result<()> {
        let wanted = PACKAGES.join(" ");
        let marker = self.cache.join("venv").join("installed");
        if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        eprintln!("  installing {wanted} from PyPI");
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(self.cache.join("venv"));
        ensure!(repository::succeeds(&mut venv)?, "python3 -m venv failed");
        let mut pip = Command::new(self.python());
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES);
        ensure!(repository::succeeds(&mut pip)?, "pip install failed");
        Ok(std::fs::write(marker, wanted)?)
    }

    /// Reads every file of a sample; prints a line per format.
    pub(super) fn validate(
        &self,
        out: &Path,
        sample: &str,
        compared: bool,
    ) -> anyhow::Result<bool> {
        // Without a baseline the tool that compares gets the file twice.
        let baseline = if compared { format!("{sample}-baseline") } else { sample.to_owned() };
        let mut command = Command::new(self.python());
        command
            .arg(self.cache.join("validate.py"))
            .arg(out.join(sample))
            .arg(self.cache.join("junit.xsd"))
            .arg(COMPARE)
            .arg(out.join(baseline));
        repository::succeeds(&mut command)
    }
}

//! What the experiments run: the kernel as a program, under criterion and under Google Benchmark, and the peers' tests.
//! Built or installed into the cache when first needed.

use std::cell::OnceCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;
use warpt_bench::Cancel;

use crate::install::{apt_install, run};
use crate::peers::install::Tools;

const KERNEL: &str = include_str!("programs/kernel.rs");
const MAIN: &str = include_str!("programs/main.rs");
const CRITERION: &str = include_str!("programs/criterion.rs");
const GOOGLE: &str = include_str!("programs/google.cpp");
const JUDGE: &str = include_str!("programs/judge.py");
const CRITERION_MANIFEST: &str = "[package]\nname = \"chain\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
    [workspace]\n\n[lib]\npath = \"benches/kernel.rs\"\n\n[dev-dependencies]\n\
    criterion = { version = \"0.8\", default-features = false, features = [\"cargo_bench_support\"] }\n\n\
    [[bench]]\nname = \"chain\"\nharness = false\n";

/// The programs and where they work.
pub(super) struct Programs {
    tools: Tools,
    pub(super) directory: PathBuf,
    pub(super) warpt: PathBuf,
    pub(super) kernel: PathBuf,
    pub(super) cancel: Cancel,
    criterion: OnceCell<PathBuf>,
    google: OnceCell<PathBuf>,
    python: OnceCell<PathBuf>,
    chain_share: OnceCell<f64>,
}

impl Programs {
    /// Builds the kernel; the rest waits until it is asked for.
    pub(super) fn prepare(
        tools: Tools,
        directory: PathBuf,
        warpt: PathBuf,
        cancel: Cancel,
    ) -> anyhow::Result<Self> {
        write(&directory.join("kernel.rs"), KERNEL)?;
        write(&directory.join("main.rs"), MAIN)?;
        let kernel = directory.join("chain");
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        run(Command::new(rustc)
            .args(["--edition", "2021", "-O", "-o"])
            .arg(&kernel)
            .arg(directory.join("main.rs")))?;
        Ok(Self {
            tools,
            directory,
            warpt,
            kernel,
            cancel,
            criterion: OnceCell::new(),
            google: OnceCell::new(),
            python: OnceCell::new(),
            chain_share: OnceCell::new(),
        })
    }

    /// The share of the command's time that is the chain: the rest is starting and ending a process. From the fastest
    /// of some runs with and without steps.
    pub(super) fn chain_share(&self, length: u64) -> anyhow::Result<f64> {
        if let Some(share) = self.chain_share.get() {
            return Ok(*share);
        }
        let fastest = |length: u64| -> anyhow::Result<f64> {
            let mut fastest = f64::INFINITY;
            for _ in 0..30 {
                let begin = std::time::Instant::now();
                run(Command::new(&self.kernel).args(["run", &length.to_string()]))?;
                fastest = fastest.min(begin.elapsed().as_secs_f64());
            }
            Ok(fastest)
        };
        let share = 1.0 - fastest(0)? / fastest(length)?;
        ensure!((0.5..=1.0).contains(&share), "the chain is {share:.2} of the command's time");
        Ok(*self.chain_share.get_or_init(|| share))
    }

    /// hyperfine, from its Debian package.
    pub(super) fn hyperfine(&self) -> anyhow::Result<PathBuf> {
        self.tools.program("hyperfine", "hyperfine")
    }

    /// The kernel under criterion.
    pub(super) fn criterion(&self) -> anyhow::Result<&Path> {
        cached(&self.criterion, || {
            let project = self.directory.join("criterion");
            std::fs::create_dir_all(project.join("benches"))?;
            write(&project.join("Cargo.toml"), CRITERION_MANIFEST)?;
            write(&project.join("benches/kernel.rs"), KERNEL)?;
            write(&project.join("benches/chain.rs"), CRITERION)?;
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let messages = run(Command::new(cargo)
                .args(["bench", "--no-run", "--message-format=json"])
                .env("CARGO_TARGET_DIR", project.join("target"))
                .current_dir(&project))?;
            let executable = |line: &str| -> Option<PathBuf> {
                let message: Value = serde_json::from_str(line).ok()?;
                let is_ours = message.pointer("/target/name")?.as_str()? == "chain";
                let path = message.get("executable")?.as_str().map(PathBuf::from);
                path.filter(|_| is_ours)
            };
            messages.lines().filter_map(executable).next_back().context("cargo built no benchmark")
        })
    }

    /// The kernel under Google Benchmark, from its Debian package.
    pub(super) fn google(&self) -> anyhow::Result<&Path> {
        cached(&self.google, || {
            let compiler = self.tools.program("g++", "g++")?;
            if !Path::new("/usr/include/benchmark/benchmark.h").exists() {
                apt_install("libbenchmark-dev")?;
            }
            let source = self.directory.join("google.cpp");
            write(&source, GOOGLE)?;
            let program = self.directory.join("google");
            run(Command::new(compiler)
                .args(["-O2", "-o"])
                .arg(&program)
                .arg(&source)
                .args(["-lbenchmark", "-lpthread"]))?;
            Ok(program)
        })
    }

    /// What a peer's script says of two lists of times: p, the strength of the evidence, whether b is slower.
    pub(super) fn judge(&self, test: &str, a: &[f64], b: &[f64]) -> anyhow::Result<Judged> {
        let python = cached(&self.python, || {
            write(&self.directory.join("judge.py"), JUDGE)?;
            let environment = self.directory.join("venv");
            let python = environment.join("bin").join("python");
            if run(Command::new(&python).args(["-c", "import scipy"])).is_ok() {
                return Ok(python);
            }
            self.tools.python(&environment, "scipy")
        })?;
        let mut child = Command::new(python)
            .arg(self.directory.join("judge.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start python")?;
        let input = serde_json::json!({ "test": test, "a": a, "b": b });
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(input.to_string().as_bytes())?;
        }
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "judge.py: {}", output.status);
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

/// What `judge.py` answers.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Judged {
    pub(super) p: f64,
    pub(super) score: f64,
    pub(super) slower: bool,
}

fn cached(
    cell: &OnceCell<PathBuf>,
    make: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<&Path> {
    if cell.get().is_none() {
        let path = make()?;
        let _ = cell.set(path);
    }
    Ok(cell.get().expect("was just set"))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

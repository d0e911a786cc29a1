//! What every row of a run shares: the CPUs, our binary, the peers' environment, and the exported workloads. Each is made
//! when it is first needed, so that a failure belongs to the row that needed it.

use std::cell::{Cell, OnceCell};
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context;
use warpt_bench::Cancel;

use super::ModelArguments;
use super::exports::Export;
use super::workloads::{Case, Precision, Workload};
use crate::peers::ours;
use crate::peers::session::allowed_cpus;
use crate::repository::root;
use crate::{install, python};

/// The peers' servers, and the list of what they need beside PyTorch and JAX.
const SERVERS: &str = "xtask/src/peers/model/servers";
const REQUIREMENTS: &str = "requirements.txt";

/// One run of the chore.
pub(super) struct Session {
    pub(super) cancel: Cancel,
    pub(super) cpus: Vec<usize>,
    pub(super) quick: bool,
    pub(super) retune: bool,
    /// Minutes for each paired comparison.
    pub(super) minutes: f64,
    pub(super) taskset: PathBuf,
    cache: PathBuf,
    given: Option<PathBuf>,
    warpt: OnceCell<Result<PathBuf, String>>,
    environment: OnceCell<Result<python::Environment, String>>,
    next_seed: Cell<u64>,
    _lock: File,
}

/// A case of a workload with its exports.
pub(super) struct Prepared<'a> {
    pub(super) workload: &'a Workload,
    pub(super) case: &'a Case,
    pub(super) f32: Export,
    pub(super) bf16: Option<Export>,
}

impl Prepared<'_> {
    /// The export in bf16.
    pub(super) fn bf16(&self) -> anyhow::Result<&Export> {
        self.bf16.as_ref().context("there is no bf16 export of an f32 case")
    }
}

impl Session {
    pub(super) fn open(arguments: &ModelArguments, cancel: Cancel) -> anyhow::Result<Self> {
        let mut cpus = allowed_cpus()?;
        if let Some(threads) = arguments.threads {
            anyhow::ensure!(
                threads >= 1 && threads <= cpus.len(),
                "--threads {threads}: this process may use {} CPUs",
                cpus.len()
            );
            cpus.truncate(threads);
        }
        let cache = install::cache("peers")?.join("model");
        std::fs::create_dir_all(&cache)?;
        // Two runs at once would measure each other.
        let lock = File::create(cache.join("lock")).context("cannot create the lock")?;
        if lock.try_lock().is_err() {
            eprintln!("waiting for another run of this chore to end");
            lock.lock().context("cannot take the lock")?;
        }
        Ok(Self {
            cancel,
            cpus,
            quick: arguments.quick,
            retune: arguments.retune,
            minutes: arguments.minutes.unwrap_or(if arguments.quick { 0.7 } else { 8.0 }),
            taskset: install::program("taskset", "util-linux")?,
            cache,
            given: arguments.warpt.clone(),
            warpt: OnceCell::new(),
            environment: OnceCell::new(),
            next_seed: Cell::new(1),
            _lock: lock,
        })
    }

    /// Our binary: the one given, or one built at the first call.
    pub(super) fn warpt(&self) -> anyhow::Result<&Path> {
        let found = self.warpt.get_or_init(|| {
            let binary = match &self.given {
                Some(path) => path.canonicalize().with_context(|| format!("no {}", path.display())),
                None => ours::build(),
            };
            binary.map_err(|error| format!("{error:#}"))
        });
        found.as_deref().map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// The environment with all peers in it: the exporter's, and on top of it the other engines.
    pub(super) fn environment(&self) -> anyhow::Result<&python::Environment> {
        let make = || {
            let base = exporter()?;
            let list = self.servers().join(REQUIREMENTS);
            let content = "ONNX Runtime, OpenVINO and IREE";
            python::layer(&base, &list, content, "minutes, 1 GB")
        };
        let found = self.environment.get_or_init(|| make().map_err(|error| format!("{error:#}")));
        found.as_ref().map_err(|error| anyhow::anyhow!("{error}"))
    }

    /// The folder of the servers.
    pub(super) fn servers(&self) -> PathBuf {
        root().join(SERVERS)
    }

    /// A short name for what the servers are today.
    pub(super) fn servers_key(&self) -> anyhow::Result<String> {
        let entries = std::fs::read_dir(self.servers()).context("the folder of the servers")?;
        let is_python = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "py");
        let mut paths: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(is_python).collect();
        paths.sort();
        let texts = paths.iter().map(std::fs::read).collect::<Result<Vec<_>, _>>()?;
        let parts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        Ok(python::key(&parts))
    }

    /// Exports what a case needs.
    pub(super) fn prepare<'a>(
        &self,
        workload: &'a Workload,
        case: &'a Case,
    ) -> anyhow::Result<Prepared<'a>> {
        let environment = exporter()?;
        let export = |precision| Export::of(workload, precision, self.quick, &environment);
        let f32 = export(Precision::F32)?;
        let bf16 = match case.precision {
            Precision::F32 => None,
            narrow @ Precision::Bf16 => Some(export(narrow)?),
        };
        Ok(Prepared { workload, case, f32, bf16 })
    }

    /// Where what engines compile of a workload is kept.
    pub(super) fn artifacts(&self, prepared: &Prepared<'_>) -> PathBuf {
        let name = prepared.f32.directory.file_name().unwrap_or_default();
        self.cache.join("artifacts").join(name)
    }

    /// A folder of this chore's cache, made if missing.
    pub(super) fn folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.cache.join(name);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }

    /// `0,1`, as taskset takes it.
    pub(super) fn cpu_list(&self) -> String {
        let list: Vec<String> = self.cpus.iter().map(usize::to_string).collect();
        list.join(",")
    }

    /// A seed for the next schedule.
    pub(super) fn seed(&self) -> u64 {
        self.next_seed.replace(self.next_seed.get() + 1)
    }
}

/// The environment that exports models; the other chores use the same.
fn exporter() -> anyhow::Result<python::Environment> {
    python::environment("export,conformance,test", "PyTorch, JAX and tools", "minutes, 6 GB")
}

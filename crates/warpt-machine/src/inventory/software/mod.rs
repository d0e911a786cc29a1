//! Kernel, libraries and tools. Files are read through the root; installed programs are asked for their versions only
//! on the running machine and only when the request allows it, all at once.

mod blas;
mod container;
mod programs;
mod python;

pub use blas::BlasLibrary;
pub use container::{Container, Docker, Slurm};
pub use programs::{Mpi, Program};
pub use python::Python;

use super::Request;
use super::cpu::CpuInfo;
use super::facts::{facts, non_empty, or_reason};
use crate::probe::{self, Answer, Pending, Probe};
use crate::source::{Reason, SystemRoot};
use std::collections::BTreeMap;

facts! {
    /// Kernel, libraries and tools.
    pub struct Software, read as SoftwareReadings {
        /// The kernel.
        kernel: Kernel,
        /// The operating system.
        operating_system: OperatingSystem,
        /// The C library.
        libc: Program,
        /// Kernel drivers of graphics processors.
        gpu_drivers: Vec<GpuDriver>,
        /// The CUDA toolkit's version.
        cuda_toolkit: String,
        /// The ROCm version.
        rocm: String,
        /// The container this process runs in.
        container: Container,
        /// Docker.
        docker: Docker,
        /// Slurm, and the job this process is part of.
        slurm: Slurm,
        /// The MPI library.
        mpi: Mpi,
        /// Python, and the machine learning packages it would import.
        python: Python,
        /// BLAS libraries.
        blas: Vec<BlasLibrary>,
        /// Compilers.
        compilers: Vec<Program>,
    }
}

facts! {
    /// The kernel.
    pub struct Kernel, read as KernelReadings {
        /// Its name, such as `Linux`.
        name: String,
        /// Its release.
        release: String,
        /// The build it is.
        version: String,
    }
}

facts! {
    /// The operating system.
    pub struct OperatingSystem, read as OperatingSystemReadings {
        /// Its full name.
        name: String,
        /// Its short name, such as `debian`.
        id: String,
        /// Its version.
        version: String,
    }
}

facts! {
    /// A kernel driver of graphics processors.
    pub struct GpuDriver, read as GpuDriverReadings {
        /// The module.
        name: String,
        /// Its version.
        version: String,
    }
}

/// Questions to installed programs, asked while files are being read.
pub(super) struct Questions {
    pending: Option<Pending>,
    unasked: BTreeMap<&'static str, Reason>,
    paths: BTreeMap<&'static str, String>,
}

impl Questions {
    /// Start every program that is installed.
    pub(super) fn start(root: &SystemRoot, request: &Request) -> Self {
        let mut unasked = BTreeMap::new();
        let mut paths = BTreeMap::new();
        let mut probes = Vec::new();
        let path =
            request.environment.get("PATH").map_or("/usr/local/bin:/usr/bin:/bin", String::as_str);
        for (name, candidates, arguments) in programs::QUESTIONS {
            if !root.is_live() || !request.ask_programs {
                let reason = if root.is_live() {
                    "programs were not to be asked"
                } else {
                    programs::CAPTURED
                };
                unasked.insert(name, reason.to_owned());
                continue;
            }
            let found =
                candidates.iter().find_map(|program| probe::find_program(program, path).ok());
            let Some(program) = found else {
                unasked.insert(name, format!("{} is not on PATH", candidates.join(" or ")));
                continue;
            };
            paths.insert(name, program.to_string_lossy().into_owned());
            let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
            probes.push(Probe { name, program, arguments, time_limit: probe::TIME_LIMIT });
        }
        let pending = (!probes.is_empty()).then(|| probe::start(probes));
        Self { pending, unasked, paths }
    }

    /// Fetch the answers and describe the software.
    pub(super) fn finish(self, root: &SystemRoot, request: &Request, info: &CpuInfo) -> Software {
        let blas = blas::read(root, request, signature(info));
        let answers = Answers {
            given: self.pending.map(Pending::finish).unwrap_or_default(),
            unasked: self.unasked,
            paths: self.paths,
        };
        SoftwareReadings {
            kernel: Ok(kernel(root)),
            operating_system: operating_system(root),
            libc: programs::libc(&answers),
            gpu_drivers: gpu_drivers(root),
            cuda_toolkit: cuda_toolkit(root, &answers),
            rocm: root
                .text("/opt/rocm/.info/version")
                .map_err(|_| "ROCm is not in /opt/rocm".to_owned()),
            container: container::read(root, &request.environment),
            docker: container::docker(&answers),
            slurm: container::slurm(&answers, &request.environment),
            mpi: programs::mpi(&answers),
            python: python::read(&answers),
            blas,
            compilers: programs::compilers(&answers),
        }
        .settle()
    }
}

/// What the programs said, and why the others said nothing.
struct Answers {
    given: BTreeMap<&'static str, Result<Answer, Reason>>,
    unasked: BTreeMap<&'static str, Reason>,
    paths: BTreeMap<&'static str, String>,
}

impl Answers {
    fn of(&self, name: &str) -> Result<&Answer, Reason> {
        match self.given.get(name) {
            Some(answer) => answer.as_ref().map_err(Clone::clone),
            None => Err(self
                .unasked
                .get(name)
                .cloned()
                .unwrap_or_else(|| format!("{name} was not asked"))),
        }
    }

    fn path(&self, name: &str) -> Result<String, Reason> {
        or_reason(self.paths.get(name).cloned(), "the program was not run")
    }
}

/// Which x86 processor this is, for known problems of libraries: family and model, zero when unknown.
#[derive(Debug, Clone, Copy, Default)]
struct Signature {
    intel: bool,
    family: u32,
    model: u32,
}

fn signature(info: &CpuInfo) -> Signature {
    Signature {
        intel: info.vendor().as_deref() == Ok("GenuineIntel"),
        family: info.number(&["cpu family"]).unwrap_or(0),
        model: info.number(&["model"]).unwrap_or(0),
    }
}

fn kernel(root: &SystemRoot) -> Kernel {
    let part = |name: &str| root.text(&format!("/proc/sys/kernel/{name}"));
    KernelReadings { name: part("ostype"), release: part("osrelease"), version: part("version") }
        .settle()
}

fn operating_system(root: &SystemRoot) -> Result<OperatingSystem, Reason> {
    let text = root
        .text("/etc/os-release")
        .or_else(|reason| root.text("/usr/lib/os-release").map_err(|_| reason))?;
    let field = |names: &[&str]| -> Result<String, Reason> {
        let found = names.iter().find_map(|name| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
            Some(value.trim().trim_matches(['"', '\'']).to_owned())
                .filter(|value| !value.is_empty())
        });
        or_reason(found, format!("/etc/os-release has no {}", names[0]))
    };
    let readings = OperatingSystemReadings {
        name: field(&["PRETTY_NAME", "NAME"]),
        id: field(&["ID"]),
        version: field(&["VERSION_ID", "VERSION_CODENAME", "BUILD_ID"]),
    };
    Ok(readings.settle())
}

fn gpu_drivers(root: &SystemRoot) -> Result<Vec<GpuDriver>, Reason> {
    let modules = ["nvidia", "nouveau", "amdgpu", "radeon", "i915", "xe", "habanalabs"];
    let loaded = modules.iter().filter(|module| root.exists(&format!("/sys/module/{module}")));
    let drivers = loaded.map(|module| {
        let version = root.text(&format!("/sys/module/{module}/version"));
        let version = version
            .map_err(|_| "the driver is part of the kernel and states no version".to_owned());
        GpuDriverReadings { name: Ok((*module).to_owned()), version }.settle()
    });
    non_empty(drivers.collect(), "no kernel driver of a graphics processor is loaded")
}

fn cuda_toolkit(root: &SystemRoot, answers: &Answers) -> Result<String, Reason> {
    let path = "/usr/local/cuda/version.json";
    if let Ok(text) = root.text(path)
        && let Ok(document) = serde_json::from_str::<serde_json::Value>(&text)
        && let Some(version) =
            document.pointer("/cuda/version").and_then(|version| version.as_str())
    {
        return Ok(version.to_owned());
    }
    let answer =
        answers.of("nvcc").map_err(|reason| format!("{path} does not exist, and {reason}"))?;
    let (_, rest) =
        answer.output.split_once("release ").ok_or("nvcc does not state its release")?;
    Ok(rest
        .chars()
        .take_while(|character| character.is_ascii_digit() || *character == '.')
        .take(32)
        .collect())
}

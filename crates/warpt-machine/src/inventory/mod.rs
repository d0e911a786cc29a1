//! What this machine is: one snapshot, [`Machine`], which every benchmark record carries as `system`.
//!
//! Every field is optional, each null has its reason in the `absent` of the same object, and unknown fields of
//! records written by other versions survive a read and a write. One file per section.

mod cpu;
mod facts;
mod fingerprint;
mod gpu;
mod host;
mod limits;
mod memory;
mod network;
mod software;
mod storage;

pub use cpu::{Cache, Clocks, CoreKind, Cpu, NumaNode};
pub use facts::Absent;
pub use gpu::{GpuDevice, Gpus};
pub use host::Host;
pub use limits::{IoLimit, Limits};
pub use memory::{HugePages, Memory, MemoryModule};
pub use network::{InfinibandDevice, InfinibandPort, Link, Network};
pub use software::{
    BlasLibrary, Container, Docker, GpuDriver, Kernel, Mpi, OperatingSystem, Program, Python,
    Slurm, Software,
};
pub use storage::{BlockDevice, Filesystem, Storage};

pub(crate) use cpu::read_caches;

use crate::source::SystemRoot;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The version of the snapshot this code writes.
pub const SCHEMA_VERSION: u32 = 1;

/// A snapshot of a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Machine {
    /// The version of this form.
    pub schema_version: u32,
    /// When the facts were read.
    pub collected_at: Option<Timestamp>,
    /// Names and times of the host.
    pub host: Option<Host>,
    /// Processors.
    pub cpu: Option<Cpu>,
    /// Main memory.
    pub memory: Option<Memory>,
    /// Block devices and the file system of the working directory.
    pub storage: Option<Storage>,
    /// Network links and InfiniBand devices.
    pub network: Option<Network>,
    /// Graphics processors and accelerators.
    pub gpu: Option<Gpus>,
    /// What control groups and resource limits leave of the machine.
    pub limits: Option<Limits>,
    /// Kernel, libraries and tools.
    pub software: Option<Software>,
    /// The reason for each null field.
    #[serde(skip_serializing_if = "Absent::is_empty")]
    pub absent: Absent,
    /// Fields this version does not know, kept as they were read.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// A part of the inventory that can be asked for on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// Names and times of the host.
    Host,
    /// Processors.
    Cpu,
    /// Main memory.
    Memory,
    /// Block devices and file systems.
    Storage,
    /// Network links.
    Network,
    /// Graphics processors.
    Gpu,
    /// Control groups and resource limits.
    Limits,
    /// Kernel, libraries and tools.
    Software,
}

impl Section {
    /// Every section, in the order of the snapshot.
    pub const ALL: [Self; 8] = [
        Self::Host,
        Self::Cpu,
        Self::Memory,
        Self::Storage,
        Self::Network,
        Self::Gpu,
        Self::Limits,
        Self::Software,
    ];

    /// The field of the snapshot.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Storage => "storage",
            Self::Network => "network",
            Self::Gpu => "gpu",
            Self::Limits => "limits",
            Self::Software => "software",
        }
    }

    /// The sections a component name stands for: a section, `ram` for memory, `system` for all of them.
    pub fn of_component(name: &str) -> Option<Vec<Self>> {
        match name {
            "system" => Some(Self::ALL.to_vec()),
            "ram" => Some(vec![Self::Memory]),
            name => Self::ALL
                .into_iter()
                .find(|section| section.name() == name)
                .map(|section| vec![section]),
        }
    }
}

/// What to collect.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The sections wanted; empty means all of them.
    pub sections: Vec<Section>,
    /// The directory whose file system is described.
    pub working_directory: PathBuf,
    /// Whether installed programs may be asked for their versions.
    pub ask_programs: bool,
    /// The environment of the process, for `PATH`, Slurm, and containers.
    pub environment: BTreeMap<String, String>,
}

impl Request {
    /// Everything about the running machine and the current directory.
    pub fn live() -> Self {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self {
            sections: Vec::new(),
            working_directory: std::env::current_dir().unwrap_or_default(),
            ask_programs: true,
            environment,
        }
    }

    /// The same for these sections only.
    pub fn only(mut self, sections: &[Section]) -> Self {
        self.sections = sections.to_vec();
        self
    }

    fn wants(&self, section: Section) -> bool {
        self.sections.is_empty() || self.sections.contains(&section)
    }
}

impl Machine {
    /// Read the machine below `root`. Nothing here fails: what cannot be read is null with a reason.
    pub fn collect(root: &SystemRoot, request: &Request) -> Self {
        // Started first and fetched last, so that programs run while files are read.
        let programs =
            request.wants(Section::Software).then(|| software::Questions::start(root, request));
        // Reading /proc/cpuinfo asks every core for its clock, so it is read once for both sections.
        let needs_info = request.wants(Section::Cpu) || request.wants(Section::Software);
        let info = needs_info.then(|| cpu::CpuInfo::read(root));
        let mut machine = Self {
            schema_version: SCHEMA_VERSION,
            collected_at: Some(Timestamp::now()),
            host: request.wants(Section::Host).then(|| host::read(root)),
            cpu: info
                .as_ref()
                .filter(|_| request.wants(Section::Cpu))
                .map(|info| cpu::read(root, info)),
            memory: request.wants(Section::Memory).then(|| memory::read(root)),
            storage: request
                .wants(Section::Storage)
                .then(|| storage::read(root, &request.working_directory)),
            network: request.wants(Section::Network).then(|| network::read(root)),
            gpu: request.wants(Section::Gpu).then(|| gpu::read(root)),
            limits: request.wants(Section::Limits).then(|| limits::read(root)),
            software: None,
            absent: Absent::default(),
            extra: serde_json::Map::new(),
        };
        machine.software =
            programs.zip(info).map(|(questions, info)| questions.finish(root, request, &info));
        for section in Section::ALL.into_iter().filter(|section| !request.wants(*section)) {
            machine.absent.note(section.name(), "not asked for");
        }
        machine
    }
}

//! Where this process runs: in a container, beside a Docker engine, in a Slurm job. Containers are told by the files
//! and variables their runtimes leave, and by the names of control groups.

use super::Answers;
use crate::inventory::facts::{facts, or_reason};
use crate::source::{Reason, SystemRoot};
use std::collections::BTreeMap;

facts! {
    /// The container this process runs in.
    pub struct Container, read as ContainerReadings {
        /// `docker`, `podman`, `kubernetes`, `lxc`, `systemd-nspawn`, `apptainer`, or what the runtime calls itself.
        runtime: String,
        /// What gave it away.
        evidence: String,
    }
}

facts! {
    /// Docker.
    pub struct Docker, read as DockerReadings {
        /// The version of the client.
        client_version: String,
        /// Whether an engine answers this user.
        engine_answers: bool,
        /// The version of the engine.
        engine_version: String,
    }
}

facts! {
    /// Slurm, and the job this process is part of.
    pub struct Slurm, read as SlurmReadings {
        /// The version of the installed commands.
        version: String,
        /// The number of the job.
        job_id: String,
        /// The partition.
        partition: String,
        /// The cluster.
        cluster_name: String,
        /// The nodes of the job.
        node_list: String,
        /// This node.
        node_name: String,
        /// How many nodes the job has.
        nodes: u32,
        /// How many tasks the job has.
        tasks: u32,
        /// CPUs per task.
        cpus_per_task: u32,
    }
}

/// The container, or that there is none.
pub(super) fn read(
    root: &SystemRoot,
    environment: &BTreeMap<String, String>,
) -> Result<Container, Reason> {
    let Some((runtime, evidence)) = detect(root, environment) else {
        return Err(match booted_image(root) {
            Some(disk) => format!(
                "/.dockerenv exists, but / is the whole of {disk}: a container image started as a machine"
            ),
            None => "no sign of a container".to_owned(),
        });
    };
    Ok(ContainerReadings { runtime: Ok(runtime), evidence: Ok(evidence) }.settle())
}

/// The disk that is mounted whole as `/`, on a machine that carries the mark of a Docker image.
fn booted_image(root: &SystemRoot) -> Option<String> {
    let mounts = crate::mounts::read(root).ok().filter(|_| root.exists("/.dockerenv"))?;
    let whole = mounts.iter().rfind(|mount| mount.point == "/" && mount.root == "/")?;
    (whole.source.starts_with("/dev/") && !whole.source.contains("docker"))
        .then(|| whole.source.clone())
}

fn detect(root: &SystemRoot, environment: &BTreeMap<String, String>) -> Option<(String, String)> {
    let told = |runtime: &str, evidence: &str| Some((runtime.to_owned(), evidence.to_owned()));
    if environment.contains_key("KUBERNETES_SERVICE_HOST") {
        return told("kubernetes", "KUBERNETES_SERVICE_HOST is set");
    }
    for directory in ["/run/secrets/kubernetes.io", "/var/run/secrets/kubernetes.io"] {
        if root.exists(directory) {
            return told("kubernetes", directory);
        }
    }
    for (path, runtime) in [
        ("/run/.containerenv", "podman"),
        ("/.singularity.d", "apptainer"),
        ("/.dockerenv", "docker"),
    ] {
        if root.exists(path) && (runtime != "docker" || booted_image(root).is_none()) {
            return told(runtime, path);
        }
    }
    if let Ok(name) = root.text("/run/systemd/container")
        && !name.is_empty()
    {
        let runtime: String = name.chars().take(64).collect();
        return Some((runtime, "/run/systemd/container".to_owned()));
    }
    if let Some(name) = environment.get("container").filter(|name| !name.is_empty()) {
        return Some((name.chars().take(64).collect(), "the variable container is set".to_owned()));
    }
    let groups = root.text("/proc/self/cgroup").unwrap_or_default();
    let signs = [
        ("kubepods", "kubernetes"),
        ("libpod", "podman"),
        ("/docker", "docker"),
        ("/lxc", "lxc"),
        ("machine.slice/systemd-nspawn", "systemd-nspawn"),
        ("/garden/", "garden"),
    ];
    let sign = signs.into_iter().find(|(sign, _)| groups.contains(sign));
    sign.and_then(|(sign, runtime)| told(runtime, &format!("/proc/self/cgroup names {sign}")))
}

/// What the Docker client says of itself and of the engine.
pub(super) fn docker(answers: &Answers) -> Result<Docker, Reason> {
    let answer = answers.of("docker")?;
    let document: serde_json::Value = serde_json::from_str(answer.output.trim())
        .map_err(|_| "docker is there but its answer is not JSON".to_owned())?;
    let version = |side: &str| {
        let found = document.get(side)?.get("Version")?.as_str()?;
        Some(found.chars().take(64).collect::<String>())
    };
    let engine = version("Server");
    let said: String =
        answer.errors.lines().next().unwrap_or("no engine answers").chars().take(200).collect();
    let readings = DockerReadings {
        client_version: or_reason(version("Client"), "the client does not state its version"),
        engine_answers: Ok(engine.is_some()),
        engine_version: or_reason(engine, said),
    };
    Ok(readings.settle())
}

/// Slurm, when its commands are installed or this process is part of a job.
pub(super) fn slurm(
    answers: &Answers,
    environment: &BTreeMap<String, String>,
) -> Result<Slurm, Reason> {
    let version = answers.of("slurm").and_then(|answer| {
        let text = answer.output.lines().next().unwrap_or("").trim();
        let version = text.strip_prefix("slurm ").unwrap_or(text);
        if version.is_empty() {
            Err("sinfo does not state its version".to_owned())
        } else {
            Ok(version.to_owned())
        }
    });
    let in_job = environment.contains_key("SLURM_JOB_ID");
    if !in_job && let Err(reason) = version {
        return Err(format!("{reason}, and this process is not part of a job"));
    }
    let variable = |names: &[&str]| -> Result<String, Reason> {
        let found = names.iter().find_map(|name| environment.get(*name));
        let absent = if in_job {
            format!("{} is not set", names[0])
        } else {
            "not part of a job".to_owned()
        };
        or_reason(found.map(|value| value.chars().take(1024).collect()), absent)
    };
    let count = |names: &[&str]| -> Result<u32, Reason> {
        variable(names)?.parse().map_err(|_| format!("{} is not a number", names[0]))
    };
    let readings = SlurmReadings {
        version,
        job_id: variable(&["SLURM_JOB_ID"]),
        partition: variable(&["SLURM_JOB_PARTITION"]),
        cluster_name: variable(&["SLURM_CLUSTER_NAME"]),
        node_list: variable(&["SLURM_JOB_NODELIST", "SLURM_NODELIST"]),
        node_name: variable(&["SLURMD_NODENAME"]),
        nodes: count(&["SLURM_JOB_NUM_NODES", "SLURM_NNODES"]),
        tasks: count(&["SLURM_NTASKS"]),
        cpus_per_task: count(&["SLURM_CPUS_PER_TASK"]),
    };
    Ok(readings.settle())
}

//! How a process of each side is started: always pinned by `taskset`, always told the same CPUs, threads and tensors.

use std::path::Path;

use anyhow::Context;
use serde_json::json;
use warpt_bench::paired::Launch;

use super::Engine;
use crate::peers::model::session::{Prepared, Session};
use crate::peers::model::settings::Setting;
use crate::repository::root;

/// The process of an engine with a setting, for a prepared case.
pub(in crate::peers::model) fn launch(
    session: &Session,
    engine: Engine,
    setting: &Setting,
    prepared: &Prepared<'_>,
) -> anyhow::Result<Launch> {
    let mut words =
        vec![session.taskset.display().to_string(), "-c".to_owned(), session.cpu_list()];
    words.extend(match engine {
        Engine::Ours => ours(session, setting, prepared, "production")?,
        Engine::Observable => ours(session, setting, prepared, "observable")?,
        Engine::Bare => bare(session, setting, prepared)?,
        _ => served(session, engine, setting, prepared)?,
    });
    let threads = session.cpus.len().to_string();
    let python = root().join("python");
    let mut launch = Launch::new(words)
        .variable("OMP_NUM_THREADS", threads.as_str())
        .variable("MKL_NUM_THREADS", threads.as_str())
        .variable("OPENBLAS_NUM_THREADS", threads.as_str())
        .variable("JAX_PLATFORMS", "cpu")
        .variable("CUDA_VISIBLE_DEVICES", "")
        .variable("PYTHONDONTWRITEBYTECODE", "1")
        .variable("PYTHONPATH", &python)
        .variable("TORCHINDUCTOR_CACHE_DIR", session.artifacts(prepared).join("inductor"));
    for (name, value) in &setting.variables {
        launch = launch.variable(*name, value.as_str());
    }
    Ok(launch)
}

/// `warpt run --serve`.
fn ours(
    session: &Session,
    setting: &Setting,
    prepared: &Prepared<'_>,
    tier: &str,
) -> anyhow::Result<Vec<String>> {
    let narrow = setting.options["program"] == "bf16";
    let export = if narrow { prepared.bf16()? } else { &prepared.f32 };
    let tensors = |name: &str| export.directory.join(name).display().to_string();
    let mut words = vec![
        session.warpt()?.display().to_string(),
        "run".to_owned(),
        export.program().display().to_string(),
    ];
    words.extend(["--tier", tier, "--precision"].map(str::to_owned));
    words.extend([prepared.case.precision.name().to_owned(), "--threads".to_owned()]);
    words.extend([session.cpus.len().to_string(), "--weights".to_owned()]);
    words.extend([tensors("weights.safetensors"), "--inputs".to_owned()]);
    words.extend([tensors("inputs.safetensors"), "--serve".to_owned()]);
    Ok(words)
}

/// This program again, as the side that calls the model's products and nothing else.
fn bare(
    session: &Session,
    setting: &Setting,
    prepared: &Prepared<'_>,
) -> anyhow::Result<Vec<String>> {
    let own = std::env::current_exe().context("where this program is")?;
    let mut words = vec![own.display().to_string(), "bare-products".to_owned()];
    words.push(prepared.f32.program().display().to_string());
    words.extend(["--precision", prepared.case.precision.name()].map(str::to_owned));
    words.extend(["--threads".to_owned(), session.cpus.len().to_string()]);
    words.extend(["--configuration".to_owned(), setting.options.to_string()]);
    words.push("--serve".to_owned());
    Ok(words)
}

/// One of the Python servers.
fn served(
    session: &Session,
    engine: Engine,
    setting: &Setting,
    prepared: &Prepared<'_>,
) -> anyhow::Result<Vec<String>> {
    let server = engine.server().context("this engine has no server")?;
    let path = |path: &Path| path.display().to_string();
    let request = json!({
        "export": path(&prepared.f32.directory),
        "export_bf16": prepared.bf16.as_ref().map(|export| path(&export.directory)),
        "program": prepared.workload.program,
        "precision": prepared.case.precision.name(),
        "threads": session.cpus.len(),
        "cpus": session.cpus,
        "settings": setting.options,
        "cache": path(&session.artifacts(prepared)),
    });
    let python = session.environment()?.program("python");
    let servers = session.servers();
    Ok(vec![
        path(Path::new(python.get_program())),
        path(&servers.join(server)),
        request.to_string(),
    ])
}

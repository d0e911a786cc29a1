//! What the machine can do at most, for a profile to be held against: measured at first use, then kept for this machine and
//! number of threads.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use warpforge_engine::pool::allowed_cpus;
use warpt_suites::ceilings::{Ceilings, METHOD, measure};

use super::kept;

/// The file a measurement is kept in.
#[derive(Serialize, Deserialize)]
struct Kept {
    warpt_version: String,
    method: u32,
    threads: usize,
    f32_flops: f64,
    bf16_flops: f64,
    memory_bytes: f64,
}

impl Kept {
    /// What a file says, if it is about this version, way to measure and so many threads.
    fn read(path: &Path, threads: usize) -> Option<Self> {
        let kept: Self = kept::read(path)?;
        let same = kept.threads == threads
            && kept.method == METHOD
            && kept.warpt_version == env!("CARGO_PKG_VERSION");
        let sound = [kept.f32_flops, kept.bf16_flops, kept.memory_bytes];
        (same && sound.iter().all(|number| number.is_finite() && *number > 0.0)).then_some(kept)
    }
}

/// The kind of the file.
const FILE: &str = "ceilings";

/// The ceilings of so many threads, measured where they are not kept yet; with a line about where they come from.
pub(super) fn ceilings(threads: usize) -> Result<(Ceilings, String)> {
    let path = kept::file(FILE);
    if let Some(kept) = path.as_deref().and_then(|path| Kept::read(path, threads)) {
        let Kept { f32_flops, bf16_flops, memory_bytes, .. } = kept;
        let ceilings = Ceilings { f32_flops, bf16_flops, memory_bytes };
        return Ok((ceilings, "measured before".to_owned()));
    }
    let found = measured(threads)?;
    keep(path.as_deref(), threads, &found);
    Ok((found, "measured now".to_owned()))
}

/// The ceilings after another measurement: the higher of each is kept. A machine that shares its processor may have been slow
/// when they were first measured.
pub(super) fn again(threads: usize, before: &Ceilings) -> Result<(Ceilings, String)> {
    let found = measured(threads)?;
    let higher = Ceilings {
        f32_flops: found.f32_flops.max(before.f32_flops),
        bf16_flops: found.bf16_flops.max(before.bf16_flops),
        memory_bytes: found.memory_bytes.max(before.memory_bytes),
    };
    keep(kept::file(FILE).as_deref(), threads, &higher);
    Ok((higher, "measured again, as kernels were faster than what was measured before".to_owned()))
}

fn measured(threads: usize) -> Result<Ceilings> {
    let cpus: Vec<usize> = allowed_cpus().into_iter().take(threads.max(1)).collect();
    measure(&cpus).context("cannot measure what the machine can do at most")
}

/// Keeps a measurement. A place that cannot be written only means that it is measured again.
fn keep(path: Option<&Path>, threads: usize, found: &Ceilings) {
    let kept = Kept {
        warpt_version: env!("CARGO_PKG_VERSION").to_owned(),
        method: METHOD,
        threads,
        f32_flops: found.f32_flops,
        bf16_flops: found.bf16_flops,
        memory_bytes: found.memory_bytes,
    };
    if let Some(path) = path {
        let _ = kept::write(path, &kept);
    }
}

//! What the machine can do at most, for a profile to be held against: measured at first use, then kept for this machine and
//! number of threads.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use warpforge_engine::pool::allowed_cpus;
use warpt_bench::BenchmarkComponent;
use warpt_history::state;
use warpt_suites::ceilings::{Ceilings, measure};

use crate::commands::list;

/// The file a measurement is kept in.
#[derive(Serialize, Deserialize)]
struct Kept {
    warpt_version: String,
    threads: usize,
    f32_flops: f64,
    bf16_flops: f64,
    memory_bytes: f64,
}

/// The ceilings of so many threads, measured where they are not kept yet; with a line about where they come from.
pub(super) fn ceilings(threads: usize) -> Result<(Ceilings, String)> {
    let machine = list::collect(&[BenchmarkComponent::Cpu], false);
    let path = state::file("ceilings", &machine.fingerprint());
    let read = |path: &PathBuf| -> Option<Kept> {
        let text = std::fs::read(path).ok().filter(|text| text.len() < 1 << 16)?;
        let kept: Kept = serde_json::from_slice(&text).ok()?;
        let same = kept.threads == threads && kept.warpt_version == env!("CARGO_PKG_VERSION");
        let sound = [kept.f32_flops, kept.bf16_flops, kept.memory_bytes];
        (same && sound.iter().all(|number| number.is_finite() && *number > 0.0)).then_some(kept)
    };
    if let Some(kept) = path.as_ref().and_then(read) {
        let Kept { f32_flops, bf16_flops, memory_bytes, .. } = kept;
        return Ok((
            Ceilings { f32_flops, bf16_flops, memory_bytes },
            "measured before".to_owned(),
        ));
    }
    let cpus: Vec<usize> = allowed_cpus().into_iter().take(threads.max(1)).collect();
    let found = measure(&cpus).context("cannot measure what the machine can do at most")?;
    let kept = Kept {
        warpt_version: env!("CARGO_PKG_VERSION").to_owned(),
        threads,
        f32_flops: found.f32_flops,
        bf16_flops: found.bf16_flops,
        memory_bytes: found.memory_bytes,
    };
    // A place that cannot be written only means that it is measured again.
    if let (Some(path), Ok(text)) = (path, serde_json::to_vec_pretty(&kept)) {
        let written = path
            .parent()
            .map(std::fs::create_dir_all)
            .transpose()
            .and_then(|_| std::fs::write(&path, text));
        let _ = written;
    }
    Ok((found, "measured now".to_owned()))
}

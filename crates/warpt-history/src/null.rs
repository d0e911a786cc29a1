//! What this machine says about a thing compared with itself: per metric how often that raised a false alarm, how far
//! apart equal things came out, and the smallest change a comparison would see. `warpt benchmark null` measures it, the
//! gate reads it. One file per machine; a metric measured again replaces its older entry. Unknown fields survive.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::state;

/// The version of this form; it grows when a field changes meaning or goes away.
pub const NULL_SCHEMA_VERSION: u32 = 1;
/// A larger file is not one of ours.
const MAX_BYTES: u64 = 16 << 20;

/// The machine a null file speaks of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NullMachine {
    /// The fingerprint of its hardware, as records carry it: architecture, processors, caches, memory, GPUs.
    pub fingerprint: String,
    /// Its host name, where it has one.
    #[serde(default)]
    pub hostname: Option<String>,
}

/// What is known of one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NullMetric {
    /// When it was measured.
    pub measured_at: Timestamp,
    /// Comparisons of the metric with itself.
    pub repeats: u32,
    /// How many of them saw a difference: false alarms.
    pub flagged: u32,
    /// How many could not tell.
    pub inconclusive: u32,
    /// How far apart equal things came out: the 95th percentile of `|ratio - 1|` over the repeats.
    pub noise_floor_relative: f64,
    /// The smallest relative change such a comparison finds with 80% probability: the median over the repeats. Null when
    /// none stated one.
    pub mde_relative: Option<f64>,
    /// The time one comparison might take, in seconds.
    pub budget_seconds: f64,
    /// Every ratio, in the order measured.
    pub ratios: Vec<f64>,
}

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NullFile {
    /// The version of this form.
    pub schema_version: u32,
    /// The machine.
    pub machine: NullMachine,
    /// When the file was last written.
    pub written_at: Timestamp,
    /// The `warpt` that wrote it last.
    pub warpt_version: String,
    /// By metric identifier.
    pub metrics: BTreeMap<String, NullMetric>,
    /// Fields this version does not know, kept as they were read.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// One comparison of a metric with itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NullTrial {
    /// What came out; 1 would be exact.
    pub ratio: f64,
    /// The effect stated as detectable.
    pub minimum_detectable_effect: f64,
    /// It saw a difference.
    pub flagged: bool,
    /// It could not tell.
    pub inconclusive: bool,
}

impl NullMetric {
    /// The entry of some trials; nothing without a single ratio.
    #[must_use]
    pub fn from_trials(trials: &[NullTrial], budget_seconds: f64, at: Timestamp) -> Option<Self> {
        let ratios: Vec<f64> =
            trials.iter().map(|trial| trial.ratio).filter(|ratio| ratio.is_finite()).collect();
        if ratios.is_empty() {
            return None;
        }
        let mut distances: Vec<f64> = ratios.iter().map(|ratio| (ratio - 1.0).abs()).collect();
        distances.sort_by(f64::total_cmp);
        let effects: Vec<f64> = trials
            .iter()
            .map(|trial| trial.minimum_detectable_effect)
            .filter(|effect| effect.is_finite())
            .collect();
        let count = |is: fn(&NullTrial) -> bool| {
            u32::try_from(trials.iter().filter(|trial| is(trial)).count()).unwrap_or(u32::MAX)
        };
        Some(Self {
            measured_at: at,
            repeats: count(|_| true),
            flagged: count(|trial| trial.flagged),
            inconclusive: count(|trial| trial.inconclusive),
            noise_floor_relative: warpt_stats::quantile(&distances, 0.95),
            mde_relative: (!effects.is_empty()).then(|| warpt_stats::median(&effects)),
            budget_seconds,
            ratios,
        })
    }
}

impl NullFile {
    /// An empty file of a machine.
    #[must_use]
    pub fn new(machine: NullMachine, warpt_version: &str, now: Timestamp) -> Self {
        Self {
            schema_version: NULL_SCHEMA_VERSION,
            machine,
            written_at: now,
            warpt_version: warpt_version.to_owned(),
            metrics: BTreeMap::new(),
            extra: serde_json::Map::new(),
        }
    }

    /// Reads a file from its text.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let invalid = |detail: String| Error::new(ErrorKind::InvalidData, detail);
        let file: Self = serde_json::from_slice(text)
            .map_err(|error| invalid(format!("not a null file: {error}")))?;
        if file.schema_version > NULL_SCHEMA_VERSION {
            return Err(invalid(format!(
                "schema version {} is newer than {NULL_SCHEMA_VERSION}, the newest this warpt reads",
                file.schema_version
            )));
        }
        Ok(file)
    }

    /// Reads a file; nothing where there is none.
    pub fn read(path: &Path) -> Result<Option<Self>, Error> {
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut text)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(Error::new(ErrorKind::InvalidData, "too large for a null file"));
        }
        Self::parse(&text).map(Some)
    }
}

/// Where the file of a machine is kept: `null-<FINGERPRINT>.json` among the user's state (see [`state`]); nothing where
/// there is no place for that.
#[must_use]
pub fn default_path(fingerprint: &str) -> Option<PathBuf> {
    state::file("null", fingerprint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(ratio: f64, flagged: bool) -> NullTrial {
        NullTrial { ratio, minimum_detectable_effect: 0.02, flagged, inconclusive: false }
    }

    fn now() -> Timestamp {
        "2026-01-02T03:04:05Z".parse().unwrap()
    }

    #[test]
    fn trials_become_rates_and_floors() {
        let trials = [trial(1.0, false), trial(0.98, true), trial(1.01, false)];
        let metric = NullMetric::from_trials(&trials, 5.0, now()).unwrap();
        assert_eq!((metric.repeats, metric.flagged, metric.inconclusive), (3, 1, 0));
        assert!((metric.noise_floor_relative - 0.019).abs() < 1e-9, "{metric:?}");
        assert_eq!(metric.mde_relative, Some(0.02));
        let blind = NullTrial { minimum_detectable_effect: f64::INFINITY, ..trial(1.0, false) };
        assert_eq!(NullMetric::from_trials(&[blind], 5.0, now()).unwrap().mde_relative, None);
        assert_eq!(NullMetric::from_trials(&[trial(f64::NAN, false)], 5.0, now()), None);
    }

    #[test]
    fn files_survive_the_round_trip_and_refuse_the_future() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("null.json");
        assert!(NullFile::read(&path).unwrap().is_none());
        let mut file = NullFile::new(NullMachine::default(), "0.1.0", now());
        let metric = NullMetric::from_trials(&[trial(1.0, false)], 5.0, now()).unwrap();
        file.metrics.insert("micro/cpu_flops/gflops{precision=fp32}".into(), metric);
        file.extra.insert("later".into(), 7.into());
        std::fs::write(&path, serde_json::to_string(&file).unwrap()).unwrap();
        assert_eq!(NullFile::read(&path).unwrap(), Some(file.clone()));
        file.schema_version += 1;
        let newer = serde_json::to_vec(&file).unwrap();
        assert!(NullFile::parse(&newer).unwrap_err().to_string().contains("newer"));
        assert!(NullFile::parse(b"{\"schema_version\": []}").is_err());
    }
}

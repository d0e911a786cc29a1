//! `warpt monitor`, and the watch beside a run.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use jiff::Timestamp;
use warpt_bench::record::write_atomically;
use warpt_machine::monitor::{Monitor, MonitorConfig, Timeline};
use warpt_report::timeline;

use crate::arguments::MonitorArguments;
use crate::config::Config;
use crate::exit::Exit;
use crate::interrupt;
use crate::output::Output;

/// What a run wants watched.
#[derive(Debug)]
pub struct WatchOptions {
    /// Whether to watch at all.
    pub enabled: bool,
    /// Seconds between samples.
    pub interval_seconds: f64,
    /// Where the timeline goes besides the record.
    pub output: Option<PathBuf>,
}

/// The monitor beside a run, or nothing.
pub struct Watch {
    monitor: Option<Monitor>,
    output: Option<PathBuf>,
}

impl Watch {
    /// Starts watching if asked to; a file that cannot be written is known at once.
    pub fn start(options: &WatchOptions) -> Result<Self> {
        if !options.enabled {
            return Ok(Self { monitor: None, output: None });
        }
        if let Some(path) = &options.output {
            write_atomically(path, b"[]")?;
        }
        let monitor = Monitor::start(&MonitorConfig::every(options.interval_seconds)?)?;
        Ok(Self { monitor: Some(monitor), output: options.output.clone() })
    }

    /// What was seen between two moments.
    pub fn slice(&self, from: Timestamp, to: Timestamp) -> Option<Timeline> {
        self.monitor.as_ref().map(|monitor| monitor.between(from, to))
    }

    /// Stops watching, writes the file, returns everything seen.
    pub fn stop(self) -> Result<Option<Timeline>> {
        let Some(monitor) = self.monitor else { return Ok(None) };
        let timeline = monitor.stop();
        if let Some(path) = &self.output {
            write_atomically(path, timeline.to_seed_json().as_bytes())?;
        }
        Ok(Some(timeline))
    }
}

/// Watches until the time is over or the user stops it.
pub fn run(
    arguments: &MonitorArguments,
    config: Option<&Path>,
    output: &mut Output,
) -> Result<Exit> {
    let mut config = Config::load(config)?;
    config.option("monitor_interval", arguments.interval.as_deref())?;
    let interval_seconds = config.number("monitor_interval").unwrap_or(1.0);
    let path = arguments.output.clone().or_else(|| arguments.export.path("monitor", ""));
    let cancel = interrupt::install()?;
    let watch =
        Watch::start(&WatchOptions { enabled: true, interval_seconds, output: path.clone() })?;
    let start = Instant::now();
    let end = arguments.duration.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e9)));
    let mut shown = None;
    if !arguments.json {
        output.line(timeline::LIVE_HEADER)?;
    }
    while !cancel.is_cancelled() && end.is_none_or(|end| start.elapsed() < end) {
        std::thread::sleep(
            Duration::from_millis(20).min(Duration::from_secs_f64(interval_seconds)),
        );
        if arguments.json {
            continue;
        }
        if let Some(monitor) = &watch.monitor {
            let newest = monitor.latest().filter(|record| Some(record.timestamp) != shown);
            if let Some(record) = newest {
                output.line(&timeline::live(&record))?;
                shown = Some(record.timestamp);
            }
        }
    }
    let seen = watch.stop()?;
    if let Some(seen) = seen {
        if arguments.json {
            output.line(&seen.to_seed_json())?;
        } else {
            let width = output.width();
            output.text(&format!("\n{}", timeline::page(&seen, width)))?;
        }
        output.note(&timeline::cost(&seen));
    }
    if let Some(path) = path {
        output.note(&format!("written to {}", path.display()));
    }
    Ok(Exit::Pass)
}

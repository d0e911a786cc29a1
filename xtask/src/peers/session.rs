//! What every row shares: the tools, the CPUs, the sizes, the plan of a comparison, and the comparison itself.

use std::cell::{Cell, RefCell};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use warpt_bench::paired::{LineProcess, PairedConfig, Progress, Side, Subject, compare};
use warpt_bench::{Cancel, MonotonicClock};

use super::MicroArguments;
use super::install::{Harness, Tools};
use super::ours::Ours;
use crate::measurement::Measured;

/// One run of the chore.
pub(super) struct Session {
    pub(super) tools: Tools,
    pub(super) ours: Ours,
    pub(super) cancel: Cancel,
    pub(super) cpus: Vec<usize>,
    pub(super) scratch: PathBuf,
    pub(super) quick: bool,
    harness: RefCell<Option<Result<Harness, String>>>,
    next_seed: Cell<u64>,
}

impl Session {
    /// Builds ours and looks for a place to work in; peers are installed by the rows that need them.
    pub(super) fn open(arguments: &MicroArguments, cancel: Cancel) -> anyhow::Result<Self> {
        let tools = Tools::new()?;
        let cpus = allowed_cpus()?;
        let ours = Ours::new(arguments.warpt.clone(), &cancel)?;
        let scratch = arguments.directory.clone().unwrap_or_else(|| tools.cache.join("scratch"));
        std::fs::create_dir_all(&scratch)
            .with_context(|| format!("cannot create {}", scratch.display()))?;
        Ok(Self {
            tools,
            ours,
            cancel,
            cpus,
            scratch: scratch.canonicalize()?,
            quick: arguments.quick,
            harness: RefCell::new(None),
            next_seed: Cell::new(1),
        })
    }

    /// Where our C peers are, compiled at the first call.
    pub(super) fn harness(&self) -> anyhow::Result<Harness> {
        let mut harness = self.harness.borrow_mut();
        let compiled = harness
            .get_or_insert_with(|| self.tools.compile().map_err(|error| format!("{error:#}")));
        compiled.clone().map_err(anyhow::Error::msg)
    }

    /// The CPU of the rows that use one: the last, since the first serves most interrupts.
    pub(super) fn one_cpu(&self) -> usize {
        *self.cpus.last().expect("allowed_cpus never returns none")
    }

    /// The bytes of one triad array: at least four times the largest cache.
    pub(super) fn array_bytes(&self) -> u64 {
        let largest = largest_cache_bytes().unwrap_or(32 << 20);
        (4 * largest).max(256 << 20).next_multiple_of(4096)
    }

    /// The plan for samples of milliseconds to a second in a process that stays.
    pub(super) fn interleaved(&self, blocks: usize, samples: usize) -> PairedConfig {
        let config = PairedConfig {
            blocks_per_restart: blocks,
            samples_per_segment: samples,
            effect_floor: 0.02,
            max_looks: 2,
            seed: self.seed(),
            ..PairedConfig::short()
        };
        self.shortened(config)
    }

    /// The plan for samples of seconds, so many pairs after each restart.
    pub(super) fn pairs(&self, pairs: usize) -> PairedConfig {
        let config = PairedConfig {
            restarts: 8,
            blocks_per_restart: pairs,
            effect_floor: 0.10,
            seed: self.seed(),
            ..PairedConfig::long()
        };
        self.shortened(config)
    }

    /// How long a sample of seconds lasts.
    pub(super) fn long_sample(&self) -> Duration {
        if self.quick { Duration::from_millis(500) } else { Duration::from_secs(2) }
    }

    fn seed(&self) -> u64 {
        self.next_seed.replace(self.next_seed.get() + 1)
    }

    fn shortened(&self, config: PairedConfig) -> PairedConfig {
        if !self.quick {
            return config;
        }
        PairedConfig {
            restarts: 2,
            blocks_per_restart: config.blocks_per_restart.min(2),
            max_looks: 1,
            ..config
        }
    }

    /// Compares ours with a peer, both giving nanoseconds per unit of work, and asks ours whether it computed right.
    pub(super) fn compare(
        &self,
        peer: &mut dyn Subject,
        ours: &mut dyn Subject,
        config: &PairedConfig,
        unit: &'static str,
    ) -> anyhow::Result<Measured> {
        let clock = MonotonicClock::default();
        let limit = Duration::from_secs(900);
        let terminal = std::io::stderr().is_terminal();
        let compared = compare(peer, ours, config, limit, &clock, &self.cancel, &mut |progress| {
            if terminal {
                let Progress { look, segments_left, .. } = progress;
                eprint!("\r\x1b[K  look {look}, {segments_left} segments left");
            }
        })?;
        let found = &compared.comparison;
        let mut notes = Vec::new();
        notes.extend(found.reasons.iter().filter(|reason| reason.contains("time limit")).cloned());
        Ok(Measured {
            ours: 1e9 / compared.cost(Side::B),
            peer: 1e9 / compared.cost(Side::A),
            unit,
            ratio: found.ratio,
            low: found.low,
            high: found.high,
            notes,
        })
    }

    /// The same for two processes that stay, both of which must say that they computed right.
    pub(super) fn compare_processes(
        &self,
        peer: &mut LineProcess,
        ours: &mut LineProcess,
        config: &PairedConfig,
        unit: &'static str,
    ) -> anyhow::Result<Measured> {
        let measured = self.compare(peer, ours, config, unit)?;
        peer.verify().context("the peer's result is wrong")?;
        ours.verify().context("our result is wrong")?;
        Ok(measured)
    }
}

/// The CPUs this process may use.
pub(super) fn allowed_cpus() -> anyhow::Result<Vec<usize>> {
    let status =
        std::fs::read_to_string("/proc/self/status").context("cannot read the CPU affinity")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let cpus = parse_cpu_list(list.unwrap_or_default().trim());
    anyhow::ensure!(!cpus.is_empty(), "no usable CPU in Cpus_allowed_list of /proc/self/status");
    Ok(cpus)
}

/// `0-3,8` as numbers; what is not a number or a range is left out.
fn parse_cpu_list(list: &str) -> Vec<usize> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<usize>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse::<usize>().ok()?);
        Some(first..=last.min(1 << 16))
    };
    list.split(',').filter_map(range).flatten().collect()
}

fn largest_cache_bytes() -> Option<u64> {
    let entries = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let size = |path: PathBuf| parse_size(&std::fs::read_to_string(path.join("size")).ok()?);
    entries.flatten().filter_map(|entry| size(entry.path())).max()
}

/// `48K` or `2M` as bytes.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, scale) = match text.strip_suffix(['K', 'k']) {
        Some(number) => (number, 1 << 10),
        None => match text.strip_suffix('M') {
            Some(number) => (number, 1 << 20),
            None => (text, 1),
        },
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_and_sizes() {
        assert_eq!(parse_cpu_list("0-2,7"), [0, 1, 2, 7]);
        assert_eq!(parse_cpu_list("5"), [5]);
        assert_eq!(parse_cpu_list("x,,3-1"), [] as [usize; 0]);
        assert_eq!(parse_size("307200K\n"), Some(300 << 20));
        assert_eq!(parse_size("2M"), Some(2 << 20));
        assert_eq!(parse_size("none"), None);
    }
}

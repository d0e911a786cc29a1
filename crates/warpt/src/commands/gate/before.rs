//! The time before the change: a record, or the machine's runs in the history; and what is known of its noise.

use std::path::Path;

use anyhow::{Context, Result, bail};
use jiff::SignedDuration;
use jiff::Timestamp;
use warpt_bench::BenchmarkSuiteRun;
use warpt_bench::record::read_record;
use warpt_history::gate::{Baseline, NoNoiseFloor, NoiseFloor};
use warpt_history::null::{NullFile, default_path};
use warpt_history::store::row::machine_name;
use warpt_history::store::{Selection, Store};
use warpt_history::trends::{Itself, Trends};

use crate::arguments::gate::GateArguments;
use crate::commands::{history, list, validate};
use crate::config::Config;
use crate::output::Output;

/// What the candidate is held against.
pub(super) struct Before {
    /// A record whose benchmarks and parameters are those to measure.
    pub(super) like: BenchmarkSuiteRun,
    /// The numbers.
    pub(super) baseline: Baseline,
}

/// Reads the baseline that was asked for.
pub(super) fn find(arguments: &GateArguments, config: Option<&Path>) -> Result<Before> {
    if let Some(path) = &arguments.baseline {
        let like = read_record(path)?;
        let baseline = Baseline::from_record(path.display().to_string(), &like);
        return Ok(Before { like, baseline });
    }
    if !arguments.history {
        bail!(
            "name the record from before the change with --baseline, or take this machine's runs in the history \
             with --history"
        );
    }
    let store = history::open(arguments.store.as_deref(), &Config::load(config)?)?;
    let (like, itself) = match &arguments.candidate {
        Some(path) => (read_record(path)?, Itself::LeftOut),
        None => (newest(&store)?, Itself::Included),
    };
    let days = SignedDuration::from_hours(24 * i64::from(arguments.days));
    let since = Timestamp::now() - days;
    let trends = Trends::behind(&store, &like, Some(since), itself)?;
    if trends.series.is_empty() {
        bail!(
            "the history has no earlier run of these benchmarks on this machine within {} days; name a record with \
             --baseline",
            arguments.days
        );
    }
    let name = format!("the history of {} days", arguments.days);
    Ok(Before { like, baseline: Baseline::from_trends(name, &trends) })
}

/// The newest record of this machine that can be measured again: no validation, which needs its bundle.
fn newest(store: &Store) -> Result<BenchmarkSuiteRun> {
    let machine = machine_name(&list::collect(&[], false));
    let runs = store.runs(&Selection::default().on(machine))?;
    let measured = runs.iter().rev().find(|run| run.suite != validate::SUITE);
    let run = measured.context("the history has no run of this machine")?;
    store.record(&run.run)?.with_context(|| {
        format!("the record of run {} was pruned; name a record with --baseline", run.run)
    })
}

/// What is known of the machine's noise: the file that was named, or the one kept for this machine.
pub(super) fn noise(named: Option<&Path>, output: &mut Output) -> Result<Box<dyn NoiseFloor>> {
    let path = match named {
        Some(path) => Some(path.to_owned()),
        None => default_path(&list::collect(&[], false).fingerprint()),
    };
    let Some(path) = path else { return Ok(Box::new(NoNoiseFloor)) };
    let file = NullFile::read(&path).with_context(|| path.display().to_string())?;
    match file {
        Some(file) => {
            output.note(&format!(
                "noise: {} metrics, measured by `warpt benchmark null`",
                file.metrics.len()
            ));
            Ok(Box::new(file))
        }
        None if named.is_some() => bail!("{}: there is no such file", path.display()),
        None => Ok(Box::new(NoNoiseFloor)),
    }
}

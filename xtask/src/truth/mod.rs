//! `cargo xtask truth`: how often the verdicts of `warpt ab` are right, on a kernel whose true difference is known, beside
//! what other tools say of the same kernel in the same time. docs/truth.md is the protocol; this is its execution. Every
//! trial is kept as soon as it is over, so the hours can be stopped and taken up again.

mod experiments;
mod ours;
mod programs;
mod rivals;
mod rows;
mod spinners;
mod state;

use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::Args;

use self::experiments::{EXPERIMENTS, Experiment};
use self::programs::Programs;
use self::state::State;
use crate::measurement::{table, write_json};
use crate::{Verdict, interrupt, peers};

/// Options of `cargo xtask truth`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Also write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only these experiments, by name or by the beginning of it (comma-separated).
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// At most so many trials of each [default: the protocol's].
    #[arg(long, value_name = "COUNT")]
    count: Option<u32>,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "PATH")]
    warpt: Option<PathBuf>,
    /// Forget the kept trials of the chosen experiments first.
    #[arg(long)]
    fresh: bool,
    /// Measure nothing: rows of the trials kept so far.
    #[arg(long)]
    report: bool,
    /// Keep the trials in this file, and go on from those in it [default: in the cache].
    #[arg(long, value_name = "FILE")]
    trials: Option<PathBuf>,
    /// List the experiments and exit.
    #[arg(long)]
    list: bool,
}

/// Runs what is missing and reports.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let wanted = choose(&arguments.only)?;
    if arguments.list {
        for experiment in wanted {
            println!("{:<18} {:>3} trials  {}", experiment.name, experiment.count, experiment.what);
        }
        return Ok(Verdict::Clean);
    }
    let tools = peers::install::Tools::new()?;
    let directory = tools.cache.parent().unwrap_or(&tools.cache).join("truth");
    std::fs::create_dir_all(&directory)?;
    let kept = arguments.trials.clone().unwrap_or_else(|| directory.join("trials.jsonl"));
    let mut state = State::open(&kept)?;
    if arguments.fresh {
        state.forget(|trial| wanted.iter().any(|experiment| experiment.name == trial))?;
    }
    if !arguments.report {
        let cancel = interrupt::install()?;
        let warpt = match &arguments.warpt {
            Some(path) => path.canonicalize()?,
            None => peers::ours::build()?,
        };
        let programs = Programs::prepare(tools, directory, warpt, cancel)?;
        for experiment in &wanted {
            let count = arguments.count.map_or(experiment.count, |most| most.min(experiment.count));
            if let Err(error) = experiment.run(count, &programs, &mut state) {
                ensure!(!programs.cancel.is_cancelled(), "interrupted; start again to go on");
                eprintln!("{}: {error:#}", experiment.name);
                state.note(experiment.name, &format!("{error:#}"));
            }
        }
    }
    let rows: Vec<_> = wanted.iter().flat_map(|experiment| experiment.rows(&state)).collect();
    if let Some(path) = &arguments.json {
        write_json(path, &rows)?;
    }
    print!("{}", table(&rows));
    Ok(Verdict::clean_if(rows.iter().all(|row| row.met)))
}

fn choose(only: &[String]) -> anyhow::Result<Vec<&'static Experiment>> {
    let fits = |name: &str, only: &str| name.starts_with(only);
    if let Some(unknown) =
        only.iter().find(|only| !EXPERIMENTS.iter().any(|known| fits(known.name, only)))
    {
        let names: Vec<&str> = EXPERIMENTS.iter().map(|known| known.name).collect();
        bail!("no experiment {unknown:?}; they are {}", names.join(", "));
    }
    let wanted =
        |known: &&Experiment| only.is_empty() || only.iter().any(|only| fits(known.name, only));
    Ok(EXPERIMENTS.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_trials_meet_what_is_demanded() {
        let path = crate::repository::root().join("docs/results/truth.jsonl");
        let state = State::open(&path).unwrap();
        for experiment in EXPERIMENTS {
            for row in experiment.rows(&state) {
                assert!(row.met, "{row:?}");
            }
        }
    }

    #[test]
    fn experiments_are_chosen_by_the_beginning_of_their_name() {
        assert_eq!(choose(&[]).unwrap().len(), EXPERIMENTS.len());
        assert_eq!(choose(&["aa_".into()]).unwrap().len(), 3);
        assert!(choose(&["bb".into()]).unwrap_err().to_string().contains("aa_quiet"));
    }
}

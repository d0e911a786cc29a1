//! `cargo xtask conformance`: the reference interpreter against JAX's own test harnesses.
//!
//! Each case is a StableHLO program with inputs and XLA's outputs, made once by `python/conformance` into a folder outside
//! the checkout. Every case passes, needs something outside the specification, stands in a committed list with a reason,
//! or is wrong; a panic, an error and running late are wrong. Tolerances are in `tolerances.toml` beside this file.

mod case;
mod compare;
mod corpus;
mod evaluate;
mod explain;
mod judge;
mod lists;
mod magnitude;
mod report;
mod select;
pub(crate) mod self_check;
mod tolerance;
mod unary;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::ensure;

use crate::Verdict;
use crate::measurement::write_json;
use crate::tier::{Tier, kernels_used};

use self::case::Case;
use self::corpus::Corpus;
use self::judge::{Judge, Outcome};
use self::select::Selection;

/// Which cases, and where the answer goes.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    check: Option<Check>,
    /// Every case.
    #[arg(long)]
    all: bool,
    /// So many cases, of every group, chosen by the seed.
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Chooses the sample.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The cases of a group; may be given again.
    #[arg(long)]
    group: Vec<String>,
    /// One case by its name; may be given again.
    #[arg(long)]
    case: Vec<String>,
    /// The tier that computes.
    #[arg(long, value_enum, default_value = "correctness")]
    tier: Tier,
    /// How long a case may take.
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    limit: u64,
    /// Write the rows as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Show every case that did not pass, not only the first few of a group.
    #[arg(long)]
    verbose: bool,
    /// Ask the other oracles about the cases that are wrong, and say how far each is from ours and from XLA's.
    #[arg(long)]
    explain: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Check {
    /// Every input of 16 bits and a million of 32 of every unary op, against correctly rounded values.
    Unary(unary::Arguments),
}

/// Of the cases that can be judged, at most this share may stand in the skip list.
const SKIPPED_AT_MOST: f64 = 0.02;

/// What continuous integration asks for.
const CI_SAMPLE: usize = 500;

/// The gate: a seeded sample, in every tier.
pub(crate) fn check() -> anyhow::Result<Verdict> {
    let mut verdict = Verdict::Clean;
    for tier in [Tier::Correctness, Tier::Observable, Tier::Production] {
        let found = run(&Arguments {
            check: None,
            all: false,
            sample: Some(CI_SAMPLE),
            seed: 1,
            group: Vec::new(),
            case: Vec::new(),
            tier,
            limit: 60,
            json: None,
            verbose: false,
            explain: false,
        })?;
        if found != Verdict::Clean {
            verdict = found;
        }
    }
    Ok(verdict)
}

/// Judges the chosen cases.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    if let Some(Check::Unary(unary)) = &arguments.check {
        return unary::run(unary);
    }
    let selection = Selection::new(arguments)?;
    let corpus = Corpus::open()?;
    let names = selection.of(corpus.groups())?;
    ensure!(!names.is_empty(), "no case was chosen");
    let cases = corpus.cases(&names)?;
    let judge = Judge::new(Duration::from_secs(arguments.limit), arguments.tier)?;
    if arguments.all {
        let unused = judge.unused(&names);
        ensure!(unused.is_empty(), "entries of the lists that fit no case: {}", unused.join(", "));
    }
    let outcomes = in_parallel(&cases, |case| judge.judge(&corpus, case));
    let mut groups: BTreeMap<&str, Vec<(&str, Outcome)>> = BTreeMap::new();
    for (case, outcome) in cases.iter().zip(outcomes) {
        groups.entry(case.group.as_str()).or_default().push((case.name.as_str(), outcome));
    }
    let report = report::Report::new(&groups, SKIPPED_AT_MOST);
    println!("{}", report.text(arguments.verbose));
    if arguments.tier != Tier::Correctness && arguments.all {
        println!("{}", kernels_used());
    }
    if let Some(path) = &arguments.json {
        write_json(path, &report.rows())?;
    }
    if arguments.explain {
        let wrong: Vec<&Case> = cases.iter().filter(|case| report.is_wrong(&case.name)).collect();
        explain::explain(&corpus, &judge, &wrong)?;
    }
    Ok(Verdict::clean_if(report.clean()))
}

/// Maps with one thread per processor; results in the order of the items.
fn in_parallel<T: Sync, R: Send>(items: &[T], map: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(place) else { break };
                    let result = map(item);
                    results.lock().expect("no thread panics with the lock").push((place, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panicked with the lock");
    results.sort_unstable_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

//! `cargo xtask peers model`: whole models, ours against PyTorch, XLA, ONNX Runtime, OpenVINO and IREE on the same machine
//! with the same weights, inputs, CPUs, threads and precision.
//!
//! Each engine first shows in a run of its own which of its settings is best and that its results are PyTorch's; then ours
//! and the best peer are interleaved by the paired driver. What cannot run is a row that says why.

pub(crate) mod bare;
mod check;
mod exports;
#[cfg(feature = "onednn")]
mod onednn_calls;
mod products;
mod readiness;
mod rows;
mod session;
mod settings;
mod sides;
mod tuning;
mod workloads;

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;

use crate::measurement::{Row, table, write_json};
use crate::{Verdict, interrupt};
use rows::Wanted;
use sides::Engine;
use workloads::WORKLOADS;

/// Options of `cargo xtask peers model`.
#[derive(Debug, Args)]
pub(crate) struct ModelArguments {
    /// Also write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only these rows, by name or by the beginning of it (comma-separated).
    #[arg(long, value_name = "ROW", value_delimiter = ',')]
    only: Vec<String>,
    /// Small models and few samples: shows that every side works, not what it measures.
    #[arg(long)]
    quick: bool,
    /// Only compare every side's results with PyTorch's, without timing.
    #[arg(long)]
    check: bool,
    /// Only how soon ours is ready and how much memory it takes.
    #[arg(long, conflicts_with = "check")]
    ready: bool,
    /// A row against each peer, not only the best.
    #[arg(long)]
    all_peers: bool,
    /// Only these peers take part (comma-separated): eager, compile, xla, ort, openvino, iree.
    #[arg(long, value_name = "PEER", value_delimiter = ',')]
    peers: Vec<String>,
    /// Choose every side's settings again although it was done before.
    #[arg(long)]
    retune: bool,
    /// Minutes for each paired comparison [default: 8; quick: 0.7].
    #[arg(long)]
    minutes: Option<f64>,
    /// So many threads, on the first so many CPUs [default: all].
    #[arg(long)]
    threads: Option<usize>,
    /// Use this binary instead of building one.
    #[arg(long, value_name = "PATH")]
    warpt: Option<PathBuf>,
    /// List the rows and their goals, and exit.
    #[arg(long)]
    list: bool,
}

/// Measures the rows asked for.
pub(super) fn run(arguments: &ModelArguments) -> anyhow::Result<Verdict> {
    let peers = peers(&arguments.peers)?;
    let wanted = Wanted { only: &arguments.only, all_peers: arguments.all_peers, peers: &peers };
    refuse_unknown(&wanted, arguments.check)?;
    if arguments.list {
        for workload in WORKLOADS {
            for case in workload.cases {
                for (name, goal, what) in rows::definitions(workload, case, &wanted) {
                    println!("{name:<22}  {:>9}  {what}", goal.text());
                }
            }
        }
        return Ok(Verdict::Clean);
    }
    let cancel = interrupt::install()?;
    let session = session::Session::open(arguments, cancel)?;
    let mut all: Vec<Row> = Vec::new();
    for workload in WORKLOADS {
        for case in workload.cases {
            if !wanted.any_of(&workload.case_name(case)) {
                continue;
            }
            let size = if arguments.quick { " (a small one)" } else { "" };
            eprintln!("{}: {}{size}", workload.case_name(case), workload.what);
            let measure = match (arguments.check, arguments.ready) {
                (true, _) => check::rows,
                (_, true) => readiness::rows,
                _ => rows::measure,
            };
            all.extend(measure(&session, workload, case, &wanted));
            if std::io::stderr().is_terminal() {
                eprint!("\r\x1b[K");
            }
            // Written after each case: an interrupted hour leaves what it measured.
            if let Some(path) = &arguments.json {
                write_json(path, &all).context("cannot keep the rows")?;
            }
            if session.cancel.is_cancelled() {
                print!("{}", table(&all));
                bail!("interrupted: the rows after {} are missing", workload.case_name(case));
            }
        }
    }
    print!("{}", table(&all));
    if arguments.quick {
        println!("These are small models: they show that the sides work, not what they measure.");
    }
    // A peer that cannot run is told; it is no fault of ours.
    let ours = format!("_{}", Engine::Ours.name());
    let excused = |row: &Row| arguments.check && row.ratio.is_none() && !row.name.ends_with(&ours);
    Ok(Verdict::clean_if(all.iter().all(|row| row.met || excused(row))))
}

/// The peers of these names; all when none is named.
fn peers(names: &[String]) -> anyhow::Result<Vec<Engine>> {
    if names.is_empty() {
        return Ok(Engine::PEERS.to_vec());
    }
    let known: Vec<&str> = Engine::PEERS.iter().map(|peer| peer.name()).collect();
    let find = |name: &String| Engine::PEERS.iter().find(|peer| peer.name() == name.as_str());
    let each = |name: &String| {
        let found = find(name).copied();
        found.with_context(|| format!("no peer {name:?}; the peers are {}", known.join(", ")))
    };
    names.iter().map(each).collect()
}

/// A name that no row begins with is a mistake.
fn refuse_unknown(wanted: &Wanted<'_>, check: bool) -> anyhow::Result<()> {
    let everything = Wanted { only: &[], all_peers: true, peers: Engine::PEERS };
    let mut names = Vec::new();
    for workload in WORKLOADS {
        for case in workload.cases {
            let defined = rows::definitions(workload, case, &everything);
            names.extend(defined.into_iter().map(|(name, ..)| name));
            if check {
                names.push(format!("{}_{}", workload.case_name(case), Engine::Ours.name()));
            }
        }
    }
    let unknown = |only: &&String| !names.iter().any(|name| name.starts_with(only.as_str()));
    match wanted.only.iter().find(unknown) {
        Some(unknown) => bail!("no row {unknown:?}; the rows are {}", names.join(", ")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        assert_eq!(peers(&[]).unwrap(), Engine::PEERS);
        assert_eq!(peers(&["xla".to_owned()]).unwrap(), [Engine::Xla]);
        let message = peers(&["tvm".to_owned()]).unwrap_err().to_string();
        assert!(message.contains("eager, compile, xla"), "{message}");
        let only = |name: &str| [name.to_owned()];
        let refused = |only: &[String], check| {
            refuse_unknown(&Wanted { only, all_peers: false, peers: Engine::PEERS }, check).is_err()
        };
        assert!(!refused(&only("bert_f32"), false) && !refused(&only("llama_bf16_iree"), false));
        assert!(refused(&only("gpt"), false) && refused(&only("bert_f32_warpt"), false));
        assert!(!refused(&only("bert_f32_warpt"), true));
    }
}

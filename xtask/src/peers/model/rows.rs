//! The rows: ours against the best peer (or each), and against the bare products. Settings are chosen first, the paired
//! comparison follows, and both sides' results are looked at once more when it is over.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context;
use warpt_bench::MonotonicClock;
use warpt_bench::paired::{PairedConfig, Progress, Side, compare, first_reading};

use super::check::checked;
use super::session::{Prepared, Session};
use super::sides::{Engine, ModelProcess, launch, reason};
use super::tuning::{Trial, Tuned, setting_named, today, tune, within};
use super::workloads::{Case, Workload};
use crate::measurement::{Goal, Measured, Row};

/// Peers this close to the best one today are each compared: which is best is then for the pairs to say.
const CONTENDERS: f64 = 1.06;

/// Which rows of a case are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// Beginnings of names; none means all.
    pub(super) only: &'a [String],
    /// A row for each peer as well.
    pub(super) all_peers: bool,
    /// The peers that take part.
    pub(super) peers: &'a [Engine],
}

impl Wanted<'_> {
    /// Whether a row of this name is wanted.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| name.starts_with(only.as_str()))
    }

    /// Whether any row of a case may be wanted.
    pub(super) fn any_of(&self, case_name: &str) -> bool {
        self.only.is_empty()
            || self.only.iter().any(|only| {
                case_name.starts_with(only.as_str()) || only.starts_with(&format!("{case_name}_"))
            })
    }
}

/// The rows a case can have, and their goals.
pub(super) fn definitions(
    workload: &Workload,
    case: &Case,
    wanted: &Wanted<'_>,
) -> Vec<(String, Goal, String)> {
    let name = workload.case_name(case);
    let mut all =
        vec![(format!("{name}_peer"), case.peer, format!("{}: the best peer", workload.what))];
    if let Some(goal) = case.bare {
        all.push((format!("{name}_bare"), goal, "its products called bare".to_owned()));
    }
    if let Some(goal) = case.observable {
        let what = "the observable tier against production".to_owned();
        all.push((format!("{name}_observable"), goal, what));
    }
    if wanted.all_peers {
        for peer in wanted.peers {
            all.push((format!("{name}_{}", peer.name()), case.peer, peer.title().to_owned()));
        }
    }
    all.retain(|(name, ..)| wanted.wants(name));
    all
}

/// Measures the wanted rows of a case.
pub(super) fn measure(
    session: &Session,
    workload: &Workload,
    case: &Case,
    wanted: &Wanted<'_>,
) -> Vec<Row> {
    let defined = definitions(workload, case, wanted);
    let prepared = match session.prepare(workload, case) {
        Ok(prepared) => prepared,
        Err(error) => {
            let why = format!("the model cannot be exported: {}", reason(&format!("{error:#}")));
            let unmeasured = |(name, goal, _): &(String, Goal, String)| {
                Row::unmeasured(name, *goal, why.clone())
            };
            return defined.iter().map(unmeasured).collect();
        }
    };
    let name = workload.case_name(case);
    let own = [format!("{name}_bare"), format!("{name}_observable")];
    let against_peers = defined.iter().any(|(row, ..)| !own.contains(row));
    let peers = if against_peers { tuned(session, wanted.peers, &prepared) } else { Vec::new() };
    let ours = tuned(session, &[Engine::Ours], &prepared).remove(0);
    let mut measured: Vec<(Engine, anyhow::Result<Measured>)> = Vec::new();
    // Without ours there is nothing to compare, and the trials say the rest.
    let costs =
        if ours.best().is_some() { today(session, &peers, &prepared) } else { Ok(Vec::new()) };
    let costs = costs.unwrap_or_default();
    for engine in compared(&costs, &defined, &name) {
        let tuned = peers.iter().find(|tuned| tuned.engine == engine);
        let tuned = tuned.expect("only peers that took part are compared");
        let result = pair(session, &ours, tuned, &prepared);
        measured.push((engine, result));
    }
    let mut rows = Vec::new();
    for (row, goal, _) in &defined {
        let mut made = match row.strip_prefix(&format!("{name}_")) {
            Some("bare") => {
                let bare = tuned(session, &[Engine::Bare], &prepared).remove(0);
                let result = pair(session, &ours, &bare, &prepared);
                let mut made = row_of(row, *goal, &result);
                made.notes.push(bare.summary());
                made
            }
            Some("observable") if ours.best().is_some() => {
                let seen = Tuned { engine: Engine::Observable, trials: ours.trials.clone() };
                row_of(row, *goal, &pair(session, &seen, &ours, &prepared))
            }
            _ if ours.best().is_none() => Row::unmeasured(row, *goal, ours.summary()),
            Some("peer") => best_row(row, *goal, &measured),
            _ => {
                match measured.iter().find(|(peer, _)| row.ends_with(&format!("_{}", peer.name())))
                {
                    Some((_, result)) => row_of(row, *goal, result),
                    None => {
                        Row::unmeasured(row, *goal, "this peer cannot run the model (see below)")
                    }
                }
            }
        };
        if ours.best().is_some() {
            made.notes.push(ours.summary());
        }
        if row.ends_with("_peer") {
            made.notes.extend(peers.iter().map(Tuned::summary));
        } else if let Some(peer) =
            peers.iter().find(|tuned| row.ends_with(&format!("_{}", tuned.engine.name())))
        {
            made.notes.push(peer.summary());
        }
        made.notes.push(format!(
            "{} threads on CPUs {} for every side",
            session.cpus.len(),
            session.cpu_list()
        ));
        rows.push(made);
    }
    rows
}

/// The trials of some engines; what prevents trying at all counts as the reason of a failed trial.
fn tuned(session: &Session, engines: &[Engine], prepared: &Prepared<'_>) -> Vec<Tuned> {
    let each = |engine: &Engine| {
        tune(session, *engine, prepared).unwrap_or_else(|error| Tuned {
            engine: *engine,
            trials: vec![Trial {
                setting: "any".to_owned(),
                ns: None,
                error: None,
                reason: Some(reason(&format!("{error:#}"))),
                engine: None,
            }],
        })
    };
    engines.iter().map(each).collect()
}

/// The peers that are compared in pairs: the close contenders for the best one, and those with a row of their own.
fn compared(
    costs: &[(Engine, f64)],
    defined: &[(String, Goal, String)],
    case_name: &str,
) -> Vec<Engine> {
    let has_row =
        |name: &str| defined.iter().any(|(row, ..)| *row == format!("{case_name}_{name}"));
    let contenders = if has_row("peer") { within(costs, CONTENDERS) } else { Vec::new() };
    let engines = costs.iter().map(|(engine, _)| *engine);
    engines.filter(|engine| contenders.contains(engine) || has_row(engine.name())).collect()
}

/// The row against the best peer: of the contenders compared, the one ours does worst against.
fn best_row(name: &str, goal: Goal, measured: &[(Engine, anyhow::Result<Measured>)]) -> Row {
    let usable =
        measured.iter().filter_map(|(engine, result)| Some((engine, result.as_ref().ok()?)));
    let Some((engine, worst)) = usable.min_by(|left, right| left.1.ratio.total_cmp(&right.1.ratio))
    else {
        let failed = measured.iter().find_map(|(_, result)| result.as_ref().err());
        let why = match failed {
            Some(error) => reason(&format!("{error:#}")),
            None => "no peer can run the model (see below)".to_owned(),
        };
        return Row::unmeasured(name, goal, why);
    };
    let mut row = Row::new(name, goal, worst.clone());
    row.notes.insert(0, format!("the best peer is {}", engine.title()));
    for (other, result) in measured.iter().filter(|(other, _)| other != engine) {
        row.notes.push(match result {
            Ok(found) => format!("against {}: {:.3}", other.title(), found.ratio),
            Err(error) => {
                format!(
                    "against {}: not measured: {}",
                    other.title(),
                    reason(&format!("{error:#}"))
                )
            }
        });
    }
    row
}

fn row_of(name: &str, goal: Goal, result: &anyhow::Result<Measured>) -> Row {
    match result {
        Ok(measured) => Row::new(name, goal, measured.clone()),
        Err(error) => Row::unmeasured(name, goal, reason(&format!("{error:#}"))),
    }
}

/// Compares ours with a peer, each with its best setting.
fn pair(
    session: &Session,
    ours: &Tuned,
    peer: &Tuned,
    prepared: &Prepared<'_>,
) -> anyhow::Result<Measured> {
    let process = |tuned: &Tuned| -> anyhow::Result<(ModelProcess, String)> {
        let best = tuned.best().with_context(|| tuned.summary())?;
        let setting = setting_named(session, tuned.engine, prepared, &best.setting)?;
        let launch = launch(session, tuned.engine, &setting, prepared)?;
        Ok((ModelProcess::new(tuned.engine.title(), launch, &session.cancel), setting.name))
    };
    let (mut of_ours, our_setting) = process(ours)?;
    let (mut of_peer, peer_setting) = process(peer)?;
    eprintln!("  comparing with {} ({peer_setting})", peer.engine.title());
    let clock = MonotonicClock::default();
    let budget = Duration::from_secs_f64(60.0 * session.minutes.max(0.1));
    let reading = first_reading(&mut of_peer, &mut of_ours, budget, &clock, &session.cancel)?;
    let like = PairedConfig { effect_floor: 0.02, seed: session.seed(), ..PairedConfig::long() };
    let config = reading.plan(budget, &like);
    let terminal = std::io::stderr().is_terminal();
    let found = compare(
        &mut of_peer,
        &mut of_ours,
        &config,
        budget,
        &clock,
        &session.cancel,
        &mut |progress| {
            if terminal {
                let Progress { look, segments_left, .. } = progress;
                eprint!("\r\x1b[K  look {look}, {segments_left} segments left");
            }
        },
    )?;
    let mut notes = vec![format!(
        "ours: {our_setting}; {}: {peer_setting}; {} pairs of segments after {} starts",
        peer.engine.title(),
        found.comparison.blocks,
        found.comparison.restarts
    )];
    let about = of_ours.about();
    if !about.is_null() {
        notes.push(format!("ours said: {about}"));
    }
    checked(session, &mut of_ours, prepared).context("our results")?;
    if peer.engine.has_outputs() {
        checked(session, &mut of_peer, prepared).context("the peer's results")?;
    }
    let comparison = &found.comparison;
    notes.extend(comparison.reasons.iter().filter(|why| why.contains("time limit")).cloned());
    Ok(Measured {
        ours: found.cost(Side::B) / 1e6,
        peer: found.cost(Side::A) / 1e6,
        unit: "ms",
        ratio: comparison.ratio,
        low: comparison.low,
        high: comparison.high,
        notes,
    })
}

#[cfg(test)]
mod tests {
    use super::super::workloads::WORKLOADS;
    use super::*;

    const PEERS: &[Engine] = &[Engine::Eager, Engine::OpenVino, Engine::Xla];

    #[test]
    fn close_contenders_are_compared_and_each_peer_on_request() {
        let (bert, wanted) = (&WORKLOADS[0], Wanted { only: &[], all_peers: false, peers: PEERS });
        let defined = definitions(bert, &bert.cases[0], &wanted);
        let names: Vec<&str> = defined.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["bert_f32_peer", "bert_f32_bare", "bert_f32_observable"]);
        let costs = [(Engine::Eager, 100.0), (Engine::OpenVino, 104.0), (Engine::Xla, 140.0)];
        assert_eq!(compared(&costs, &defined, "bert_f32"), [Engine::Eager, Engine::OpenVino]);
        let all = definitions(bert, &bert.cases[0], &Wanted { all_peers: true, ..wanted });
        assert_eq!(compared(&costs, &all, "bert_f32"), PEERS);
        let only = ["bert_f32_xla".to_owned()];
        let one = Wanted { only: &only, all_peers: true, peers: PEERS };
        let defined = definitions(bert, &bert.cases[0], &one);
        assert_eq!(compared(&costs, &defined, "bert_f32"), [Engine::Xla]);
        assert!(one.any_of("bert_f32") && !one.any_of("bert_bf16"));
    }

    #[test]
    fn the_best_peer_is_the_one_ours_does_worst_against() {
        let measured = |ratio: f64| Measured {
            ours: 90.0,
            peer: 90.0 * ratio,
            unit: "ms",
            ratio,
            low: ratio,
            high: ratio,
            notes: Vec::new(),
        };
        let all = [
            (Engine::Eager, Ok(measured(1.20))),
            (Engine::OpenVino, Ok(measured(1.12))),
            (Engine::Compile, Err(anyhow::anyhow!("crashed"))),
        ];
        let row = best_row("bert_f32_peer", Goal::Minimum(1.10), &all);
        assert_eq!((row.ratio, row.met), (Some(1.12), true));
        assert_eq!(row.notes[0], "the best peer is OpenVINO");
        assert!(row.notes.iter().any(|note| note.contains("torch.compile: not measured: crashed")));
        let none = best_row("x", Goal::Minimum(1.0), &[]);
        assert!(!none.met && none.notes[0].contains("no peer can run"), "{none:?}");
    }
}

//! `cargo xtask points`: change points in synthetic histories whose changes are known, ours and Hunter's on the same series.
//! The histories depend on their number alone, so the figures are the same on every machine but for the CPU time.

#[path = "../../../crates/warpt-stats/tests/histories/mod.rs"]
mod histories;
mod hunter;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use warpt_stats::change_points::{ChangePointConfig, detect};
use warpt_stats::random::Random;

use self::histories::{History, Noise, Score, history};
use crate::Verdict;
use crate::measurement::{Goal, Measured, Row, table, write_json};

/// Options of `cargo xtask points`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How many histories.
    #[arg(long, default_value_t = 500)]
    histories: u64,
    /// The number of the first: other numbers are other histories.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Also write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Leave Hunter out; its rows are then not met.
    #[arg(long)]
    without_peer: bool,
}

/// What has to be reached: the share of the steps found, and wrong points per thousand.
const FOUND: f64 = 0.95;
const FALSE_PER_THOUSAND: f64 = 1.0;
/// Resamples of the histories for an interval.
const RESAMPLES: usize = 1000;

/// What one detector said about every history.
struct Judged {
    scores: Vec<Score>,
    cpu_seconds: f64,
    notes: Vec<String>,
}

impl Judged {
    fn new(histories: &[History], reports: &[Vec<(usize, usize)>], cpu_seconds: f64) -> Self {
        let score = |(history, reports): (&History, &Vec<(usize, usize)>)| {
            let mut score = Score::default();
            score.add(history, reports);
            score
        };
        let scores = histories.iter().zip(reports).map(score).collect();
        Self { scores, cpu_seconds, notes: Vec::new() }
    }

    fn total(&self) -> Score {
        total(self.scores.iter())
    }
}

fn total<'a>(scores: impl Iterator<Item = &'a Score>) -> Score {
    scores.fold(Score::default(), |all, score| all.plus(score))
}

/// Measures and prints.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let numbers = arguments.first..arguments.first.saturating_add(arguments.histories);
    let histories: Vec<History> = numbers.map(history).collect();
    anyhow::ensure!(histories.len() >= 36, "fewer than 36 histories do not hold every kind");
    let ours = ours(&histories);
    let peer = if arguments.without_peer {
        Err(anyhow::anyhow!("left out"))
    } else {
        hunter::judge(&histories)
    };
    let rows = rows(&ours, &peer);
    print!("{}", table(&rows));
    println!();
    print!("{}", kinds(&histories, &ours, peer.as_ref().ok()));
    if let Some(path) = &arguments.json {
        write_json(path, &rows)?;
    }
    Ok(Verdict::clean_if(rows.iter().all(|row| row.met)))
}

fn ours(histories: &[History]) -> Judged {
    // Hunter has no smallest change by default, so neither has ours here.
    let config = ChangePointConfig { smallest_relative: 0.0, ..ChangePointConfig::default() };
    let start = Instant::now();
    let reports: Vec<Vec<(usize, usize)>> = histories
        .iter()
        .map(|history| {
            let changes = detect(&history.values, &config);
            changes.iter().map(|change| (change.index, change.settled)).collect()
        })
        .collect();
    Judged::new(histories, &reports, start.elapsed().as_secs_f64())
}

/// A figure of a score, larger being better.
type Figure = fn(&Score) -> f64;

fn found(score: &Score) -> f64 {
    score.found()
}

fn drifts(score: &Score) -> f64 {
    score.drifts_found as f64 / score.drifts as f64
}

fn wrong(score: &Score) -> f64 {
    // Half a point where none is wrong: a rate of zero has no ratio.
    1000.0 * (score.false_points as f64).max(0.5) / score.points as f64
}

fn rows(ours: &Judged, peer: &anyhow::Result<Judged>) -> Vec<Row> {
    let all = ours.total();
    let bar = |name: &str, figure: Figure, bar: f64, unit, invert: bool| {
        let ratio = move |score: &Score| {
            if invert { bar / figure(score) } else { figure(score) / bar }
        };
        let (low, high) = interval(ours.scores.len(), |drawn| {
            ratio(&total(drawn.iter().map(|&i| &ours.scores[i])))
        });
        let notes = vec!["the peer's column is the bar".to_owned()];
        let (ours, ratio) = (figure(&all), ratio(&all));
        let measured = Measured { ours, peer: bar, unit, ratio, low, high, notes };
        Row::new(name, Goal::Minimum(1.0), measured)
    };
    let mut rows = vec![
        bar("steps found", found, FOUND, "share", false),
        bar("wrong points", wrong, FALSE_PER_THOUSAND, "/1000", true),
    ];
    for (name, figure, unit, invert, goal) in [
        ("steps, Hunter", found as Figure, "share", false, 1.0),
        ("drifts, Hunter", drifts, "share", false, 0.9),
        ("wrong points, Hunter", wrong, "/1000", true, 1.0),
    ] {
        let goal = Goal::Minimum(goal);
        rows.push(match peer {
            Ok(peer) => Row::new(name, goal, against(ours, peer, figure, unit, invert)),
            Err(error) => Row::unmeasured(name, goal, format!("{error:#}")),
        });
    }
    if let Ok(peer) = peer {
        let per_point = |judged: &Judged| 1e6 * judged.cpu_seconds / all.points as f64;
        let ratio = per_point(peer) / per_point(ours);
        let notes =
            vec!["one pass each, one after the other: a size, not a measurement".to_owned()];
        let measured = Measured {
            ours: per_point(ours),
            peer: per_point(peer),
            unit: "us/pt",
            ratio,
            low: ratio,
            high: ratio,
            notes,
        };
        rows.push(Row::new("time, Hunter", Goal::Minimum(1.0), measured));
    }
    rows
}

fn against(
    ours: &Judged,
    peer: &Judged,
    figure: Figure,
    unit: &'static str,
    invert: bool,
) -> Measured {
    let ratio = |ours: &Score, peer: &Score| {
        if invert { figure(peer) / figure(ours) } else { figure(ours) / figure(peer) }
    };
    // Both judged the same histories, so both are drawn together.
    let (low, high) = interval(ours.scores.len(), |drawn| {
        ratio(
            &total(drawn.iter().map(|&i| &ours.scores[i])),
            &total(drawn.iter().map(|&i| &peer.scores[i])),
        )
    });
    let (all, other) = (ours.total(), peer.total());
    Measured {
        ours: figure(&all),
        peer: figure(&other),
        unit,
        ratio: ratio(&all, &other),
        low,
        high,
        notes: peer.notes.clone(),
    }
}

/// The 95% interval of a figure when the histories are drawn anew.
fn interval(count: usize, figure: impl Fn(&[usize]) -> f64) -> (f64, f64) {
    let mut random = Random::new(1);
    let mut drawn = vec![0; count];
    let mut figures: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            drawn.iter_mut().for_each(|place| *place = random.below(count));
            figure(&drawn)
        })
        .collect();
    figures.sort_by(f64::total_cmp);
    (warpt_stats::quantile(&figures, 0.025), warpt_stats::quantile(&figures, 0.975))
}

/// The figures by kind of noise.
fn kinds(histories: &[History], ours: &Judged, peer: Option<&Judged>) -> String {
    let mut text = format!(
        "{:<11} {:>6} {:>14} {:>7} {:>14} {:>18}\n",
        "noise", "steps", "found", "drifts", "found", "wrong per 1000"
    );
    text.push_str(&format!(
        "{:<11} {:>6} {:>7}{:>7} {:>7} {:>7}{:>7} {:>9}{:>9}\n",
        "", "", "ours", "Hunter", "", "ours", "Hunter", "ours", "Hunter"
    ));
    let by_kind = |judged: &Judged| -> BTreeMap<Noise, Score> {
        let mut kinds = BTreeMap::new();
        for (history, score) in histories.iter().zip(&judged.scores) {
            let sum: &mut Score = kinds.entry(history.noise).or_default();
            *sum = sum.plus(score);
        }
        kinds
    };
    let (mine, theirs) = (by_kind(ours), peer.map(by_kind));
    let lines = mine
        .iter()
        .map(|(noise, score)| (noise.name(), *score, theirs.as_ref().map(|kinds| kinds[noise])));
    let all = [("all", ours.total(), peer.map(Judged::total))];
    for (name, score, other) in lines.chain(all) {
        let share = |value: Option<f64>| value.map_or("-".into(), |v| format!("{:.1}%", 100.0 * v));
        let rate = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.2}"));
        let per_thousand = |score: &Score| score.false_per_thousand();
        text.push_str(&format!(
            "{name:<11} {:>6} {:>7}{:>7} {:>7} {:>7}{:>7} {:>9}{:>9}\n",
            score.steps,
            share(Some(found(&score))),
            share(other.as_ref().map(found)),
            score.drifts,
            share(Some(drifts(&score))),
            share(other.as_ref().map(drifts)),
            rate(Some(per_thousand(&score))),
            rate(other.as_ref().map(per_thousand)),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_what_was_not_measured() {
        let histories: Vec<History> = (0..72).map(history).collect();
        let ours = ours(&histories);
        let rows = rows(&ours, &Err(anyhow::anyhow!("no network")));
        assert_eq!(rows.len(), 5);
        assert!(rows[0].met && rows[1].met, "{rows:?}");
        assert!(rows[2..].iter().all(|row| !row.met && row.notes[0].contains("no network")));
        assert!(kinds(&histories, &ours, None).contains("AR(1) 0.3"));
    }
}

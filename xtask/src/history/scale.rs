//! Rows written and questions answered at three sizes, each ten times the one before: what a row costs, and whether that
//! stays the same.

use std::path::Path;

use warpt_history::store::{Selection, Store, Table};
use warpt_machine::resource_usage::ResourceUsage;

use super::synthetic::{DAYS, Fleet};
use crate::measurement::{Goal, Measured, Row};

/// The design's own figures.
const WRITE_CPU_SECONDS_PER_ROW: f64 = 2.5e-7;
const BYTES_PER_ROW: f64 = 10.0;
/// Ten times the rows may cost this much more than ten times as long.
const LINEAR: Goal = Goal::Minimum(0.8);
/// Questions are asked so often; the median counts.
const REPEATS: usize = 5;

/// What one size cost.
struct Size {
    rows: u64,
    /// CPU seconds: into Parquet, roll-ups, through the journal.
    load: f64,
    roll_up: f64,
    journal: f64,
    row_bytes: f64,
    roll_up_bytes: f64,
    /// CPU seconds of each question.
    questions: Vec<(&'static str, Vec<f64>)>,
}

/// Measures every size up to a power of ten.
pub(super) fn measure(directory: &Path, power: u32) -> anyhow::Result<Vec<Row>> {
    let mut sizes = Vec::new();
    for power in 5..=power {
        let size = one(&directory.join(format!("1e{power}")), 10_u64.pow(power))?;
        eprintln!(
            "{} rows: {:.3} CPU-s into Parquet, {:.3} roll-ups, {:.3} through the journal; {:.2} + {:.2} bytes a row",
            size.rows, size.load, size.roll_up, size.journal, size.row_bytes, size.roll_up_bytes
        );
        for (name, seconds) in &size.questions {
            eprintln!("  {name}: {:.4} CPU-s", median(seconds));
        }
        sizes.push(size);
    }
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else { return Ok(Vec::new()) };
    let per_row = |seconds: f64, size: &Size| seconds / size.rows as f64;
    let mut rows = vec![
        bound("write", last.load, WRITE_CPU_SECONDS_PER_ROW * last.rows as f64, "CPU-s"),
        bound("bytes_a_row", last.row_bytes, BYTES_PER_ROW, "bytes"),
        linear("write_linear", per_row(last.load, last), per_row(first.load, first), "CPU-s"),
        linear(
            "roll_up_linear",
            per_row(last.roll_up, last),
            per_row(first.roll_up, first),
            "CPU-s",
        ),
        linear(
            "journal_linear",
            per_row(last.journal, last),
            per_row(first.journal, first),
            "CPU-s",
        ),
    ];
    for ((name, ours), (_, small)) in last.questions.iter().zip(&first.questions) {
        let growth = last.rows as f64 / first.rows as f64;
        let mut row = linear(name, median(ours), median(small) * growth, "CPU-s");
        row.notes.push(format!(
            "at {} rows, beside {growth:.0} times the cost at {}",
            last.rows, first.rows
        ));
        rows.push(row);
    }
    Ok(rows)
}

fn bound(name: &str, ours: f64, most: f64, unit: &'static str) -> Row {
    let ratio = most / ours;
    let measured = Measured {
        ours,
        peer: most,
        unit,
        ratio,
        low: ratio,
        high: ratio,
        notes: vec!["peer: the most that the design allows".into()],
    };
    Row::new(name, Goal::Minimum(1.0), measured)
}

fn linear(name: &str, ours: f64, small: f64, unit: &'static str) -> Row {
    let ratio = small / ours;
    let notes = Vec::new();
    Row::new(
        name,
        LINEAR,
        Measured { ours, peer: small, unit, ratio, low: ratio, high: ratio, notes },
    )
}

fn median(seconds: &[f64]) -> f64 {
    warpt_stats::order::median(seconds)
}

fn cpu<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(T, f64)> {
    let before = ResourceUsage::of_this_process().cpu_seconds;
    let done = work()?;
    Ok((done, ResourceUsage::of_this_process().cpu_seconds - before))
}

fn one(directory: &Path, rows: u64) -> anyhow::Result<Size> {
    let fleet = Fleet::of_rows(rows);
    let store = Store::open(&directory.join("loaded"))?;
    let (mut load, mut journal) = (0.0, 0.0);
    for day in 0..DAYS {
        let runs = fleet.runs(day);
        load += cpu(|| Ok(store.load(runs)?))?.1;
    }
    let roll_up = cpu(|| Ok(store.compact()?))?.1;
    // The same rows again through the journal, as writers bring them; roll-ups are in both figures.
    let other = Store::open(&directory.join("journaled"))?;
    for day in 0..DAYS {
        let runs = fleet.runs(day);
        journal += cpu(|| {
            for chunk in runs.chunks(100) {
                other.append_runs(chunk)?;
            }
            Ok(())
        })?
        .1;
    }
    journal += cpu(|| Ok(other.compact()?))?.1;
    std::fs::remove_dir_all(directory.join("journaled"))?;
    let index = store.index()?;
    let bytes = |tables: &[Table]| {
        let parts = index.parts.iter().filter(|part| tables.contains(&part.table));
        parts.map(|part| part.bytes).sum::<u64>() as f64 / fleet.rows() as f64
    };
    let size = Size {
        rows: fleet.rows(),
        load,
        roll_up,
        journal,
        row_bytes: bytes(&[Table::Rows, Table::Runs]),
        roll_up_bytes: bytes(&[Table::MachineDays, Table::FleetDays]),
        questions: questions(&store, &fleet)?,
    };
    std::fs::remove_dir_all(directory)?;
    Ok(size)
}

/// The four questions, and the two kinds of answer to the last.
fn questions(store: &Store, fleet: &Fleet) -> anyhow::Result<Vec<(&'static str, Vec<f64>)>> {
    let metric = Selection::metric(fleet.metric(42));
    let machine =
        Selection { machine: Some(Fleet::machine(fleet.machines / 2)), ..Selection::default() };
    let yesterday = Fleet::day(DAYS - 1);
    let asked: [(&'static str, &dyn Fn() -> anyhow::Result<usize>); 5] = [
        ("one_metric", &|| Ok(store.series(&metric)?.len())),
        ("one_machine", &|| Ok(store.series(&machine)?.len())),
        ("fleet_percentile", &|| Ok(store.fleet(&metric)?.len())),
        ("recent_fleet", &|| Ok(store.recent(&Selection::default(), yesterday, 30)?.len())),
        ("recent_machine", &|| Ok(store.recent(&machine, yesterday, 30)?.len())),
    ];
    let mut answers = Vec::new();
    for (name, ask) in asked {
        let mut seconds = Vec::new();
        for _ in 0..REPEATS {
            let (found, cost) = cpu(ask)?;
            anyhow::ensure!(found > 0, "{name}: no answer");
            seconds.push(cost);
        }
        answers.push((name, seconds));
    }
    Ok(answers)
}

//! `warpt ab`: two things side by side on this machine, interleaved, until the answer is clear or the time is over.

mod progress;
mod sides;

use std::time::{Duration, Instant};

use anyhow::Result;
use jiff::Timestamp;
use warpt_bench::paired::{
    Compared, ComparedSide, PAIRED_SCHEMA_VERSION, PairedConfig, PairedRecord, Side, Verdict,
    compare, first_reading,
};
use warpt_bench::record::to_json;
use warpt_bench::runner::production_clock;
use warpt_bench::{BenchError, Cancel};

use self::progress::AbProgress;
pub(super) use self::sides::{Contestant, Wanted, benchmark_side};
use crate::arguments::AbArguments;
use crate::commands::list;
use crate::exit::Exit;
use crate::export;
use crate::interrupt;
use crate::output::Output;

/// Compares and shows.
pub fn run(arguments: &AbArguments, output: &mut Output) -> Result<Exit> {
    let cancel = interrupt::install()?;
    let (a, b) = match sides::build(arguments, &cancel) {
        Err(_) if cancel.is_cancelled() => return Ok(Exit::Interrupted),
        sides => sides?,
    };
    let budget = Duration::from_secs_f64(arguments.budget);
    let like = PairedConfig {
        effect_floor: arguments.floor / 100.0,
        seed: arguments.seed.unwrap_or_else(random_seed),
        ..PairedConfig::short()
    };
    let mut progress = AbProgress::new(budget, output);
    let record = measure(a, b, budget, &like, &cancel, &mut progress);
    progress.finish();
    let mut record = match record {
        Err(error) if is_interrupt(&error) => {
            output.note("interrupted: nothing was decided");
            return Ok(Exit::Interrupted);
        }
        record => record?,
    };
    let path = arguments.export.path("ab", "");
    if path.is_some() || arguments.json {
        record.system = Some(list::collect(&[], false));
    }
    if let Some(path) = &path {
        export::write(path, &record)?;
    }
    if arguments.json {
        output.line(&to_json(&record))?;
    } else {
        let width = output.width();
        output.text(&warpt_report::ab::page(&record, width))?;
    }
    if let Some(path) = path {
        output.note(&format!("written to {}", path.display()));
    }
    Ok(exit(&record))
}

/// Reads, plans, compares and checks; the whole of it within the budget.
fn measure(
    mut a: Contestant,
    mut b: Contestant,
    budget: Duration,
    like: &PairedConfig,
    cancel: &Cancel,
    progress: &mut AbProgress<'_>,
) -> Result<PairedRecord> {
    let start_time = Timestamp::now();
    let begin = Instant::now();
    let clock = production_clock();
    let reading = first_reading(&mut a, &mut b, budget, &clock, cancel)?;
    let config = reading.plan(budget, like);
    progress.planned(reading.look(&config), config.max_looks);
    // A block that began is finished, so its time is set aside.
    let left = budget.saturating_sub(begin.elapsed()).saturating_sub(reading.block(&config));
    let observe = &mut |at: &warpt_bench::paired::Progress| progress.at(at);
    let compared = compare(&mut a, &mut b, &config, left, &clock, cancel, observe)?;
    let verified = match (a.verify()?, b.verify()?) {
        (Some(a), Some(b)) => Some(a && b),
        _ => None,
    };
    let side = |contestant: &mut Contestant, side: Side| -> Result<ComparedSide> {
        let cost = Some(compared.cost(side)).filter(|cost| cost.is_finite());
        let meaning = contestant.meaning()?;
        Ok(ComparedSide {
            cost,
            value: meaning.as_ref().zip(cost).map(|(meaning, cost)| meaning.value(cost)),
            value_unit: meaning.map(|meaning| meaning.unit),
            ..contestant.description.clone()
        })
    };
    Ok(PairedRecord {
        schema_version: PAIRED_SCHEMA_VERSION,
        warpt_version: env!("CARGO_PKG_VERSION").to_owned(),
        start_time,
        end_time: Timestamp::now(),
        a: side(&mut a, Side::A)?,
        b: side(&mut b, Side::B)?,
        unit: a.unit().to_owned(),
        verified,
        comparison: compared.comparison,
        config,
        budget_seconds: budget.as_secs_f64(),
        observations: compared.observations,
        system: None,
        extra: serde_json::Map::new(),
    })
}

/// Compares one side with its like, for `warpt benchmark null`.
pub(super) fn against_itself(
    mut a: Contestant,
    mut b: Contestant,
    budget: Duration,
    like: &PairedConfig,
    cancel: &Cancel,
) -> Result<Compared> {
    let clock = production_clock();
    let reading = first_reading(&mut a, &mut b, budget, &clock, cancel)?;
    let config = reading.plan(budget, like);
    let left = budget.saturating_sub(Duration::from_nanos(reading.spent_ns as u64));
    Ok(compare(&mut a, &mut b, &config, left, &clock, cancel, &mut |_| ())?)
}

fn exit(record: &PairedRecord) -> Exit {
    if record.verified == Some(false) {
        return Exit::Failed;
    }
    match record.comparison.verdict {
        Verdict::Better | Verdict::Same => Exit::Pass,
        Verdict::Worse => Exit::Failed,
        Verdict::Inconclusive => Exit::Inconclusive,
    }
}

/// Whether the user asked to stop.
pub(super) fn is_interrupt(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<BenchError>(), Some(BenchError::Interrupted))
}

/// A seed from the clock: the order of sides should differ from run to run.
pub(super) fn random_seed() -> u64 {
    // Kept below 2^53, so that every reader of JSON sees the same number.
    (Timestamp::now().as_nanosecond() as u64) & ((1 << 53) - 1)
}

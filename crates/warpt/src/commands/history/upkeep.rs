//! `warpt history prune|import|export|compact|check|rebuild`.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use warpt_bench::record::to_json;
use warpt_history::store::{Checked, PruneRules, Selection, Store};
use warpt_report::number;
use warpt_report::text::clean;

use super::{selection, when};
use crate::arguments::history::{ExportRowsArguments, ImportArguments, PruneArguments, RowFormat};
use crate::exit::Exit;
use crate::output::Output;

/// Refused files named one by one; the rest are counted.
const REFUSED_SHOWN: usize = 20;

pub(super) fn prune(
    store: &Store,
    arguments: &PruneArguments,
    output: &mut Output,
) -> Result<Exit> {
    let before = |days: Option<u32>| days.map(when::days_ago).transpose();
    let rules = PruneRules {
        records_before: before(arguments.records_older)?,
        records_kept: arguments.records_keep,
        rows_before: before(arguments.rows_older)?,
        rollups_before: before(arguments.rollups_older)?,
    };
    let plan = if arguments.yes { store.prune(&rules)? } else { store.plan_prune(&rules)? };
    if arguments.json {
        output.line(&to_json(&plan))?;
        return Ok(Exit::Pass);
    }
    let verb = if arguments.yes { "removed" } else { "would remove" };
    output.line(&format!(
        "{verb} {} records ({}) and {} Parquet files with {} rows ({})",
        plan.records.len(),
        number::bytes(plan.record_bytes),
        plan.parts.len(),
        plan.rows,
        number::bytes(plan.part_bytes)
    ))?;
    let days = plan.parts.iter().map(|part| (part.table.name(), part.day));
    let mut tables: std::collections::BTreeMap<&str, Vec<_>> = std::collections::BTreeMap::new();
    days.for_each(|(table, day)| tables.entry(table).or_default().push(day));
    for (table, days) in tables {
        if let (Some(first), Some(last)) = (days.iter().min(), days.iter().max()) {
            output.line(&format!("  {table}: {} files of {first} to {last}", days.len()))?;
        }
    }
    if !arguments.yes {
        output.note("nothing was removed; --yes does it (rows still in the journal go too)");
    }
    Ok(Exit::Pass)
}

pub(super) fn import(
    store: &Store,
    arguments: &ImportArguments,
    output: &mut Output,
) -> Result<Exit> {
    let imported = store.import(&arguments.paths)?;
    store.compact_if_due()?;
    if arguments.json {
        output.line(&to_json(&imported))?;
    } else {
        output.line(&format!(
            "{} records added, {} known already, {} files refused",
            imported.added,
            imported.present,
            imported.refused.len()
        ))?;
        for refused in imported.refused.iter().take(REFUSED_SHOWN) {
            output.note(&format!("refused: {}", clean(&refused.reason)));
        }
        let more = imported.refused.len().saturating_sub(REFUSED_SHOWN);
        if more > 0 {
            output.note(&format!("and {more} more (--json lists all)"));
        }
    }
    let nothing = imported.added + imported.present == 0;
    Ok(if nothing && !imported.refused.is_empty() { Exit::Error } else { Exit::Pass })
}

pub(super) fn export(
    store: &Store,
    arguments: &ExportRowsArguments,
    output: &mut Output,
) -> Result<Exit> {
    let selection = Selection {
        metric: arguments.metric.clone(),
        params: arguments.params.clone(),
        ..selection(&arguments.which)?
    };
    let standard = arguments.out == Path::new("-");
    let rows = match (arguments.format, standard) {
        (RowFormat::Parquet, true) => bail!("Parquet goes to a file: --out PATH"),
        (RowFormat::Parquet, false) => store.export_parquet(&selection, &arguments.out)?,
        (format, true) => text(store, &selection, format, &mut std::io::stdout().lock())?,
        (format, false) => {
            let file = std::fs::File::create(&arguments.out)
                .with_context(|| format!("cannot write {}", arguments.out.display()))?;
            text(store, &selection, format, &mut std::io::BufWriter::new(file))?
        }
    };
    output.note(&format!("{rows} rows"));
    Ok(Exit::Pass)
}

fn text(
    store: &Store,
    selection: &Selection,
    format: RowFormat,
    out: &mut dyn Write,
) -> Result<u64> {
    let rows = match format {
        RowFormat::Csv => store.export_csv(selection, out)?,
        _ => store.export_json_lines(selection, out)?,
    };
    out.flush()?;
    Ok(rows)
}

pub(super) fn compact(store: &Store, json: bool, output: &mut Output) -> Result<Exit> {
    let done = store.compact()?;
    if json {
        output.line(&to_json(&done))?;
        return Ok(Exit::Pass);
    }
    output.line(&format!(
        "{} runs with {} rows moved into Parquet, {} days rolled up, {} written",
        done.runs,
        done.rows,
        done.days,
        number::bytes(done.bytes)
    ))?;
    if done.duplicates > 0 {
        output.line(&format!("{} runs were there already", done.duplicates))?;
    }
    if done.lost_bytes > 0 {
        let bytes = number::bytes(done.lost_bytes);
        output.note(&format!("{bytes} of the journal were writes cut off, none acknowledged"));
    }
    Ok(Exit::Pass)
}

pub(super) fn checked(checked: &Checked, json: bool, output: &mut Output) -> Result<Exit> {
    let exit = if checked.problems.is_empty() { Exit::Pass } else { Exit::Failed };
    if json {
        output.line(&to_json(checked))?;
        return Ok(exit);
    }
    output.line(&format!(
        "{} runs ({} in the journal), {} rows in {} Parquet files ({}), {} records",
        checked.runs,
        checked.journal_runs,
        checked.rows,
        checked.files,
        number::bytes(checked.bytes),
        checked.records
    ))?;
    let remarks = [
        (checked.runs_without_record, "runs without a record (pruned, or from another tool)"),
        (
            checked.records_without_run,
            "records without rows; `warpt history rebuild` takes them up",
        ),
        (checked.lost_bytes, "bytes of the journal are writes that were cut off"),
    ];
    for (count, remark) in remarks.into_iter().filter(|(count, _)| *count > 0) {
        output.line(&format!("{count} {remark}"))?;
    }
    for problem in &checked.problems {
        output.line(&format!("problem: {}", clean(problem)))?;
    }
    output.line(if checked.problems.is_empty() { "no problems" } else { "NOT in order" })?;
    Ok(exit)
}

//! `warpt history`: what was measured before, on this machine and others.

mod points;
mod query;
mod upkeep;
mod when;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use warpt_bench::BenchmarkSuiteRun;
use warpt_bench::record::to_json;
use warpt_history::store::row::RunSummary;
use warpt_history::store::{Selection, Store, csv_field};
use warpt_report::table::TextTable;

use crate::arguments::history::{
    Form, HistoryArguments, HistoryCommand, ListRunsArguments, ShowArguments, Which,
};
use crate::config::Config;
use crate::exit::Exit;
use crate::output::Output;

/// Does what was asked.
pub fn run(
    arguments: &HistoryArguments,
    config: Option<&Path>,
    output: &mut Output,
) -> Result<Exit> {
    let config = Config::load(config)?;
    let store = open(arguments.store.as_deref(), &config)?;
    match &arguments.command {
        HistoryCommand::List(arguments) => list(&store, arguments, output),
        HistoryCommand::Show(arguments) => show(&store, arguments, output),
        HistoryCommand::Query(arguments) => query::run(&store, &arguments.question, output),
        HistoryCommand::Points(arguments) => points::run(&store, arguments, output),
        HistoryCommand::Prune(arguments) => upkeep::prune(&store, arguments, output),
        HistoryCommand::Import(arguments) => upkeep::import(&store, arguments, output),
        HistoryCommand::Export(arguments) => upkeep::export(&store, arguments, output),
        HistoryCommand::Compact(form) => upkeep::compact(&store, form.json, output),
        HistoryCommand::Check(form) => upkeep::checked(&store.check()?, form.json, output),
        HistoryCommand::Rebuild(form) => upkeep::checked(&store.rebuild()?, form.json, output),
    }
}

/// Opens the store that was named, or the configured one.
pub fn open(named: Option<&Path>, config: &Config) -> Result<Store> {
    let directory = match (named, config.text("history_directory")) {
        (Some(path), _) => path.to_owned(),
        (None, "") => default_directory()?,
        (None, configured) => PathBuf::from(configured),
    };
    Ok(Store::open(&directory)?)
}

/// Adds a run to the history. The measurement is done and shown: a history that cannot be written is a
/// remark, not a failure.
pub fn keep(run: &BenchmarkSuiteRun, config: &Config, output: &mut Output) {
    if run.benchmarks.is_empty() {
        return;
    }
    let kept = open(None, config).and_then(|store| {
        store.append(run)?;
        Ok(store.compact_if_due()?)
    });
    match kept {
        Ok(_) => {
            let id: String = run.run_id.iter().flat_map(|id| id.chars()).take(12).collect();
            output.note(&format!("history: run {id}"));
        }
        Err(error) => output.note(&format!("not added to the history: {error:#}")),
    }
}

/// `${XDG_DATA_HOME:-~/.local/share}/warpt/history`.
fn default_directory() -> Result<PathBuf> {
    let variable =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = variable("XDG_DATA_HOME")
        .or_else(|| variable("HOME").map(|home| home.join(".local/share")))
        .context(
            "neither XDG_DATA_HOME nor HOME is set; name a store with WARPT_HISTORY_DIRECTORY",
        )?;
    Ok(data.join("warpt/history"))
}

/// A selection from the options that many commands share.
fn selection(which: &Which) -> Result<Selection> {
    Ok(Selection {
        machine: which.machine.clone(),
        since: which.since.as_deref().map(when::since).transpose()?,
        until: which.until.as_deref().map(when::until).transpose()?,
        ..Selection::default()
    })
}

/// Rows of text in the form asked for; `json` is the same answer for tools.
struct Answer<'a> {
    header: &'a [&'a str],
    right: &'a [usize],
    rows: Vec<Vec<String>>,
    json: String,
}

impl Answer<'_> {
    fn print(self, form: &Form, nothing: &str, output: &mut Output) -> Result<Exit> {
        if form.json {
            output.line(&self.json)?;
        } else if form.csv {
            let line = |cells: Vec<String>| cells.join(",");
            output.line(&self.header.join(","))?;
            for row in &self.rows {
                output.line(&line(row.iter().map(|cell| csv_field(cell)).collect()))?;
            }
        } else if self.rows.is_empty() {
            output.line(nothing)?;
        } else {
            let mut table = TextTable::new(self.header).right(self.right);
            self.rows.iter().for_each(|row| table.row(row));
            let width = output.width();
            output.text(&table.render(width))?;
        }
        Ok(Exit::Pass)
    }
}

fn list(store: &Store, arguments: &ListRunsArguments, output: &mut Output) -> Result<Exit> {
    let mut runs = store.runs(&selection(&arguments.which)?)?;
    runs.retain(|run| arguments.suite.as_ref().is_none_or(|suite| run.suite == *suite));
    let earlier = runs.len().saturating_sub(arguments.limit);
    runs.drain(..earlier);
    let json = to_json(&runs);
    let one_machine = runs
        .first()
        .map(|run| run.machine.as_str())
        .filter(|machine| runs.iter().all(|run| run.machine == *machine));
    let time = |run: &RunSummary| when::shown(warpt_history::store::row::timestamp(run.time_us));
    let counts = |run: &RunSummary| format!("{}/{}/{}", run.passed, run.failed, run.skipped);
    let answer = if arguments.form.csv {
        let rows = runs.iter().map(|run| {
            vec![
                time(run),
                run.run.clone(),
                run.machine.clone(),
                run.suite.clone(),
                run.rows.to_string(),
                counts(run),
                run.state.clone(),
            ]
        });
        let header = &["time", "run", "machine", "suite", "rows", "pass/fail/skip", "state"];
        Answer { header, right: &[4], rows: rows.collect(), json }
    } else {
        // To a person: what is alike in all rows is said once below, and identifiers are cut to what tells them apart.
        let rows = runs.iter().map(|run| {
            let mut cells = vec![
                time(run).chars().take("2026-01-31 12:00".len()).collect(),
                run.run.chars().take(12).collect(),
                run.suite.clone(),
                counts(run),
                run.state.clone(),
            ];
            if one_machine.is_none() {
                cells.push(run.machine.chars().take(16).collect());
            }
            cells
        });
        let header: &[&str] = match one_machine {
            Some(_) => &["time", "run", "suite", "ok/bad/skip", "state"],
            None => &["time", "run", "suite", "ok/bad/skip", "state", "machine"],
        };
        Answer { header, right: &[], rows: rows.collect(), json }
    };
    let exit = answer.print(&arguments.form, "no runs", output)?;
    if let Some(machine) = one_machine.filter(|_| !arguments.form.csv && !arguments.form.json) {
        output.note(&format!("all on {}", warpt_report::text::clean(machine)));
    }
    if earlier > 0 {
        output.note(&format!("{earlier} earlier runs are not shown (--limit)"));
    }
    Ok(exit)
}

fn show(store: &Store, arguments: &ShowArguments, output: &mut Output) -> Result<Exit> {
    let run = store.find_run(&arguments.run)?;
    let run =
        run.with_context(|| format!("no run {:?}; see `warpt history list`", arguments.run))?;
    let record = store.record(&run.run)?.with_context(|| {
        format!("the record of run {} was pruned; its rows may still be there", run.run)
    })?;
    if arguments.json {
        output.line(&to_json(&record))?;
        return Ok(Exit::Pass);
    }
    output.line(&format!(
        "run {} of {} on {}\n",
        run.run,
        when::shown(warpt_history::store::row::timestamp(run.time_us)),
        warpt_report::text::clean(&run.machine)
    ))?;
    let width = output.width();
    for result in &record.benchmarks {
        output.text(&warpt_report::result::benchmark(result, width))?;
    }
    output.text(&warpt_report::result::summary(&record))?;
    Ok(Exit::Pass)
}

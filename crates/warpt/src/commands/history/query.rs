//! `warpt history query`: typed questions and their answers as tables, JSON or CSV.

use std::collections::BTreeMap;

use anyhow::Result;
use warpt_bench::record::to_json;
use warpt_history::store::{Point, Selection, Store};
use warpt_report::number;

use super::{Answer, selection, when};
use crate::arguments::history::{
    FleetArguments, Form, MachineArguments, Question, RecentArguments, SeriesArguments, Which,
};
use crate::exit::Exit;
use crate::output::Output;

/// Answers a question.
pub(super) fn run(store: &Store, question: &Question, output: &mut Output) -> Result<Exit> {
    match question {
        Question::Series(arguments) => series(store, arguments, output),
        Question::Machine(arguments) => machine(store, arguments, output),
        Question::Fleet(arguments) => fleet(store, arguments, output),
        Question::Recent(arguments) => recent(store, arguments, output),
    }
}

/// Numbers for people in tables, exactly in CSV.
fn numeral(form: &Form) -> fn(f64) -> String {
    if form.csv { |value| value.to_string() } else { number::significant }
}

fn series(store: &Store, arguments: &SeriesArguments, output: &mut Output) -> Result<Exit> {
    let selection = Selection {
        metric: Some(arguments.metric.clone()),
        params: arguments.params.clone(),
        ..selection(&arguments.which)?
    };
    points(&store.series(&selection)?, &arguments.form, output)
}

fn machine(store: &Store, arguments: &MachineArguments, output: &mut Output) -> Result<Exit> {
    let which = Which {
        machine: Some(arguments.machine.clone()),
        since: arguments.since.clone(),
        until: arguments.until.clone(),
    };
    let selection = Selection { metric: arguments.metric.clone(), ..selection(&which)? };
    let mut found = store.series(&selection)?;
    if !arguments.all {
        // Each series is in one piece, oldest first: the last of each is its newest.
        let newest: BTreeMap<_, Point> =
            found.into_iter().map(|point| (point.key.clone(), point)).collect();
        found = newest.into_values().collect();
    }
    points(&found, &arguments.form, output)
}

fn points(points: &[Point], form: &Form, output: &mut Output) -> Result<Exit> {
    let numeral = numeral(form);
    let maybe = |value: Option<f64>| value.map(numeral).unwrap_or_default();
    let rows = points.iter().map(|point| {
        vec![
            when::shown(point.time),
            point.machine.clone(),
            point.key.metric.clone(),
            numeral(point.value),
            maybe(point.low),
            maybe(point.high),
            point.key.unit.clone(),
            point.standing.name().to_owned(),
            if form.csv { point.run.clone() } else { point.run.chars().take(8).collect() },
            point.key.params.clone(),
        ]
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    let mut header = vec![
        "time", "machine", "metric", "value", "low", "high", "unit", "standing", "run", "params",
    ];
    if !form.csv {
        // Parameters are long and the same for all: the other forms have them.
        header.pop();
        rows.iter_mut().for_each(|row| drop(row.pop()));
    }
    let answer = Answer { header: &header, right: &[3, 4, 5], rows, json: to_json(&points) };
    answer.print(form, "no rows", output)
}

fn fleet(store: &Store, arguments: &FleetArguments, output: &mut Output) -> Result<Exit> {
    let which =
        Which { machine: None, since: arguments.since.clone(), until: arguments.until.clone() };
    let selection = Selection {
        metric: Some(arguments.metric.clone()),
        params: arguments.params.clone(),
        ..selection(&which)?
    };
    let days = store.fleet(&selection)?;
    let numeral = numeral(&arguments.form);
    let rows = days.iter().map(|day| {
        let mut row = vec![day.day.to_string(), day.key.metric.clone(), day.machines.to_string()];
        row.extend([day.minimum, day.p5, day.p50, day.p95, day.maximum].map(numeral));
        row.push(day.key.unit.clone());
        row
    });
    let answer = Answer {
        header: &["day", "metric", "machines", "minimum", "p5", "p50", "p95", "maximum", "unit"],
        right: &[2, 3, 4, 5, 6, 7],
        rows: rows.collect(),
        json: to_json(&days),
    };
    answer.print(&arguments.form, "no rows", output)
}

fn recent(store: &Store, arguments: &RecentArguments, output: &mut Output) -> Result<Exit> {
    let day = match arguments.day {
        Some(day) => day,
        None => when::days_ago(1)?,
    };
    let selection = Selection {
        metric: arguments.metric.clone(),
        machine: arguments.machine.clone(),
        ..Selection::default()
    };
    let mut found = store.recent(&selection, day, arguments.days)?;
    found.retain(|recent| recent.worst || !arguments.worst);
    let numeral = numeral(&arguments.form);
    let rows = found.iter().map(|recent| {
        vec![
            recent.key.metric.clone(),
            numeral(recent.value),
            numeral(recent.baseline),
            numeral(recent.lowest),
            numeral(recent.highest),
            recent.ratio.map(|ratio| format!("{ratio:.3}")).unwrap_or_default(),
            recent.key.unit.clone(),
            recent.days.to_string(),
            if recent.worst { "worst" } else { "" }.to_owned(),
        ]
    });
    let answer = Answer {
        header: &["metric", "value", "baseline", "lowest", "highest", "ratio", "unit", "days", ""],
        right: &[1, 2, 3, 4, 5, 7],
        rows: rows.collect(),
        json: to_json(&found),
    };
    let nothing =
        format!("no metric has numbers on {day} and in the {} days before", arguments.days);
    answer.print(&arguments.form, &nothing, output)
}
